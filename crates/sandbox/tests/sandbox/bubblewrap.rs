//! What is particular to programs under bubblewrap.

use crate::cell::{Cell, PROGRAMS, helper, limits, worker_name};
use gleaner_sandbox::{
    Bubblewrap, BubblewrapConfig, Cause, Device, Error, Groups, Helper, Job, Landlock, Limits, Network, Stream,
};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Duration;

fn shell(script: &str) -> Vec<String> {
    ["sh", "-c", script].map(str::to_owned).into()
}

#[tokio::test]
async fn program_reads_its_inputs_and_leaves_its_outputs() {
    let cell = Cell::bubblewrap();
    let job = Job {
        command: shell("cat /in/name; echo done >&2; echo $GREETING > result; pwd; id -u"),
        environment: BTreeMap::from([("GREETING".to_owned(), "hello".to_owned())]),
        ..cell.job(&[])
    };
    fs::write(job.folder.inputs().join("name"), "input\n").unwrap();
    let outcome = cell.run(job).await;
    assert_eq!(outcome.ending.cause, Cause::Finished, "{}", outcome.text());
    assert_eq!(outcome.printed(Stream::Out), ["input", "/out", "1000"]);
    assert_eq!(outcome.printed(Stream::Err), ["done"]);
    let result = outcome.folder.outputs().join("result");
    assert_eq!(fs::read_to_string(&result).unwrap(), "hello\n");
    let owner = fs::metadata(result).unwrap().uid();
    let expected =
        if rustix::process::geteuid().is_root() { PROGRAMS.uid } else { rustix::process::geteuid().as_raw() };
    assert_eq!(owner, expected);
}

/// The newest interface of Landlock that this kernel has; 0 without it.
fn landlock_of_the_kernel() -> i64 {
    const VERSION: libc::c_long = 1;
    // SAFETY: without rules and with this flag the call reads and writes no memory, and answers with a number.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0_usize, 0_usize, VERSION) };
    answer.max(0)
}

#[tokio::test]
#[expect(clippy::print_stdout, reason = "what is skipped is said")]
async fn landlock_is_enforced_where_the_kernel_has_it() {
    let cell = Cell::bubblewrap();
    assert_eq!(cell.guards().landlock, None, "nothing has run yet");
    cell.still_works().await;
    let enforced = cell.guards().landlock;
    match landlock_of_the_kernel() {
        0 => {
            assert!(std::env::var_os("GLEANER_TEST_EVERYTHING").is_none(), "this kernel has no Landlock");
            println!("skipped: this kernel has no Landlock");
            assert_eq!(enforced, Some(Landlock::None));
        }
        1..=5 => assert_eq!(enforced, Some(Landlock::Some)),
        _newest => assert_eq!(enforced, Some(Landlock::All)),
    }
}

#[tokio::test]
async fn exit_code_of_the_program_is_reported() {
    let cell = Cell::bubblewrap();
    let outcome = cell.attack(&["exit", "42"]).await;
    assert_eq!(outcome.ending.cause, Cause::ProgramFault { exit_code: 42 });
    assert!(outcome.ending.usage.memory_peak_bytes.is_some());
}

#[tokio::test]
async fn program_that_is_not_there_is_a_program_fault() {
    let cell = Cell::bubblewrap();
    let outcome = cell.run(cell.job(&["/in/nothing"])).await;
    assert_eq!(outcome.ending.cause, Cause::ProgramFault { exit_code: 127 });
    assert!(outcome.text().contains("cannot be started"), "{}", outcome.text());
}

#[tokio::test]
async fn helper_that_cannot_start_is_a_fault_of_the_sandbox() {
    let program = "/bin/false".into();
    let config = BubblewrapConfig {
        helper: Helper { program, arguments: Vec::new() },
        readable: Vec::new(),
        unprivileged: PROGRAMS,
    };
    let groups = Arc::new(Groups::open(&worker_name()).unwrap());
    let cell = Cell::bubblewrap();
    let (running, _lines) = Bubblewrap::new(config, groups).unwrap().start(cell.job(&["true"])).await.unwrap();
    assert!(matches!(running.ending().await.cause, Cause::SandboxFault { .. }));
}

