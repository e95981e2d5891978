//! A passkey's public key, as COSE writes it, and signatures under it.
use super::Fault;
use minicbor::Decoder;
use ring::signature::{ECDSA_P256_SHA256_ASN1, ED25519, UnparsedPublicKey};

/// Members of a key that are looked at.
const MEMBERS_MAX: u64 = 16;

/// How a passkey signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// ECDSA over P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// Those that are asked for, the best first.
    pub(super) const ALL: [Self; 2] = [Self::EdDsa, Self::Es256];

    /// Its number in COSE.
    pub(super) fn number(self) -> i64 {
        match self {
            Self::Es256 => -7,
            Self::EdDsa => -8,
        }
    }

    pub(super) fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.number() == number)
    }
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PublicKey {
    pub(super) algorithm: Algorithm,
    /// An uncompressed point, or the 32 bytes of Ed25519.
    pub(super) bytes: Vec<u8>,
}

/// The members of a COSE key that count here.
#[derive(Default)]
struct Members {
    kind: Option<i64>,
    algorithm: Option<i64>,
    curve: Option<i64>,
    x: Option<[u8; 32]>,
    y: Option<[u8; 32]>,
}

impl PublicKey {
    /// Reads the key at the decoder's place, and leaves the decoder behind it.
    pub(super) fn read(decoder: &mut Decoder<'_>) -> Result<Self, Fault> {
        let members = members(decoder).map_err(|_| Fault::Form("public key"))?;
        match (members.kind, members.algorithm, members.curve, members.x, members.y) {
            (Some(2), Some(-7), Some(1), Some(x), Some(y)) => {
                Ok(Self { algorithm: Algorithm::Es256, bytes: [&[4][..], &x, &y].concat() })
            }
            (Some(1), Some(-8), Some(6), Some(x), None) => Ok(Self { algorithm: Algorithm::EdDsa, bytes: x.to_vec() }),
            _ => Err(Fault::Algorithm),
        }
    }

    /// Whether the signature is of this key.
    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), Fault> {
        let verified = match self.algorithm {
            Algorithm::Es256 => UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.bytes).verify(message, signature),
            Algorithm::EdDsa => UnparsedPublicKey::new(&ED25519, &self.bytes).verify(message, signature),
        };
        verified.map_err(|_| Fault::Signature)
    }
}

fn members(decoder: &mut Decoder<'_>) -> Result<Members, minicbor::decode::Error> {
    let refuse = || minicbor::decode::Error::message("not a key");
    let count = decoder.map()?.filter(|count| *count <= MEMBERS_MAX).ok_or_else(refuse)?;
    let mut members = Members::default();
    for _ in 0..count {
        match decoder.i64()? {
            1 => once(&mut members.kind, decoder.i64()?)?,
            3 => once(&mut members.algorithm, decoder.i64()?)?,
            -1 => once(&mut members.curve, decoder.i64()?)?,
            -2 => once(&mut members.x, decoder.bytes()?.try_into().map_err(|_| refuse())?)?,
            -3 => once(&mut members.y, decoder.bytes()?.try_into().map_err(|_| refuse())?)?,
            _ => decoder.skip()?,
        }
    }
    Ok(members)
}

/// What is said twice is said wrong.
fn once<T>(place: &mut Option<T>, value: T) -> Result<(), minicbor::decode::Error> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(minicbor::decode::Error::message("said twice")),
    }
}
