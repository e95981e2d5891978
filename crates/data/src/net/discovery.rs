//! How a machine behind a router learns by which address the world sees it: it asks the hub, over UDP.
//!
//! Two machines that know this of each other can send to each other at the same time, and routers let in what looks like
//! an answer. The hub proves itself by its own key, as machines do among themselves (RFC 7250), so there is no certificate
//! that could run out, and no name or clock that has to be right. It must prove itself: a lie about an address would
//! lead machines to send to a stranger.
use gleaner_wire::WorkerKey;
use iroh::tls::CaTlsConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime, alg_id};
use rustls::sign::public_key_to_spki;
use rustls::{CertificateError, DigitallySignedStruct, PeerIncompatible, SignatureScheme};
use std::sync::Arc;

/// Where a hub tells machines their addresses, and how it proves that it is that hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// The UDP port, on the host of the relay.
    pub port: u16,
    /// The hub's key.
    pub key: WorkerKey,
}

/// Believes those who have one of these keys, and nobody else.
pub(super) fn trust(keys: Vec<WorkerKey>) -> CaTlsConfig {
    CaTlsConfig::custom_server_cert_verifier(Arc::new(move |provider| {
        let known = keys.iter().map(|key| public_key_to_spki(&alg_id::ED25519, key.0)).collect();
        Ok(Arc::new(Verifier { known, provider }))
    }))
}

#[derive(Debug)]
struct Verifier {
    known: Vec<SubjectPublicKeyInfoDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if others.is_empty() && self.known.iter().any(|known| known.as_ref() == shown.as_ref()) {
            return Ok(ServerCertVerified::assertion());
        }
        Err(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer))
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::PeerIncompatible(PeerIncompatible::Tls12NotOffered))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let key = SubjectPublicKeyInfoDer::from(shown.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

/// The hub's side: shows its key.
#[cfg(feature = "relay")]
pub(super) fn prove(key: &ed25519_dalek::SigningKey) -> Result<rustls::ServerConfig, rustls::Error> {
    use rustls::crypto::ring;
    use rustls::pki_types::PrivatePkcs8KeyDer;
    use rustls::server::AlwaysResolvesServerRawPublicKeys;
    use rustls::sign::CertifiedKey;
    /// What stands before the 32 bytes of an ed25519 key in PKCS #8 (RFC 8410).
    const BEFORE: [u8; 16] =
        [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

    let private = zeroize::Zeroizing::new([&BEFORE[..], key.as_bytes()].concat());
    let private = ring::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(&private[..]))?;
    let public = public_key_to_spki(&alg_id::ED25519, key.verifying_key().as_bytes());
    let shown = CertifiedKey::new(vec![CertificateDer::from(public.to_vec())], private);
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(Arc::new(shown))));
    Ok(config)
}

#[cfg(all(test, feature = "relay"))]
mod tests {
    use super::*;
    use crate::net::public;
    use ed25519_dalek::SigningKey;
    use rustls::{ClientConnection, ServerConnection};

    fn key(number: u8) -> SigningKey {
        SigningKey::from_bytes(&[number; 32])
    }

    /// A machine that believes these talks to the hub with that key.
    fn shakes_hands(believed: &[u8], hub: u8) -> Result<(), rustls::Error> {
        let trust = trust(believed.iter().map(|number| public(&key(*number))).collect());
        let config = trust.client_config(iroh::tls::default_provider()).expect("it can be built");
        let name = ServerName::try_from("192.0.2.1").expect("an address");
        let mut client = ClientConnection::new(Arc::new(config), name)?;
        let mut server = ServerConnection::new(Arc::new(prove(&key(hub))?))?;
        while client.is_handshaking() || server.is_handshaking() {
            let (mut there, mut back) = (Vec::new(), Vec::new());
            client.write_tls(&mut there).expect("memory");
            server.read_tls(&mut &there[..]).expect("memory");
            server.process_new_packets()?;
            server.write_tls(&mut back).expect("memory");
            client.read_tls(&mut &back[..]).expect("memory");
            client.process_new_packets()?;
        }
        Ok(())
    }

    #[test]
    fn the_hub_is_believed_by_its_key_whatever_it_is_called() {
        shakes_hands(&[1], 1).expect("the right key");
        shakes_hands(&[2, 1], 1).expect("one of the right keys");
    }

    #[test]
    fn somebody_else_is_not_believed() {
        for believed in [&[2][..], &[]] {
            let refused = shakes_hands(believed, 1).expect_err("another key");
            assert_eq!(refused, rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer));
        }
    }
}
