//! Binding quotes: what a hub promises for one job, signed, so that it holds whatever prices do until then.
#[cfg(feature = "openapi")]
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::job_file::Prefer;
use crate::{Amount, Hash, Millis};

/// What a hub promises for one job and one preference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Quote {
    /// What is to be done: the hash of the plan, without its preference and its cap.
    pub work: Hash,
    /// What matters more.
    pub prefer: Prefer,
    /// What the job costs at most: the order's cap, to the unit.
    pub price: Amount,
    /// What it should cost; what is not spent is never taken.
    pub expected: Amount,
    /// How long it should take.
    pub time_ms: Millis,
    /// By when nine of ten such jobs are done.
    pub time_high_ms: Millis,
    /// When the promise ends, by the hub's clock in milliseconds since 1970.
    pub until: Millis,
}

impl Quote {
    /// The bytes that a hub signs.
    pub fn bytes(&self) -> Vec<u8> {
        let quote = postcard::to_allocvec(self).expect("a quote holds nothing that postcard cannot encode");
        [b"gleaner quote 1".as_slice(), &quote].concat()
    }

    /// What names it.
    pub fn id(&self) -> Hash {
        Hash::of(&self.bytes())
    }
}

/// A quote with the signature of the hub's own key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SignedQuote {
    /// The quote.
    pub quote: Quote,
    /// 64 bytes of ed25519.
    #[serde(with = "crate::order::signature")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub signature: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quote() -> Quote {
        Quote {
            work: Hash([7; 32]),
            prefer: Prefer::Cheap,
            price: Amount(1200),
            expected: Amount(1000),
            time_ms: Millis(5000),
            time_high_ms: Millis(9000),
            until: Millis(600_000),
        }
    }

    #[test]
    fn every_word_of_a_quote_is_part_of_its_name() {
        let others = [
            Quote { work: Hash([8; 32]), ..quote() },
            Quote { prefer: Prefer::Fast, ..quote() },
            Quote { price: Amount(1201), ..quote() },
            Quote { expected: Amount(1001), ..quote() },
            Quote { time_ms: Millis(5001), ..quote() },
            Quote { time_high_ms: Millis(9001), ..quote() },
            Quote { until: Millis(600_001), ..quote() },
        ];
        assert!(others.iter().all(|other| other.id() != quote().id()));
    }

    #[test]
    fn a_signed_quote_reads_back_from_json() {
        let signed = SignedQuote { quote: quote(), signature: alloc::vec![9; 64] };
        let json = serde_json::to_string(&signed).expect("plain data");
        assert_eq!(serde_json::from_str::<SignedQuote>(&json).expect("the same"), signed);
    }

    #[test]
    fn the_bytes_that_are_signed_stay_as_they_are() {
        let id = alloc::format!("{}", quote().id());
        assert_eq!(id, "992edf44287dd30e9bde8479fb8ec4c5618c871fee02da52303b5bb22ad97877");
    }
}
