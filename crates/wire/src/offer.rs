//! What a worker offers and what a task needs.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

use crate::{Address, Amount, ByteSize};

/// A kind of program that a worker can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Runtime {
    /// A WASI program in a WebAssembly sandbox.
    Wasm,
    /// A WGSL compute kernel.
    Wgsl,
    /// A program in a container.
    Container,
    /// A scene in Blender.
    Blender,
}

impl Runtime {
    /// Every runtime, in order.
    pub const ALL: [Self; 4] = [Self::Wasm, Self::Wgsl, Self::Container, Self::Blender];
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wasm => "wasm",
            Self::Wgsl => "wgsl",
            Self::Container => "container",
            Self::Blender => "blender",
        })
    }
}

/// Who made a device, as far as work placed on it may care.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// The processor itself.
    Cpu,
    /// A graphics driver that computes on the processor, such as Mesa's llvmpipe.
    Software,
    /// An NVIDIA GPU.
    Nvidia,
    /// An AMD GPU.
    Amd,
    /// An Intel GPU.
    Intel,
    /// An Apple GPU.
    Apple,
    /// Any other GPU.
    Other,
}

impl DeviceKind {
    /// Every kind, in order.
    pub const ALL: [Self; 7] =
        [Self::Cpu, Self::Software, Self::Nvidia, Self::Amd, Self::Intel, Self::Apple, Self::Other];
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Software => "software",
            Self::Nvidia => "nvidia",
            Self::Amd => "amd",
            Self::Intel => "intel",
            Self::Apple => "apple",
            Self::Other => "other",
        })
    }
}

/// Which devices a task accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeviceNeed {
    /// Any that has the runtime.
    #[default]
    Any,
    /// A real GPU: neither the processor nor a software driver.
    Gpu,
    /// The processor.
    Cpu,
    /// A software driver.
    Software,
    /// NVIDIA only.
    Nvidia,
    /// AMD only.
    Amd,
    /// Intel only.
    Intel,
    /// Apple only.
    Apple,
}

impl DeviceNeed {
    /// Whether a device of this kind will do.
    pub fn accepts(self, kind: DeviceKind) -> bool {
        match self {
            Self::Any => true,
            Self::Gpu => !matches!(kind, DeviceKind::Cpu | DeviceKind::Software),
            Self::Cpu => kind == DeviceKind::Cpu,
            Self::Software => kind == DeviceKind::Software,
            Self::Nvidia => kind == DeviceKind::Nvidia,
            Self::Amd => kind == DeviceKind::Amd,
            Self::Intel => kind == DeviceKind::Intel,
            Self::Apple => kind == DeviceKind::Apple,
        }
    }
}

/// What a task needs of a device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Needs {
    /// The runtime.
    pub runtime: Runtime,
    /// The kind of device.
    pub device: DeviceNeed,
    /// Memory of the device.
    pub memory: ByteSize,
    /// The region, if it matters.
    pub region: Option<String>,
    /// The least benchmark score.
    pub score_min: u32,
    /// The most loop iterations that one invocation may make; `None` if the job does not say.
    pub loops_max: Option<u64>,
    /// Exactly this build of the runtime's engine, if results depend on it.
    pub engine: Option<String>,
    /// How many cards of the device it takes at a time.
    pub cards: u16,
    /// Whether it has to reach the network.
    pub network: bool,
    /// Whether it is drawn with EEVEE.
    pub eevee: bool,
}

/// One runtime on one device, as its self-test found it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RuntimeOffer {
    /// The runtime.
    pub runtime: Runtime,
    /// Speed measured by the self-test; 1000 is the reference machine.
    pub score: u32,
    /// The most loop iterations an invocation can make before the device silently gives wrong answers.
    pub loops_max: Option<u64>,
    /// Which build of its engine it has, for runtimes whose results depend on that.
    pub engine: Option<String>,
}

/// One device of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeviceOffer {
    /// What kind.
    pub kind: DeviceKind,
    /// The name its driver gives.
    pub name: String,
    /// Memory that tasks may use.
    pub memory: ByteSize,
    /// How many equal cards it stands for, which work on one task together.
    pub cards: u16,
    /// How many tasks it runs at a time.
    pub slots: u16,
    /// Whether tasks that ask for it may reach the network.
    pub network: bool,
    /// Whether its Blender can draw with EEVEE, which needs OpenGL.
    pub eevee: bool,
    /// Price for a second of one slot.
    pub price_per_second: Amount,
    /// What its self-test has passed.
    pub runtimes: Vec<RuntimeOffer>,
}

/// A worker's standing offer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Offer {
    /// The name its owner gave it.
    pub name: String,
    /// The region it is in.
    pub region: String,
    /// Who is paid for its work, and whose stake stands behind it; needed on a hub that settles on a chain, and proved
    /// there by the hello's `owner_proof`.
    pub provider: Option<Address>,
    /// Its devices.
    pub devices: Vec<DeviceOffer>,
}

