//! From a machine that nobody has tested to work that is paid: containers, scenes, and owners who come back.
use std::process::{Child, Command, Stdio};

use crate::network::{Network, gleaner, sources};
use crate::owner::{first_worker, said};
use crate::podman::Podman;
use crate::programs::{self, ARRAY};
use crate::registry::Registry;
use gleaner_wire::api::JobState;
use gleaner_wire::{Amount, Cause, JobId, Runtime};

/// Nothing is believed that a worker says of itself.
fn distrustful() -> Network {
    Network::with(|_| ["--chain", "none"].map(str::to_owned).into(), 0)
}

#[test]
fn a_worker_is_tested_before_it_gets_work_and_then_gets_it() {
    let mut network = distrustful();
    network.start_worker();
    let workers = network.wait_for_tests(1);
    let test = &workers[0].tests[0];
    assert!(test.runtime == Runtime::Wasm && test.score.is_some_and(|score| score > 0), "{test:?}");
    network.write("program.wasm", programs::echo());
    network.write("job.toml", ARRAY);
    network.run(&["run", "job.toml", "--out", "out"]).succeeded();
    assert_eq!(network.read("out/square/19"), b"20");
    let shown = network.run(&["worker", "show", "0"]).succeeded().stdout;
    assert!(shown.contains("HUB'S TEST"), "{shown}");
}

/// Needs a Vulkan driver, as the other tests of kernels do.
#[test]
fn a_graphics_device_is_tested_with_real_kernels_before_it_gets_work() {
    let mut network = distrustful();
    let url = network.url();
    let options = ["--no-cpu", "--no-containers", "--no-blender", "--adapter", "llvmpipe"];
    network.start_worker_with(&url, &options, &[]);
    let workers = network.wait_for_tests(1);
    let tests = &workers[0].tests;
    let [test] = &tests[..] else { panic!("{tests:?}") };
    assert!(test.runtime == Runtime::Wgsl && test.score.is_some_and(|score| score > 0), "{test:?}");
    assert!(said(&network, "has tested wgsl").contains("work can come"));
    let example = sources().join("../../examples/kernel");
    for name in ["job.toml", "collatz.wgsl"] {
        network.write(name, std::fs::read(example.join(name)).expect("the example"));
    }
    network.run(&["run", "job.toml", "--out", "out"]).succeeded();
    assert!(!network.read("out/collatz/19").is_empty());
}

