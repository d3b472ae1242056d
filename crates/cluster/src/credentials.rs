//! Certificates: a machine without one of the same authority neither sends plans nor receives rows.

use datafusion::common::{Result, plan_datafusion_err};
use std::fmt::{Debug, Formatter};
use tonic::transport::{Certificate, ClientTlsConfig, Identity, ServerTlsConfig};

/// A certificate with its key, and the authority that the other end's certificate must be of; all three in
/// PEM.
#[derive(Clone)]
pub struct Credentials {
    authority: Vec<u8>,
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Debug for Credentials {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Credentials(..)")
    }
}

impl Credentials {
    /// Credentials of three texts in PEM.
    ///
    /// # Errors
    /// If one of them is not what it should be.
    pub fn new(authority: Vec<u8>, certificate: Vec<u8>, key: Vec<u8>) -> Result<Self> {
        let parts = [
            (&authority, "CERTIFICATE", "the authority"),
            (&certificate, "CERTIFICATE", "the certificate"),
            (&key, "PRIVATE KEY", "the key"),
        ];
        for (text, label, what) in parts {
            let text = String::from_utf8_lossy(text);
            let labelled = |line: &str| line.starts_with("-----BEGIN ") && line.contains(label);
            if !text.lines().any(labelled) {
                return Err(plan_datafusion_err!(
                    "{what} of the cluster is not in PEM\nhint: `deniable worker certificates` writes the three files"
                ));
            }
        }
        Ok(Self {
            authority,
            certificate,
            key,
        })
    }

    fn identity(&self) -> Identity {
        Identity::from_pem(&self.certificate, &self.key)
    }

    pub(crate) fn client(&self) -> ClientTlsConfig {
        ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(&self.authority))
            .identity(self.identity())
    }

    /// A client without a certificate of the authority is turned away.
    pub(crate) fn server(&self) -> ServerTlsConfig {
        ServerTlsConfig::new()
            .identity(self.identity())
            .client_ca_root(Certificate::from_pem(&self.authority))
            .client_auth_optional(false)
    }
}
