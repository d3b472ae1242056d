//! What the page shows a second curator of a catalog before they agree to it.

use crate::common::Running;
use crate::curl::Browser;
use server::accounts::Role;
use server::governance::{self, Proposal};

#[test]
fn nobody_approves_what_they_cannot_read() {
    let running = Running::start();
    let text = std::fs::read_to_string(running.path().join("deniable.toml")).unwrap();
    let (carol, dan) = (
        running.account("carol", Role::Curator),
        running.account("dan", Role::Curator),
    );
    let in_force = text.clone();
    let done = running.dataset.with_ledger(move |store| {
        governance::take_over(store, "test", &in_force).unwrap();
        // As a version that did not keep texts wrote it.
        let later = in_force.replace(
            "epsilon = 1000",
            "epsilon = 3000 # was postgres://u:thesecret@h/d",
        );
        let made = governance::propose(store, "carol", &later).unwrap();
        let unread = Proposal {
            digest: "0".repeat(64),
            ..made
        };
        let body = serde_json::to_string(&unread).unwrap();
        store.administer(|administration| administration.keep("proposal", &unread.digest, &body))?;
        Ok(())
    });
    running.runtime.block_on(done).unwrap();
    let port = running.addresses.curators.unwrap().port();
    let browser = Browser::at(&running, port);
    browser.sign_in("dan", &dan);
    let page = browser.get("/catalog").body;
    let sections: Vec<&str> = page.split("<section class=\"declared\">").skip(1).collect();
    assert_eq!(sections.len(), 2, "{page}");
    let (unread, read): (Vec<&str>, Vec<&str>) = sections
        .into_iter()
        .partition(|section| section.contains(&"0".repeat(64)));
    assert!(
        read[0].contains(">Approve<") && read[0].contains("epsilon = 3000"),
        "{}",
        read[0]
    );
    assert!(
        read[0].contains("postgres://u:…@h/d") && !page.contains("thesecret"),
        "{page}"
    );
    assert!(
        !unread[0].contains(">Approve<") && unread[0].contains("Its text was not kept"),
        "{}",
        unread[0]
    );

    // Sending the form nevertheless, or asking over HTTP, is refused.
    let digest = "0".repeat(64);
    let refused = browser.post("/catalog/approve", &[("digest", &digest)]);
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(
        refused.body.contains("role=\"alert\"") && refused.body.contains("was not kept, so nobody can read"),
        "{}",
        refused.body
    );
    let path = format!("/v1/proposals/{digest}/approve");
    let (status, body) = running.curl_curator(Some(&dan), &path, &["--request", "POST"]);
    assert!(status == 400 && body.contains("was not kept"), "{status} {body}");
    let approved = running.on(|store| {
        let kept = governance::proposals(store).unwrap();
        Ok(kept.into_iter().any(|proposal| proposal.approved_by.is_some()))
    });
    assert!(!approved);

    // Marks that move what is seen are seen themselves.
    let other = Browser::at(&running, port);
    other.sign_in("carol", &carol);
    let moved = text.replace("epsilon = 1000", "epsilon = 2000 # \u{202e}0001\u{202c}");
    let checked = other.post("/catalog/check", &[("catalog", &moved)]).body;
    let difference = checked
        .split("<pre class=\"diff\">")
        .nth(1)
        .unwrap()
        .split("</pre>")
        .next()
        .unwrap();
    assert!(
        difference.contains("<mark class=\"escape\">U+202E</mark>0001"),
        "{difference}"
    );
    assert!(!difference.contains('\u{202e}'), "{difference}");
}