/// A service starts with the machine, and the desktop after it. What tells of the desktop is scripts of the test; what asks
/// them is real.
#[test]
fn a_game_on_a_desktop_that_started_after_the_worker_is_seen() {
    let network = Network::start(0);
    let url = network.url();
    first_worker(&network, "[yield]\nunknown = \"share\"\nprocess_quiet = \"1s\"\ninput = \"never\"\n");
    let desktop = network.folder().join("desktop");
    let bin = network.folder().join("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    let manager = format!("[ \"$*\" = '--user show-environment' ] && cat {}", desktop.display());
    let screen = "[ \"$DISPLAY\" = :77 ] || exit 1\ncase \"$*\" in\n\
                  *ACTIVE*) echo '_NET_ACTIVE_WINDOW(WINDOW): window id # 0x7';;\n\
                  *) echo '_NET_WM_STATE(ATOM) = _NET_WM_STATE_FULLSCREEN';;\nesac";
    for (name, script) in [("systemctl", manager.as_str()), ("xprop", screen)] {
        std::fs::write(bin.join(name), format!("#!/bin/sh\n{script}\n")).expect("written");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(bin.join(name), executable).expect("executable");
    }
    std::fs::write(&desktop, "LANG=C\n").expect("written");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let log = std::fs::File::create(network.folder().join("worker-1.log")).expect("a log");
    let mut command = gleaner();
    command.arg("--dir").arg(network.state()).args(["share", "--hub", &url, "--no-gpu", "--cpu-slots", "1"]);
    command.args(["--no-containers", "--no-blender"]).stdout(Stdio::null()).stderr(log).env("PATH", path);
    let _worker = Ends(command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").spawn().expect("it starts"));
    network.wait_for_workers(1);
    std::fs::write(&desktop, "LANG=C\nDISPLAY=:77\n").expect("written");
    let why = said(&network, "is yours now: an application");
    assert!(why.contains("fills the screen"), "{why}");
    std::fs::write(&desktop, "LANG=C\n").expect("written");
    said(&network, "is shared again");
}

#[test]
fn a_service_gets_what_the_session_knew_of_its_engine_and_hub() {
    let home = tempfile::tempdir().expect("a folder");
    let mut command = gleaner();
    command.env("HOME", home.path()).env("PATH", home.path()).env("GLEANER_HUB", "http://127.0.0.1:9");
    command.env("DOCKER_HOST", "unix:///run/docker.sock").env("GLEANER_SECRET", "not for files");
    let state = home.path().join("state");
    let output = command.arg("--dir").arg(state).args(["share", "--install"]).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let unit = std::fs::read_to_string(home.path().join(".config/systemd/user/gleaner.service")).expect("a unit");
    for line in
        ["Environment=\"DOCKER_HOST=unix:///run/docker.sock\"", "Environment=\"GLEANER_HUB=http://127.0.0.1:9\""]
    {
        assert!(unit.lines().any(|written| written == line), "{unit}");
    }
    assert!(!unit.contains("SECRET"), "{unit}");
}

/// A process that ends with its test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_fresh_machine_shows_each_step_to_its_first_paid_task() {
    let mut network = Network::with(|_| ["--chain", "embedded"].map(str::to_owned).into(), 0);
    let url = network.url();
    let tariff = "tariff = \"0.32 EUR\"\ngln_price = \"1 EUR\"\nwatts = 1\n";
    first_worker(&network, tariff);
    network.start_worker_with(&url, &["--no-gpu", "--cpu-slots", "2", "--no-containers", "--no-blender"], &[]);
    let mut steps = vec![said(&network, "staked ")];
    for words in ["sharing CPU, 2 slots", "the hub answers in", "joined the hub as worker 0", "has tested wasm"] {
        steps.push(said(&network, words));
    }
    network.write("program.wasm", programs::echo());
    network.write("job.toml", ARRAY);
    network.run(&["run", "job.toml", "--out", "out"]).succeeded();
    steps.push(said(&network, "earned "));
    assert!(steps[1].contains(" GLN an hour: wasm at speed "), "{}", steps[1]);
    assert!(steps[4].contains("work can come"), "{}", steps[4]);
    assert!(steps[5].contains("of electricity"), "{}", steps[5]);
    let log = String::from_utf8(network.read("worker-1.log")).expect("text");
    let places: Vec<_> = steps.iter().map(|step| log.find(step.as_str()).expect("it was said")).collect();
    assert!(places.is_sorted(), "{log}");
    assert!(network.wait_for_workers(1)[0].earned.0 > 0);
}

#[test]
fn a_film_of_frames_in_ranges_of_samples_comes_back_with_them() {
    let mut network = Network::start(0);
    let url = network.url();
    network.start_worker_with(&url, &["--no-gpu", "--cpu-slots", "2", "--no-containers"], &[]);
    network.wait_for_workers(1);
    make_scene(&network);
    let job = "name = \"film\"\n[[task]]\nname = \"film\"\nruntime = \"blender\"\nprogram = \"scene.blend\"\n\
               [task.blender]\nframes = \"1,5\"\nsamples = 4\nresolution = [64, 36]\nsplit = { samples = 2 }\nvideo = \"mp4\"\n";
    network.write("job.toml", job);
    network.run(&["run", "job.toml", "--out", "out"]).succeeded();
    let files = walk(&network.folder().join("out"));
    let begin = |bytes: &[u8], at: usize| {
        files.iter().filter(|path| std::fs::read(path).expect("a file")[at..].starts_with(bytes)).count()
    };
    assert_eq!((begin(b"\x89PNG", 0), begin(b"ftyp", 4)), (2, 1), "{files:?}");
}

#[test]
fn a_missing_texture_or_library_is_found_before_anything_is_paid() {
    let mut network = Network::start(0);
    let url = network.url();
    network.start_worker_with(&url, &["--no-gpu", "--cpu-slots", "1", "--no-containers"], &[]);
    network.wait_for_workers(1);
    let script = "import bpy, pathlib\nhere = pathlib.Path(__file__).resolve().parent\n\
                  floor = bpy.data.materials.new('floor')\nfloor.use_nodes = True\n\
                  node = floor.node_tree.nodes.new('ShaderNodeTexImage')\nnode.image = bpy.data.images.new('checks', 8, 8)\n\
                  node.image.source = 'FILE'\nnode.image.filepath = '//checks.png'\n\
                  bpy.data.objects['Cube'].data.materials.append(floor)\n\
                  bpy.ops.wm.save_as_mainfile(filepath=str(here / 'scene.blend'))\n";
    run_blender(&network, script);
    assert_found_before_payment(&network, "checks.png");
    // The same of a library, in which the cube is and which is not sent along.
    let script = "import bpy, pathlib\nhere = pathlib.Path(__file__).resolve().parent\n\
                  bpy.ops.wm.save_as_mainfile(filepath=str(here / 'library.blend'), copy=True)\n\
                  bpy.data.objects.remove(bpy.data.objects['Cube'])\n\
                  bpy.ops.wm.save_as_mainfile(filepath=str(here / 'scene.blend'))\n\
                  with bpy.data.libraries.load(str(here / 'library.blend'), link=True, relative=True) as (_, wanted):\n\
                  \x20   wanted.objects = ['Cube']\n\
                  bpy.context.scene.collection.objects.link(wanted.objects[0])\n\
                  bpy.ops.wm.save_mainfile()\n";
    run_blender(&network, script);
    assert_found_before_payment(&network, "library.blend");
}

/// Submits the scene alone, and sees that the job ends for want of this file and costs nothing.
fn assert_found_before_payment(network: &Network, file: &str) {
    let job = "name = \"still\"\n[[task]]\nname = \"still\"\nruntime = \"blender\"\nprogram = \"scene.blend\"\n\
               [task.blender]\nframes = \"1\"\n";
    let job = network.submit("job.toml", job);
    let _attending = network.attend(job);
    let view = network.wait_for_job(job, |view| view.summary.state.has_ended());
    let JobState::Failed { reason, .. } = &view.summary.state else { panic!("{view:?}") };
    assert!(reason.contains(file) && reason.contains("is missing"), "{reason}");
    assert_eq!(view.summary.spent, Amount::ZERO);
}

#[test]
fn a_picture_in_tiles_has_the_bytes_of_the_same_picture_in_one_piece() {
    let mut network = distrustful();
    let url = network.url();
    network.start_worker_with(&url, &["--no-gpu", "--cpu-slots", "2", "--no-containers"], &[]);
    let workers = network.wait_for_tests(1);
    let tests: Vec<_> = workers[0].tests.iter().map(|test| (test.runtime, test.score.is_some(), &test.why)).collect();
    assert!(tests.iter().any(|(runtime, passed, _)| *runtime == Runtime::Blender && *passed), "{tests:?}");
    make_scene(&network);
    for (name, split) in [("whole", ""), ("tiles", "split = { tiles = [2, 2] }\n")] {
        let job = format!(
            "name = \"{name}\"\n[[task]]\nname = \"still\"\nruntime = \"blender\"\nprogram = \"scene.blend\"\n\
             [task.blender]\nframes = \"3\"\nsamples = 4\nresolution = [96, 54]\n{split}"
        );
        network.write("job.toml", job);
        network.run(&["run", "job.toml", "--out", name]).succeeded();
    }
    let picture = |name: &str| {
        let folder = network.folder().join(name).join("still");
        let files: Vec<_> = walk(&folder);
        let [only] = &files[..] else { panic!("{files:?}") };
        std::fs::read(only).expect("a picture")
    };
    let (whole, tiles) = (picture("whole"), picture("tiles"));
    assert!(whole.starts_with(b"\x89PNG"));
    assert!(whole == tiles, "the pictures differ");
}

/// The example's scene, as `scene.blend` in the network's folder.
pub fn make_scene(network: &Network) {
    let script = std::fs::read_to_string(sources().join("../../examples/render/scene.py")).expect("the example");
    run_blender(network, &script);
}

/// Runs a script that makes `scene.blend` beside itself.
fn run_blender(network: &Network, script: &str) {
    network.write("scene.py", script);
    let scene = network.folder().join("scene.blend");
    // Where a script fails, what an earlier one made must not pass for its work.
    let _ = std::fs::remove_file(&scene);
    let blender = Command::new("blender")
        .args(["--background", "--factory-startup", "--python"])
        .arg(network.folder().join("scene.py"))
        .output()
        .expect("Blender (Debian: apt install blender)");
    assert!(scene.exists(), "{}", String::from_utf8_lossy(&blender.stderr));
}

/// The files below a path, or the file that it is.
pub fn walk(path: &std::path::Path) -> Vec<std::path::PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = std::fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    entries.flat_map(|entry| walk(&entry.expect("an entry").path())).collect()
}

