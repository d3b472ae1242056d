//! What a burst of work took goes back to the system when it is over.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::sync::Barrier;

const MIB: usize = 1 << 20;
const THREADS: usize = 8;

/// Bytes of this process that no file backs.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kibibytes = line.unwrap().trim().strip_suffix(" kB").unwrap();
    kibibytes.trim().parse::<usize>().unwrap() << 10
}

/// Threads that had blocks as those of a password and of a large text, and wait for more work. Without being told, the allocator keeps more than ten megabytes for each of them.
#[test]
fn what_threads_had_is_not_kept() {
    device::give_memory_back();
    let before = resident();
    let (done, measured) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for size in [19 * MIB, 12 * MIB] {
                    assert_eq!(std::hint::black_box(vec![1_u8; size]).len(), size);
                }
                done.wait();
                measured.wait();
            });
        }
        done.wait();
        let kept = resident().saturating_sub(before);
        measured.wait();
        assert!(kept < THREADS * MIB, "{} MiB are kept", kept / MIB);
    });
}
