//! Refusals of contracts in words: the name of the error and its arguments, amounts in GLN.
use alloy_primitives::{Address, U256, hex, keccak256};
use alloy_sol_types::{Panic, Revert, SolError, decode_revert_reason};
use gleaner_wire::Amount;
use serde::Deserialize;

use crate::contracts::ARTIFACTS;

/// Arguments with these names are amounts of money.
const MONEY: [&str; 13] = [
    "free",
    "wanted",
    "gross",
    "cap",
    "bond",
    "total",
    "amount",
    "left",
    "available",
    "balance",
    "needed",
    "allowance",
    "redeemed",
];

#[derive(Deserialize)]
struct Artifact {
    abi: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    inputs: Vec<Input>,
}

#[derive(Deserialize)]
struct Input {
    name: String,
    #[serde(rename = "type")]
    kind: String,
}

impl Entry {
    fn selector(&self) -> [u8; 4] {
        let kinds: Vec<&str> = self.inputs.iter().map(|input| input.kind.as_str()).collect();
        let hash = keccak256(format!("{}({})", self.name, kinds.join(",")));
        [hash[0], hash[1], hash[2], hash[3]]
    }

    fn say(&self, arguments: &[u8]) -> String {
        let words = arguments.chunks_exact(32);
        let said: Vec<String> = self.inputs.iter().zip(words).map(|(input, word)| input.say(word)).collect();
        if said.is_empty() { self.name.clone() } else { format!("{}: {}", self.name, said.join(", ")) }
    }
}

impl Input {
    fn say(&self, word: &[u8]) -> String {
        let value = U256::from_be_slice(word);
        let text = match self.kind.as_str() {
            "address" => Address::from_slice(&word[12..]).to_string(),
            "bool" => (!value.is_zero()).to_string(),
            kind if kind.starts_with("uint") => match u64::try_from(value) {
                Ok(units) if MONEY.contains(&self.name.as_str()) => format!("{} GLN", Amount(units)),
                Ok(_) | Err(_) => value.to_string(),
            },
            _ => hex::encode_prefixed(word),
        };
        format!("{} {text}", self.name)
    }
}

/// What a contract returned when it refused, in words.
pub fn refusal(data: &[u8]) -> String {
    if data.is_empty() {
        return "without a reason".into();
    }
    let found = data.split_first_chunk::<4>().and_then(|(selector, arguments)| {
        let errors = ARTIFACTS.iter().flat_map(|text| errors_of(text));
        errors.into_iter().find(|error| error.selector() == *selector).map(|error| error.say(arguments))
    });
    found.or_else(|| standard(data)).unwrap_or_else(|| hex::encode_prefixed(data))
}

/// The two errors that the language itself makes.
fn standard(data: &[u8]) -> Option<String> {
    let known = data.starts_with(&Revert::SELECTOR) || data.starts_with(&Panic::SELECTOR);
    known.then(|| decode_revert_reason(data)).flatten()
}

fn errors_of(artifact: &str) -> Vec<Entry> {
    let artifact: Artifact = serde_json::from_str(artifact).expect("artifacts are checked in and compiled in");
    artifact.abi.into_iter().filter(|entry| entry.kind == "error").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::Escrow;

    #[test]
    fn a_custom_error_is_said_in_words_with_amounts_in_gln() {
        let error = Escrow::NotCovered {
            account: Address::ZERO,
            free: U256::from(3_000_000_000_u64),
            wanted: U256::from(5_500_000_000_u64),
        };
        let said = refusal(&error.abi_encode());
        assert_eq!(said, "NotCovered: account 0x0000000000000000000000000000000000000000, free 3 GLN, wanted 5.5 GLN");
    }

    #[test]
    fn other_refusals_are_said_as_well_as_can_be() {
        assert_eq!(refusal(&[]), "without a reason");
        assert_eq!(refusal(&[1, 2, 3, 4, 5]), "0x0102030405");
        assert!(refusal(&Revert::from("too late").abi_encode()).contains("too late"));
    }

    #[test]
    fn a_truncated_error_does_not_stop_us() {
        let error = Escrow::BadReceiver { to: Address::ZERO }.abi_encode();
        assert_eq!(refusal(&error[..20]), "BadReceiver");
    }
}
