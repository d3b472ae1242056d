//! Certificates for a cluster: an authority of its own, and what it signs for the coordinator and for
//! workers.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// A certificate and its private key, both in PEM.
pub struct Signed {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl std::fmt::Debug for Signed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Signed(..)")
    }
}

/// What the machines of a cluster are given. The key of the authority is kept by nobody: for a new worker,
/// everything is made anew.
#[derive(Debug)]
pub struct Certificates {
    /// The certificate of the authority, for everybody.
    pub authority: String,
    /// For the coordinator.
    pub coordinator: Signed,
    /// For all workers, which may be reached under the names that were given.
    pub worker: Signed,
}

/// Makes certificates for workers under these names: host names, or addresses such as `127.0.0.1`.
///
/// # Errors
/// If a name cannot be one of a host.
pub fn certificates(names: &[String]) -> Result<Certificates, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut parameters = CertificateParams::new(Vec::new())?;
    parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    parameters
        .distinguished_name
        .push(DnType::CommonName, "Deniable cluster");
    let authority = parameters.self_signed(&key)?.pem();
    let issuer = Issuer::new(parameters, key);
    let signed = |name: &str, hosts: &[String], purposes: Vec<ExtendedKeyUsagePurpose>| {
        let key = KeyPair::generate()?;
        let mut parameters = CertificateParams::new(hosts.to_vec())?;
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.extended_key_usages = purposes;
        let certificate = parameters.signed_by(&key, &issuer)?;
        Ok::<_, rcgen::Error>(Signed {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    };
    Ok(Certificates {
        coordinator: signed("coordinator", &[], vec![ExtendedKeyUsagePurpose::ClientAuth])?,
        // Workers send rows to each other.
        worker: signed(
            "worker",
            names,
            vec![
                ExtendedKeyUsagePurpose::ServerAuth,
                ExtendedKeyUsagePurpose::ClientAuth,
            ],
        )?,
        authority,
    })
}
