//! Whether the machine runs on its battery.
use crate::probe::{Tree, command};

const CLASS: &str = "/sys/class/power_supply";

/// Whether it does. A machine that shows no battery has none.
pub fn on_battery(tree: &Tree) -> bool {
    if cfg!(target_os = "macos") {
        return command::output("pmset", &["-g", "batt"]).is_some_and(|text| parse_pmset(&text));
    }
    let supplies = tree.list(CLASS);
    let value = |name: &str, file: &str| tree.text(format!("{CLASS}/{name}/{file}"));
    let is = |name: &str, kind: &str| value(name, "type").as_deref() == Some(kind);
    let plugged = supplies
        .iter()
        .any(|name| (is(name, "Mains") || is(name, "USB")) && value(name, "online").as_deref() == Some("1"));
    // Mice and headsets have batteries too, of the scope of a device.
    let draining = supplies.iter().any(|name| {
        is(name, "Battery")
            && value(name, "scope").as_deref() != Some("Device")
            && value(name, "status").as_deref() == Some("Discharging")
    });
    draining && !plugged
}

fn parse_pmset(text: &str) -> bool {
    text.contains("Now drawing from 'Battery Power'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macos_says_where_its_power_comes_from() {
        assert!(parse_pmset("Now drawing from 'Battery Power'\n -InternalBattery-0 (id=1) 80%; discharging;"));
        assert!(!parse_pmset("Now drawing from 'AC Power'\n"));
    }
}
