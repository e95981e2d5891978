//! AMD's management library, where it is installed. The kernel says the rest; this adds which cards ROCm can use, and the
//! version of its driver.
use std::ffi::{CStr, c_char};

use gleaner_wire::ByteSize;
use libloading::{Library, Symbol};
use serde::{Deserialize, Serialize};

use super::pci::PciAddress;

const LIBRARIES: [&str; 3] = ["librocm_smi64.so.1", "librocm_smi64.so", "/opt/rocm/lib/librocm_smi64.so"];
/// More than any machine has.
const GPUS_MAX: u32 = 64;
const SUCCESS: u32 = 0;
/// The first kind of memory: the card's own.
const MEMORY_OWN: u32 = 0;
/// The first component whose version can be asked: the driver.
const COMPONENT_DRIVER: u32 = 0;
const VERSION_BYTES_MAX: usize = 256;

/// What the library says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RocmProbe {
    /// Whether it could be loaded.
    pub library: bool,
    /// Why it did not answer, if it did not.
    pub fault: Option<String>,
    /// The version of the driver.
    pub driver: Option<String>,
    /// The cards.
    pub gpus: Vec<RocmGpu>,
}

/// A card that ROCm can use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RocmGpu {
    /// Where it is.
    pub address: PciAddress,
    /// Its own memory.
    #[serde(default)]
    pub memory: Option<ByteSize>,
}

/// Loads the library, asks, and lets it go.
pub fn read() -> RocmProbe {
    // SAFETY: loading runs the library's own initialisers; it is the system's copy of AMD's published library.
    let Some(library) = LIBRARIES.iter().find_map(|name| unsafe { Library::new(name) }.ok()) else {
        return RocmProbe::default();
    };
    match ask(&library) {
        Ok(probe) => probe,
        Err(fault) => RocmProbe { library: true, fault: Some(fault), ..RocmProbe::default() },
    }
}

fn ask(library: &Library) -> Result<RocmProbe, String> {
    let (start, stop): (Symbol<'_, Start>, Symbol<'_, Stop>) =
        (symbol(library, b"rsmi_init\0")?, symbol(library, b"rsmi_shut_down\0")?);
    // SAFETY: the signature is that of the library's header; no flags are set.
    checked("rsmi_init", unsafe { start(0) })?;
    let answer = ask_started(library);
    // SAFETY: as above; it was started and nothing of it is in use.
    unsafe { stop() };
    answer
}

type Start = unsafe extern "C" fn(u64) -> u32;
type Stop = unsafe extern "C" fn() -> u32;
type Count = unsafe extern "C" fn(*mut u32) -> u32;
type Place = unsafe extern "C" fn(u32, *mut u64) -> u32;
type Memory = unsafe extern "C" fn(u32, u32, *mut u64) -> u32;
type Version = unsafe extern "C" fn(u32, *mut c_char, u32) -> u32;

fn symbol<'a, T>(library: &'a Library, name: &'static [u8]) -> Result<Symbol<'a, T>, String> {
    // SAFETY: each caller names the type that the library's header declares for this name.
    unsafe { library.get(name) }.map_err(|error| error.to_string())
}

fn checked(call: &str, status: u32) -> Result<(), String> {
    if status == SUCCESS { Ok(()) } else { Err(format!("{call} answered {status}")) }
}

fn ask_started(library: &Library) -> Result<RocmProbe, String> {
    let count: Symbol<'_, Count> = symbol(library, b"rsmi_num_monitor_devices\0")?;
    let mut gpus = 0;
    // SAFETY: the library writes one number.
    checked("rsmi_num_monitor_devices", unsafe { count(&raw mut gpus) })?;
    let gpus = (0..gpus.min(GPUS_MAX)).filter_map(|index| gpu(library, index)).collect();
    Ok(RocmProbe { library: true, fault: None, driver: driver(library), gpus })
}

fn gpu(library: &Library, index: u32) -> Option<RocmGpu> {
    let place: Symbol<'_, Place> = symbol(library, b"rsmi_dev_pci_id_get\0").ok()?;
    let memory: Symbol<'_, Memory> = symbol(library, b"rsmi_dev_memory_total_get\0").ok()?;
    let (mut id, mut bytes) = (0, 0);
    // SAFETY: the library writes one number for a device that it counted.
    checked("rsmi_dev_pci_id_get", unsafe { place(index, &raw mut id) }).ok()?;
    // SAFETY: as above.
    let asked = checked("rsmi_dev_memory_total_get", unsafe { memory(index, MEMORY_OWN, &raw mut bytes) });
    Some(RocmGpu { address: address_of(id)?, memory: asked.is_ok().then_some(ByteSize(bytes)) })
}

/// The library packs domain, bus, device and function into one number.
fn address_of(id: u64) -> Option<PciAddress> {
    let text = format!("{:04x}:{:02x}:{:02x}.{:x}", id >> 32, (id >> 8) & 0xff, (id >> 3) & 0x1f, id & 0x7);
    text.parse().ok()
}

fn driver(library: &Library) -> Option<String> {
    let version: Symbol<'_, Version> = symbol(library, b"rsmi_version_str_get\0").ok()?;
    let mut text: [c_char; VERSION_BYTES_MAX] = [0; VERSION_BYTES_MAX];
    // SAFETY: the library writes at most as many bytes as it is told.
    let status = unsafe { version(COMPONENT_DRIVER, text.as_mut_ptr(), VERSION_BYTES_MAX as u32 - 1) };
    checked("rsmi_version_str_get", status).ok()?;
    // SAFETY: the last byte was zero before, and the library was told not to write it.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) };
    Some(text.to_string_lossy().into_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packed_place_is_read_as_the_header_says() {
        let id = (0xa << 8) | (0x3 << 3) | 0x1;
        assert_eq!(address_of(id).map(|address| address.to_string()).as_deref(), Some("0000:0a:03.1"));
    }

    #[test]
    fn a_machine_without_amd_cards_has_none() {
        let probe = read();
        assert!(probe.gpus.iter().all(|gpu| gpu.memory.is_some()), "{probe:?}");
        assert!(probe.library || probe == RocmProbe::default());
    }
}
