//! Which of Cycles' devices a card of the machine is. A cell shows its program one card only, so that the device has to be
//! that very card, and not the best one that Cycles finds outside.
use gleaner_wire::DeviceKind as Maker;

use crate::engine::{Device, DeviceKind};

/// A card of the machine, as its bus knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// Who made it, which decides what Cycles computes with.
    pub maker: Maker,
    /// Where it is plugged in, if that is known.
    pub slot: Option<Slot>,
}

/// A slot on the PCI bus. Cycles leaves the function out, since a card has one that computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    domain: u32,
    bus: u8,
    device: u8,
}

impl Slot {
    /// Reads `0000:01:00` or `0000:01:00.0`.
    pub fn of(text: &str) -> Option<Self> {
        let slot = text.split_once('.').map_or(text, |(slot, _)| slot);
        let mut parts = slot.split(':').map(|part| u32::from_str_radix(part, 16).ok());
        let (domain, bus, device) = (parts.next()??, parts.next()??, parts.next()??);
        if parts.next().is_some() {
            return None;
        }
        Some(Self { domain, bus: u8::try_from(bus).ok()?, device: u8::try_from(device).ok()? })
    }

    /// The slot in an id such as `CUDA_Some Card_0000:01:00_OptiX` or `ONEAPI_Some Platform_Some Card_0000:03:00.0`.
    fn in_id(id: &str) -> Option<Self> {
        id.rsplit('_').find_map(Self::of)
    }
}

impl Card {
    /// What Cycles computes with on such a card, best first.
    fn kinds(&self) -> &'static [DeviceKind] {
        match self.maker {
            Maker::Nvidia => &[DeviceKind::Optix, DeviceKind::Cuda],
            Maker::Amd => &[DeviceKind::Hip],
            Maker::Intel => &[DeviceKind::OneApi],
            Maker::Apple => &[DeviceKind::Metal],
            Maker::Cpu | Maker::Software | Maker::Other => &[],
        }
    }

    /// The device that this card is among those of Cycles.
    pub(crate) fn among<'a>(&self, devices: &'a [Device]) -> Option<&'a Device> {
        self.kinds().iter().find_map(|kind| self.of_kind(devices, *kind))
    }

    fn of_kind<'a>(&self, devices: &'a [Device], kind: DeviceKind) -> Option<&'a Device> {
        let alike: Vec<&Device> = devices.iter().filter(|device| device.kind == kind).collect();
        let here = |device: &&&Device| self.slot.is_some() && Slot::in_id(&device.id) == self.slot;
        // Where one of the two does not say where it is, they are the same only if there is nothing to confuse.
        let only = match alike[..] {
            [only] if self.slot.is_none() || Slot::in_id(&only.id).is_none() => Some(only),
            _ => None,
        };
        alike.iter().find(here).copied().or(only)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(kind: DeviceKind, id: &str) -> Device {
        Device { kind, id: id.into(), name: "card".into() }
    }

    fn card(maker: Maker, slot: &str) -> Card {
        Card { maker, slot: Slot::of(slot) }
    }

    fn id(card: Card, devices: &[Device]) -> Option<&str> {
        card.among(devices).map(|device| device.id.as_str())
    }

    #[test]
    fn each_of_two_equal_cards_is_its_own_device() {
        let devices = [
            device(DeviceKind::Cuda, "CUDA_NVIDIA GeForce RTX 4090_0000:01:00"),
            device(DeviceKind::Cuda, "CUDA_NVIDIA GeForce RTX 4090_0000:41:00"),
            device(DeviceKind::Optix, "CUDA_NVIDIA GeForce RTX 4090_0000:01:00_OptiX"),
            device(DeviceKind::Optix, "CUDA_NVIDIA GeForce RTX 4090_0000:41:00_OptiX"),
        ];
        for slot in ["0000:01:00", "0000:41:00"] {
            let found = id(card(Maker::Nvidia, &format!("{slot}.0")), &devices).expect("a device");
            assert_eq!(found, format!("CUDA_NVIDIA GeForce RTX 4090_{slot}_OptiX"));
        }
        assert_eq!(id(card(Maker::Nvidia, "0000:81:00.0"), &devices), None, "a card that Cycles does not see");
        let unplaced = Card { maker: Maker::Nvidia, slot: None };
        assert_eq!(id(unplaced, &devices), None, "nobody can say which of them it is");
    }

    #[test]
    fn cards_of_several_makers_keep_to_what_their_maker_knows() {
        let devices = [
            device(DeviceKind::Cuda, "CUDA_Old_0000:02:00"),
            device(DeviceKind::Cuda, "CUDA_New_0000:01:00"),
            device(DeviceKind::Optix, "CUDA_New_0000:01:00_OptiX"),
            device(DeviceKind::Hip, "HIP_AMD Radeon RX 7900 XTX_0000:03:00"),
            device(DeviceKind::OneApi, "ONEAPI_Intel(R) Level-Zero_Intel(R) Arc(TM) A770_0000:04:00.0"),
        ];
        let kind = |maker, slot| card(maker, slot).among(&devices).map(|device| device.kind);
        assert_eq!(kind(Maker::Nvidia, "0000:01:00.0"), Some(DeviceKind::Optix));
        assert_eq!(kind(Maker::Nvidia, "0000:02:00.0"), Some(DeviceKind::Cuda), "too old for ray tracing");
        assert_eq!(kind(Maker::Amd, "0000:03:00.0"), Some(DeviceKind::Hip));
        assert_eq!(kind(Maker::Intel, "0000:04:00.0"), Some(DeviceKind::OneApi));
        assert_eq!(kind(Maker::Intel, "0000:00:02.0"), None, "graphics within a processor that Cycles does not use");
        assert_eq!(kind(Maker::Software, "0000:01:00.0"), None);
    }

    #[test]
    fn a_lone_card_is_known_without_a_slot() {
        let devices = [device(DeviceKind::Metal, "METAL_Apple M2"), device(DeviceKind::OneApi, "ONEAPI_Intel_Arc")];
        assert_eq!(id(Card { maker: Maker::Apple, slot: None }, &devices), Some("METAL_Apple M2"));
        assert_eq!(id(card(Maker::Intel, "0000:04:00.0"), &devices), Some("ONEAPI_Intel_Arc"));
    }
}
