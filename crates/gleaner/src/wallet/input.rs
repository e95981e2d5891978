//! What people write where money moves, read strictly: a typing error here can cost everything.
use std::path::Path;

use anyhow::{Context, Result};
use gleaner_chain::deploy::Deployment;
use gleaner_chain::genesis::Genesis;
use gleaner_chain::primitives::Address;
use gleaner_wire::Amount;

use crate::failure::Advice;

/// An address. If its letters are of both cases, they must be those of its checksum.
pub fn address(text: &str) -> Result<Address, String> {
    let wrong = "an address is 0x and 40 hexadecimal digits".to_owned();
    let Some(digits) = text.strip_prefix("0x").filter(|digits| digits.len() == 40) else { return Err(wrong) };
    let address: Address = digits.parse().map_err(|_| wrong)?;
    let mixed = digits.bytes().any(|c| c.is_ascii_lowercase()) && digits.bytes().any(|c| c.is_ascii_uppercase());
    if mixed && address.to_checksum(None) != text {
        return Err("its capital letters do not fit, so a digit must be wrong: copy the address anew".to_owned());
    }
    if address.is_zero() {
        return Err("nobody has the zero address: what goes there is lost".to_owned());
    }
    Ok(address)
}

/// An amount above zero.
pub fn amount(text: &str) -> Result<Amount, String> {
    match text.parse::<Amount>() {
        Ok(Amount::ZERO) => Err("the amount must be above zero".to_owned()),
        Ok(amount) => Ok(amount),
        Err(error) => Err(error.to_string()),
    }
}

/// Some of it, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Portion {
    /// Everything.
    All,
    /// So much.
    Some(Amount),
}

impl Portion {
    /// How much that is.
    pub fn of(self, whole: Amount) -> Amount {
        match self {
            Self::All => whole,
            Self::Some(amount) => amount,
        }
    }
}

/// An amount, or `all`.
pub fn portion(text: &str) -> Result<Portion, String> {
    if text == "all" { Ok(Portion::All) } else { amount(text).map(Portion::Some) }
}

/// A preset's genesis, or that of a file.
pub fn genesis(name: &str) -> Result<Genesis> {
    if let Ok(genesis) = Genesis::preset(name) {
        return Ok(genesis);
    }
    let text = std::fs::read_to_string(name).map_err(|error| {
        let problem = format!("there is no preset and no file called {name}");
        anyhow::Error::new(error).context(Advice::new(problem, "choose hub, capped, or the path of a genesis file"))
    })?;
    Genesis::parse(&text).with_context(|| format!("{name} cannot be used"))
}

/// What `gleaner chain deploy` printed.
pub fn deployment(file: &Path) -> Result<Deployment> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not a deployment", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKSUMMED: &str = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";

    #[test]
    fn an_address_with_a_wrong_digit_is_refused() {
        assert!(address(CHECKSUMMED).is_ok());
        assert!(address(&CHECKSUMMED.to_lowercase()).is_ok());
        assert!(address(&CHECKSUMMED.replace("5aAeb6", "5aAeb7")).is_err());
        assert!(address(&CHECKSUMMED.replace("5aA", "5aa")).is_err());
        for text in ["", "0x", &CHECKSUMMED[2..], &CHECKSUMMED[..41], &format!("0x{}", "0".repeat(40))] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nothing_is_not_an_amount() {
        assert_eq!(amount("2.5 GLN"), Ok(Amount(2_500_000_000)));
        assert!(amount("0").is_err() && amount("0.0 GLN").is_err() && amount("all").is_err());
        assert_eq!(portion("all"), Ok(Portion::All));
        assert_eq!(portion("1"), Ok(Portion::Some(Amount::gln(1))));
    }
}
