//! `cargo xtask deny`: licences, versions, bans and sources of all dependencies are those that deny.toml allows.
//!
//! cargo-deny reads the same file and does more (texts of licences, advisories), but takes minutes to build where it is not installed. This
//! reads `cargo metadata` and takes a second. What it does not know of the file it refuses, so that nothing in it is without effect.

mod license;

use crate::finding::{Finding, Outcome, outcome};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const FILE: &str = "deny.toml";

/// What deny.toml says.
#[derive(Debug, Default)]
struct Rules {
    targets: Vec<String>,
    licenses: BTreeSet<String>,
    registries: Vec<String>,
    /// Crates that only these may use directly.
    banned: BTreeMap<String, Vec<String>>,
    /// `name@version`, for versions beside the newest.
    skipped: BTreeSet<String>,
}

/// A crate among the dependencies.
#[derive(Clone, Debug)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// `None` for one of this workspace.
    source: Option<String>,
    /// The names of the crates that use it directly.
    users: BTreeSet<String>,
    /// Names of its dependencies that take any version.
    wildcards: Vec<String>,
}

impl Package {
    fn id(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

/// Reads deny.toml and the dependencies of the workspace at `root`, and compares them.
pub(crate) fn run(root: &Path) -> Outcome {
    let wrong = |what: String| {
        Finding::new(
            FILE,
            what,
            "cargo-deny's book says what it may hold; xtask/src/deny.rs what is read here",
        )
    };
    let text = std::fs::read_to_string(root.join(FILE)).map_err(|error| wrong(error.to_string()))?;
    let rules = rules(&text).map_err(wrong)?;
    let packages = read(root, &rules.targets).map_err(|what| {
        Finding::new(
            "Cargo.lock",
            what,
            "`cargo metadata --locked` must work: see what it says",
        )
    })?;
    check(&rules, &packages)
}

/// The rules in the text of deny.toml. A key that is not read here is an error.
fn rules(text: &str) -> Result<Rules, String> {
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| error.message().to_owned())?;
    let mut rules = Rules::default();
    for (section, entries) in &table {
        let entries = entries
            .as_table()
            .ok_or_else(|| format!("`{section}` is no table"))?;
        for (key, value) in entries {
            match (section.as_str(), key.as_str()) {
                ("graph", "targets") => rules.targets = texts(value)?,
                ("licenses", "allow") => rules.licenses = texts(value)?.into_iter().collect(),
                ("sources", "allow-registry") => rules.registries = texts(value)?,
                ("bans", "deny") => {
                    for entry in list(value)? {
                        let wrappers = entry.get("wrappers").map_or(Ok(Vec::new()), texts)?;
                        rules.banned.insert(crate_of(entry)?, wrappers);
                    }
                }
                ("bans", "skip") => {
                    for entry in list(value)? {
                        rules.skipped.insert(crate_of(entry)?);
                    }
                }
                // What is checked in any case, if it says that it is to be.
                ("bans", "multiple-versions" | "wildcards")
                | ("sources", "unknown-registry" | "unknown-git")
                    if value.as_str() == Some("deny") => {}
                ("bans", "allow-wildcard-paths") if value.as_bool() == Some(true) => {}
                // For cargo-deny alone: it reads texts of licences and knows advisories.
                ("licenses", "confidence-threshold") | ("advisories", _) => {}
                _ => return Err(format!("`{key} = {value}` in [{section}] is not understood")),
            }
        }
    }
    if rules.targets.is_empty() || rules.licenses.is_empty() || rules.registries.is_empty() {
        return Err("it names no targets, no licences or no registry".to_owned());
    }
    Ok(rules)
}

fn list(value: &toml::Value) -> Result<&Vec<toml::Value>, String> {
    value.as_array().ok_or_else(|| format!("`{value}` is no list"))
}

fn texts(value: &toml::Value) -> Result<Vec<String>, String> {
    let text = |entry: &toml::Value| {
        entry
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| format!("`{entry}` is no text"))
    };
    list(value)?.iter().map(text).collect()
}

/// The crate of an entry, which gives a reason.
fn crate_of(entry: &toml::Value) -> Result<String, String> {
    let text = |key: &str| entry.get(key).and_then(toml::Value::as_str);
    match (text("crate"), text("reason")) {
        (Some(name), Some(_)) => Ok(name.to_owned()),
        _ => Err(format!("`{entry}` names no crate, or gives no reason")),
    }
}

fn read(root: &Path, targets: &[String]) -> Result<Vec<Package>, String> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--locked", "--format-version", "1", "--manifest-path"])
        .arg(root.join("Cargo.toml"))
        .args(targets.iter().flat_map(|target| ["--filter-platform", target]))
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    let metadata =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    packages(&metadata).ok_or_else(|| "cargo metadata has an unknown form".to_owned())
}

