//! Connections to PostgreSQL: encrypted, and the server's certificate verified, unless they stay on this
//! machine.

use crate::Error;
use postgres::Config;
use postgres::config::{Host, SslMode};
use std::net::IpAddr;
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

/// How a connection to a PostgreSQL database is made.
#[derive(Clone)]
pub enum Encryption {
    /// In the clear: on this machine, or where the address says `sslmode=disable`.
    None,
    /// By TLS, with this.
    Tls(MakeRustlsConnect),
}

impl std::fmt::Debug for Encryption {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::None => "None",
            Self::Tls(_) => "Tls",
        })
    }
}

impl Encryption {
    /// What the address of a database calls for. Certificates are verified against those in the file that
    /// PGSSLROOTCERT names, or else the system's.
    ///
    /// # Errors
    /// When the address cannot be read, or there are no certificates to verify with.
    pub fn of(address: &str) -> Result<Self, Error> {
        let config: Config = address.parse().map_err(|_| {
            Error::unusable(
                "the address of the PostgreSQL database cannot be read",
                "write it as postgres://user:password@host:5432/database",
            )
        })?;
        let wanted = match config.get_ssl_mode() {
            SslMode::Disable => false,
            SslMode::Prefer => !config.get_hosts().iter().all(is_here),
            _ => true,
        };
        if !wanted {
            return Ok(Self::None);
        }
        let config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|_| {
                Error::unusable(
                    "TLS cannot be used",
                    "this is a mistake in the program; report it",
                )
            })?
            .with_root_certificates(roots()?)
            .with_no_client_auth();
        Ok(Self::Tls(MakeRustlsConnect::new(config)))
    }
}

/// Whether a host is this machine.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost"
                || name
                    .trim_matches(['[', ']'])
                    .parse::<IpAddr>()
                    .is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

fn roots() -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    let named = std::env::var_os("PGSSLROOTCERT").filter(|name| !name.is_empty());
    if let Some(path) = named {
        let unreadable = |_| {
            Error::unusable(
                "the certificates in the file that PGSSLROOTCERT names cannot be read",
                "name a file in PEM format",
            )
        };
        for certificate in CertificateDer::pem_file_iter(path).map_err(unreadable)? {
            roots.add(certificate.map_err(unreadable)?).map_err(|_| {
                Error::unusable(
                    "a certificate in PGSSLROOTCERT is invalid",
                    "name a file in PEM format",
                )
            })?;
        }
    } else {
        // Some of a system's certificates may be damaged; the others are used.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    match roots.is_empty() {
        true => Err(Error::unusable(
            "there are no certificates to verify the PostgreSQL server with",
            "name a file with that of its authority in PGSSLROOTCERT; on a network that nobody else reads, sslmode=disable in the address does without",
        )),
        false => Ok(roots),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_this_machine_is_encrypted_unless_it_is_said_otherwise() {
        let encrypts = |address: &str| match Encryption::of(address) {
            Ok(Encryption::None) => false,
            Ok(Encryption::Tls(_)) => true,
            // A machine without certificates has nothing to verify with, and says so rather than connect in
            // the clear.
            Err(error) => error.to_string().contains("no certificates"),
        };
        for here in [
            "localhost",
            "127.0.0.1",
            "127.9.9.9",
            "[::1]",
            "%2Frun%2Fpostgresql",
        ] {
            assert!(!encrypts(&format!("postgres://ann:x@{here}/health")), "{here}");
        }
        for there in ["db.example", "10.0.0.7", "localhost.example"] {
            assert!(encrypts(&format!("postgres://ann:x@{there}/health")), "{there}");
        }
        assert!(encrypts("postgres://ann@127.0.0.1,db.example/health"));
        assert!(encrypts("postgres://ann@localhost/health?sslmode=require"));
        assert!(!encrypts("postgres://ann@db.example/health?sslmode=disable"));
        assert!(Encryption::of("postgres://[").is_err());
    }
}
