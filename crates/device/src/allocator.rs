//! The allocator of the system, told to give back what is free.
//!
//! glibc keeps what is free for whoever asks next, in an arena of its own for each of up to eight threads a processor. It also learns: once a block of 19 MiB was freed, as for a password, blocks up to
//! that size are cut from arenas, and each arena keeps twice as much at its end. In a program of many threads whose work comes in bursts that adds up to a gigabyte which nobody uses.

#![allow(unsafe_code)]

/// Blocks of at least so many bytes come from the system, and go back to it when they are freed. Less than the megabyte of a large text, and more than a batch of rows takes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: i32 = 512 << 10;
/// Bytes that are free at the end of an arena before they are given back.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const FREE: i32 = 2 << 20;

/// Has the allocator keep little of what is free, for a program that runs for long beside others. To be called before there are other threads. Does nothing where the system's allocator is not glibc's,
/// and nothing where somebody has set it up by the environment.
pub fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let is_of_the_allocator = |name: &std::ffi::OsStr| {
            let name = name.as_encoded_bytes();
            name.starts_with(b"MALLOC_") || name == b"GLIBC_TUNABLES"
        };
        if std::env::vars_os().any(|(name, _)| is_of_the_allocator(&name)) {
            return;
        }
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        let arenas = i32::try_from(processors.max(2)).unwrap_or(i32::MAX);
        for (what, value) in [
            (libc::M_MMAP_THRESHOLD, LARGE),
            (libc::M_TRIM_THRESHOLD, FREE),
            (libc::M_ARENA_MAX, arenas),
        ] {
            // SAFETY: takes two numbers, and changes nothing but how much is kept from now on. It refuses what it does not know.
            unsafe { libc::mallopt(what, value) };
        }
    }
}