/// The crates in cargo's JSON that something depends on, on one of the targets.
fn packages(metadata: &Value) -> Option<Vec<Package>> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut packages = BTreeMap::new();
    for package in metadata.get("packages")?.as_array()? {
        let dependencies = package.get("dependencies")?.as_array()?.iter();
        let any = dependencies.filter(|dependency| {
            let path = dependency.get("path").is_some_and(|path| !path.is_null());
            !path && text(dependency, "req").as_deref() == Some("*")
        });
        let read = Package {
            name: text(package, "name")?,
            version: text(package, "version")?,
            license: text(package, "license"),
            source: text(package, "source"),
            users: BTreeSet::new(),
            wildcards: any.filter_map(|dependency| text(dependency, "name")).collect(),
        };
        packages.insert(text(package, "id")?, read);
    }
    for node in metadata.get("resolve")?.get("nodes")?.as_array()? {
        let user = packages.get(&text(node, "id")?)?.name.clone();
        for used in node.get("dependencies")?.as_array()? {
            packages.get_mut(used.as_str()?)?.users.insert(user.clone());
        }
    }
    Some(packages.into_values().collect())
}

fn check(rules: &Rules, packages: &[Package]) -> Outcome {
    let mut findings = Vec::new();
    let foreign: Vec<&Package> = packages
        .iter()
        .filter(|package| package.source.is_some())
        .collect();
    if foreign.is_empty() {
        let hint = "a check that looks at nothing passes always: what does `cargo metadata` say?";
        findings.push(Finding::new("Cargo.lock", "there are no dependencies", hint));
    }
    for package in packages {
        findings.extend(license_of(rules, package));
        let registry = |source: &String| {
            let address = source.strip_prefix("registry+");
            address.is_some_and(|address| rules.registries.iter().any(|known| known == address))
        };
        if package.source.as_ref().is_some_and(|source| !registry(source)) {
            let hint = "take a published version of it";
            findings.push(Finding::new(
                package.id(),
                "comes from somewhere else than the registry",
                hint,
            ));
        }
        if let Some(wrappers) = rules.banned.get(&package.name) {
            for user in package.users.iter().filter(|user| !wrappers.contains(user)) {
                let hint = "do without it; deny.toml says why it is banned, and who may use it";
                findings.push(Finding::new(
                    user,
                    format!("uses `{}`, which is banned", package.name),
                    hint,
                ));
            }
            if package.users.is_empty() {
                findings.push(Finding::new(package.id(), "is banned", "do without it"));
            }
        }
        // Those of other people's manifests were published so.
        if package.source.is_none() && !package.wildcards.is_empty() {
            let what = format!("takes any version of {}", package.wildcards.join(", "));
            findings.push(Finding::new(
                &package.name,
                what,
                "name the version it was tested with",
            ));
        }
    }
    findings.extend(versions(rules, packages));
    outcome(findings, || {
        format!(
            "deny: {} crates of others, all of them with licences, versions and sources that deny.toml allows",
            foreign.len()
        )
    })
}

fn license_of(rules: &Rules, package: &Package) -> Option<Finding> {
    let hint = "choose another crate; or, if the licence asks for no more than a notice, add it to `allow` in deny.toml";
    let Some(license) = &package.license else {
        return Some(Finding::new(package.id(), "names no licence", hint));
    };
    match license::allows(license, &|id| rules.licenses.contains(id)) {
        Some(true) => None,
        Some(false) => Some(Finding::new(
            package.id(),
            format!("its licence, {license}, is not allowed"),
            hint,
        )),
        None => Some(Finding::new(
            package.id(),
            format!("its licence, {license}, is not understood"),
            hint,
        )),
    }
}

