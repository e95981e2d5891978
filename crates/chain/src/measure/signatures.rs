//! The peer of vouchers: one signature for each payment.
use super::timing::{Stopwatch, Timing};
use crate::account::Account;
use alloy_primitives::{B256, B512, keccak256};
use revm::precompile::secp256k1::ecrecover;
use std::hint::black_box;

/// Checks so many signatures with the fastest library that this program has.
pub fn signatures(count: u64) -> Timing {
    let account = Account::from_words("who signs every payment");
    let sign = |number: u64| -> (B256, B512, u8) {
        let digest = keccak256(number.to_be_bytes());
        let signature = account.sign_digest(digest);
        (digest, B512::from_slice(&signature[..64]), signature[64] - 27)
    };
    let signed: Vec<_> = (0..count).map(sign).collect();
    let watch = Stopwatch::start();
    for (digest, signature, parity) in &signed {
        let signer = black_box(ecrecover(signature, *parity, digest));
        assert_eq!(signer.ok().map(|word| word[12..] == account.address()[..]), Some(true), "our own signature");
    }
    watch.stop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_takes_time() {
        let timing = signatures(50);
        assert!(timing.per_cpu_second(50) > 10.0 && timing.per_cpu_second(50) < 5_000_000.0, "{timing:?}");
    }
}
