//! The whole way of a simulated device: a file is written, read and judged.
use std::path::Path;

use gleaner_machine::governor::{Effect, Governor, LocalTime, Ours, Reading, Reason, State};
use gleaner_machine::preferences::Preferences;
use gleaner_machine::watch::simulated::{FILE_NAME, Simulated};
use gleaner_wire::Millis;

fn look(path: &Path, tasks: u32) -> Reading {
    let simulated = Simulated::read(path).expect("the file is right");
    Reading {
        usage: simulated.usage(),
        ours: Ours { pids: [77].into(), tasks },
        owner: simulated.owner(),
        time: LocalTime::now(),
        paused: false,
    }
}

#[test]
fn a_device_in_a_file_is_given_back_and_shared_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(FILE_NAME);
    let write = |text: &str| std::fs::write(&path, text).expect("written");
    let preferences = Preferences::parse("[yield]\nfree_within = \"500ms\"\nprocess_quiet = \"3s\"\n").expect("right");
    let mut governor = Governor::new();

    write("");
    assert_eq!(governor.step(Millis(0), &look(&path, 0), &preferences).effects, [Effect::Resume]);

    let ours = "busy_percent = 95\n[[process]]\npid = 77\nname = \"gleaner\"\nmemory = \"1GiB\"\nbusy_percent = 95\n";
    write(ours);
    assert_eq!(governor.step(Millis(1000), &look(&path, 1), &preferences).state, State::Free);

    write(&format!("{ours}[[process]]\npid = 4242\nname = \"game\"\nmemory = \"3GiB\"\nbusy_percent = 60\n"));
    let verdict = governor.step(Millis(2000), &look(&path, 1), &preferences);
    let deadline = Millis(2500);
    assert_eq!(verdict.effects, [Effect::StopTaking, Effect::HandOff, Effect::FreeBy { deadline }]);
    assert_eq!(verdict.holds[0].reason, Reason::Process);
    assert_eq!(verdict.holds[0].detail, "game (process 4242)");
    assert_eq!(governor.next_deadline(), Some(deadline));

    write("");
    let verdict = governor.step(Millis(2100), &look(&path, 0), &preferences);
    assert_eq!(verdict.state, State::Held { until: Some(Millis(5000)) });
    assert_eq!(governor.step(Millis(4999), &look(&path, 0), &preferences).effects, []);
    assert_eq!(governor.step(Millis(5000), &look(&path, 0), &preferences).effects, [Effect::Resume]);
}