/// Why a hub does not take an offer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    /// A text is too long or holds control characters.
    #[error("the {0} must be 1 to {max} printable characters", max = Offer::TEXT_CHARS_MAX)]
    Text(&'static str),
    /// Too few or too many of something.
    #[error("the offer must have 1 to {1} {0}")]
    Count(&'static str, usize),
    /// The same thing twice.
    #[error("a device must offer each runtime once")]
    Twice,
    /// Two runtimes that no device has both.
    #[error("wasm runs on the processor and wgsl on a graphics device: no device offers both")]
    Unlike,
    /// A price that could overflow a bill.
    #[error("a price of more than 1000 GLN a second is refused")]
    Price,
    /// A score no machine has.
    #[error("a score must be 1 to 1,000,000,000")]
    Score,
}

impl Offer {
    /// The most devices of one worker.
    pub const DEVICES_MAX: usize = 32;
    /// The most characters of a name.
    pub const TEXT_CHARS_MAX: usize = 64;
    /// The most tasks a device runs at a time.
    pub const SLOTS_MAX: u16 = 256;
    /// The most cards of one device.
    pub const CARDS_MAX: u16 = 64;
    /// The most runtimes of one device: of wasm and wgsl it has one.
    pub const RUNTIMES_MAX: usize = Runtime::ALL.len() - 1;
    /// The most that a second of a device may cost.
    pub const PRICE_MAX: Amount = Amount::gln(1000);

    /// Refuses what no honest worker would offer.
    pub fn check(&self) -> Result<(), OfferError> {
        check_text("name", &self.name)?;
        check_text("region", &self.region)?;
        check_count("devices", self.devices.len(), Self::DEVICES_MAX)?;
        for device in &self.devices {
            check_text("device name", &device.name)?;
            check_count("slots", usize::from(device.slots), usize::from(Self::SLOTS_MAX))?;
            check_count("cards", usize::from(device.cards), usize::from(Self::CARDS_MAX))?;
            check_count("runtimes", device.runtimes.len(), Runtime::ALL.len())?;
            let twice =
                |at: usize| device.runtimes[..at].iter().any(|seen| seen.runtime == device.runtimes[at].runtime);
            if (0..device.runtimes.len()).any(twice) {
                return Err(OfferError::Twice);
            }
            let has = |runtime| device.runtimes.iter().any(|offered| offered.runtime == runtime);
            if has(Runtime::Wasm) && has(Runtime::Wgsl) {
                return Err(OfferError::Unlike);
            }
            for engine in device.runtimes.iter().filter_map(|offered| offered.engine.as_ref()) {
                check_text("engine", engine)?;
            }
            if device.price_per_second > Self::PRICE_MAX {
                return Err(OfferError::Price);
            }
            if device.runtimes.iter().any(|runtime| !(1..=1_000_000_000).contains(&runtime.score)) {
                return Err(OfferError::Score);
            }
        }
        Ok(())
    }
}

fn check_text(what: &'static str, text: &str) -> Result<(), OfferError> {
    let fits = (1..=Offer::TEXT_CHARS_MAX).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if fits { Ok(()) } else { Err(OfferError::Text(what)) }
}

fn check_count(what: &'static str, count: usize, max: usize) -> Result<(), OfferError> {
    if (1..=max).contains(&count) { Ok(()) } else { Err(OfferError::Count(what, max)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn offers_that_no_honest_worker_makes_are_refused() {
        let wasm = RuntimeOffer { runtime: Runtime::Wasm, score: 1000, loops_max: None, engine: None };
        let device = DeviceOffer {
            kind: DeviceKind::Cpu,
            name: "cpu".into(),
            memory: ByteSize::mib(1024),
            cards: 1,
            slots: 1,
            network: false,
            eevee: false,
            price_per_second: Amount(1),
            runtimes: vec![wasm.clone()],
        };
        let offer = Offer { name: "w".into(), region: "eu".into(), provider: None, devices: vec![device.clone()] };
        assert_eq!(offer.check(), Ok(()));
        let with = |device: DeviceOffer| Offer { devices: vec![device], ..offer.clone() }.check();
        assert_eq!(
            with(DeviceOffer { runtimes: vec![wasm.clone(), wasm.clone()], ..device.clone() }),
            Err(OfferError::Twice)
        );
        let wgsl = RuntimeOffer { runtime: Runtime::Wgsl, ..wasm.clone() };
        assert_eq!(with(DeviceOffer { runtimes: vec![wasm.clone(), wgsl], ..device.clone() }), Err(OfferError::Unlike));
        let engine = RuntimeOffer { engine: Some("\u{1b}".into()), ..wasm };
        assert!(with(DeviceOffer { runtimes: vec![engine], ..device.clone() }).is_err());
        assert!(with(DeviceOffer { cards: 0, ..device.clone() }).is_err());
        assert!(with(DeviceOffer { slots: 0, ..device.clone() }).is_err());
        assert!(with(DeviceOffer { runtimes: vec![], ..device.clone() }).is_err());
        assert!(with(DeviceOffer { price_per_second: Amount(u64::MAX), ..device.clone() }).is_err());
        assert!(with(DeviceOffer { name: "\u{1b}[2J".into(), ..device }).is_err());
    }
}
