//! What the authenticator says: for whom, whether its owner was there, how often it has signed, and a new key.
use super::Fault;
use super::public_key::PublicKey;
use minicbor::Decoder;
use ring::digest::{SHA256, digest};

/// The longest that is read.
pub(super) const AUTHENTICATOR_DATA_BYTES_MAX: usize = 8192;
/// The longest id of a passkey, by the standard.
pub(super) const ID_BYTES_MAX: usize = 1023;
const DOMAIN_HASH_BYTES: usize = 32;
const MODEL_BYTES: usize = 16;

const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const BACKUP_ELIGIBLE: u8 = 0x08;
const BACKED_UP: u8 = 0x10;
const HAS_CREDENTIAL: u8 = 0x40;
const HAS_EXTENSIONS: u8 = 0x80;

/// A key that was just made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Credential {
    pub(super) id: Vec<u8>,
    pub(super) key: PublicKey,
}

/// What the authenticator says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AuthenticatorData {
    pub(super) sign_count: u32,
    pub(super) credential: Option<Credential>,
}

/// Reads the bytes, which must be of this domain and of an owner who was there and known.
pub(super) fn check(bytes: &[u8], domain: &str) -> Result<AuthenticatorData, Fault> {
    let form = Fault::Form("authenticator data");
    if bytes.len() > AUTHENTICATOR_DATA_BYTES_MAX {
        return Err(form);
    }
    let (hash, rest) = bytes.split_first_chunk::<DOMAIN_HASH_BYTES>().ok_or(form)?;
    let (flags, rest) = rest.split_first().ok_or(form)?;
    let (sign_count, rest) = rest.split_first_chunk::<4>().ok_or(form)?;
    if hash != digest(&SHA256, domain.as_bytes()).as_ref() {
        return Err(Fault::Domain);
    }
    let has = |flag: u8| flags & flag != 0;
    if !has(PRESENT) || !has(VERIFIED) {
        return Err(Fault::NotVerified);
    }
    if has(BACKED_UP) && !has(BACKUP_ELIGIBLE) {
        return Err(form);
    }
    let (credential, rest) = if has(HAS_CREDENTIAL) {
        let (credential, rest) = credential(rest)?;
        (Some(credential), rest)
    } else {
        (None, rest)
    };
    let rest = if has(HAS_EXTENSIONS) { skip_map(rest)? } else { rest };
    if !rest.is_empty() {
        return Err(form);
    }
    Ok(AuthenticatorData { sign_count: u32::from_be_bytes(*sign_count), credential })
}

fn credential(bytes: &[u8]) -> Result<(Credential, &[u8]), Fault> {
    let form = Fault::Form("authenticator data");
    let rest = bytes.get(MODEL_BYTES..).ok_or(form)?;
    let (length, rest) = rest.split_first_chunk::<2>().ok_or(form)?;
    let length = usize::from(u16::from_be_bytes(*length));
    if length == 0 || length > ID_BYTES_MAX || length > rest.len() {
        return Err(form);
    }
    let (id, rest) = rest.split_at(length);
    let mut decoder = Decoder::new(rest);
    let key = PublicKey::read(&mut decoder)?;
    Ok((Credential { id: id.to_vec(), key }, &rest[decoder.position()..]))
}

fn skip_map(bytes: &[u8]) -> Result<&[u8], Fault> {
    let mut decoder = Decoder::new(bytes);
    let is_map = decoder.datatype().is_ok_and(|kind| kind == minicbor::data::Type::Map);
    decoder.skip().ok().filter(|()| is_map).ok_or(Fault::Form("extensions"))?;
    Ok(&bytes[decoder.position()..])
}
