//! Memory that runs out.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A device has no room for what was asked for. Kernels cannot fail one by one, so work ends here at once, and is heard by [`or_out_of_memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Bytes that were asked for.
    pub asked: usize,
    /// Bytes that were free.
    pub free: usize,
}

impl OutOfMemory {
    /// Ends the work that needed it.
    pub(crate) fn end(self) -> ! {
        // Without the message of a panic: nothing is wrong with the program.
        resume_unwind(Box::new(self))
    }
}

/// Work on a device that may have too little room for it. What the work left half done holds nothing that can be believed.
///
/// ```
/// assert_eq!(device::or_out_of_memory(|| 7), Ok(7));
/// ```
///
/// # Errors
/// Where the device had no room.
pub fn or_out_of_memory<T>(work: impl FnOnce() -> T) -> Result<T, OutOfMemory> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| match panic.downcast::<OutOfMemory>() {
        Ok(out) => *out,
        Err(other) => resume_unwind(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_out_is_an_error_and_all_else_goes_on() {
        let out = OutOfMemory { asked: 9, free: 4 };
        assert_eq!(or_out_of_memory(|| -> u8 { out.end() }), Err(out));
        let other = catch_unwind(|| or_out_of_memory(|| -> u8 { resume_unwind(Box::new("else")) }));
        assert_eq!(*other.unwrap_err().downcast::<&str>().unwrap(), "else");
    }
}
