//! Signing in with a password while strangers try to keep others out, and browsers that move.

mod common;

use common::{Running, catalog, people, quick};
use server::accounts::{self, Role};
use server::{Code, Failure, Network, Settings};
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const PASSWORD: &str = "correct horse battery";

fn network(number: u32) -> Network {
    Network::of(IpAddr::V4(Ipv4Addr::from_bits((10 << 24) + number)))
}

fn person(running: &Running, name: &'static str) {
    running.on(move |store| {
        accounts::add(store, "test", &accounts::NewAccount::new(name, Role::Analyst))?;
        accounts::set_password(store, "test", name, PASSWORD)
    });
}

/// Strangers who try random names, each from one of these networks, until most of them are refused: what may
/// wait waits. They go on trying.
async fn flood(running: &Running, networks: impl Fn(u32) -> Network) -> tokio::task::JoinSet<()> {
    let mut strangers = tokio::task::JoinSet::new();
    let (sender, mut refused) = tokio::sync::mpsc::unbounded_channel();
    for number in 0..300 {
        let (service, sender, from) = (Arc::clone(running.service()), sender.clone(), networks(number));
        strangers.spawn(async move {
            for attempt in 0.. {
                let name = format!("stranger {number} {attempt}");
                let failure = service
                    .sign_in_with_password(&name, PASSWORD, from)
                    .await
                    .unwrap_err();
                if failure.code == Code::TooManyRequests {
                    let _ = sender.send(failure);
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        });
    }
    for _ in 0..250 {
        let failure: Failure = refused.recv().await.unwrap();
        assert!(
            failure.again_after.is_some_and(|seconds| seconds >= 1),
            "{failure}"
        );
    }
    strangers
}

#[test]
fn strangers_with_random_names_keep_nobody_else_from_signing_in() {
    let running = Running::start();
    person(&running, "ann");
    let service = running.service();
    running.runtime.block_on(async {
        let _strangers = flood(&running, |_| network(1)).await;
        for _ in 0..3 {
            service
                .sign_in_with_password("ann", PASSWORD, network(2))
                .await
                .unwrap();
        }
    });
}

#[test]
fn strangers_everywhere_do_not_keep_people_out_of_where_they_signed_in_before() {
    let running = Running::start();
    person(&running, "ann");
    let service = running.service();
    running.runtime.block_on(async {
        service
            .sign_in_with_password("ann", PASSWORD, network(7))
            .await
            .unwrap();
        let _strangers = flood(&running, |number| network(1000 + number)).await;
        for _ in 0..3 {
            service
                .sign_in_with_password("ann", PASSWORD, network(7))
                .await
                .unwrap();
        }
    });
}

/// Ten a minute for one name at one place. Attempts there do not affect the person elsewhere. An unknown name
/// is treated alike.
#[test]
fn guesses_at_one_place_are_few_and_leave_the_account_alone_elsewhere() {
    let running = Running::start();
    person(&running, "ann");
    let service = running.service();
    let here = Network::of(IpAddr::V4(Ipv4Addr::LOCALHOST));
    running.runtime.block_on(async {
        let mut told = Vec::new();
        for name in ["ann", "nobody"] {
            // At one moment: none of them is forgotten before the last.
            let attempts = (0..11).map(|_| service.sign_in_with_password(name, "wrong wrong wrong", here));
            let failed = futures::future::join_all(attempts).await;
            let failures: Vec<Failure> = failed.into_iter().map(|failed| failed.unwrap_err()).collect();
            told.push(failures);
        }
        let codes: Vec<Code> = told[0].iter().map(|failure| failure.code).collect();
        assert_eq!(codes[..10], [Code::NotSignedIn; 10]);
        assert_eq!(codes[10], Code::TooManyRequests);
        let words =
            |failures: &[Failure]| -> Vec<String> { failures.iter().map(ToString::to_string).collect() };
        assert_eq!(words(&told[0]), words(&told[1]));
        service
            .sign_in_with_password("ann", PASSWORD, network(2))
            .await
            .unwrap();
    });
    // A refusal says when to try again, over HTTP and on the page.
    for (path, body) in [
        ("/v1/sign-in", r#"{"name": "ann", "password": "x"}"#),
        ("/sign-in", "name=ann&secret=x"),
    ] {
        let port = running.addresses.http.port();
        let kind = match body.starts_with('{') {
            true => "Content-Type: application/json",
            false => "Content-Type: application/x-www-form-urlencoded",
        };
        let send = || {
            let output = Command::new("curl")
                .args(["--silent", "--include", "--ipv4", "--cacert"])
                .arg(&running.certificate)
                .args(["--header", kind, "--data", body])
                .args(["--header", &format!("Origin: https://localhost:{port}")])
                .arg(format!("https://localhost:{port}{path}"))
                .output()
                .unwrap();
            common::text(&output.stdout).to_lowercase()
        };
        // On a slow machine there is one more to be had now and then.
        let mut replies = (0..60).map(|_| send());
        let reply = replies.find(|reply| reply.starts_with("http/1.1 429")).unwrap();
        let seconds = reply.lines().find_map(|line| line.strip_prefix("retry-after: "));
        assert!(
            seconds.is_some_and(|seconds| seconds.trim().parse::<u32>().unwrap() <= 6),
            "{reply}"
        );
    }
}

/// A browser at an address of this machine.
struct Browser<'a> {
    running: &'a Running,
    jar: tempfile::NamedTempFile,
}

impl Browser<'_> {
    fn send(&self, at: &str, path: &str, more: &[&str]) -> String {
        let port = self.running.addresses.http.port();
        let output = Command::new("curl")
            .args([
                "--silent",
                "--show-error",
                "--ipv4",
                "--interface",
                at,
                "--cacert",
            ])
            .arg(&self.running.certificate)
            .arg("--cookie")
            .arg(self.jar.path())
            .arg("--cookie-jar")
            .arg(self.jar.path())
            .args([
                "--output",
                "/dev/null",
                "--write-out",
                "%{http_code} %{redirect_url}",
            ])
            .args(["--header", &format!("Origin: https://localhost:{port}")])
            .args(more)
            .arg(format!("https://localhost:{port}{path}"))
            .output()
            .unwrap();
        let text = common::text(&output.stdout);
        assert!(output.status.success(), "{output:?}");
        text.trim_end().replace(&format!("https://localhost:{port}"), "")
    }
}

/// Addresses of the loopback network stand for those of the world.
#[test]
fn a_cookie_is_good_where_it_was_given_and_a_token_everywhere() {
    for roaming in [false, true] {
        let settings = Settings { roaming, ..quick() };
        let running = Running::with(settings, &people(&[]), &catalog());
        let ann = running.account("ann", Role::Analyst);
        let browser = Browser {
            running: &running,
            jar: tempfile::NamedTempFile::new().unwrap(),
        };
        let form = format!("name=ann&secret={ann}");
        assert_eq!(browser.send("127.0.0.1", "/sign-in", &["--data", &form]), "303 /");
        assert_eq!(browser.send("127.0.0.1", "/history", &[]), "200");
        let elsewhere = match roaming {
            true => "200",
            false => "303 /sign-in?next=/history",
        };
        assert_eq!(browser.send("127.0.0.2", "/history", &[]), elsewhere);
        // A browser that has it where it was given stays signed in.
        assert_eq!(browser.send("127.0.0.1", "/history", &[]), "200");
        let bearer = format!("Authorization: Bearer {ann}");
        for at in ["127.0.0.1", "127.0.0.2"] {
            assert_eq!(browser.send(at, "/v1/budget", &["--header", &bearer]), "200");
        }
    }
}
