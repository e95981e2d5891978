//! Orders: what a requester signs before a job runs.
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::{Address, Amount, Hash};

/// What a requester promises for one job. Its meaning on a chain, and its signature, are `gleaner-chain`'s.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Order {
    /// Who pays.
    pub requester: Address,
    /// The hub that may lock and settle it.
    pub hub: Address,
    /// The hash of the job file as it is sent.
    pub job: Hash,
    /// The most that it may cost.
    pub cap: Amount,
    /// What the requester loses in part if it disputes a right settlement.
    pub bond: Amount,
    /// When anyone may give the money back if nothing was settled, in seconds since 1970.
    pub deadline: u64,
    /// How results are to be checked; all zero for the hub's default.
    pub policy: Hash,
    /// The requester's own number of the submission: an order is used once.
    #[serde(with = "nonce")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^[0-9a-fA-F]{32}$"))]
    pub nonce: u128,
}

/// An order with the requester's signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SignedOrder {
    /// The order.
    pub order: Order,
    /// 65 bytes of secp256k1, or what a contract wallet takes for a signature.
    #[serde(with = "signature")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x([0-9a-fA-F]{2})*$"))]
    pub signature: Vec<u8>,
}

/// Signatures are hexadecimal where people read them.
pub(crate) mod signature {
    use super::{String, Vec};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    /// The longest signature that any wallet makes sense with.
    const BYTES_MAX: usize = 4096;

    pub fn serialize<S: Serializer>(signature: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return signature.serialize(serializer);
        }
        let mut text = String::from("0x");
        for byte in signature {
            text += &alloc::format!("{byte:02x}");
        }
        text.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        if !deserializer.is_human_readable() {
            return Vec::deserialize(deserializer);
        }
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").filter(|digits| digits.len() <= 2 * BYTES_MAX);
        let digits = digits.filter(|digits| digits.len() % 2 == 0 && digits.is_ascii());
        let pairs = digits.map(|digits| digits.as_bytes().chunks_exact(2));
        let byte = |pair: &[u8]| {
            let digit = |at: usize| char::from(pair[at]).to_digit(16);
            Some((digit(0)? << 4 | digit(1)?) as u8)
        };
        let bytes = pairs.and_then(|pairs| pairs.map(byte).collect::<Option<Vec<u8>>>());
        bytes.ok_or_else(|| de::Error::custom("a signature is 0x and pairs of hexadecimal digits"))
    }
}

/// Nonces are text where people read them: JSON numbers end at 2⁵³.
mod nonce {
    use super::String;
    use alloc::format;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    pub fn serialize<S: Serializer>(nonce: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(&format_args!("{nonce:032x}"))
        } else {
            nonce.serialize(serializer)
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        if !deserializer.is_human_readable() {
            return u128::deserialize(deserializer);
        }
        let text = String::deserialize(deserializer)?;
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let nonce = digits.then(|| u128::from_str_radix(&text, 16).ok()).flatten();
        nonce.ok_or_else(|| de::Error::custom(format!("`{text}` is not 32 hexadecimal digits")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_reads_back_from_json_and_from_bytes() {
        let order = Order {
            requester: Address([1; 20]),
            hub: Address([2; 20]),
            job: Hash([3; 32]),
            cap: Amount::gln(5),
            bond: Amount(7),
            deadline: 1_900_000_000,
            policy: Hash([0; 32]),
            nonce: u128::MAX - 1,
        };
        let signed = SignedOrder { order, signature: alloc::vec![9; 65] };
        let json = serde_json::to_string(&signed).expect("plain data");
        assert_eq!(serde_json::from_str::<SignedOrder>(&json).expect("the same"), signed);
        let bytes = postcard::to_allocvec(&signed).expect("plain data");
        assert_eq!(postcard::from_bytes::<SignedOrder>(&bytes).expect("the same"), signed);
    }
}
