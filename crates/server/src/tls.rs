//! Certificates and keys.

use files::{Readable, Whole};
use rcgen::{CertificateParams, KeyPair};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

/// A certificate with its key, as PEM.
pub struct Certificate {
    certificates: String,
    key: zeroize::Zeroizing<String>,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Certificate(..)")
    }
}

/// Why a certificate cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}\nhint: {hint}")]
pub struct Error {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

impl Error {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
        }
    }
}

impl Certificate {
    /// Reads both from files.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn read(certificates: &Path, key: &Path) -> Result<Self, Error> {
        let read = |path: &Path| {
            std::fs::read_to_string(path).map_err(|cause| {
                Error::new(
                    format!("cannot read `{}`: {}", path.display(), cause.kind()),
                    "--certificate and --key name files in PEM format",
                )
            })
        };
        Ok(Self {
            certificates: read(certificates)?,
            key: zeroize::Zeroizing::new(read(key)?),
        })
    }

    /// One that signs itself, for these names: for trying things out, and where clients are given the
    /// certificate.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn self_signed(names: &[String]) -> Result<Self, Error> {
        let failed = |_| {
            Error::new(
                "no certificate can be made",
                "name one with --certificate and --key",
            )
        };
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = CertificateParams::new(names.to_vec())
            .and_then(|parameters| parameters.self_signed(&key))
            .map_err(failed)?;
        Ok(Self {
            certificates: certificate.pem(),
            key: zeroize::Zeroizing::new(key.serialize_pem()),
        })
    }

    /// The certificates, for clients that are to trust them.
    pub fn pem(&self) -> &str {
        &self.certificates
    }

    /// One that lies in this folder, made if there is none: `server.crt` and `server.key`, which only its
    /// owner can read.
    ///
    /// # Errors
    /// When it cannot be read, made or written.
    pub fn kept_in(folder: &Path, names: &[String]) -> Result<(Self, PathBuf), Error> {
        let (certificate, key) = (folder.join("server.crt"), folder.join("server.key"));
        if certificate.exists() && key.exists() {
            return Ok((Self::read(&certificate, &key)?, certificate));
        }
        let made = Self::self_signed(names)?;
        let unwritten = |path: &Path| {
            Error::new(
                format!("cannot write `{}`", path.display()),
                "may the folder be written?",
            )
        };
        Whole::at(&key, Readable::ByOwner)
            .write(|file| file.write_all(made.key.as_bytes()))
            .map_err(|_| unwritten(&key))?;
        Whole::at(&certificate, Readable::AsBefore)
            .write(|file| file.write_all(made.certificates.as_bytes()))
            .map_err(|_| unwritten(&certificate))?;
        Ok((made, certificate))
    }

    /// What accepts connections with it, by TLS 1.2 and 1.3, for clients that speak one of these protocols or
    /// do not say which.
    ///
    /// # Errors
    /// When it is no certificate, or the key does not belong to it.
    pub fn acceptor(&self, protocols: &[&[u8]]) -> Result<TlsAcceptor, Error> {
        let hint = "give a chain of certificates and the private key of the first, both in PEM format";
        let certificates: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(self.certificates.as_bytes())
                .collect::<Result<_, _>>()
                .map_err(|_| Error::new("the certificate cannot be read", hint))?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes())
            .map_err(|_| Error::new("the private key cannot be read", hint))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(certificates, key))
            .map_err(|_| Error::new("the certificate and the key do not belong together", hint))?;
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
