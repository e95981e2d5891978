//! GPUs as the Linux kernel shows them: memory, load, heat, power and displays of AMD and Intel cards, displays of all.
use gleaner_wire::ByteSize;
use serde::{Deserialize, Serialize};

use super::pci::PciAddress;
use super::tree::Tree;

const CLASS: &str = "/sys/class/drm";

/// A card of the kernel's graphics drivers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Card {
    /// The kernel's name for it, such as `card0`.
    pub name: String,
    /// Where it is.
    pub address: Option<PciAddress>,
    /// The kernel's driver, such as `amdgpu`.
    pub driver: String,
    /// The node by which programs compute on it, such as `renderD128`.
    pub render_node: Option<String>,
    /// Connectors with something plugged in, such as `DP-1`.
    pub displays: Vec<String>,
    /// Its own memory.
    pub memory: Option<ByteSize>,
    /// How much of it is taken.
    pub memory_used: Option<ByteSize>,
    /// Memory of the machine that it may use.
    pub memory_shared: Option<ByteSize>,
    /// How busy it is.
    pub busy_percent: Option<u8>,
    /// How fast it runs now.
    pub megahertz: Option<u32>,
    /// How hot it is.
    pub celsius: Option<i16>,
    /// What it draws now.
    pub power_mw: Option<u64>,
    /// What it may draw at most.
    pub power_mw_max: Option<u64>,
}

/// Every card that has a driver.
pub fn cards(tree: &Tree) -> Vec<Card> {
    let names = tree.list(CLASS);
    let cards = names.iter().filter(|name| is_card(name));
    cards.map(|name| card(tree, name, &names)).collect()
}

fn is_card(name: &str) -> bool {
    name.strip_prefix("card").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

fn card(tree: &Tree, name: &str, all: &[String]) -> Card {
    let device = format!("{CLASS}/{name}/device");
    let bytes = |file: &str| tree.number(format!("{device}/{file}")).map(ByteSize);
    let sensors = sensors(tree, &device);
    Card {
        name: name.to_owned(),
        address: tree.link_name(&device).and_then(|link| link.parse().ok()),
        driver: tree.link_name(format!("{device}/driver")).unwrap_or_default(),
        render_node: tree.list(format!("{device}/drm")).into_iter().find(|node| node.starts_with("renderD")),
        displays: displays(tree, name, all),
        memory: bytes("mem_info_vram_total"),
        memory_used: bytes("mem_info_vram_used"),
        memory_shared: bytes("mem_info_gtt_total"),
        busy_percent: tree.number(format!("{device}/gpu_busy_percent")),
        megahertz: megahertz(tree, name),
        ..sensors
    }
}

fn displays(tree: &Tree, card: &str, all: &[String]) -> Vec<String> {
    let connectors = all.iter().filter_map(|name| Some((name, name.strip_prefix(card)?.strip_prefix('-')?)));
    let connected = |name: &str| tree.text(format!("{CLASS}/{name}/status")).as_deref() == Some("connected");
    connectors.filter(|(name, _)| connected(name)).map(|(_, connector)| connector.to_owned()).collect()
}

/// i915 shows the clock below the card, xe below each tile.
fn megahertz(tree: &Tree, card: &str) -> Option<u32> {
    let places = ["gt_act_freq_mhz", "gt/gt0/rps_act_freq_mhz", "device/tile0/gt0/freq0/act_freq"];
    places.iter().find_map(|place| tree.number(format!("{CLASS}/{card}/{place}")))
}

fn sensors(tree: &Tree, device: &str) -> Card {
    let mut found = Card::default();
    for chip in tree.list(format!("{device}/hwmon")) {
        let folder = format!("{device}/hwmon/{chip}");
        let number = |file: &str| tree.number::<u64>(format!("{folder}/{file}"));
        found.power_mw =
            found.power_mw.or(number("power1_average").or(number("power1_input")).map(|micro| micro / 1000));
        let limit = number("power1_cap").or(number("power1_max")).map(|micro| micro / 1000);
        found.power_mw_max = found.power_mw_max.or(limit.filter(|limit| *limit > 0));
        let milli = tree.number::<i64>(format!("{folder}/temp1_input"));
        found.celsius = found.celsius.or(milli.and_then(|milli| i16::try_from(milli / 1000).ok()));
    }
    found
}
