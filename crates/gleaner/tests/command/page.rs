//! The page for uploads, in the browser that people have.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::network::{Network, sources};
use serde_json::Value;

const LARGE_BYTES: usize = 48 * 1024 * 1024;

/// Bytes that cannot be squeezed.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 77_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(next).flatten().take(bytes).collect()
}

/// Debian's browser; a test of a page without one would show nothing.
fn browser() -> PathBuf {
    let found = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].map(PathBuf::from);
    let found = found.into_iter().find(|path| path.exists());
    found.expect("no browser is here: scripts/test installs Debian's chromium")
}

fn ended_well(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// A folder with the script, what it needs from npm, and `pictures`.
fn script() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    std::fs::create_dir_all(folder.join("pictures")).expect("made");
    for file in ["package.json", "package-lock.json", "upload.js"] {
        std::fs::copy(sources().join("tests/browser").join(file), folder.join(file)).expect("copied");
    }
    let lock = |path: &str| std::fs::read(folder.join(path)).ok();
    if lock("package-lock.json") != lock("node_modules/installed.json") {
        ended_well(
            Command::new("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(&folder),
        );
        std::fs::copy(folder.join("package-lock.json"), folder.join("node_modules/installed.json")).expect("copied");
    }
    folder
}

fn same(network: &Network, sent: &str, pulled: &str) {
    assert!(network.read(sent) == network.read(pulled), "{sent} and {pulled} differ");
}

#[test]
fn what_is_brought_by_the_page_comes_back_byte_for_byte() {
    let network = Network::start(0);
    let folder = network.folder();
    std::fs::create_dir_all(folder.join("scene/deep/deeper")).expect("made");
    network.write("notes.txt", "a few words\n");
    network.write("nothing", "");
    network.write("large", noise(LARGE_BYTES));
    network.write("scene/picture", noise(300_000));
    network.write("scene/deep/deeper/größer & 100 %.txt", "names as people give them");
    let script = script();
    let mut drive = Command::new("node");
    drive.arg(script.join("upload.js")).arg(browser()).arg(network.url());
    drive.args([&folder.join("state/hub/api.token"), folder, &script.join("pictures")]);
    let said = ended_well(&mut drive);
    let said: Value = serde_json::from_str(said.trim()).unwrap_or_else(|_| panic!("not JSON: {said}"));
    let (first, second) = (said["first"].as_u64().expect("bytes"), said["second"].as_u64().expect("bytes"));
    let large = LARGE_BYTES as u64;
    assert!(first > 0 && second < large * 3 / 4, "it went on where it was: {said}");
    for dataset in ["notes", "scene", "dropped", "large"] {
        network.run(&["data", "pull", dataset, &format!("pulled/{dataset}")]).succeeded();
    }
    same(&network, "notes.txt", "pulled/notes/notes.txt");
    same(&network, "nothing", "pulled/notes/nothing");
    same(&network, "large", "pulled/large/large");
    same(&network, "notes.txt", "pulled/dropped/notes.txt");
    for file in ["picture", "deep/deeper/größer & 100 %.txt"] {
        same(&network, &format!("scene/{file}"), &format!("pulled/scene/{file}"));
        same(&network, &format!("scene/{file}"), &format!("pulled/dropped/scene/{file}"));
    }
}