#[test]
fn one_line_runs_a_command_in_an_image_for_each_value() {
    let podman = Podman::start();
    let mut network = distrustful();
    let url = network.url();
    let options = ["--no-gpu", "--cpu-slots", "2", "--no-blender"];
    network.start_worker_with(&url, &options, &[("DOCKER_HOST", &podman.host())]);
    let workers = network.wait_for_tests(1);
    assert!(
        workers[0].tests.iter().any(|test| test.runtime == Runtime::Container && test.score.is_some()),
        "{workers:?}"
    );
    let archive = podman.archive().display().to_string();
    let script = "echo rate {lr} of $GLEANER_INDEX > /out/said; echo loud";
    let line = ["run", "--image", &archive, "--sweep", "lr=0.1,0.2,0.3", "--out", "out", "--", "sh", "-c", script];
    network.run(&line).succeeded();
    let mut said: Vec<_> = walk(&network.folder().join("out"))
        .into_iter()
        .map(|path| std::fs::read_to_string(path).expect("text"))
        .collect();
    said.sort();
    assert_eq!(said, ["rate 0.1 of 0\n", "rate 0.2 of 1\n", "rate 0.3 of 2\n"]);
    let logs = network.run(&["job", "logs", "1"]).succeeded().stdout;
    assert!(logs.contains("loud"), "{logs}");
    assert_eq!(podman.containers(), 0, "nothing is left");
}

