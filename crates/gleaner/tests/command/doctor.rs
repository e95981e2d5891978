//! `gleaner doctor`: what works, what is missing, and whether anything can be shared.

use crate::network::{Ended, Network, gleaner};
use crate::podman::Podman;

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

/// The worker of a network, the doctor in the same folder, and an engine of containers for both.
fn doctor_beside(network: &Network, podman: &Podman, args: &[&str]) -> Ended {
    let mut command = gleaner();
    command.arg("--dir").arg(network.state()).args(["doctor", "--no-gpu", "--hub", &network.url()]).args(args);
    command.env("DOCKER_HOST", podman.host()).output().expect("it runs").into()
}

/// Processes that watch over containers of this engine, of a worker or a doctor.
fn watchdogs(host: &str) -> usize {
    let words = format!("\0watch\0{host}\0");
    let commands = std::fs::read_dir("/proc").expect("a folder").flatten();
    let commands = commands.map(|entry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default());
    commands.filter(|command| String::from_utf8_lossy(command).contains(&words)).count()
}

#[test]
fn the_doctor_leaves_a_running_worker_and_its_tasks_alone() {
    let podman = Podman::start();
    let mut network = Network::start(0);
    let (url, host) = (network.url(), podman.host());
    let options = ["--no-gpu", "--cpu-slots", "1", "--no-blender"];
    network.start_worker_with(&url, &options, &[("DOCKER_HOST", &host)]);
    network.wait_for_workers(1);
    std::fs::copy(podman.archive(), network.folder().join("image.tar")).expect("copied");
    let job = "name = \"long\"\n[[task]]\nname = \"long\"\nruntime = \"container\"\nprogram = \"image.tar\"\n\
               [task.container]\ncommand = [\"sleep\", \"100000\"]\n";
    let job = network.submit("job.toml", job);
    let _attending = network.attend(job);
    let patience = std::time::Duration::from_millis(50);
    let running = || podman.run(&["ps", "--quiet", "--filter", "status=running"]);
    while running().is_empty() {
        std::thread::sleep(patience);
    }
    let before = running();
    let ended = doctor_beside(&network, &podman, &["--no-blender"]).succeeded();
    assert_eq!(lines_with(&ended, "works   worker: one runs in ").len(), 1, "{}", ended.stdout);
    assert_eq!(lines_with(&ended, "works   container: ").len(), 1, "{}", ended.stdout);
    // What watched over the doctor's own container has swept by then.
    while watchdogs(&host) > 1 {
        std::thread::sleep(patience);
    }
    assert_eq!(running(), before, "the task's container is gone");
    let view = network.wait_for_job(job, |_| true);
    assert!(view.summary.running == 1 && view.failures.is_empty(), "{view:?}");
    let left = std::fs::read_dir(network.state().join("workers/1")).expect("a folder").flatten();
    let left: Vec<_> = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("doctor-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_engine_that_answers_and_runs_nothing_does_not_work() {
    let podman = Podman::start_broken();
    let network = Network::start(0);
    let ended = doctor_beside(&network, &podman, &["--no-blender", "--json"]).succeeded();
    let findings: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON on stdout");
    let of = |name: &str| {
        let all = findings.as_array().expect("a list").iter();
        all.filter(|finding| finding["capability"].as_str().is_some_and(|of| of.starts_with(name))).collect::<Vec<_>>()
    };
    let containers = of("container");
    assert_eq!(containers.len(), 1, "one line, and no other that says the opposite: {findings:#}");
    assert_eq!(containers[0]["works"], false, "{findings:#}");
    assert!(containers[0]["why"].as_str().is_some_and(|why| why.contains("answers and runs none")), "{findings:#}");
}

#[test]
fn a_machine_without_ffmpeg_renders_and_says_that_it_makes_no_films() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = gleaner();
    command.arg("--dir").arg(folder.path()).args(["doctor", "--no-gpu", "--no-containers"]);
    command.args(["--blender", "/usr/bin/blender"]).env("PATH", folder.path());
    let ended: Ended = command.output().expect("it runs").into();
    let ended = ended.succeeded();
    assert_eq!(lines_with(&ended, "works   blender: Blender ").len(), 1, "{}", ended.stdout);
    assert_eq!(lines_with(&ended, "missing videos: ffmpeg is not installed").len(), 1, "{}", ended.stdout);
}
