//! Which processes use a GPU, from the counters that amdgpu, i915 and xe keep for each open file of a card.
//!
//! Only processes that this user may look at are seen; how many are hidden is counted, so that nobody takes silence for
//! idleness.
use std::collections::{BTreeMap, BTreeSet};

use gleaner_wire::ByteSize;
use serde::{Deserialize, Serialize};

use super::pci::PciAddress;
use super::tree::Tree;

/// The most open files of one process that are looked at.
const FILES_MAX: usize = 4096;

/// What one process has done on one card since it opened it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Client {
    /// The process.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// The card.
    pub address: Option<PciAddress>,
    /// Time that each engine worked for it.
    pub engines_ns: BTreeMap<String, u64>,
    /// Memory that it holds on the card.
    pub memory: ByteSize,
}

/// Everything that could be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Clients {
    /// The processes, each once for each card.
    pub clients: Vec<Client>,
    /// Processes that could not be looked at.
    pub hidden: u32,
}

/// Looks at every process.
pub fn clients(tree: &Tree) -> Clients {
    let mut found = Clients::default();
    for name in tree.list("/proc") {
        let Ok(pid) = name.parse::<u32>() else { continue };
        match of_process(tree, pid) {
            Some(clients) => found.clients.extend(clients),
            None => found.hidden += 1,
        }
    }
    found
}

fn of_process(tree: &Tree, pid: u32) -> Option<Vec<Client>> {
    let folder = tree.path(format!("/proc/{pid}/fd"));
    let files = std::fs::read_dir(folder).ok()?.flatten().take(FILES_MAX);
    let mut seen = BTreeSet::new();
    let mut cards: BTreeMap<Option<PciAddress>, Client> = BTreeMap::new();
    for file in files {
        let file = file.file_name().to_string_lossy().into_owned();
        let target = tree.link(format!("/proc/{pid}/fd/{file}"));
        if !target.is_some_and(|target| target.starts_with("/dev/dri")) {
            continue;
        }
        let Some(info) = tree.text(format!("/proc/{pid}/fdinfo/{file}")).and_then(|text| parse(&text)) else {
            continue;
        };
        // A file that was inherited or passed on shows the same client again.
        if seen.insert((info.address, info.client)) {
            let client = cards.entry(info.address).or_default();
            client.address = info.address;
            client.memory = ByteSize(client.memory.0.saturating_add(info.memory));
            for (engine, time) in info.engines_ns {
                let sum = client.engines_ns.entry(engine).or_default();
                *sum = sum.saturating_add(time);
            }
        }
    }
    let name = if cards.is_empty() { None } else { tree.text(format!("/proc/{pid}/comm")) }.unwrap_or_default();
    Some(cards.into_values().map(|client| Client { pid, name: name.clone(), ..client }).collect())
}

struct Info {
    address: Option<PciAddress>,
    client: u64,
    engines_ns: BTreeMap<String, u64>,
    memory: u64,
}

/// Reads one `fdinfo` file; `None` if its driver keeps no counters.
fn parse(text: &str) -> Option<Info> {
    let mut info = Info { address: None, client: 0, engines_ns: BTreeMap::new(), memory: 0 };
    let mut counted = false;
    let mut regions: BTreeMap<&str, u64> = BTreeMap::new();
    for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let mut words = value.split_whitespace();
        let number = words.next().and_then(|word| word.parse::<u64>().ok());
        if key == "drm-pdev" {
            info.address = value.trim().parse().ok();
        } else if key == "drm-client-id" {
            info.client = number?;
            counted = true;
        } else if let (Some(engine), Some(time)) = (key.strip_prefix("drm-engine-"), number) {
            if !engine.starts_with("capacity-") {
                info.engines_ns.insert(engine.to_owned(), time);
            }
        } else if let (Some(region), Some(size)) = (memory_region(key), number) {
            let bytes = size.saturating_mul(scale(words.next()));
            let most = regions.entry(region).or_default();
            *most = bytes.max(*most);
        }
    }
    info.memory = regions.values().fold(0, |sum, bytes| sum.saturating_add(*bytes));
    counted.then_some(info)
}

/// The region of a card's own memory that a key is about. Drivers write several keys for the same bytes, and the
/// machine's memory (`gtt`, `cpu`, `system`) takes nothing from the card.
fn memory_region(key: &str) -> Option<&str> {
    let region = ["drm-memory-", "drm-resident-"].iter().find_map(|prefix| key.strip_prefix(prefix))?;
    (region.starts_with("vram") || region.starts_with("local") || region.starts_with("lmem")).then_some(region)
}

fn scale(unit: Option<&str>) -> u64 {
    match unit {
        Some("KiB") => 1 << 10,
        Some("MiB") => 1 << 20,
        Some(_) | None => 1,
    }
}

/// How busy each process kept the busiest engine of a card between two looks, in percent.
pub fn busy_between(before: &Clients, after: &Clients, elapsed_ns: u64, card: PciAddress) -> BTreeMap<u32, u8> {
    let of_card = |clients: &Clients| {
        let clients = clients.clients.iter().filter(|client| client.address == Some(card));
        clients.map(|client| (client.pid, client.engines_ns.clone())).collect::<BTreeMap<_, _>>()
    };
    let before = of_card(before);
    let busiest = |pid: &u32, engines: &BTreeMap<String, u64>| {
        let earlier = |engine: &String| before.get(pid).and_then(|engines| engines.get(engine)).copied();
        // A process that is new since the last look has done all of it since then.
        engines.iter().map(|(engine, time)| time.saturating_sub(earlier(engine).unwrap_or(0))).max().unwrap_or(0)
    };
    let percent = |time: u64| u128::from(time) * 100 / u128::from(elapsed_ns.max(1));
    let after = of_card(after);
    after.iter().map(|(pid, engines)| (*pid, percent(busiest(pid, engines)).min(100) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMD: &str = "pos:\t0\nflags:\t02100002\ndrm-driver:\tamdgpu\ndrm-client-id:\t42\ndrm-pdev:\t0000:03:00.0\n\
        drm-memory-vram:\t204800 KiB\ndrm-memory-gtt: \t51200 KiB\ndrm-resident-vram:\t204800 KiB\n\
        drm-engine-gfx:\t4000000000 ns\ndrm-engine-compute:\t0 ns\n";

    #[test]
    fn the_card_s_own_memory_is_counted_once() {
        let info = parse(AMD).expect("amdgpu keeps counters");
        assert_eq!(info.memory, 200 << 20);
        assert_eq!(info.engines_ns["gfx"], 4_000_000_000);
        assert_eq!(info.address, "0000:03:00.0".parse().ok());
    }

    #[test]
    fn a_file_without_counters_says_nothing() {
        assert!(parse("pos:\t0\nflags:\t02\n").is_none());
    }

    #[test]
    fn load_is_the_busiest_engine_s_share_of_the_time() {
        let card: PciAddress = "0000:03:00.0".parse().expect("an address");
        let at = |gfx: u64| Clients {
            clients: vec![Client {
                pid: 7,
                address: Some(card),
                engines_ns: [("gfx".to_owned(), gfx), ("video".to_owned(), 0)].into(),
                ..Client::default()
            }],
            hidden: 0,
        };
        assert_eq!(busy_between(&at(100), &at(100 + 250_000), 1_000_000, card), [(7, 25)].into());
        assert_eq!(busy_between(&at(900), &at(0), 1_000_000, card), [(7, 0)].into(), "a counter that fell");
    }
}
