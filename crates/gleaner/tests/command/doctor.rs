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
    assert!(fixes.iter().any(|fix| fix.contains("apt install mesa-vulkan-drivers")), "{}", ended.stdout);
}

#[test]
fn the_doctor_fails_where_nothing_can_be_shared() {
    let ended = doctor_without_drivers(&["--no-cpu", "--json"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let findings: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON on stdout");
    let wgsl = findings.as_array().expect("a list").iter().find(|finding| finding["capability"] == "wgsl");
    assert_eq!(wgsl.expect("it was tried")["works"], false);
}

/// A `systemctl` that writes down what it was told.
fn recorder(folder: &std::path::Path) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    let script = format!("#!/bin/sh\necho \"$@\" >> {}\n", folder.join("told").display());
    std::fs::write(bin.join("systemctl"), script).expect("written");
    std::fs::set_permissions(bin.join("systemctl"), std::fs::Permissions::from_mode(0o755)).expect("executable");
    bin
}

#[test]
fn a_service_is_set_up_started_stopped_and_removed() {
    let home = tempfile::tempdir().expect("a folder");
    let bin = recorder(home.path());
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let share = |last: &str| {
        let state = home.path().join("state");
        let mut command = gleaner();
        command.env("HOME", home.path()).env("PATH", &path).arg("--dir").arg(state);
        let output =
            command.args(["share", "--hub", "http://127.0.0.1:9", "--dedicated", last]).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let unit = home.path().join(".config/systemd/user/gleaner.service");
    assert!(share("--install").contains("the service runs"));
    let text = std::fs::read_to_string(&unit).expect("a unit");
    let line = text.lines().find(|line| line.starts_with("ExecStart=")).expect("a command");
    assert!(line.contains("--dedicated") && line.contains("http://127.0.0.1:9") && !line.contains("install"), "{line}");
    assert!(share("--uninstall").contains("the service has ended"));
    assert!(!unit.exists());
    assert!(share("--uninstall").contains("there is no service"));
    let told = std::fs::read_to_string(home.path().join("told")).expect("it was told");
    let told: Vec<&str> = told.lines().collect();
    let expected = [
        "--user daemon-reload",
        "--user enable --now gleaner.service",
        "--user disable --now gleaner.service",
        "--user daemon-reload",
    ];
    assert_eq!(told, expected);
}
