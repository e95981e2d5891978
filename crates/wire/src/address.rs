//! Accounts on a chain.
use alloc::string::String;
#[cfg(feature = "openapi")]
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An account on an EVM chain; `0x` and 40 hexadecimal digits where people read it, 20 bytes elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
pub struct Address(pub [u8; 20]);

/// Why a text is not an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an address: expected 0x and 40 hexadecimal digits")]
pub struct AddressError;

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 40).ok_or(AddressError)?;
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16).ok_or(AddressError);
            *byte = (digit(0)? << 4 | digit(1)?) as u8;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { self.0.serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
        } else {
            <[u8; 20]>::deserialize(deserializer).map(Self)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn an_address_reads_back_what_it_prints() {
        let address = Address(core::array::from_fn(|at| at as u8 * 13));
        assert_eq!(address.to_string().parse(), Ok(address));
        assert_eq!(address.to_string().to_uppercase().replace("0X", "0x").parse(), Ok(address));
    }

    #[test]
    fn text_that_is_no_address_is_refused() {
        for text in
            ["", "0x", &"0".repeat(42), &format_args!("0x{}", "g".repeat(40)).to_string(), "0xéééééééééééééééééééé"]
        {
            assert_eq!(text.parse::<Address>(), Err(AddressError), "{text}");
        }
    }
}
