//! The wrapping of a new passkey. Nobody is asked which model made it, so it vouches for itself at most.
use super::Fault;
use super::authenticator::{self, Credential};
use minicbor::Decoder;

/// The longest that is read.
pub(super) const ATTESTATION_BYTES_MAX: usize = 16 * 1024;
const MEMBERS_MAX: u64 = 8;

/// A new passkey.
#[derive(Debug)]
pub(super) struct Attested {
    pub(super) credential: Credential,
    pub(super) sign_count: u32,
}

/// A passkey's word for itself.
#[derive(Default)]
struct Statement<'a> {
    members: u64,
    algorithm: Option<i64>,
    signature: Option<&'a [u8]>,
    has_certificate: bool,
}

#[derive(Default)]
struct Wrapping<'a> {
    format: Option<&'a str>,
    statement: Option<Statement<'a>>,
    data: Option<&'a [u8]>,
}

/// Reads a new passkey for a domain.
pub(super) fn check(bytes: &[u8], client_hash: &[u8], domain: &str) -> Result<Attested, Fault> {
    let form = Fault::Form("attestation");
    if bytes.len() > ATTESTATION_BYTES_MAX {
        return Err(form);
    }
    let mut decoder = Decoder::new(bytes);
    let wrapping = wrapping(&mut decoder).map_err(|_| form)?;
    if decoder.position() != bytes.len() {
        return Err(form);
    }
    let (Some(format), Some(statement), Some(data)) = (wrapping.format, wrapping.statement, wrapping.data) else {
        return Err(form);
    };
    let said = authenticator::check(data, domain)?;
    let credential = said.credential.ok_or(form)?;
    match format {
        "none" if statement.members == 0 => {}
        // Some vouch for themselves with the new key, whether they are asked or not.
        "packed" if !statement.has_certificate => {
            let signature = statement.signature.ok_or(form)?;
            if statement.algorithm != Some(credential.key.algorithm.number()) {
                return Err(Fault::Algorithm);
            }
            credential.key.verify(&[data, client_hash].concat(), signature)?;
        }
        _ => return Err(Fault::Attestation),
    }
    Ok(Attested { credential, sign_count: said.sign_count })
}

fn wrapping<'a>(decoder: &mut Decoder<'a>) -> Result<Wrapping<'a>, minicbor::decode::Error> {
    let mut wrapping = Wrapping::default();
    for _ in 0..length(decoder)? {
        match decoder.str()? {
            "fmt" if wrapping.format.is_none() => wrapping.format = Some(decoder.str()?),
            "attStmt" if wrapping.statement.is_none() => wrapping.statement = Some(statement(decoder)?),
            "authData" if wrapping.data.is_none() => wrapping.data = Some(decoder.bytes()?),
            _ => return Err(minicbor::decode::Error::message("another member")),
        }
    }
    Ok(wrapping)
}

fn statement<'a>(decoder: &mut Decoder<'a>) -> Result<Statement<'a>, minicbor::decode::Error> {
    let mut statement = Statement { members: length(decoder)?, ..Statement::default() };
    for _ in 0..statement.members {
        match decoder.str()? {
            "alg" if statement.algorithm.is_none() => statement.algorithm = Some(decoder.i64()?),
            "sig" if statement.signature.is_none() => statement.signature = Some(decoder.bytes()?),
            "x5c" => {
                statement.has_certificate = true;
                decoder.skip()?;
            }
            _ => decoder.skip()?,
        }
    }
    Ok(statement)
}

fn length(decoder: &mut Decoder<'_>) -> Result<u64, minicbor::decode::Error> {
    let count = decoder.map()?.filter(|count| *count <= MEMBERS_MAX);
    count.ok_or_else(|| minicbor::decode::Error::message("too many members, or of unknown number"))
}
