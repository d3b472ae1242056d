//! The pages of synthetic rows and of models: made by a curator, taken along by analysts, fitted by whoever pays;
//! without script.

use crate::common::Running;
use crate::curl::Browser;
use crate::with_password;
use server::accounts::Role;

fn contains(body: &str, words: &[&str]) {
    for word in words {
        assert!(body.contains(word), "{word}: {body}");
    }
    for inline in [" style=", "<style", "<script>"] {
        assert!(!body.contains(inline), "{inline}");
    }
}

#[test]
fn rows_are_explained_made_and_taken_along_on_pages() {
    let running = Running::start();
    with_password(&running, "ann", Role::Analyst);
    with_password(&running, "carol", Role::Curator);
    with_password(&running, "audrey", Role::Auditor);
    let ann = Browser::of_analysts(&running);
    let port = running.addresses.curators.unwrap().port();
    let (carol, audrey) = (Browser::at(&running, port), Browser::at(&running, port));
    for (browser, name) in [(&ann, "ann"), (&carol, "carol"), (&audrey, "audrey")] {
        assert_eq!(browser.get("/synthetic").status, 303, "{name}");
        assert_eq!(browser.sign_in(name, crate::curl::PASSWORD).status, 303);
        let listed = browser.get("/synthetic");
        assert_eq!(listed.status, 200);
        contains(&listed.body, &["There are none yet"]);
    }
    contains(
        &carol.get("/synthetic").body,
        &["Make the rows", "<option value=\"people\">people</option>"],
    );
    assert!(!audrey.get("/synthetic").body.contains("Make the rows"));
    assert_eq!(ann.get("/synthetic/1").status, 404);

    // Explained, refused and made: by a curator alone, from our own page.
    let form = |act, rows| {
        [
            ("table", "people"),
            ("epsilon", "5"),
            ("delta", "1e-9"),
            ("columns", "age, region, member"),
            ("workload", "age,region\r\n"),
            ("rows", rows),
            ("act", act),
        ]
    };
    let explained = carol.post("/synthetic", &form("explain", "300"));
    assert_eq!(explained.status, 200);
    contains(&explained.body, &["cost: ε = 5", "Nothing was spent"]);
    for rows in ["many", "999999999"] {
        let refused = carol.post("/synthetic", &form("make", rows));
        assert!((400..500).contains(&refused.status), "{}", refused.status);
        contains(&refused.body, &["role=\"alert\""]);
    }
    assert_eq!(audrey.post("/synthetic", &form("make", "300")).status, 403);
    assert_eq!(ann.post("/synthetic", &form("make", "300")).status, 405);
    let elsewhere = carol.post_from("/synthetic", &form("make", "300"), "https://evil.example", &[]);
    assert_eq!(elsewhere.status, 403);
    assert_eq!(running.charges(), 0);
    for _ in 0..2 {
        let made = carol.post("/synthetic", &form("make", "300"));
        assert_eq!(
            (made.status, made.header("location")),
            (303, Some("/synthetic")),
            "{}",
            made.body
        );
    }
    assert_eq!(running.charges(), 1);

    // Taken along.
    let id = running
        .on(|store| Ok(store.charges()?))
        .first()
        .map(|charge| charge.number)
        .unwrap();
    let address = format!("/synthetic/{id}");
    contains(
        &ann.get("/synthetic").body,
        &[&format!("href=\"{address}\""), "carol"],
    );
    let page = ann.get(&address);
    assert_eq!(page.status, 200, "{}", page.body);
    contains(
        &page.body,
        &[
            "Synthetic rows of <bdi>people</bdi>",
            "What the rows are good for",
            "What was measured",
            "The first rows",
            "<svg",
        ],
    );
    for (file, name, begins) in [
        ("csv", "csv", "age,region,member\n"),
        ("parquet", "parquet", "PAR1"),
        ("json", "json", "{"),
    ] {
        let sent = ann.get(&format!("{address}/file/{file}"));
        assert_eq!(sent.status, 200, "{file}: {}", sent.body);
        let disposition = format!("attachment; filename=\"synthetic-{id}.{name}\"");
        assert_eq!(sent.header("content-disposition"), Some(disposition.as_str()));
        assert!(sent.body.starts_with(begins), "{file}: {}", sent.body);
    }
    assert_eq!(ann.get(&format!("{address}/file/receipt")).status, 200);
    assert_eq!(ann.get(&format!("{address}/file/exe")).status, 404);
    assert_eq!(running.charges(), 1);
}

#[test]
fn a_model_is_explained_and_fitted_on_a_page() {
    let running = Running::start();
    with_password(&running, "ann", Role::Analyst);
    let ann = Browser::of_analysts(&running);
    assert_eq!(ann.get("/models").status, 303);
    assert_eq!(ann.sign_in("ann", crate::curl::PASSWORD).status, 303);
    contains(
        &ann.get("/models").body,
        &["Formula, as income ~ age + education"],
    );
    let form = |formula, act| {
        [
            ("formula", formula),
            ("table", "people"),
            ("family", "linear"),
            ("epsilon", "20"),
            ("act", act),
        ]
    };
    let explained = ann.post("/models", &form("age ~ member", "explain"));
    assert_eq!(explained.status, 200, "{}", explained.body);
    contains(&explained.body, &["Nothing was spent", "SELECT"]);
    let refused = ann.post("/models", &form("age ~ <script>alert(1)</script>", "fit"));
    assert!((400..500).contains(&refused.status));
    contains(&refused.body, &["role=\"alert\"", "&lt;script&gt;"]);
    assert_eq!(running.charges(), 0);
    let fitted = ann.post("/models", &form("age ~ member", "fit"));
    assert_eq!(fitted.status, 200, "{}", fitted.body);
    contains(
        &fitted.body,
        &[
            "Charged: ",
            "of it noise",
            "(Intercept)",
            "Means of the groups",
            "R²",
        ],
    );
    let again = ann.post("/models", &form("age ~ member", "fit"));
    contains(&again.body, &["Free: this was measured before"]);
    assert_eq!(running.charges(), 1);
}