#[test]
fn an_image_of_a_registry_is_named_by_a_tag_and_fetched_by_its_digest() {
    let registry = Registry::start();
    let podman = Podman::start_with(&registry.configuration());
    registry.fill(&podman, "box:1");
    let mut network = Network::start(0);
    let url = network.url();
    let options = ["--no-gpu", "--cpu-slots", "1", "--no-blender"];
    network.start_worker_with(&url, &options, &[("DOCKER_HOST", &podman.host())]);
    network.wait_for_workers(1);
    network.write("said.txt", "from outside");
    let image = registry.name("box:1");
    for job in ["1", "2"] {
        let line =
            ["run", "--image", &image, "--in", "said.txt", "--env", "WORD=hello", "--out", job, "--", "sh", "-c"];
        let script = "echo $WORD $GLEANER_INDEX $(cat /in/said.txt) > /out/said";
        network.run(&[&line[..], &[script]].concat()).succeeded();
        let said = walk(&network.folder().join(job)).into_iter().map(std::fs::read_to_string);
        let said: Vec<_> = said.map(|text| text.expect("text")).collect();
        assert_eq!(said, ["hello 0 from outside\n"]);
    }
    assert_eq!(podman.run(&["images", "--quiet"]).lines().count(), 1, "it stays for the next task");
    let told = network.run(&["run", "--image", &registry.name("box:9"), "--", "true"]);
    assert!(told.code == 1 && told.stderr.contains("does not give box:9"), "{told:?}");
}

