//! The programs in the folder `examples` run to their end.

macro_rules! runs {
    ($($name:ident: $path:literal),* $(,)?) => {$(
        #[path = $path]
        #[allow(dead_code, unreachable_pub)]
        mod $name;

        #[test]
        fn $name() {
            $name::main().unwrap();
        }
    )*};
}

runs! {
    count: "../../../examples/count.rs",
    classifier: "../../../examples/classifier.rs",
    composition: "../../../examples/composition.rs",
    question: "../../../examples/question.rs",
    audit: "../../../examples/audit.rs",
}

/// What is in the folder is what is run.
#[test]
fn every_example_is_run() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".rs"))
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "audit.rs",
            "classifier.rs",
            "composition.rs",
            "count.rs",
            "question.rs"
        ]
    );
}
