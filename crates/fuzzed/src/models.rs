//! Files of training runs.

use crate::{check_reported, file};
use train::Error;
use train::model::Parameter;
use train::private::{Checkpoint, SavedModel};

/// Reads the bytes as a checkpoint, and as a model, of a small layout.
///
/// # Panics
/// When a reader does, or what was read cannot be written and read again.
pub fn checkpoint(bytes: &[u8]) {
    let (_folder, path) = file("run.checkpoint", bytes);
    let part = |name: &str, shape: Vec<usize>, start| Parameter {
        name: name.to_owned(),
        shape,
        start,
    };
    let layout = [part("weight", vec![4], 0), part("bias", vec![1], 4)];
    let reported = |outcome: Result<(), Error>| {
        if let Err(error) = outcome {
            check_reported(&error);
        }
    };
    reported(Checkpoint::notes(&path).map(drop));
    reported(SavedModel::notes(&path).map(drop));
    reported(SavedModel::read(&layout, &path).map(drop));
    match Checkpoint::read(&layout, &path) {
        Err(error) => check_reported(&error),
        Ok(checkpoint) => {
            let taken = checkpoint.steps_taken();
            let again = path.with_extension("again");
            checkpoint
                .write(&layout, &again)
                .expect("what was read can be written");
            let read = Checkpoint::read(&layout, &again).expect("what was written can be read");
            assert_eq!((read.steps_taken(), read.plan()), (taken, checkpoint.plan()));
        }
    }
}