/// Crates in several versions, and versions that are skipped without need.
fn versions(rules: &Rules, packages: &[Package]) -> Vec<Finding> {
    let mut counted: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for package in packages
        .iter()
        .filter(|package| !rules.skipped.contains(&package.id()))
    {
        counted.entry(&package.name).or_default().push(package.id());
    }
    let mut findings: Vec<Finding> = counted
        .values()
        .filter(|ids| ids.len() > 1)
        .map(|ids| {
            let hint = "`cargo tree --invert NAME@VERSION` says who wants it: agree on one, or add the older to `skip` in deny.toml";
            Finding::new(&ids[0], format!("is there as {} too", ids[1..].join(" and ")), hint)
        })
        .collect();
    for id in &rules.skipped {
        let name = id.split('@').next().unwrap_or_default();
        let versions = packages.iter().filter(|package| package.name == name);
        if versions.clone().count() < 2 || !versions.clone().any(|package| package.id() == *id) {
            let hint = "take it off the list";
            findings.push(Finding::new(
                FILE,
                format!("`{id}` is skipped and not there twice"),
                hint,
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
        [graph]
        targets = ["x86_64-unknown-linux-gnu"]
        [licenses]
        allow = ["MIT", "Apache-2.0"]
        [bans]
        multiple-versions = "deny"
        deny = [{ crate = "rand", wrappers = ["engine"], reason = "a test" }, { crate = "openssl", reason = "a test" }]
        skip = [{ crate = "old@1.0.0", reason = "a test" }]
        [sources]
        unknown-git = "deny"
        allow-registry = ["https://registry"]
        [advisories]
        yanked = "deny"
    "#;

    fn package(name: &str, version: &str) -> Package {
        Package {
            name: name.into(),
            version: version.into(),
            license: Some("MIT OR Apache-2.0".into()),
            source: Some("registry+https://registry".into()),
            users: ["engine".to_owned()].into(),
            wildcards: Vec::new(),
        }
    }

    fn good() -> Vec<Package> {
        vec![
            package("old", "1.0.0"),
            package("old", "2.0.0"),
            package("rand", "1.0.0"),
        ]
    }

    /// What is found when this is added to a workspace in which all is well.
    fn caught(added: Package) -> String {
        let rules = rules(RULES).unwrap();
        check(&rules, &good()).unwrap();
        let mut packages = good();
        packages.push(added);
        check(&rules, &packages)
            .expect_err("the planted crate was not caught")
            .to_string()
    }

    #[test]
    fn a_licence_that_is_not_allowed_is_caught() {
        let licensed = |license: Option<&str>| Package {
            license: license.map(str::to_owned),
            ..package("new", "1.0.0")
        };
        assert!(
            caught(licensed(Some("GPL-3.0-only")))
                .contains("new@1.0.0: its licence, GPL-3.0-only, is not allowed")
        );
        assert!(caught(licensed(Some("MIT AND MPL-2.0"))).contains("is not allowed"));
        assert!(caught(licensed(Some("MIT OR"))).contains("is not understood"));
        assert!(caught(licensed(None)).contains("names no licence"));
    }

    #[test]
    fn a_source_that_is_no_registry_is_caught() {
        for source in [
            "git+https://registry",
            "registry+https://elsewhere",
            "sparse+https://registry",
        ] {
            let added = Package {
                source: Some(source.into()),
                ..package("new", "1.0.0")
            };
            assert!(caught(added).contains("somewhere else"), "{source}");
        }
    }

    #[test]
    fn a_banned_crate_is_caught() {
        let used_by = |name: &str, users: &[&str]| Package {
            users: users.iter().map(|user| (*user).to_owned()).collect(),
            ..package(name, "1.0.0")
        };
        assert!(caught(used_by("openssl", &["engine"])).contains("engine: uses `openssl`, which is banned"));
        assert!(caught(used_by("openssl", &[])).contains("openssl@1.0.0: is banned"));
        let both = caught(used_by("rand", &["engine", "deniable-sql"]));
        assert!(both.contains("deniable-sql: uses `rand`"), "{both}");
        assert!(!both.contains("engine: uses"), "{both}");
    }

    #[test]
    fn second_versions_and_useless_exceptions_are_caught() {
        let reported = caught(package("old", "3.0.0"));
        assert!(
            reported.contains("old@2.0.0: is there as old@3.0.0 too"),
            "{reported}"
        );
        let alone = check(&rules(RULES).unwrap(), &[package("old", "2.0.0")]).unwrap_err();
        assert!(alone.to_string().contains("skipped and not there twice"));
    }

    #[test]
    fn any_version_is_caught_in_our_own_manifests() {
        let ours = Package {
            source: None,
            wildcards: vec!["serde".into()],
            ..package("deniable-new", "0.1.0")
        };
        assert!(caught(ours).contains("takes any version of serde"));
    }

    #[test]
    fn a_check_of_nothing_fails() {
        assert!(check(&rules(RULES).unwrap(), &[]).is_err());
        assert!(rules("").is_err());
    }

    #[test]
    fn what_has_no_effect_is_refused() {
        for (before, after) in [
            ("multiple-versions = \"deny\"", "multiple-versions = \"warn\""),
            ("unknown-git = \"deny\"", "unknown-git = \"allow\""),
            ("[bans]", "[bans]\nhighlight = \"all\""),
            (", reason = \"a test\" }]", " }]"),
            ("allow = [\"MIT\", \"Apache-2.0\"]", "allow = [7]"),
        ] {
            let text = RULES.replace(before, after);
            assert_ne!(text, RULES);
            assert!(rules(&text).is_err(), "{after}");
        }
    }

    #[test]
    fn packages_are_read_from_cargo_metadata() {
        let metadata = serde_json::json!({
            "packages": [
                { "id": "a", "name": "ours", "version": "0.1.0", "license": "MIT", "source": null, "dependencies": [
                    { "name": "theirs", "req": "*", "path": null }, { "name": "other", "req": "*", "path": "/somewhere" } ] },
                { "id": "b", "name": "theirs", "version": "1.2.3", "license": null, "source": "registry+https://registry", "dependencies": [] },
            ],
            "resolve": { "nodes": [{ "id": "a", "dependencies": ["b"] }, { "id": "b", "dependencies": [] }] },
        });
        let packages = packages(&metadata).unwrap();
        assert_eq!(packages[0].wildcards, ["theirs"]);
        assert_eq!(packages[1].id(), "theirs@1.2.3");
        assert_eq!(packages[1].users, BTreeSet::from(["ours".to_owned()]));
        assert_eq!((&packages[0].source, &packages[1].license), (&None, &None));
    }
}
