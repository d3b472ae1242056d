//! Files that are written whole or not at all.

use files::{Readable, Whole};
use std::fs;
use std::io::{Error, ErrorKind};

#[test]
fn a_failure_leaves_the_old_file_and_no_litter() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report");
    let file = Whole::at(&path, Readable::AsBefore);
    file.write(|file| file.write_all(b"old")).unwrap();
    let failed = file.write(|file| {
        file.write_all(b"the first half of something new")?;
        Err(Error::from(ErrorKind::StorageFull))
    });
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    let names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["report"]);
}

#[test]
fn many_writers_leave_one_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head");
    std::thread::scope(|scope| {
        for writer in 0..8u8 {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..20 {
                    let file = Whole::at(path, Readable::ByOwner).or_the_old_one();
                    file.write(|file| file.write_all(&[writer; 5000])).unwrap();
                }
            });
        }
    });
    let written = fs::read(&path).unwrap();
    assert_eq!(written.len(), 5000);
    assert!(written.iter().all(|byte| *byte == written[0]));
}