#[tokio::test]
async fn stop_gives_the_program_time_to_save_its_work() {
    let cell = Cell::bubblewrap();
    let script = "trap 'echo saved > /checkpoint/state; exit 9' TERM; echo ready; while :; do sleep 0.1; done";
    let job = Job { command: shell(script), ..cell.job(&[]) };
    let folder = job.folder.clone();
    let (running, mut lines) = cell.start(job).await.unwrap();
    assert_eq!(lines.next().await.unwrap().text, "ready");
    running.controls().stop(Duration::from_secs(30)).await;
    assert_eq!(running.ending().await.cause, Cause::Stopped);
    assert_eq!(fs::read_to_string(folder.checkpoint().join("state")).unwrap(), "saved\n");
}

#[tokio::test]
async fn program_that_will_not_stop_is_killed_after_its_grace() {
    let cell = Cell::bubblewrap();
    let job = Job { command: shell("trap '' TERM; echo ready; while :; do sleep 0.1; done"), ..cell.job(&[]) };
    let (running, mut lines) = cell.start(job).await.unwrap();
    lines.next().await.unwrap();
    running.controls().stop(Duration::from_millis(300)).await;
    let ending = running.ending().await;
    assert_eq!(ending.cause, Cause::Stopped);
    assert!(ending.usage.time < limits().time, "its time limit ended it, not the order");
}

#[tokio::test]
async fn dropping_a_job_kills_it() {
    let cell = Cell::bubblewrap();
    let marker = format!("dropped-{}", std::process::id());
    let job = cell.job(&["/in/attack", "sleep", &marker]);
    let (running, mut lines) = cell.start(job).await.unwrap();
    while !crate::escapes::is_running(&marker) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(running);
    assert_eq!(lines.next().await, None);
    assert!(!crate::escapes::is_running(&marker));
}

#[tokio::test]
async fn frozen_program_stands_still_and_goes_on() {
    let cell = Cell::bubblewrap();
    let job = Job { command: shell("i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done"), ..cell.job(&[]) };
    let (running, mut lines) = cell.start(job).await.unwrap();
    lines.next().await.unwrap();
    running.controls().freeze().await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    while lines.ready().is_some() {}
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(lines.ready(), None, "it printed while it was frozen");
    running.controls().thaw().await;
    assert!(lines.next().await.is_some());
    running.controls().freeze().await;
    running.controls().stop(Duration::ZERO).await;
    assert_eq!(running.ending().await.cause, Cause::Stopped);
}

#[tokio::test]
async fn network_and_devices_by_name_are_refused() {
    let cell = Cell::bubblewrap();
    let job = Job { network: Network::Allowed, ..cell.job(&["true"]) };
    assert!(matches!(cell.start(job).await, Err(Error::Refused(_))));
    let job = Job { devices: vec![Device::Cdi("nvidia.com/gpu=0".into())], ..cell.job(&["true"]) };
    assert!(matches!(cell.start(job).await, Err(Error::Refused(_))));
}

#[tokio::test]
async fn second_wall_is_up() {
    let cell = Cell::bubblewrap();
    let job = Job { command: shell("grep -E 'Seccomp_filters|NoNewPrivs|CapEff' /proc/self/status"), ..cell.job(&[]) };
    let outcome = cell.run(job).await;
    let text = outcome.text();
    let filters = text.lines().find_map(|line| line.strip_prefix("Seccomp_filters:")).expect(&text);
    assert!(filters.trim().parse::<u32>().unwrap() >= 2, "{text}");
}

/// Where no group can be written, memory is measured and the processes counted by other means.
#[tokio::test]
async fn memory_is_kept_without_groups_as_well() {
    let cell = Cell::bubblewrap_with(Groups::none("switched off by a test"));
    let limits = Limits { memory_bytes: 64 << 20, ..limits() };
    let outcome = cell.run(Job { limits, ..cell.job(&["/in/attack", "eat"]) }).await;
    assert_eq!(outcome.ending.cause, Cause::OutOfMemory, "{}", outcome.text());
    let outcome = cell.attack(&["fork"]).await;
    let text = outcome.text();
    let forked: u32 = text.trim().strip_prefix("FORKED ").expect(&text).parse().unwrap();
    assert!(forked < limits.processes, "{forked}");
    assert_eq!(cell.attack(&["exit", "0"]).await.ending.cause, Cause::Finished);
}

#[test]
fn helper_is_not_for_people() {
    let output = std::process::Command::new(helper().program).arg("nonsense").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
