//! The README's commands for containers and Blender run as they are written there.
use std::path::Path;
use std::process::Command;

use crate::network::{Ended, Network, sources};
use crate::podman::Podman;
use crate::provider::walk;
use crate::training;

/// The command lines of a page that have these words in them, continued lines in one and without what is said of them.
fn commands(page: &str, words: &str) -> Vec<String> {
    let text = std::fs::read_to_string(sources().join("../..").join(page)).expect("a page").replace("\\\n", "");
    let lines = text.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| line.contains(words));
    lines.map(|line| line.split(" # ").next().unwrap_or(line).trim().to_owned()).collect()
}

/// Copies an example to where commands run.
fn copy_example(network: &Network, name: &str) {
    let folder = network.folder().join("examples");
    std::fs::create_dir_all(&folder).expect("a folder");
    let copied = Command::new("cp").arg("-r").arg(sources().join("../../examples").join(name)).arg(folder).status();
    assert!(copied.expect("it runs").success());
}

/// Runs a line in a shell, with the program under test on its path.
fn run(network: &Network, line: &str) -> Ended {
    let program = Path::new(env!("CARGO_BIN_EXE_gleaner"));
    let others = std::env::var("PATH").expect("a path");
    let path = format!("{}:{others}", program.parent().expect("a folder").display());
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(network.folder()).env("PATH", path).env("NO_COLOR", "1");
    let ended: Ended = shell.env("GLEANER_DIR", network.state()).output().expect("it runs").into();
    ended.succeeded()
}

/// What each training has come down to.
fn losses(network: &Network, line: &str) -> Vec<String> {
    run(network, line);
    let out = network.folder().join("out");
    let mut files = walk(&out);
    files.retain(|path| path.ends_with("loss.txt"));
    files.sort();
    let losses = files.iter().map(|path| std::fs::read_to_string(path).expect("text")).collect();
    std::fs::remove_dir_all(out).expect("it was made");
    losses
}

#[test]
fn training_in_containers_runs_as_the_readme_says() {
    let podman = Podman::start();
    let mut network = Network::start(0);
    let url = network.url();
    let options = ["--no-gpu", "--cpu-slots", "2", "--no-blender"];
    network.start_worker_with(&url, &options, &[("DOCKER_HOST", &podman.host())]);
    network.wait_for_workers(1);
    copy_example(&network, "train");
    // What `make` would make.
    let image = network.folder().join("examples/train/image");
    let _ = std::fs::remove_dir_all(&image);
    let copied = Command::new("cp").arg("-r").arg(training::image()).arg(&image).status();
    assert!(copied.expect("it runs").success());
    let lines = commands("README.md", "examples/train");
    assert_eq!(lines, ["examples/train/make", "gleaner run examples/train/job.toml --out out"]);
    let one_line = commands("examples/README.md", "--image examples/train/image");
    assert_eq!(one_line.len(), 1);
    run(&network, &lines[0]);
    let by_file = losses(&network, &lines[1]);
    assert_eq!(by_file.len(), 3, "one for each rate");
    assert_eq!(losses(&network, &one_line[0]), by_file, "a job file and a line are the same job");
    assert_eq!(podman.containers(), 0, "nothing is left");
}

#[test]
fn a_still_is_rendered_as_the_readme_says() {
    let mut network = Network::start(0);
    let url = network.url();
    network.start_worker_with(&url, &["--no-gpu", "--cpu-slots", "2", "--no-containers"], &[]);
    network.wait_for_workers(1);
    copy_example(&network, "render");
    let _ = std::fs::remove_file(network.folder().join("examples/render/scene.blend"));
    let lines = commands("README.md", "examples/render");
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in &lines {
        run(&network, line);
    }
    let files = walk(&network.folder().join("out"));
    let [picture] = &files[..] else { panic!("{files:?}") };
    assert!(picture.ends_with("out/still/000003.png"), "and nothing of what was on the way to it: {files:?}");
    assert!(std::fs::read(picture).expect("a picture").starts_with(b"\x89PNG"));
}
