//! The pages of planned releases: predicted errors before, tables with whiskers after, and downloads; without
//! script.

use crate::common::{Running, catalog, people, quick};
use crate::curl::Browser;
use crate::with_password;
use server::accounts::Role;

const RELEASE: &str = "
[releases.census]
table = \"people\"
up_to = 2
epsilon = 1
delta = 1e-9
[releases.census.attributes]
region = { hierarchy = \"regions\", levels = [\"label\", \"region\"] }
age = { bins = [0, 25, 50, 75, 101] }
member = {}
";

#[test]
fn a_release_is_looked_at_made_and_read_on_pages() {
    let running = Running::with(quick(), &people(&[]), &(catalog() + RELEASE));
    with_password(&running, "ann", Role::Analyst);
    with_password(&running, "carol", Role::Curator);
    with_password(&running, "audrey", Role::Auditor);
    let ann = Browser::of_analysts(&running);
    let port = running.addresses.curators.unwrap().port();
    let (carol, audrey) = (Browser::at(&running, port), Browser::at(&running, port));
    for (browser, name) in [(&ann, "ann"), (&carol, "carol"), (&audrey, "audrey")] {
        assert_eq!(browser.get("/releases").status, 303, "{name}");
        assert_eq!(browser.sign_in(name, crate::curl::PASSWORD).status, 303);
    }
    let contains = |body: &str, words: &[&str]| {
        for word in words {
            assert!(body.contains(word), "{word}: {body}");
        }
        for inline in [" style=", "<style", "<script>"] {
            assert!(!body.contains(inline), "{inline}");
        }
    };

    // Before.
    for browser in [&ann, &carol, &audrey] {
        let listed = browser.get("/releases");
        assert_eq!(listed.status, 200);
        contains(
            &listed.body,
            &["href=\"/releases/census\"", "not made yet", "region &lt; label"],
        );
        let planned = browser.get("/releases/census");
        assert_eq!(planned.status, 200, "{}", planned.body);
        contains(
            &planned.body,
            &[
                "<svg",
                "<title>age × member: ",
                "Where the budget goes",
                "label × age",
            ],
        );
        assert_eq!(browser.get("/releases/nobody").status, 404);
    }
    let dearer = ann.get("/releases/census?epsilon=&error=2%25");
    contains(&dearer.body, &["is the smallest, to three digits"]);
    let refused = ann.get("/releases/census?epsilon=%3Cb%3E&error=");
    assert_eq!(refused.status, 400);
    contains(&refused.body, &["role=\"alert\"", "&lt;b&gt;"]);
    assert_eq!(ann.get("/releases/census/file/csv?by=age").status, 404);
    assert_eq!(running.charges(), 0);

    // Made: by nobody but a curator, from our own page.
    let make = |browser: &Browser<'_>| browser.post("/releases", &[("name", "census")]);
    contains(&carol.get("/releases/census").body, &["Make the release"]);
    assert!(!audrey.get("/releases/census").body.contains("Make the release"));
    assert_eq!(make(&audrey).status, 403);
    assert_eq!(make(&ann).status, 405);
    let elsewhere = carol.post_from("/releases", &[("name", "census")], "https://evil.example", &[]);
    assert_eq!(elsewhere.status, 403);
    assert_eq!(running.charges(), 0);
    for _ in 0..2 {
        let made = make(&carol);
        assert_eq!(
            (made.status, made.header("location")),
            (303, Some("/releases/census")),
            "{}",
            made.body
        );
    }
    assert_eq!(running.charges(), 1);
    let made = carol.get("/releases/census").body;
    contains(&made, &["Made, under charge"]);
    assert!(!made.contains("Make the release"));

    // Read.
    contains(&ann.get("/releases").body, &["made</span>, charge "]);
    let page = ann.get("/releases/census");
    assert_eq!(page.status, 200);
    contains(
        &page.body,
        &[
            "Rows by <bdi>label</bdi>",
            "95 % interval",
            "class=\"deniable-figure bar\"",
            "href=\"/releases/census?by=region%2Cage\"",
            "How it was planned",
            "Reading them is free",
        ],
    );
    let crossed = ann.get("/releases/census?by=age,region");
    contains(&crossed.body, &["25 to 49", "north"]);
    let refused = ann.get("/releases/census?by=weight");
    contains(&refused.body, &["role=\"alert\"", "weight"]);
    for (path, name, begins) in [
        (
            "csv?by=label",
            "census-label.csv",
            "# release census of people: ε = ",
        ),
        ("json?by=region,age", "census-region+age.json", "{"),
        ("csv?by=total", "census-total.csv", "# release"),
        ("everything", "census.json", "{\"release\":\"census\""),
        ("receipt", "census-receipt.json", "{"),
        ("parquet?by=age", "census-age.parquet", "PAR1"),
    ] {
        let file = ann.get(&format!("/releases/census/file/{path}"));
        assert_eq!(file.status, 200, "{path}: {}", file.body);
        let disposition = format!("attachment; filename=\"{name}\"");
        assert_eq!(file.header("content-disposition"), Some(disposition.as_str()));
        assert!(file.body.starts_with(begins), "{path}: {}", file.body);
    }
    assert_eq!(ann.get("/releases/census/file/exe?by=age").status, 404);
    assert_eq!(running.charges(), 1);

    // Who has paid finds it in their history.
    let asks = Browser::of_analysts(&running);
    assert_eq!(asks.sign_in("carol", crate::curl::PASSWORD).status, 303);
    contains(&asks.get("/history").body, &["href=\"/releases/census\""]);
}

/// What the catalog says is text, whatever it holds.
#[test]
fn names_of_values_are_text() {
    let hostile = catalog().replace("\"north\"", "\"<script>alert(1)</script>\"")
        + "
[releases.census]
table = \"people\"
up_to = 1
epsilon = 1
delta = 1e-9
[releases.census.attributes]
\"<i>\" = { column = \"region\" }
";
    let running = Running::with(quick(), &people(&[]), &hostile);
    with_password(&running, "carol", Role::Curator);
    let port = running.addresses.curators.unwrap().port();
    let (keeps, reads) = (Browser::at(&running, port), Browser::of_analysts(&running));
    for browser in [&keeps, &reads] {
        assert_eq!(browser.sign_in("carol", crate::curl::PASSWORD).status, 303);
    }
    let mut pages = vec![keeps.get("/releases").body, keeps.get("/releases/census").body];
    assert_eq!(keeps.post("/releases", &[("name", "census")]).status, 303);
    pages.push(reads.get("/releases/census").body);
    for page in &pages {
        assert!(!page.contains("<i>") && !page.contains("<script>alert"), "{page}");
        assert!(page.contains("&lt;i&gt;"), "{page}");
    }
    assert!(pages[2].contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
}
