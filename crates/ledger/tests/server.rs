//! What happens to a ledger on a server, and not to a file.

mod places;

use ledger::{Place, Store};
use mechanism::Refusal;
use places::{Fresh, charge, pure, pure_rules};

/// A server that was started anew, or a connection that somebody cut.
#[test]
fn a_lost_connection_is_made_anew() {
    let fresh = places::postgres();
    let Fresh::Schema {
        place: Place::Postgres(address),
        schema,
        ..
    } = &fresh
    else {
        unreachable!()
    };
    let place = Place::Postgres(format!("{address}&application_name={schema}"));
    let mut store = Store::open(&place, &pure_rules("1")).unwrap();
    for expected in 2..5 {
        fresh
            .as_owner(&format!(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = '{schema}'"
            ))
            .unwrap();
        assert_eq!(
            store.charge("ann", "q", charge(pure("0.1"))).unwrap().number,
            expected
        );
    }
    assert_eq!(store.verify().unwrap().charges, 3);
}

/// A connection that is lost during the commit: nobody knows, so nothing may run.
#[test]
fn a_commit_that_nobody_confirms_gives_no_receipt() {
    let fresh = places::postgres();
    let mut store = Store::open(fresh.place(), &pure_rules("1")).unwrap();
    store.charge("ann", "q", charge(pure("0.1"))).unwrap();
    fresh
        .as_owner(
            "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
            CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON deniable_entries
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cut()",
        )
        .unwrap();
    let refusal = store.charge("ann", "q", charge(pure("0.1"))).unwrap_err();
    let Refusal::NotRecorded(what) = &refusal else {
        panic!("{refusal}")
    };
    assert!(what.contains("did not confirm"), "{what}");
    fresh.as_owner("DROP TRIGGER cut ON deniable_entries").unwrap();
    assert_eq!(store.charge("ann", "q", charge(pure("0.1"))).unwrap().number, 3);
    assert_eq!(store.verify().unwrap().charges, 2);
}

/// The user that charges need not be able to change what was charged.
#[test]
fn a_user_without_the_right_to_change_entries_can_charge() {
    let fresh = places::postgres();
    let Fresh::Schema { address, schema, .. } = &fresh else {
        unreachable!()
    };
    drop(Store::open(fresh.place(), &pure_rules("1")).unwrap());
    fresh
        .as_owner(&format!(
            "CREATE ROLE {schema}_clerk LOGIN PASSWORD 'clerk'; GRANT USAGE ON SCHEMA {schema} TO {schema}_clerk;
            GRANT SELECT, INSERT ON deniable_entries TO {schema}_clerk;
            GRANT SELECT, INSERT, UPDATE ON deniable_snapshot TO {schema}_clerk"
        ))
        .unwrap();
    let (_, server) = address.split_once('@').unwrap();
    let place = Place::Postgres(format!(
        "postgres://{schema}_clerk:clerk@{server}?options=-csearch_path%3D{schema}"
    ));
    let mut store = Store::open(&place, &pure_rules("1")).unwrap();
    let receipt = store.charge("ann", "q", charge(pure("0.1"))).unwrap();
    store.record_answer(receipt.number, "q", "ann", "1").unwrap();
    store.verify().unwrap();
    drop(store);
    fresh
        .as_owner(&format!("DROP OWNED BY {schema}_clerk; DROP ROLE {schema}_clerk"))
        .unwrap();
}

#[test]
fn messages_hold_no_address() {
    for address in [
        "postgres://curator:sesame@127.0.0.1:1/health",
        "postgres://curator:sesame@127.0.0.1:notaport/health",
        "postgres://curator:sesame@no.such.host.invalid/health",
    ] {
        let place = Place::named(address);
        let refusal = Store::open(&place, &pure_rules("1")).unwrap_err();
        let said = format!("{refusal} {refusal:?} {place} {place:?}");
        for secret in ["sesame", "curator", "127.0.0.1", "invalid/", "health"] {
            assert!(!said.contains(secret), "{said}");
        }
        assert!(said.contains("hint: "));
    }
}
