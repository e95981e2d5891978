//! Idle commands as real processes: all of one goes, however it was started and however its worker ends.
#![cfg(target_os = "linux")]
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command as Program, Stdio};
use std::time::{Duration, Instant};

use gleaner_machine::idle::{Command, Effect, Error, GIVE_WAY_EVERY, Place, Process, Runner, State, sweep};
use gleaner_machine::preferences::Preferences;
use gleaner_wire::Millis;

const PATIENCE: Duration = Duration::from_secs(60);
/// Where a worker that will be killed finds its folder.
const FOLDER: &str = "GLEANER_TEST_FOLDER";

fn place(dir: &Path) -> Place {
    Place { dir: dir.to_path_buf(), mark: dir.to_string_lossy().into_owned() }
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < end, "never seen: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The numbers of processes that a command wrote into a file, once all of them are there.
fn written(path: &Path, count: usize) -> BTreeSet<u32> {
    wait_for("numbers of processes", || {
        let text = std::fs::read_to_string(path).ok()?;
        let pids: BTreeSet<u32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
        (pids.len() == count && text.ends_with('\n')).then_some(pids)
    })
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn wait_until_dead(pids: &BTreeSet<u32>) {
    wait_for("their end", || (!pids.iter().any(|pid| is_alive(*pid))).then_some(()));
}

fn preferences(line: &str) -> Preferences {
    let mut preferences = Preferences { idle_command: Some(line.to_owned()), ..Preferences::default() };
    preferences.idle.free_within = Millis(600);
    preferences
}

/// A runner whose command has just been started.
fn started(line: &str, dir: &Path) -> (Runner, Preferences) {
    let (mut runner, preferences) = (Runner::new(place(dir)), preferences(line));
    runner.step(Millis(0), false, true, &preferences).expect("nothing to start yet");
    assert!(!runner.is_there());
    let verdict = runner.step(Millis(60_000), false, true, &preferences).expect("a shell is there");
    assert_eq!(verdict.effect, Some(Effect::Start));
    assert!(!verdict.tasks_may_start && runner.is_there());
    (runner, preferences)
}

/// Ends the command as a task that starts does.
fn make_room(runner: &mut Runner, preferences: &Preferences) -> Result<(), Error> {
    let begun = Instant::now();
    loop {
        let now = Millis(70_000 + begun.elapsed().as_millis() as u64);
        if runner.give_way(now, begun.elapsed(), preferences)? {
            return Ok(());
        }
        std::thread::sleep(GIVE_WAY_EVERY);
    }
}

#[test]
fn a_task_does_not_start_beside_one_that_cannot_be_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut runner, preferences) = started("trap '' TERM; echo $$ >> pids; sleep 1000", folder.path());
    let pids = written(&folder.path().join("pids"), 1);
    assert!(!runner.give_way(Millis(70_000), Duration::ZERO, &preferences).expect("it is asked"));
    let waited = Duration::from_millis(preferences.idle.free_within.0) + Duration::from_secs(3);
    let refused = runner.give_way(Millis(70_001), waited, &preferences);
    let Err(Error::StillThere(left)) = refused else { panic!("{refused:?}") };
    assert!(pids.is_subset(&left), "{left:?}");
    make_room(&mut runner, &preferences).expect("it goes after all");
}

#[test]
fn everything_that_it_started_is_gone_before_a_task_starts() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = "echo $$ >> pids; sleep 1000 & echo $! >> pids; (sleep 1000 & echo $! >> pids; wait) & wait";
    let (mut runner, preferences) = started(line, folder.path());
    let pids = written(&folder.path().join("pids"), 3);
    assert!(pids.iter().all(|pid| is_alive(*pid)) && pids.is_subset(&runner.pids()));
    make_room(&mut runner, &preferences).expect("it goes");
    assert!(!pids.iter().any(|pid| is_alive(*pid)));
    assert!(!runner.is_there() && runner.pids().is_empty());
}

#[test]
fn one_that_does_not_listen_is_ended_by_force() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = "trap '' TERM HUP INT; echo $$ >> pids; while :; do sleep 1000; done";
    let (mut runner, preferences) = started(line, folder.path());
    let pids = written(&folder.path().join("pids"), 1);
    make_room(&mut runner, &preferences).expect("it goes");
    wait_until_dead(&pids);
    assert_eq!(runner.last_end().and_then(|end| end.signal), Some(9));
}

#[test]
fn one_that_is_asked_may_tidy_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = "trap 'echo saved > tidy; exit 3' TERM; echo $$ >> pids; while :; do sleep 0.05; done";
    let (mut runner, preferences) = started(line, folder.path());
    let preferences = Preferences { idle: gleaner_machine::preferences::IdleLimits::default(), ..preferences };
    written(&folder.path().join("pids"), 1);
    make_room(&mut runner, &preferences).expect("it goes");
    assert_eq!(runner.last_end().and_then(|end| end.code), Some(3));
    assert_eq!(std::fs::read_to_string(folder.path().join("tidy")).ok().as_deref(), Some("saved\n"));
}

