//! How an owner wants to bid for tasks that are sold by auction.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The longest command.
const COMMAND_CHARS_MAX: usize = 4096;

/// How an owner bids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Bid {
    /// Its standing price, whatever the task.
    #[default]
    Fixed,
    /// What others ask who were invited as well, but never below what the electricity costs.
    Market,
    /// What the owner's own command prints.
    Script(String),
}

/// A text that says nothing of bidding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a bid is `fixed`, `market`, or a command of at most {COMMAND_CHARS_MAX} characters that prints a price")]
pub struct BidError;

impl FromStr for Bid {
    type Err = BidError;

    fn from_str(text: &str) -> Result<Self, BidError> {
        match text.trim() {
            "fixed" => Ok(Self::Fixed),
            "market" => Ok(Self::Market),
            "" => Err(BidError),
            command if command.chars().count() > COMMAND_CHARS_MAX => Err(BidError),
            command => Ok(Self::Script(command.to_owned())),
        }
    }
}

impl fmt::Display for Bid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fixed => "fixed",
            Self::Market => "market",
            Self::Script(command) => command,
        })
    }
}

impl Serialize for Bid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Bid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for text in ["fixed", "market", "/home/ada/bid.py --low"] {
            assert_eq!(text.parse::<Bid>().map(|bid| bid.to_string()), Ok(text.to_owned()));
        }
        assert_eq!(" ".parse::<Bid>(), Err(BidError));
        assert_eq!("x".repeat(5000).parse::<Bid>(), Err(BidError));
    }
}
