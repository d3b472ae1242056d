use super::*;
use accounting::Neighbors;

fn key(folder: &tempfile::TempDir) -> SigningKey {
    SigningKey::kept_at(&folder.path().join("ledger.key")).unwrap()
}

fn receipt(key: &SigningKey) -> Receipt {
    let guarantee = Guarantee::new(
        Promise::Approximate(Epsilon::parse("0.5").unwrap(), Delta::parse("1e-6").unwrap()),
        PrivacyUnit::new("person", Neighbors::AddRemove),
    );
    let released = Released {
        dataset: "clinic",
        charge: 7,
        guarantee: &guarantee,
        sql_sha256: sha256_of("SELECT 1"),
        release_sha256: sha256_of("release"),
        table_sha256: sha256_of("table"),
    };
    Receipt::new(released, sha256_of("first"), sha256_of("entry"), key)
}

#[test]
fn what_was_signed_is_signed_and_the_same_again() {
    let folder = tempfile::tempdir().unwrap();
    let key = key(&folder);
    let signed = receipt(&key);
    assert!(signed.is_signed());
    let text = serde_json::to_string(&signed).unwrap();
    assert_eq!(serde_json::from_str::<Receipt>(&text).unwrap(), signed);
    // The key is kept, and signatures have no chance in them.
    let again = SigningKey::kept_at(&folder.path().join("ledger.key")).unwrap();
    assert_eq!(receipt(&again), signed);
}

type Change = fn(&mut Receipt);

#[test]
fn every_field_is_signed() {
    let folder = tempfile::tempdir().unwrap();
    let signed = receipt(&key(&folder));
    let changes: [(&str, Change); 15] = [
        ("format", |it| it.format = 2),
        ("dataset", |it| it.dataset.push('s')),
        ("ledger", |it| it.ledger = sha256_of("other")),
        ("number", |it| it.entry.number += 1),
        ("hash", |it| it.entry.hash = sha256_of("other")),
        ("sql", |it| it.sql_sha256 = sha256_of("other")),
        ("epsilon", |it| it.epsilon = Some(Epsilon::parse("0.1").unwrap())),
        ("no epsilon", |it| it.epsilon = None),
        ("delta", |it| it.delta = Delta::ZERO),
        ("rho", |it| it.rho = Some(Rho::parse("1").unwrap())),
        ("whose", |it| it.unit.whose = "row".to_owned()),
        ("neighbors", |it| it.unit.neighbors = Neighbors::ChangeOne),
        ("release", |it| it.release_sha256 = sha256_of("other")),
        ("table", |it| it.table_sha256 = sha256_of("other")),
        ("signature", |it| it.signature = "0".repeat(128)),
    ];
    for (name, change) in changes {
        let mut changed = signed.clone();
        change(&mut changed);
        assert!(changed != signed && !changed.is_signed(), "{name}");
    }
}

#[test]
fn another_key_is_another_signature() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (signed, key) = (receipt(&key(&one)), key(&other));
    let mut claimed = signed.clone();
    claimed.key = key.public().to_string();
    assert!(!claimed.is_signed());
    // A key in another spelling would be the same key with another signature.
    let mut loud = signed.clone();
    loud.key = loud.key.to_uppercase();
    assert!(!loud.is_signed());
}

#[cfg(unix)]
#[test]
fn the_key_is_its_owners_alone_and_is_never_printed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let made = key(&folder);
    let path = folder.path().join("ledger.key");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(format!("{made:?}"), "SigningKey(..)");
    let secret = std::fs::read_to_string(&path).unwrap();
    let secret = secret.split_whitespace().nth(1).unwrap();
    let shown = format!("{made:?} {} {:?}", made.public(), receipt(&made));
    assert!(!shown.contains(secret));
    std::fs::write(&path, "no key").unwrap();
    let error = SigningKey::kept_at(&path).unwrap_err().to_string();
    assert!(error.contains("\nhint: ") && !error.contains("no key"), "{error}");
}

/// RFC 8032, section 7.1, test 2.
#[test]
fn signatures_are_those_of_the_standard() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let seed = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb";
    std::fs::write(&path, format!("deniable-receipt-key-ed25519 {seed}\n")).unwrap();
    let key = SigningKey::kept_at(&path).unwrap();
    assert_eq!(
        key.public().to_string(),
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    );
    assert_eq!(
        key.sign(&[0x72]),
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    );
}
