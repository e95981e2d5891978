//! What the commands print, compared with the files in `tests/snapshots`.
//!
//! After a wanted change: `GLEANER_UPDATE_SNAPSHOTS=1 cargo nextest run --release -p gleaner --test command snapshots`, then
//! read the difference before committing it.

use crate::network::{Ended, Network, gleaner, sources};
use crate::programs;

/// Compares with the stored text, or stores it.
pub fn compare(name: &str, text: &str) {
    let path = sources().join("tests/snapshots").join(format!("{name}.txt"));
    if std::env::var_os("GLEANER_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, text).expect("the snapshot can be written");
        return;
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == text, "{} differs.\n--- stored\n{stored}\n--- now\n{text}", path.display());
}

pub fn transcript(command: &str, ended: &Ended) -> String {
    let mut text = format!("$ gleaner {command}\n");
    for (stream, content) in [("stdout", &ended.stdout), ("stderr", &ended.stderr)] {
        if !content.is_empty() {
            text += &format!("--- {stream}\n{content}");
        }
    }
    text + &format!("--- exit {}\n", ended.code)
}

/// Replaces what differs from run to run: times, amounts, keys, addresses, and how often progress was told.
fn normal(text: &str, network: &Network) -> String {
    let text = text.replace(&network.folder().display().to_string(), "FOLDER").replace(&network.url(), "HUB");
    let text = text.replace("just now", "0 s ago");
    // How much the first runs differ is chance.
    let text = text.replace(", and they differ much", "");
    let text = ["rough: ", "fair: ", "good: "].iter().fold(text, |text, sure| text.replace(sure, "SURE: "));
    let lines = text.lines().filter(|line| !line.contains(" % of "));
    let lines = lines.map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let next = words.iter().skip(1).copied().chain([""]);
        let words: Vec<String> = words.iter().zip(next).map(|(word, next)| normal_word(word, next)).collect();
        words.join(" ").replace("N ms", "N s").replace("N m N s", "N s")
    });
    // Columns move with the width of what was replaced; that they line up is the table's own test.
    let squeezed = lines
        .map(|line| line.split("  ").map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  "));
    squeezed.collect::<Vec<_>>().join("\n") + "\n"
}

fn normal_word(word: &str, next: &str) -> String {
    let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_timed = ["ms", "s", "m", "h"].contains(&next.trim_end_matches(','));
    let is_key = word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    match (is_number && (is_timed || word.matches('.').count() == 1), is_key) {
        (true, _) => "N".to_owned(),
        (false, true) => "KEY".to_owned(),
        (false, false) => word.to_owned(),
    }
}

#[test]
fn help_reads_well() {
    let verbs: &[&[&str]] = &[
        &[],
        &["demo"],
        &["up"],
        &["hub"],
        &["share"],
        &["doctor"],
        &["run"],
        &["quote"],
        &["job"],
        &["job", "logs"],
        &["job", "fetch"],
        &["receipt"],
        &["receipt", "verify"],
        &["worker"],
        &["wallet"],
        &["wallet", "rewards"],
        &["stake"],
        &["vote"],
        &["chain"],
    ];
    for verb in verbs {
        let command = [*verb, &["--help"]].concat();
        let ended = gleaner().args(&command).env("COLUMNS", "100").output().expect("it runs").into();
        let name = if verb.is_empty() { "help".to_owned() } else { format!("help-{}", verb.join("-")) };
        compare(&name, &transcript(&command.join(" "), &ended));
    }
}

#[test]
fn usage_errors_exit_with_2() {
    for (name, args) in [
        ("usage-price", &["share", "--price", "3 GLN"][..]),
        ("usage-verb", &["jib", "list"]),
        ("usage-job", &["job", "show", "abc"]),
    ] {
        let ended: Ended = gleaner().args(args).output().expect("it runs").into();
        assert_eq!(ended.code, 2);
        compare(name, &transcript(&args.join(" "), &ended));
    }
}

#[test]
fn failures_say_what_why_and_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("token"), "secret").expect("written");
    std::fs::write(folder.path().join("bad.toml"), "name = \"x\"\n[budget]\nprice_max = \"lots\"\n").expect("written");
    for (name, args) in [
        ("failure-no-hub", &["--dir", "nowhere", "job", "list"][..]),
        ("failure-unreachable", &["--hub", "http://127.0.0.1:1", "--token-file", "token", "job", "list"]),
        ("failure-address", &["--hub", "hub.example", "--token-file", "token", "worker", "list"]),
        ("failure-no-token", &["--hub", "http://127.0.0.1:1", "--token-file", "none", "job", "list"]),
        ("failure-job-file", &["run", "bad.toml"]),
        ("failure-no-job-file", &["run", "none.toml"]),
        ("failure-remote", &["--dir", "state", "hub", "--listen", "0.0.0.0:0"]),
    ] {
        let ended: Ended = gleaner().current_dir(folder.path()).args(args).output().expect("it runs").into();
        assert_eq!(ended.code, 1, "{ended:?}");
        let text = transcript(&args.join(" "), &ended).replace(&folder.path().display().to_string(), "FOLDER");
        compare(name, &text);
    }
}

#[test]
fn listings_line_up() {
    let network = Network::start(1);
    let show = |name: &str, args: &[&str]| {
        compare(name, &normal(&transcript(&args.join(" "), &network.run(args)), &network));
    };
    show("job-list-empty", &["job", "list"]);
    show("worker-list", &["worker", "list"]);
    show("job-unknown", &["job", "show", "99"]);
    show("worker-unknown", &["worker", "show", "99"]);
    network.write("program.wasm", programs::echo());
    let array = "name = \"squares\"\n[[task]]\nname = \"square\"\nruntime = \"wasm\"\nprogram = \"program.wasm\"\n\
                 args = [\"{index}\"]\neach = \"1..20\"\n";
    network.write("job.toml", array);
    show("quote-unknown", &["quote", "job.toml"]);
    show("run", &["run", "job.toml", "--out", "out"]);
    show("quote", &["quote", "job.toml"]);
    show("job-list", &["job", "list"]);
    show("job-show", &["job", "show", "1"]);
    show("job-explain-done", &["job", "explain", "1"]);
    show("job-fetch", &["job", "fetch", "1", "--out", "out"]);
    network.submit("impossible.toml", &format!("{array}needs = {{ region = \"atlantis\" }}\n"));
    show("quote-impossible", &["quote", "impossible.toml"]);
    show("job-explain-impossible", &["job", "explain", "2"]);
    show("job-cancel", &["job", "cancel", "2"]);
    show("worker-pause", &["worker", "pause", "0"]);
}
