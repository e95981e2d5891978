//! Apple's GPUs and Macs, from what the system's own commands print. Parsing works, and is tested, on every system.
use serde::{Deserialize, Serialize};

use super::command;

/// A GPU of a Mac.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AppleGpu {
    /// Its name, such as `Apple M2 Pro`.
    pub name: String,
    /// How many cores it has.
    pub cores: Option<u32>,
    /// The version of Metal, such as `metal3`.
    pub metal: Option<String>,
    /// Displays that it drives.
    pub displays: Vec<String>,
}

#[derive(Deserialize)]
struct Report {
    #[serde(rename = "SPDisplaysDataType", default)]
    displays: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "_name", default)]
    name: String,
    #[serde(default)]
    sppci_model: Option<String>,
    #[serde(default)]
    sppci_cores: Option<String>,
    #[serde(default)]
    spdisplays_mtlgpufamilysupport: Option<String>,
    #[serde(default)]
    spdisplays_ndrvs: Vec<Screen>,
}

#[derive(Deserialize)]
struct Screen {
    #[serde(rename = "_name", default)]
    name: String,
    #[serde(default)]
    spdisplays_online: Option<String>,
}

/// The GPUs in what `system_profiler SPDisplaysDataType -json` printed; none if it makes no sense.
pub fn parse(json: &str) -> Vec<AppleGpu> {
    let report: Report = serde_json::from_str(json).unwrap_or(Report { displays: Vec::new() });
    report.displays.into_iter().map(gpu).collect()
}

fn gpu(entry: Entry) -> AppleGpu {
    let online = |screen: &Screen| screen.spdisplays_online.as_deref() != Some("spdisplays_no");
    AppleGpu {
        name: entry.sppci_model.unwrap_or(entry.name),
        cores: entry.sppci_cores.and_then(|cores| cores.parse().ok()),
        metal: entry.spdisplays_mtlgpufamilysupport.map(|text| text.trim_start_matches("spdisplays_").to_owned()),
        displays: entry.spdisplays_ndrvs.into_iter().filter(online).map(|screen| screen.name).collect(),
    }
}

/// The load of the GPU in what `ioreg -r -c IOAccelerator -d 1` printed.
pub fn parse_load(text: &str) -> Option<u8> {
    let (_, rest) = text.split_once("\"Device Utilization %\"=")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<u8>().ok().map(|percent| percent.min(100))
}

/// Asks the system; nothing on systems that are not macOS.
pub fn read() -> Vec<AppleGpu> {
    if !cfg!(target_os = "macos") {
        return Vec::new();
    }
    command::output("system_profiler", &["SPDisplaysDataType", "-json"]).map(|text| parse(&text)).unwrap_or_default()
}

/// The load of the GPU now; unknown on systems that are not macOS.
pub fn load() -> Option<u8> {
    if !cfg!(target_os = "macos") {
        return None;
    }
    parse_load(&command::output("ioreg", &["-r", "-c", "IOAccelerator", "-d", "1"])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACBOOK: &str = r#"{ "SPDisplaysDataType" : [ {
        "_name" : "Apple M2 Pro",
        "spdisplays_mtlgpufamilysupport" : "spdisplays_metal3",
        "spdisplays_ndrvs" : [
            { "_name" : "Color LCD", "spdisplays_main" : "spdisplays_yes", "spdisplays_online" : "spdisplays_yes" },
            { "_name" : "Old projector", "spdisplays_online" : "spdisplays_no" } ],
        "spdisplays_vendor" : "sppci_vendor_Apple",
        "sppci_bus" : "spdisplays_builtin", "sppci_cores" : "19", "sppci_device_type" : "spdisplays_gpu",
        "sppci_model" : "Apple M2 Pro" } ] }"#;

    #[test]
    fn a_macbook_s_gpu_is_read() {
        let gpu = AppleGpu {
            name: "Apple M2 Pro".to_owned(),
            cores: Some(19),
            metal: Some("metal3".to_owned()),
            displays: vec!["Color LCD".to_owned()],
        };
        assert_eq!(parse(MACBOOK), [gpu]);
        assert_eq!(parse("no json"), []);
    }

    #[test]
    fn the_load_is_found_among_the_statistics() {
        let text = r#""PerformanceStatistics" = {"In use system memory"=1,"Device Utilization %"=37,"Tiler"=3}"#;
        assert_eq!(parse_load(text), Some(37));
        assert_eq!(parse_load("nothing"), None);
    }
}
