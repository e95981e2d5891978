//! Data from the command line: pushed, changed, pulled, read by jobs, and readable for nobody else.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::network::Network;
use crate::programs;
use serde_json::Value;

/// What nobody but its owner and the workers of its job may ever see.
const PHRASE: &str = "the harvest of the north field was hidden behind the old mill";
const FILE_NAME: &str = "classified-harvest.txt";

/// A text that contains the phrase everywhere, and is not the same everywhere.
fn secret_text(bytes: usize) -> Vec<u8> {
    let lines = (0..).flat_map(|line| format!("{line}: {PHRASE}\n").into_bytes());
    lines.take(bytes).collect()
}

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

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Where one of the needles is found.
fn found_in(folder: &Path, needles: &[Vec<u8>]) -> Option<PathBuf> {
    let holds = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let content = std::fs::read(path).unwrap_or_default();
        needles.iter().any(|needle| has(&content, needle) || has(name.as_bytes(), needle))
    };
    files_below(folder).into_iter().find(holds)
}

fn has(content: &[u8], needle: &[u8]) -> bool {
    content.windows(needle.len()).any(|window| window == needle)
}

/// Carries connections to the hub, and keeps what goes over them.
struct Tap {
    url: String,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    fn to(hub: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (heard, hub) = (Arc::new(Mutex::new(Vec::new())), hub.trim_start_matches("http://").to_owned());
        let keep = Arc::clone(&heard);
        // It ends with the test's process.
        std::thread::spawn(move || {
            while let Ok((near, _)) = listener.accept() {
                let Ok(far) = TcpStream::connect(&hub) else { continue };
                for (mut from, mut to) in [(&near, &far), (&far, &near)]
                    .map(|(from, to)| (from.try_clone().expect("a socket"), to.try_clone().expect("a socket")))
                {
                    let keep = Arc::clone(&keep);
                    std::thread::spawn(move || {
                        let mut buffer = [0; 65_536];
                        while let Ok(count @ 1..) = from.read(&mut buffer) {
                            keep.lock().expect("no panic").extend_from_slice(&buffer[..count]);
                            if to.write_all(&buffer[..count]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Self { url, heard }
    }
}

const READ_ALL: &str = r#"
name = "read"
[[task]]
name = "copy"
runtime = "wasm"
program = "copy.wasm"
output_max = "16MiB"
[[task.input]]
name = "data"
folder = "secret"
[[task]]
name = "again"
runtime = "wasm"
program = "again.wasm"
output_max = "16MiB"
[[task.input]]
name = "first"
from = "copy"
"#;

#[test]
fn nothing_that_the_hub_keeps_or_that_goes_over_the_wire_can_be_read() {
    let mut network = Network::start(0);
    let tap = Tap::to(&network.url());
    for _ in 0..2 {
        network.start_worker_at(&tap.url);
    }
    network.wait_for_workers(2);
    let folder = network.folder().join("secret");
    std::fs::create_dir(&folder).expect("made");
    std::fs::write(folder.join(FILE_NAME), secret_text(3_000_000)).expect("written");
    network.write("copy.wasm", programs::copying(&format!("in/data/{FILE_NAME}")));
    network.write("again.wasm", programs::copying("in/first"));
    network.write("job.toml", READ_ALL);
    network.run(&["--hub", &tap.url, "run", "job.toml", "--out", "out"]).succeeded();
    assert!(network.read("out/copy") == secret_text(3_000_000), "the task read what was pushed");
    assert!(network.read("out/again") == secret_text(3_000_000), "and the next one what it delivered");
    network.run(&["--hub", &tap.url, "data", "push", "secret", "--name", FILE_NAME]).succeeded();
    let hex: String = PHRASE.bytes().map(|byte| format!("{byte:02x}")).collect();
    let needles = [PHRASE.as_bytes().to_vec(), hex.into_bytes(), FILE_NAME.as_bytes().to_vec()];
    let state = network.folder().join("state");
    assert_eq!(found_in(&state.join("hub"), &needles), None, "the hub has read it");
    assert_eq!(found_in(&state.join("workers"), &needles), None, "a worker has kept it open after the job");
    let heard = tap.heard.lock().expect("no panic");
    assert!(heard.len() > 100_000, "the tap heard something: {}", heard.len());
    assert!(!needles.iter().any(|needle| has(&heard, needle)), "it went over the wire");
    assert!(found_in(&folder, &needles).is_some(), "the search finds what can be read");
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("not JSON: {text}"))
}

fn same(one: &Path, other: &Path) -> bool {
    let list = |folder: &Path| {
        let mut files: Vec<_> = files_below(folder)
            .into_iter()
            .map(|path| (path.strip_prefix(folder).expect("below").to_owned(), std::fs::read(&path).expect("read")))
            .collect();
        files.sort();
        files
    };
    list(one) == list(other)
}

#[test]
fn only_what_changed_is_sent_and_a_pull_goes_on() {
    let network = Network::start(0);
    let data = network.folder().join("data");
    std::fs::create_dir_all(data.join("deep/er")).expect("made");
    std::fs::write(data.join("deep/er/large"), noise(1, 5_000_000)).expect("written");
    for number in 0..200 {
        std::fs::write(data.join(format!("small-{number}")), secret_text(number * 10)).expect("written");
    }
    let push = || json(&network.run(&["data", "push", "data", "--json"]).succeeded().stdout);
    assert!(push()["sent_bytes"].as_u64().expect("a number") > 5_000_000);
    let again = push();
    assert!(again["sent_bytes"].as_u64().expect("a number") < 50_000, "{again}");
    assert_eq!(again["read_bytes"], 0, "unchanged files are not read");
    let mut edited = noise(1, 5_000_000);
    edited.splice(2_000_000..2_000_000, *b"inserted in the middle");
    std::fs::write(data.join("deep/er/large"), edited).expect("written");
    let changed = push();
    assert!(changed["sent_bytes"].as_u64().expect("a number") < 200_000, "{changed}");
    network.run(&["data", "pull", "data", "out"]).succeeded();
    assert!(same(&data, &network.folder().join("out")));
    std::fs::remove_file(network.folder().join("out/small-7")).expect("removed");
    let pulled = json(&network.run(&["data", "pull", "data", "out", "--json"]).succeeded().stdout);
    assert!(pulled["written_bytes"].as_u64().expect("a number") < 100, "{pulled}");
    let listed = network.run(&["data", "list"]).succeeded().stdout;
    assert!(listed.contains("data") && listed.lines().count() == 3, "both versions are kept: {listed}");
    let unknown = network.run(&["data", "pull", "nothing"]);
    assert!(unknown.code != 0 && unknown.stderr.contains("gleaner data list"), "{unknown:?}");
}

#[test]
fn a_push_that_is_killed_again_and_again_arrives_once() {
    let network = Network::start(0);
    let data = network.folder().join("data");
    std::fs::create_dir(&data).expect("made");
    for number in 0..20 {
        std::fs::write(data.join(format!("part-{number}")), noise(number, 2_000_000)).expect("written");
    }
    for moment in 0..12_u64 {
        let mut child = network.command(&["data", "push", "data"]);
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
        std::thread::sleep(Duration::from_millis(15 + moment * moment * 5 % 173));
        let _ = child.kill();
        child.wait().expect("ended");
    }
    network.run(&["data", "push", "data"]).succeeded();
    network.run(&["data", "pull", "data", "out"]).succeeded();
    assert!(same(&data, &network.folder().join("out")));
    let checked = network.run(&["data", "check"]).succeeded();
    assert!(checked.stdout.contains("0 chunks had gone bad"), "{checked:?}");
}

#[test]
fn a_paused_push_waits_and_goes_on() {
    let network = Network::start(0);
    network.write("file", noise(5, 3_000_000));
    network.run(&["data", "pause"]).succeeded();
    let mut child = network.command(&["data", "push", "file"]);
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
    std::thread::sleep(Duration::from_millis(700));
    assert!(child.try_wait().expect("asked").is_none(), "it stands still");
    network.run(&["data", "limit", "100MiB"]).succeeded();
    network.run(&["data", "resume"]).succeeded();
    assert!(child.wait().expect("ends").success());
    network.run(&["data", "pull", "file", "out"]).succeeded();
    assert!(network.read("out/file") == noise(5, 3_000_000));
    assert!(network.run(&["data", "schedule", "tomorrow"]).code != 0);
    network.run(&["data", "schedule", "22:00-06:00"]).succeeded();
}

#[test]
fn a_job_reads_a_dataset_that_was_pushed_before_and_it_cannot_be_removed_meanwhile() {
    let network = Network::start(1);
    let folder = network.folder().join("words");
    std::fs::create_dir(&folder).expect("made");
    std::fs::write(folder.join("a.txt"), secret_text(40_000)).expect("written");
    network.run(&["data", "push", "words", "--name", "my words"]).succeeded();
    network.write("copy.wasm", programs::copying("in/data/a.txt"));
    let job = "name = \"d\"\n[[task]]\nname = \"copy\"\nruntime = \"wasm\"\nprogram = \"copy.wasm\"\n\
               [[task.input]]\nname = \"data\"\ndataset = \"my words\"\n";
    network.write("job.toml", job);
    network.run(&["run", "job.toml", "--out", "out"]).succeeded();
    assert!(network.read("out/copy") == secret_text(40_000));
    let kept = network.run(&["job", "fetch", "1", "--out", "out"]).succeeded();
    assert!(kept.stderr.contains("there before"), "{}", kept.stderr);
    network.write("job.toml", job.replace("my words", "your words"));
    let missing = network.run(&["run", "job.toml"]);
    assert!(missing.stderr.contains("job.toml:8: no dataset `your words`"), "{}", missing.stderr);
    network.write("endless.wasm", programs::endless());
    network.submit("endless.toml", &job.replace("copy.wasm", "endless.wasm"));
    let refused = network.run(&["data", "remove", "my words"]);
    assert!(refused.code != 0 && refused.stderr.contains("cancel the job"), "{}", refused.stderr);
    network.run(&["job", "cancel", "2"]).succeeded();
}

#[test]
fn a_worker_that_comes_later_gets_the_keys_from_one_that_has_them() {
    let mut network = Network::start(1);
    network.write("program.wasm", programs::patterned(400, 100));
    let job = "name = \"late\"\n[[task]]\nname = \"square\"\nruntime = \"wasm\"\nprogram = \"program.wasm\"\n\
               args = [\"{index}\"]\neach = \"1..60\"\n";
    let job = network.submit("job.toml", job);
    network.wait_for_job(job, |view| view.summary.done >= 1);
    network.start_worker();
    network.wait_for_workers(2);
    let view = network.wait_for_job(job, |view| view.summary.state.has_ended());
    assert_eq!(view.workers.iter().filter(|worker| worker.done > 0).count(), 2, "{:?}", view.workers);
    network.run(&["job", "fetch", &job.to_string(), "--out", "out"]).succeeded();
    assert_eq!(network.read("out/square/59"), programs::pattern(60, 100));
}