#[test]
fn the_end_of_a_program_in_a_container_has_its_cause() {
    let podman = Podman::start();
    let mut network = Network::start(0);
    let url = network.url();
    let options = ["--no-gpu", "--cpu-slots", "1", "--no-blender"];
    network.start_worker_with(&url, &options, &[("DOCKER_HOST", &podman.host())]);
    network.wait_for_workers(1);
    std::fs::copy(podman.archive(), network.folder().join("image.tar")).expect("copied");
    for (command, limit, cause, words) in [
        ("echo my last words; exit 7", "", Cause::ProgramFault, "code 7"),
        ("exec /bin/attack eat", "[task.needs]\nmemory = \"64MiB\"\n", Cause::OutOfMemory, "needs.memory"),
        ("while :; do sleep 1; done", "time_max", Cause::TimeLimit, "time limit"),
    ] {
        let (time_max, needs) = if limit == "time_max" { ("2s", "") } else { ("5m", limit) };
        let job = network.submit(
            "job.toml",
            &format!(
                "name = \"end\"\n[[task]]\nname = \"end\"\nruntime = \"container\"\nprogram = \"image.tar\"\n\
                 time_max = \"{time_max}\"\n[task.container]\ncommand = [\"sh\", \"-c\", {command:?}]\n{needs}"
            ),
        );
        let _attending = network.attend(job);
        let view = network.wait_for_job(job, |view| view.summary.state.has_ended());
        let last = view.failures.last().unwrap_or_else(|| panic!("{view:?}"));
        assert!(last.cause == cause && last.detail.contains(words), "{last:?}");
        assert!(cause != Cause::ProgramFault || last.detail.contains("my last words"), "{last:?}");
    }
    assert_eq!(podman.containers(), 0, "nothing is left");
}

#[test]
fn a_program_goes_on_from_its_checkpoint_when_its_owner_takes_the_machine_back() {
    let podman = Podman::start();
    let mut network = Network::start(0);
    let url = network.url();
    let options = ["--no-gpu", "--cpu-slots", "1", "--no-blender"];
    let host = podman.host();
    network.start_worker_with(&url, &options, &[("DOCKER_HOST", &host)]);
    network.wait_for_workers(1);
    std::fs::copy(podman.archive(), network.folder().join("image.tar")).expect("copied");
    let job: JobId = network.submit("job.toml", &counting(""));
    let _attending = network.attend(job);
    network.wait_for_job(job, |view| view.groups[0].saved > 0);
    network.run(&["worker", "pause", "0"]).succeeded();
    network.wait_for_job(job, |view| view.summary.running == 0);
    network.start_worker_with(&url, &options, &[("DOCKER_HOST", &host)]);
    let view = network.wait_for_job(job, |view| view.summary.state.has_ended());
    assert_eq!(view.summary.state, JobState::Done, "{view:?}");
    counted_in_two_lives(&network, job);
}

/// A job that counts to 40 in ten seconds. Each life of it counts on from what it finds, and says how often it began.
fn counting(market: &str) -> String {
    let script = "echo x >> /checkpoint/lives; n=$(cat /checkpoint/n 2>/dev/null || echo 0); \
        while [ $n -lt 40 ]; do n=$((n+1)); echo $n > /checkpoint/next; mv /checkpoint/next /checkpoint/n; sleep 0.25; done; \
        cat /checkpoint/lives > /out/lives; echo $n > /out/n";
    format!(
        "name = \"count\"\n{market}[[task]]\nname = \"count\"\nruntime = \"container\"\nprogram = \"image.tar\"\n\
         [task.container]\ncommand = [\"sh\", \"-c\", {script:?}]\ncheckpoint = \"1s\"\n"
    )
}

fn counted_in_two_lives(network: &Network, job: JobId) {
    network.run(&["job", "fetch", &job.to_string(), "--out", "out"]).succeeded();
    let text = |name: &str| {
        let files = walk(&network.folder().join("out"));
        let path = files.iter().find(|path| path.ends_with(name)).unwrap_or_else(|| panic!("{files:?}"));
        std::fs::read_to_string(path).expect("text")
    };
    assert_eq!(text("n"), "40\n");
    assert_eq!(text("lives"), "x\nx\n", "it began twice, and did not lose what it had");
}

