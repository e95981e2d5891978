//! This very machine, whatever it is: probing and watching it must not fail, and must agree with each other.
use gleaner_machine::advice::findings;
use gleaner_machine::governor::{Governor, Input, Ours};
use gleaner_machine::inventory::Inventory;
use gleaner_machine::preferences::Preferences;
use gleaner_machine::probe::{Places, Tree};
use gleaner_machine::watch::{Session, Watcher};
use gleaner_wire::Millis;

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

#[test]
fn every_device_of_this_machine_can_be_watched_and_judged() {
    let mut watcher = Watcher::new(Tree::default(), Session::default());
    let inventory = Inventory::from(&gleaner_machine::probe(&here(), None));
    let look = watcher.look();
    for device in &inventory.devices {
        let reading = look.reading(device, Ours::default(), true);
        let verdict = Governor::new().step(Millis(1), &reading, &Preferences::default());
        assert!(!verdict.holds.is_empty(), "a paused device is held");
    }
}

#[test]
fn a_session_without_a_screen_knows_no_more_than_logind() {
    match gleaner_machine::watch::input::read(&Session::default()) {
        Input::Idle(since) => assert!(since < Millis(1 << 40), "{since:?}"),
        Input::Nobody | Input::Unknown => {}
    }
}
