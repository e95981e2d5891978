//! What a transaction must be before it may wait for a block: readable, small, signed for this chain, of a kind we run.
//!
//! Everything here is pure and runs on the caller's thread, so that signatures are checked in parallel.
use super::block::SentTransaction;
use crate::node::SendError;
use alloy_consensus::{Transaction, TxEnvelope};
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, B512};
use revm::precompile::secp256k1::ecrecover;

/// The largest transaction that is taken, as other nodes have it.
pub(crate) const TRANSACTION_BYTES_MAX: usize = 128 * 1024;
/// The most gas one transaction may ask for.
pub(crate) const TRANSACTION_GAS_MAX: u64 = 100_000_000;

/// Reads a signed transaction and finds out who signed it.
pub(crate) fn admit(raw: &[u8], chain_id: u64) -> Result<SentTransaction, SendError> {
    if raw.len() > TRANSACTION_BYTES_MAX {
        return invalid(format!("it has {} bytes, and at most {TRANSACTION_BYTES_MAX} are taken", raw.len()));
    }
    let envelope = TxEnvelope::decode_2718_exact(raw)
        .map_err(|error| SendError::Invalid(format!("it cannot be read: {error}")))?;
    check(&envelope, chain_id)?;
    let sender = signer(&envelope)?;
    Ok(SentTransaction { envelope, sender })
}

fn check(envelope: &TxEnvelope, chain_id: u64) -> Result<(), SendError> {
    match envelope {
        TxEnvelope::Legacy(_) | TxEnvelope::Eip2930(_) | TxEnvelope::Eip1559(_) => {}
        TxEnvelope::Eip4844(_) => return invalid("blobs are not carried by this chain".to_owned()),
        TxEnvelope::Eip7702(_) => return invalid("code delegations are not carried by this chain".to_owned()),
    }
    match envelope.chain_id() {
        Some(id) if id == chain_id => {}
        Some(id) => return invalid(format!("it is signed for chain {id}, and this is {chain_id}")),
        None => return invalid("it is signed for no chain in particular, so that others could repeat it".to_owned()),
    }
    if envelope.gas_limit() > TRANSACTION_GAS_MAX {
        return invalid(format!("gas limit {} is above {TRANSACTION_GAS_MAX}", envelope.gas_limit()));
    }
    Ok(())
}

/// Who signed. The second of the two signatures that fit (EIP-2) is refused.
pub(crate) fn signer(envelope: &TxEnvelope) -> Result<Address, SendError> {
    let signature = envelope.signature();
    let bytes = signature.as_bytes();
    let compact = B512::from_slice(&bytes[..64]);
    if signature.normalize_s().is_some() {
        return invalid("the signature is not in its normal form".to_owned());
    }
    let word = ecrecover(&compact, u8::from(signature.v()), &envelope.signature_hash())
        .map_err(|_| SendError::Invalid("the signature fits no key".to_owned()))?;
    Ok(Address::from_word(word))
}

fn invalid<T>(reason: String) -> Result<T, SendError> {
    Err(SendError::Invalid(reason))
}
