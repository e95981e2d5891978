//! `gleaner doctor`: what works, what is missing, and whether anything can be shared.

use crate::network::{Ended, gleaner};

/// With an empty file in place of every Vulkan driver, so that none loads.
fn doctor_without_drivers(args: &[&str]) -> Ended {
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().join("empty.json");
    std::fs::write(&empty, "").expect("written");
    let mut command = gleaner();
    command.arg("--dir").arg(folder.path()).arg("doctor").args(args);
    command.env("VK_ICD_FILENAMES", &empty).env("VK_DRIVER_FILES", &empty);
    command.output().expect("it runs").into()
}

fn lines_with<'a>(ended: &'a Ended, start: &str) -> Vec<&'a str> {
    ended.stdout.lines().filter(|line| line.starts_with(start)).collect()
}

#[test]
fn the_doctor_says_what_works_and_how_to_get_what_is_missing() {
    let ended = doctor_without_drivers(&[]).succeeded();
    assert_eq!(lines_with(&ended, "works   wasm: ").len(), 1, "{}", ended.stdout);
    assert_eq!(lines_with(&ended, "missing wgsl: ").len(), 1, "{}", ended.stdout);
    let fixes = lines_with(&ended, "        fix: ");
    assert!(fixes.iter().any(|fix| fix.contains("apt-get install mesa-vulkan-drivers")), "{}", ended.stdout);
}

#[test]
fn the_doctor_fails_where_nothing_can_be_shared() {
    let ended = doctor_without_drivers(&["--no-cpu", "--json"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let findings: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON on stdout");
    let wgsl = findings.as_array().expect("a list").iter().find(|finding| finding["capability"] == "wgsl");
    assert_eq!(wgsl.expect("it was tried")["works"], false);
}
