//! Data that comes from the requester's own machine and from other workers, and what is counted of that.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::network::{Network, PATIENCE};
use crate::programs;
use serde_json::Value;

/// Bytes that cannot be squeezed.
fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

/// Waits until `look` finds something.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "it does not happen");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn datasets(network: &Network) -> Vec<Value> {
    let listed = network.run(&["data", "list", "--all", "--json"]).succeeded().stdout;
    serde_json::from_str(&listed).expect("a list")
}

/// Flips a bit in every few bytes of all chunks that a hub stores.
fn damage(hub: &Path) {
    for entry in hub.join("chunks/segments").read_dir().expect("a folder") {
        let path = entry.expect("an entry").path();
        let mut bytes = std::fs::read(&path).expect("read");
        bytes.iter_mut().step_by(50).for_each(|byte| *byte ^= 1);
        std::fs::write(&path, bytes).expect("written");
    }
}

/// A task that reads a folder.
const READ: &str = r#"
name = "read"
[[task]]
name = "copy"
runtime = "wasm"
program = "program.wasm"
output_max = "16MiB"
[[task.input]]
name = "data"
folder = "large"
"#;

/// Many tasks that take their time.
const MANY: &str = r#"
name = "many"
[[task]]
name = "slow"
runtime = "wasm"
program = "program.wasm"
args = ["{index}"]
each = "1..60"
[[task.input]]
name = "data"
folder = "large"
"#;

#[test]
fn a_worker_gets_from_the_attached_requester_what_the_hub_has_lost() {
    let mut network = Network::start(0);
    std::fs::create_dir(network.folder().join("large")).expect("made");
    network.write("large/file", noise(3, 9_000_000));
    network.write("program.wasm", programs::copying("in/data/file"));
    network.write("job.toml", READ);
    let mut running = network.command(&["run", "job.toml", "--out", "out"]);
    let mut running = running.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    until(|| {
        let all = datasets(&network);
        (all.len() == 2 && all.iter().all(|one| one["machines"] == 1)).then_some(())
    });
    network.kill_hub();
    damage(&network.folder().join("state/hub"));
    network.start_hub();
    let checked = network.ask(async |client| client.data().check().await).expect("checked");
    assert!(checked.bad > 50 && checked.bad == checked.chunks, "nothing is left on the hub: {checked:?}");
    network.start_worker();
    let ended = until(|| running.try_wait().expect("asked"));
    assert!(ended.success());
    assert!(network.read("out/copy") == noise(3, 9_000_000), "the task read what is on the requester's machine");
}

#[test]
fn what_workers_send_each_other_is_counted_once_whatever_happens_to_the_hub() {
    let mut network = Network::start(1);
    std::fs::create_dir(network.folder().join("large")).expect("made");
    network.write("large/file", noise(4, 9_000_000));
    network.write("program.wasm", programs::patterned(400, 100));
    let job = network.submit("job.toml", MANY);
    network.wait_for_job(job, |view| view.summary.done >= 1);
    network.start_worker();
    network.wait_for_job(job, |view| view.summary.state.has_ended());
    network.kill_hub();
    network.start_hub();
    let root = datasets(&network)
        .into_iter()
        .find(|one| one["data"]["bytes"].as_u64().is_some_and(|bytes| bytes > 8_000_000))
        .expect("the folder's dataset")["data"]["root"]["id"]
        .as_str()
        .expect("a root")
        .to_owned();
    let show = |network: &Network| -> Value {
        let shown = network.run(&["data", "show", &root, "--json"]).succeeded().stdout;
        serde_json::from_str(&shown).expect("a dataset")
    };
    let counted = until(|| show(&network)["seeding"]["bytes"].as_u64().filter(|bytes| *bytes > 4_000_000));
    network.kill_hub();
    network.start_hub();
    let view = show(&network);
    let bytes = view["seeding"]["bytes"].as_u64().expect("a number");
    assert!((counted..=9_100_000).contains(&bytes), "one receiver: {view}");
    assert_eq!(view["seeding"]["seeded"][0]["job"], Value::from(job.0), "{view}");
    network.wait_for_workers(2);
    let shown = network.run(&["worker", "show", "0"]).succeeded().stdout;
    assert!(shown.contains("MiB of datasets sent to other workers"), "{shown}");
}

#[test]
fn a_direct_run_leaves_the_hub_with_lists_and_workers_fetch_from_the_requester_and_each_other() {
    let network = Network::start(2);
    std::fs::create_dir(network.folder().join("large")).expect("made");
    network.write("large/file", noise(5, 9_000_000));
    network.write("program.wasm", programs::patterned(50, 100));
    network.write("job.toml", MANY);
    network.run(&["run", "job.toml", "--direct", "--out", "out"]).succeeded();
    assert_eq!(network.read("out/slow/59"), programs::pattern(60, 100));
    let held = |one: &Value| (one["held"].as_u64().expect("a number"), one["chunks"].as_u64().expect("a number"));
    let all: Vec<(u64, u64)> = datasets(&network).iter().filter(|one| one["kind"] == "input").map(held).collect();
    assert!(all.iter().any(|(held, chunks)| *chunks > 50 && *held < 5), "the folder is not on the hub: {all:?}");
    assert!(all.iter().any(|(held, chunks)| held == chunks), "the program is small, and there: {all:?}");
    let unattended = network.run(&["run", "job.toml", "--direct", "--detach"]);
    assert_eq!(unattended.code, 2, "somebody has to stay: {unattended:?}");
}
