//! This very machine, whatever it is: probing and watching it must not fail, and must agree with each other.
use gleaner_machine::advice::findings;
use gleaner_machine::governor::{Governor, Input, Ours, Reading, Reason, Usage};
use gleaner_machine::inventory::{Display, Inventory, Memory, Ways};
use gleaner_machine::preferences::{Preferences, Unknown, YieldToInput};
use gleaner_machine::probe::{Places, Tree};
use gleaner_machine::watch::{Session, Watcher};
use gleaner_wire::{DeviceKind, Millis};

fn here() -> Places {
    let search_path = std::env::var("PATH").unwrap_or_default();
    Places { tree: Tree::default(), search_path, dir: std::env::temp_dir() }
}

#[test]
fn this_machine_has_a_processor_memory_and_a_disk() {
    let probes = gleaner_machine::probe(&here(), None);
    assert!(probes.system.threads > 0 && probes.system.memory.0 > 0);
    assert!(probes.system.memory_free <= probes.system.memory);
    assert!(probes.system.disk_free.is_some());
    let found = findings(&Inventory::from(&probes), &probes.system);
    assert!(found[0].is_good() && found[0].capability == "processor", "{found:?}");
}

/// A quiet machine whose owner shares it whatever is not known about it.
fn quiet(look: &gleaner_machine::watch::Look, device: &gleaner_machine::Device, paused: bool) -> bool {
    let mut preferences = Preferences::default();
    preferences.idle.unknown = Unknown::Share;
    preferences.idle.input = YieldToInput::Never;
    preferences.idle.fullscreen = false;
    preferences.pause_on_battery = false;
    let reading = look.reading(device, Ours::default(), paused);
    let reading = Reading { usage: Usage { display: reading.usage.display, ..Usage::default() }, ..reading };
    Governor::new().step(Millis(1), &reading, &preferences).holds.is_empty()
}

#[test]
fn every_device_of_this_machine_can_be_watched_and_judged() {
    let mut watcher = Watcher::new(Tree::default(), Session::default());
    let mut devices = Inventory::from(&gleaner_machine::probe(&here(), None)).devices;
    devices.push(processor());
    let look = watcher.look();
    for device in &devices {
        assert!(quiet(&look, device, false), "nothing holds {}", device.name);
        assert!(!quiet(&look, device, true), "a paused device is held");
    }
}

fn processor() -> gleaner_machine::Device {
    gleaner_machine::Device {
        kind: DeviceKind::Cpu,
        name: "processor".to_owned(),
        address: None,
        memory: Memory::Shared,
        module: None,
        driver: None,
        display: Display::None,
        ways: Ways::default(),
        power_mw_max: None,
    }
}

#[test]
fn a_processor_that_is_too_hot_is_left_alone() {
    let machine = tempfile::tempdir().expect("a folder");
    let monitor = machine.path().join("sys/class/hwmon/hwmon0");
    std::fs::create_dir_all(&monitor).expect("a folder");
    std::fs::write(monitor.join("name"), "coretemp\n").expect("written");
    let mut watcher = Watcher::new(Tree::at(machine.path()), Session::default());
    for (degrees, held) in [("60000", false), ("95000", true)] {
        std::fs::write(monitor.join("temp1_input"), degrees).expect("written");
        let reading = watcher.look().reading(&processor(), Ours::default(), false);
        let mut preferences = Preferences::default();
        preferences.idle.unknown = Unknown::Share;
        preferences.idle.input = YieldToInput::Never;
        let verdict = Governor::new().step(Millis(1), &reading, &preferences);
        let hot = verdict.holds.iter().any(|hold| hold.reason == Reason::Hot);
        assert_eq!(hot, held, "{degrees}: {:?}", verdict.holds);
    }
}

#[test]
fn a_session_without_a_screen_knows_no_more_than_logind() {
    match gleaner_machine::watch::input::read(&Session::default()) {
        Input::Idle(since) => assert!(since < Millis(1 << 40), "{since:?}"),
        Input::Nobody | Input::Unknown => {}
    }
}
