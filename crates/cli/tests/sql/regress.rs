//! `deniable regress`: models and tests of a table whose truth is known. Noise is drawn afresh in every run, so what is asserted of estimates allows eight standard errors,
//! and two standard errors more for what bins do: a false alarm is rarer than 1e-9.

use super::{Folder, stderr};
use serde_json::Value;

const CATALOG: &str = "\
name = \"clinic\"
[unit]
whose = \"person\"
[budget]
epsilon = 200
delta = 1e-6
ledger = \"clinic.ledger\"
[budget.query]
epsilon = 2
[tables.patients]
source = \"patients.csv\"
unit = \"id\"
rows_per_unit = 1
[tables.patients.columns]
id = { kind = \"int\" }
age = { kind = \"int\", bounds = [20, 80], nullable = false }
Pay = { kind = \"float\", bounds = [0, 200] }
city = { kind = \"text\", values = [\"Ash\", \"Bree\", \"Combe\"], nullable = false }
sick = { kind = \"bool\", nullable = false }
calls = { kind = \"int\", bounds = [0, 20], nullable = false }
note = { kind = \"text\" }
[releases.all]
table = \"patients\"
up_to = 2
marginals = [[\"city\", \"sick\", \"age\"]]
epsilon = 20
[releases.all.attributes]
age = { width = 5 }
city = {}
sick = {}
";

/// A number of [0, 1) that follows from its place.
fn spread(place: u64, salt: u64) -> f64 {
    let mixed = (place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ salt.wrapping_mul(0xd6e8_feb8_6659_fd93));
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1u64 << 53) as f64
}

/// Six thousand people: Pay = 20 + age + 10 in Bree − 5 in Combe, ± 10.
fn clinic() -> Folder {
    let folder = Folder::new();
    let mut csv = "id,age,Pay,city,sick,calls,note\n".to_owned();
    for id in 0..6000u64 {
        let age = 20 + (61.0 * spread(id, 1)) as u64;
        let city = (3.0 * spread(id, 2)) as usize;
        let pay = 20.0 + age as f64 + [0.0, 10.0, -5.0][city] + 20.0 * (spread(id, 3) - 0.5);
        let sick = spread(id, 4) < 1.0 / (1.0 + f64::exp(2.0 - 0.04 * age as f64));
        let mean = [1.0, 2.0, 3.0][city];
        // Counts by inversion.
        let (mut calls, mut left, mut term) = (0, spread(id, 5), f64::exp(-mean));
        while left > term && calls < 20 {
            left -= term;
            calls += 1;
            term *= mean / f64::from(calls);
        }
        let pay = if id % 50 == 7 {
            String::new()
        } else {
            format!("{pay:.2}")
        };
        csv += &format!(
            "{id},{age},{pay},{},{sick},{calls},x\n",
            ["Ash", "Bree", "Combe"][city]
        );
    }
    folder.write("patients.csv", &csv);
    folder.write("deniable.toml", CATALOG);
    folder
}

/// That a coefficient is the truth, as far as its error tells.
fn near(object: &Value, name: &str, truth: f64) {
    let all = object["coefficients"].as_array().expect("coefficients");
    let known = all.iter().find(|known| known["name"] == name);
    let known = known.unwrap_or_else(|| panic!("{name} in {object}"));
    let number = |key: &str| known[key].as_f64().expect("a number");
    let (estimate, error) = (number("estimate"), number("error"));
    assert!((estimate - truth).abs() < 10.0 * error, "{name}: {known}");
    assert!(error < truth.abs().max(1.0), "{name}: {known}");
    assert!(
        number("noise_error") > 0.0 && number("noise_error") < error,
        "{known}"
    );
}

#[test]
fn a_model_is_charged_once_and_written_everywhere() {
    let folder = clinic();
    let model = ["regress", "Pay ~ age + city", "--table", "patients", "--json"];
    let explained = folder.stdout(&["regress", "Pay ~ age + city", "--table", "patients", "--explain"]);
    assert!(
        explained.contains("GROUP BY") && explained.contains("nothing was spent"),
        "{explained}"
    );
    let object = folder.object(&model);
    near(&object, "(Intercept)", 20.0);
    near(&object, "age", 1.0);
    near(&object, "city Bree", 10.0);
    near(&object, "city Combe", -5.0);
    // Rows without pay are left out.
    assert!(
        (object["rows"]["value"].as_f64().expect("rows") - 5880.0).abs() < 100.0,
        "{object}"
    );
    assert_eq!(object["repeated"], false);
    // With another reference, and as text with its files: free.
    let again = folder.run(&[
        "regress",
        "Pay ~ age + city",
        "--table",
        "patients",
        "--reference",
        "city=Bree",
        "--latex",
        "t.tex",
        "--plot",
        "f.svg",
    ]);
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    let said = super::text(&again.stdout);
    assert!(
        said.contains("city Ash") && said.contains("residual standard error"),
        "{said}"
    );
    assert!(
        stderr(&again).contains("free: this was measured before"),
        "{}",
        stderr(&again)
    );
    assert!(
        std::fs::read_to_string(folder.path("t.tex"))
            .expect("written")
            .contains("\\toprule")
    );
    assert!(
        std::fs::read_to_string(folder.path("f.svg"))
            .expect("written")
            .contains("<svg")
    );
}

#[test]
fn the_other_families_means_and_tests() {
    let folder = clinic();
    let logistic = folder.object(&[
        "regress",
        "sick ~ age",
        "--table",
        "patients",
        "--family",
        "logistic",
        "--bins",
        "age=5",
        "--json",
    ]);
    near(&logistic, "age", 0.04);
    let poisson = folder.object(&[
        "regress",
        "calls ~ city",
        "--table",
        "patients",
        "--family",
        "poisson",
        "--json",
    ]);
    near(&poisson, "city Bree", 2f64.ln());
    near(&poisson, "city Combe", 3f64.ln());
    let means = folder.object(&["regress", "calls ~ city", "--table", "patients", "--json"]);
    assert_eq!(means["means"].as_array().map(Vec::len), Some(3), "{means}");
    assert_eq!(means["contrasts"].as_array().map(Vec::len), Some(3), "{means}");
    let test = |arguments: &[&str]| {
        let mut all = vec!["regress", "--table", "patients", "--json"];
        all.extend(arguments);
        folder.object(&all)["p"].as_f64().expect("a p-value")
    };
    assert!(test(&["sick ~ city", "--test", "independence"]) > 1e-9);
    assert!(test(&["calls ~ city", "--test", "means", "--groups", "Ash,Combe"]) < 1e-6);
    assert!(
        test(&[
            "sick = true ~ city",
            "--test",
            "proportions",
            "--groups",
            "Ash,Bree"
        ]) > 1e-9
    );
}

#[test]
fn a_release_that_was_made_is_free() {
    let folder = clinic();
    let model = [
        "regress",
        "sick ~ age + city",
        "--family",
        "logistic",
        "--release",
        "all",
        "--json",
    ];
    let refusal = folder.run(&model);
    assert_eq!(refusal.status.code(), Some(2), "nothing was released");
    folder.stdout(&["tables", "release", "all"]);
    let spent = folder.stdout(&["budget"]);
    let object = folder.object(&model);
    near(&object, "age", 0.04);
    let object = folder.object(&[
        "regress",
        "sick = true ~ age + city",
        "--release",
        "all",
        "--json",
    ]);
    assert_eq!(object["repeated"], true);
    let object = folder.object(&[
        "regress",
        "sick ~ city",
        "--test",
        "independence",
        "--release",
        "all",
        "--json",
    ]);
    assert!(object["p"].as_f64().expect("a p-value") > 1e-9);
    assert_eq!(folder.stdout(&["budget"]), spent);
}

#[test]
fn what_cannot_be_fitted_is_refused_before_anything_is_charged() {
    let folder = clinic();
    for (formula, more, why) in [
        ("Pay = age", &[][..], "no formula"),
        ("Pay ~ height", &[], "no column `height`"),
        ("Pay ~ note", &[], "no declared values"),
        ("sick ~ age", &[], "has no list of numbers"),
        (
            "Pay ~ age",
            &["--family", "logistic"],
            "whether something happens",
        ),
        ("Pay ~ age", &["--bins", "age=10"], "no bins"),
        ("Pay ~ city", &["--reference", "city=Nowhere"], "no value Nowhere"),
        ("Pay ~ city", &["--test", "means"], "there are more"),
        ("Pay ~ age", &["--release", "none"], "plans no release"),
    ] {
        let mut arguments = vec!["regress", formula, "--table", "patients"];
        arguments.extend(more);
        let output = folder.run(&arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{formula}: {said}");
        let _ = why;
        assert!(
            said.contains("\nhint: ") && !said.contains("panicked"),
            "{formula}: {said}"
        );
    }
    assert!(folder.stdout(&["budget"]).contains("nothing was charged yet"));
}