#[test]
fn one_that_leaves_its_group_is_found_by_its_mark() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = "setsid sh -c 'echo $$ >> pids; exec sleep 1000' & wait";
    let (mut runner, preferences) = started(line, folder.path());
    let pids = written(&folder.path().join("pids"), 1);
    wait_for("it is counted as ours", || pids.is_subset(&runner.pids()).then_some(()));
    make_room(&mut runner, &preferences).expect("it goes");
    assert!(!pids.iter().any(|pid| is_alive(*pid)));
}

#[test]
fn what_it_leaves_behind_does_not_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut runner, preferences) = started("sleep 1000 & echo $! >> pids", folder.path());
    let pids = written(&folder.path().join("pids"), 1);
    let mut now = 60_000;
    wait_for("nothing is left", || {
        now += 100;
        runner.step(Millis(now), false, true, &preferences).expect("nothing is started");
        (!runner.is_there()).then_some(())
    });
    assert!(!pids.iter().any(|pid| is_alive(*pid)));
    assert!(matches!(runner.idle().state(), State::Waiting { .. }), "it is tried again later");
}

#[test]
fn a_line_that_the_owner_changed_is_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut runner, _) = started("echo $$ >> pids; exec sleep 1000", folder.path());
    let pids = written(&folder.path().join("pids"), 1);
    let verdict = runner.step(Millis(70_000), false, true, &preferences("other")).expect("nothing is started");
    assert_eq!(verdict.effect, Some(Effect::Ask));
    wait_until_dead(&pids);
}

#[test]
fn a_line_that_fails_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::start("no-such-miner-here --quiet", &place(folder.path())).expect("a shell is there");
    wait_for("its end", || (command.process() == Process::Gone).then_some(()));
    let end = command.ended().expect("it has ended");
    assert_eq!(end.code, Some(127));
    assert!(end.said.contains("no-such-miner-here"), "{end:?}");
}

#[test]
fn a_command_that_is_dropped_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = "echo $$ >> pids; sleep 1000 & echo $! >> pids; wait";
    let command = Command::start(line, &place(folder.path())).expect("a shell is there");
    let mut pids = written(&folder.path().join("pids"), 2);
    pids.extend(command.pids());
    drop(command);
    wait_until_dead(&pids);
}

#[test]
fn a_killed_worker_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = std::env::current_exe().expect("this very program");
    let mut worker = Program::new(own)
        .args(["--exact", "worker_that_will_be_killed", "--ignored"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    let told = wait_for("all of its processes", || std::fs::read_to_string(folder.path().join("all")).ok());
    let pids: BTreeSet<u32> = told.lines().filter_map(|pid| pid.parse().ok()).collect();
    assert!(pids.len() >= 3 && pids.iter().all(|pid| is_alive(*pid)), "the keeper, the shell and what it started");
    worker.kill().expect("it can be killed");
    worker.wait().expect("it ends");
    wait_until_dead(&pids);
}

#[test]
#[ignore = "a part of a_killed_worker_leaves_nothing_behind, which starts it"]
fn worker_that_will_be_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    // From a thread that ends before its process does, as those of a worker do.
    let line = "trap '' TERM; echo $$ >> pids; sleep 1000 & echo $! >> pids; wait";
    let place = place(folder);
    let command = std::thread::spawn(move || Command::start(line, &place)).join().expect("no panic").expect("a shell");
    let mut pids = written(&folder.join("pids"), 2);
    assert!(pids.iter().all(|pid| is_alive(*pid)), "the end of the thread has ended nothing");
    pids.extend(command.pids());
    let told = pids.iter().map(u32::to_string).collect::<Vec<_>>().join("\n");
    std::fs::write(folder.join("some"), told).expect("written");
    std::fs::rename(folder.join("some"), folder.join("all")).expect("and there at once");
    std::thread::sleep(PATIENCE);
}

#[test]
fn what_escaped_an_earlier_worker_is_swept_at_the_next_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = place(folder.path());
    let mut escaped =
        Program::new("sleep").arg("1000").env("GLEANER_IDLE_COMMAND", &place.mark).spawn().expect("it starts");
    let mut other = Program::new("sleep")
        .arg("1000")
        .env("GLEANER_IDLE_COMMAND", format!("{}2", place.mark))
        .spawn()
        .expect("it starts");
    // The number is there before its new environment is.
    wait_for("it is swept", || (sweep(&place.mark) == 1).then_some(()));
    assert!(!escaped.wait().expect("it ends").success());
    assert!(other.try_wait().expect("it can be asked").is_none(), "another worker's is left alone");
    other.kill().expect("it can be killed");
    other.wait().expect("it ends");
}
