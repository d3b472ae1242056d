use super::*;
use crate::accounts::{NewAccount, Role};
use sql::Catalog;

const CATALOG: &str = r#"
name = "town"
[unit]
whose = "person"
neighbors = "add_remove"
[budget]
epsilon = 10
ledger = "town.ledger"
[limits]
groups = 1
rows_per_group = 1
[tables.people]
source = "people.csv"
unit = "person_id"
rows_per_unit = 1
[tables.people.columns]
person_id = { kind = "int", nullable = false }
"#;

async fn service(folder: &std::path::Path) -> Arc<Service> {
    std::fs::write(folder.join("people.csv"), "person_id\n1\n2\n3\n").unwrap();
    let dataset = Dataset::new(Catalog::parse(CATALOG, folder).unwrap());
    let settings = Settings {
        schedule: Schedule::off(),
        ..Settings::default()
    };
    Service::start(dataset, settings).await.unwrap().0
}

async fn signed_in(service: &Service, name: &str) -> Identity {
    let new = NewAccount::new(name, Role::Analyst);
    let token = service.on_ledger(move |store| {
        accounts::add(store, "test", &new)?;
        accounts::add_token(store, "test", &new.name, "default", None)
    });
    let token = token.await.unwrap();
    service.sign_in_with_token(token.reveal()).await.unwrap()
}

fn question(sql: &str) -> Question {
    Question {
        epsilon: Some("0.1".to_owned()),
        ..Question::new(sql)
    }
}

/// What an analyst's own SQL makes of released values takes memory: of one account one question does so at a
/// time, in however many spellings it is asked, and nobody else waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn an_account_computes_with_released_values_for_one_question_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let service = service(folder.path()).await;
    let (ann, ben) = (signed_in(&service, "ann").await, signed_in(&service, "ben").await);
    let plain = question("SELECT COUNT(*) AS n FROM people");
    assert!(!service.ask(&ann, &plain, None).await.unwrap().repeated);
    let made = |spelling: usize| {
        question(&format!(
            "SELECT COUNT(*) AS n, repeat('x', 1000) AS x FROM people -- {spelling}"
        ))
    };
    let held = service.computing.turn("ann", 1, None).await.unwrap();
    let asked: Vec<_> = (0..3)
        .map(|spelling| {
            let (service, ann, made) = (Arc::clone(&service), ann.clone(), made(spelling));
            tokio::spawn(async move { service.ask(&ann, &made, None).await })
        })
        .collect();
    while service.computing.waiting() < asked.len() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // What computes nothing does not wait, and nobody else does.
    assert!(
        service
            .ask(&ann, &question("SELECT COUNT(*) AS m FROM people"), None)
            .await
            .unwrap()
            .repeated
    );
    assert!(service.ask(&ben, &made(100), None).await.unwrap().repeated);
    assert!(asked.iter().all(|asked| !asked.is_finished()));
    drop(held);
    for asked in asked {
        assert!(asked.await.unwrap().unwrap().repeated);
    }
    assert_eq!(service.computing.waiting(), 0);
}
