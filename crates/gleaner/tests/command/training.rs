//! Real training in a container that loses its machine twice, and ends with the very loss that it would have had.
use std::path::PathBuf;
use std::process::Command;

use gleaner_wire::api::JobState;
use gleaner_wire::{Hash, JobId};

use crate::network::{Network, sources};
use crate::podman::Podman;
use crate::provider::walk;

/// Few enough for a test on a slow machine; with a rest after each, one save a second comes long before the end on a fast one.
const STEPS: u32 = 200;
const REST: &str = "0.02";
const EVERY: u32 = 5;

/// The example's image, made once for all runs with the same recipe: it takes most of a minute.
pub fn image() -> PathBuf {
    let recipe = sources().join("../../examples/train/make");
    let text = std::fs::read(&recipe).expect("the example");
    let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&cache).expect("a folder");
    let image = cache.join(format!("train-image-{}", &Hash::of(&text).to_string()[..16]));
    let lock = std::fs::File::create(image.with_extension("lock")).expect("a lock");
    lock.lock().expect("nobody else makes it now");
    if !image.exists() {
        let made = tempfile::tempdir_in(&cache).expect("a folder");
        let folder = made.path().join("image");
        let output = Command::new(&recipe).arg(&folder).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::rename(folder, &image).expect("all of it, or nothing");
    }
    image
}

fn job() -> String {
    format!(
        "name = \"train\"\n[[task]]\nname = \"train\"\nruntime = \"container\"\nprogram = {:?}\nmemo = false\n\
         [task.container]\ncommand = [\"python3\", \"/in/train.py\", \"--steps\", \"{STEPS}\", \"--every\", \"{EVERY}\", \
         \"--rest\", \"{REST}\"]\n\
         env = {{ OPENBLAS_NUM_THREADS = \"1\" }}\ncheckpoint = \"1s\"\n[task.needs]\nmemory = \"512MiB\"\n\
         [[task.input]]\nname = \"train.py\"\nfile = \"train.py\"\n",
        image().display().to_string()
    )
}

/// The step that a line of the program's log is about.
fn step(line: &str, beginning: &str) -> Option<u32> {
    line.strip_prefix(beginning)?.split(' ').next()?.parse().ok()
}

/// Waits until a worker's log says that it has done a step.
fn wait_for_step(network: &Network, job: JobId, worker: &str) -> u32 {
    network.ask(async |client| {
        let mut logs = client.logs(job, true);
        while let Some(entry) = logs.next().await.expect("the hub answers") {
            let mut steps = entry.text.lines().filter_map(|line| step(line, "step "));
            if let Some(step) = steps.next_back().filter(|_| entry.worker == worker) {
                return step;
            }
        }
        panic!("the job ended before {worker} did a step of it")
    })
}

/// After which step each life but the first went on.
fn lives(network: &Network, job: JobId) -> Vec<u32> {
    network.ask(async |client| {
        let (mut logs, mut lives) = (client.logs(job, false), Vec::new());
        while let Some(entry) = logs.next().await.expect("the hub answers") {
            lives.extend(entry.text.lines().filter_map(|line| step(line, "going on after step ")));
        }
        lives
    })
}

fn loss(network: &Network, job: JobId) -> String {
    let view = network.wait_for_job(job, |view| view.summary.state.has_ended());
    assert_eq!(view.summary.state, JobState::Done, "{view:?}");
    let out = format!("out-{job}");
    network.run(&["job", "fetch", &job.to_string(), "--out", &out]).succeeded();
    let files = walk(&network.folder().join(out));
    let path = files.iter().find(|path| path.ends_with("loss.txt")).unwrap_or_else(|| panic!("{files:?}"));
    std::fs::read_to_string(path).expect("text")
}

#[test]
fn a_training_that_loses_its_machine_twice_ends_with_the_loss_it_would_have_had() {
    let job_file = job();
    let podman = Podman::start();
    let mut network = Network::start(0);
    let (url, host) = (network.url(), podman.host());
    let start_worker = |network: &mut Network| {
        let options = ["--no-gpu", "--cpu-slots", "1", "--no-blender"];
        network.start_worker_with(&url, &options, &[("DOCKER_HOST", &host)]);
    };
    start_worker(&mut network);
    network.wait_for_workers(1);
    let program = std::fs::read(sources().join("../../examples/train/train.py")).expect("the example");
    network.write("train.py", program);

    let undisturbed = network.submit("job.toml", &job_file);
    let wanted = loss(&network, undisturbed);
    assert!(lives(&network, undisturbed).is_empty(), "it had one life");

    let moved = network.submit("job.toml", &job_file);
    let _attending = network.attend(moved);
    // The first machine loses its power as soon as there is something to go on from.
    network.wait_for_job(moved, |view| view.groups[0].saved > 0);
    network.workers.remove(0).kill();
    start_worker(&mut network);
    // The owner of the second one comes back when it has got somewhere.
    let reached = wait_for_step(&network, moved, "worker-2");
    network.run(&["worker", "pause", "1"]).succeeded();
    network.wait_for_job(moved, |view| view.summary.running == 0);
    start_worker(&mut network);
    assert_eq!(loss(&network, moved), wanted, "to the last digit");
    let lives = lives(&network, moved);
    let [second, third] = lives[..] else { panic!("it began {} times", lives.len() + 1) };
    assert!(0 < second && second < reached, "the second life began in the middle: {second}, {reached}");
    assert!(reached <= third && third < STEPS, "what was done when the owner came was not lost: {reached}, {third}");
    assert_eq!(podman.containers(), 0, "nothing is left");
}