#[test]
fn an_interruptible_program_that_is_outbid_saves_itself_and_goes_on_elsewhere() {
    let podman = Podman::start();
    let mut network = Network::start(0);
    let url = network.url();
    let options = ["--no-gpu", "--cpu-slots", "1", "--no-blender"];
    let host = podman.host();
    network.start_worker_with(&url, &options, &[("DOCKER_HOST", &host)]);
    network.wait_for_workers(1);
    std::fs::copy(podman.archive(), network.folder().join("image.tar")).expect("copied");
    let soft: JobId = network.submit("soft.toml", &counting("[market]\ntier = \"interruptible\"\n"));
    let _soft_keys = network.attend(soft);
    network.wait_for_job(soft, |view| view.groups[0].saved > 0);
    // Somebody pays the full price, and there is no other machine.
    let firm: JobId = network.submit(
        "firm.toml",
        "name = \"firm\"\n[[task]]\nname = \"firm\"\nruntime = \"container\"\nprogram = \"image.tar\"\n\
         [task.container]\ncommand = [\"sh\", \"-c\", \"sleep 20\"]\n",
    );
    let _firm_keys = network.attend(firm);
    network.wait_for_job(firm, |view| view.summary.running == 1);
    network.start_worker_with(&url, &options, &[("DOCKER_HOST", &host)]);
    let view = network.wait_for_job(soft, |view| view.summary.state.has_ended());
    assert_eq!((&view.summary.state, view.market.moved), (&JobState::Done, 1), "{view:?}");
    assert!(view.failures.is_empty(), "to be outbid is no failure: {view:?}");
    let ended = view.workers.iter().find(|tally| tally.done == 1).expect("somebody ended it");
    assert_eq!(ended.name, "worker-2", "it did not wait for the machine that it had to leave");
    assert!(view.workers.iter().all(|tally| tally.earned.0 > 0), "what led to the checkpoint is paid too: {view:?}");
    counted_in_two_lives(&network, soft);
}

#[test]
fn a_program_that_never_stops_writing_is_saved_all_the_same() {
    let podman = Podman::start();
    let mut network = Network::start(0);
    let url = network.url();
    let options = ["--no-gpu", "--cpu-slots", "1", "--no-blender"];
    let host = podman.host();
    network.start_worker_with(&url, &options, &[("DOCKER_HOST", &host)]);
    network.wait_for_workers(1);
    std::fs::copy(podman.archive(), network.folder().join("image.tar")).expect("copied");
    // In its first life it writes without a pause until it is ended; in its second it says what it found.
    let script = "if [ -e /checkpoint/n ]; then cat /checkpoint/n > /out/found; exit 0; fi; \
        n=0; while :; do n=$((n+1)); echo $n > /checkpoint/n; done";
    let job = format!(
        "name = \"endless\"\n[[task]]\nname = \"endless\"\nruntime = \"container\"\nprogram = \"image.tar\"\n\
         [task.container]\ncommand = [\"sh\", \"-c\", {script:?}]\ncheckpoint = \"1s\"\n"
    );
    let job: JobId = network.submit("job.toml", &job);
    let _attending = network.attend(job);
    network.wait_for_job(job, |view| view.groups[0].saved > 0);
    network.workers.remove(0).kill();
    network.start_worker_with(&url, &options, &[("DOCKER_HOST", &host)]);
    let view = network.wait_for_job(job, |view| view.summary.state.has_ended());
    assert_eq!(view.summary.state, JobState::Done, "{view:?}");
}

#[test]
fn a_program_that_will_not_go_is_made_to_when_its_owner_wants_the_machine() {
    let podman = Podman::start();
    let mut network = Network::start(0);
    let url = network.url();
    network.start_worker_with(
        &url,
        &["--no-gpu", "--cpu-slots", "1", "--no-blender"],
        &[("DOCKER_HOST", &podman.host())],
    );
    network.wait_for_workers(1);
    std::fs::copy(podman.archive(), network.folder().join("image.tar")).expect("copied");
    // It hears that it should end, says so, and goes on for ever.
    let script = "trap 'echo I was asked' TERM; echo I am here; while :; do sleep 0.1; done";
    let job = format!(
        "name = \"stay\"\n[[task]]\nname = \"stay\"\nruntime = \"container\"\nprogram = \"image.tar\"\n\
         [task.container]\ncommand = [\"sh\", \"-c\", {script:?}]\n"
    );
    let job: JobId = network.submit("job.toml", &job);
    let _attending = network.attend(job);
    let says = |words: &str| network.run(&["job", "logs", &job.to_string()]).succeeded().stdout.contains(words);
    while !says("I am here") {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    network.run(&["worker", "pause", "0"]).succeeded();
    said(&network, "device 0 was free after");
    assert_eq!(podman.containers(), 0, "free means that nothing of it is there");
    network.wait_for_job(job, |view| view.summary.running == 0);
    assert!(says("I was asked"), "it was asked before it was made to");
}
