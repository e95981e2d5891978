//! Where devices are plugged in, by which records of different sources are matched.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::tree::Tree;

const DEVICES: &str = "/sys/bus/pci/devices";
/// The class of displays: the first byte of three.
const CLASS_DISPLAY: u32 = 0x03;

/// An address on the PCI bus. Shown as `0000:01:00.0`; longer domains, as NVIDIA writes them, are read as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PciAddress {
    domain: u32,
    bus: u8,
    device: u8,
    function: u8,
}

/// Why a text is not a PCI address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a PCI address such as 0000:01:00.0")]
pub struct PciAddressError(String);

impl FromStr for PciAddress {
    type Err = PciAddressError;

    fn from_str(text: &str) -> Result<Self, PciAddressError> {
        let read = || {
            let (rest, function) = text.trim().rsplit_once('.')?;
            let mut parts = rest.split(':');
            let (domain, bus, device) = (parts.next()?, parts.next()?, parts.next()?);
            let byte = |part: &str| u8::from_str_radix(part, 16).ok();
            let domain = u32::from_str_radix(domain, 16).ok()?;
            let address = Self { domain, bus: byte(bus)?, device: byte(device)?, function: byte(function)? };
            parts.next().is_none().then_some(address)
        };
        read().ok_or_else(|| PciAddressError(text.chars().take(64).collect()))
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{:x}", self.domain, self.bus, self.device, self.function)
    }
}

impl TryFrom<String> for PciAddress {
    type Error = PciAddressError;

    fn try_from(text: String) -> Result<Self, PciAddressError> {
        text.parse()
    }
}

impl From<PciAddress> for String {
    fn from(address: PciAddress) -> Self {
        address.to_string()
    }
}

/// A display device on the bus, with a driver or without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PciDevice {
    /// Where it is.
    pub address: PciAddress,
    /// The number of its vendor.
    pub vendor: u32,
    /// Its vendor's number for it.
    pub device: u32,
    /// The kernel's driver that holds it.
    #[serde(default)]
    pub driver: Option<String>,
}

/// Every display device on the bus.
pub fn devices(tree: &Tree) -> Vec<PciDevice> {
    tree.list(DEVICES).iter().filter_map(|name| device(tree, name)).collect()
}

fn device(tree: &Tree, name: &str) -> Option<PciDevice> {
    let folder = format!("{DEVICES}/{name}");
    if tree.hex(format!("{folder}/class"))? >> 16 != CLASS_DISPLAY {
        return None;
    }
    Some(PciDevice {
        address: name.parse().ok()?,
        vendor: tree.hex(format!("{folder}/vendor"))?,
        device: tree.hex(format!("{folder}/device"))?,
        driver: tree.link_name(format!("{folder}/driver")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_both_sources_are_equal() {
        let of_the_kernel: PciAddress = "0000:0a:00.0".parse().expect("an address");
        assert_eq!("00000000:0A:00.0".parse(), Ok(of_the_kernel));
        assert_eq!(of_the_kernel.to_string(), "0000:0a:00.0");
    }

    #[test]
    fn text_that_is_no_address_is_refused() {
        for text in ["", "0a:00.0", "0000:0a:00", "0000:0a:00.0:1", "0000:1ff:00.0", "x:y:z.w"] {
            assert!(text.parse::<PciAddress>().is_err(), "{text}");
        }
    }
}
