//! Every way out that was thought of, tried in both sandboxes.

use crate::attacker::attacker;
use crate::cell::{Cell, Outcome, PROGRAMS, limits};
use gleaner_sandbox::{Cause, CollectLimits, Job, LINES_WAITING_MAX, Limits, Why, collect};
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// One test for each attack and sandbox: the attack is written once.
macro_rules! in_both {
    ($($name:ident => $attack:ident;)*) => {
        mod bubblewrap {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let cell = super::Cell::bubblewrap();
                super::$attack(&cell).await;
                cell.still_works().await;
            })*
        }
        mod container {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let cell = super::Cell::container().await;
                super::$attack(&cell).await;
                cell.still_works().await;
            })*
        }
    };
}

in_both! {
    files_of_the_owner_cannot_be_read => owners_files;
    memory_and_sockets_of_the_worker_are_out_of_reach => workers_memory_and_sockets;
    no_network_can_be_reached => networks;
    nothing_outside_its_folder_can_be_written => writes_outside;
    devices_can_neither_be_opened_nor_made => devices;
    privileges_cannot_be_had => privileges;
    full_disk_ends_the_job_alone => full_disk;
    disk_filled_by_files_without_a_name_ends_the_job_alone => unnamed_files;
    fork_bomb_goes_no_further_than_its_limit => fork_bomb;
    eating_all_memory_ends_the_job_alone => eats_memory;
    running_past_its_time_ends_the_job => past_its_time;
    program_that_takes_no_notice_of_being_stopped_is_ended => will_not_stop;
    process_left_behind_is_gone_with_the_job => left_behind;
    links_in_inputs_and_outputs_lead_nowhere => tricks;
    processor_time_is_no_more_than_its_share => takes_the_processor;
    flood_of_lines_costs_lines_and_nothing_else => floods;
}

/// Docker keeps its containers by its own means. Its tests are together, because it takes a while to start.
mod docker {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nothing_of_the_machine_can_be_read_written_or_reached() {
        let cell = Cell::docker().await;
        owners_files(&cell).await;
        workers_memory_and_sockets(&cell).await;
        networks(&cell).await;
        writes_outside(&cell).await;
        devices(&cell).await;
        privileges(&cell).await;
        tricks(&cell).await;
        cell.still_works().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nothing_takes_more_than_its_share_or_stays() {
        let cell = Cell::docker().await;
        full_disk(&cell).await;
        unnamed_files(&cell).await;
        fork_bomb(&cell).await;
        eats_memory(&cell).await;
        past_its_time(&cell).await;
        takes_the_processor(&cell).await;
        floods(&cell).await;
        will_not_stop(&cell).await;
        left_behind(&cell).await;
        cell.still_works().await;
    }
}

/// With a kernel of its own between the program and the machine, the walls are others. That kernel has devices of its own, lets
/// nobody make pipes in a folder of the machine, and shows the machine none of its processes; so only attacks are tried that mean
/// the same there.
mod gvisor {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nothing_of_the_machine_can_be_read_or_reached() {
        let cell = Cell::gvisor().await;
        owners_files(&cell).await;
        networks(&cell).await;
        links_in_inputs(&cell).await;
        cell.still_works().await;
    }
}

/// Lets every user of this machine have it, so that it is the sandbox that holds and not the owner of a file.
fn open_to_all(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
}

async fn owners_files(cell: &Cell) {
    let wallet = cell.home().join("wallet.json");
    fs::write(&wallet, "a key").unwrap();
    [cell.home(), wallet.as_path()].into_iter().for_each(open_to_all);
    let home = std::env::home_dir().unwrap();
    let own = home.join(format!(".gleaner-test-{}", std::process::id()));
    fs::write(&own, "private").unwrap();
    let (wallet, own, home) = (text(&wallet), text(&own), text(&home));
    cell.holds(&["read", &wallet, &own, "/etc/shadow", "/proc/kcore", "/var/lib/dpkg/status", "/etc/ssh/sshd_config"])
        .await;
    cell.holds(&["list", &home, "/root", "/home", &text(cell.home()), "/srv", "/mnt", "/run/systemd"]).await;
    let outside = format!("/in/../../../../../..{own}");
    let through_processes = format!("/proc/1/root{own}");
    let through_folder = format!("/proc/self/cwd/../../..{own}");
    cell.holds(&["read", &outside, &through_processes, &through_folder]).await;
    fs::remove_file(own).unwrap();
}

async fn workers_memory_and_sockets(cell: &Cell) {
    let path = cell.home().join("worker.sock");
    let _named = UnixListener::bind(&path).unwrap();
    [cell.home(), path.as_path()].into_iter().for_each(open_to_all);
    let hidden = format!("gleaner-test-{}", std::process::id());
    let _hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&hidden).unwrap()).unwrap();
    cell.holds(&["unix", &text(&path), &format!("@{hidden}"), "/run/docker.sock", "/var/run/docker.sock"]).await;
    if let Some(podman) = cell.podman() {
        cell.holds(&["unix", &text(&podman.folder().join("s"))]).await;
    }
    // The worker itself, and a process of the very user that the program runs as.
    let mut neighbour = neighbour();
    for process in [std::process::id(), neighbour.id()] {
        let outcome = cell.attack(&["memory", &process.to_string()]).await;
        assert!(!outcome.text().contains("ESCAPED"), "{}: {}", cell.name(), outcome.text());
        assert_eq!(outcome.text().matches("HELD").count(), 5, "{}: {}", cell.name(), outcome.text());
    }
    cell.holds(&["list", &format!("/proc/{}", neighbour.id())]).await;
    assert!(neighbour.try_wait().unwrap().is_none(), "the neighbour was ended");
    neighbour.kill().unwrap();
    neighbour.wait().unwrap();
    cell.holds(&["environment", "CARGO_MANIFEST_DIR", "CARGO_BIN_EXE_gleaner-sandbox-helper", "USER", "LOGNAME"]).await;
}

/// A process outside the sandbox that nothing but the sandbox keeps the program from.
fn neighbour() -> Child {
    let mut command = Command::new("/bin/sleep");
    command.arg("1000");
    if rustix::process::geteuid().is_root() {
        command.uid(PROGRAMS.uid).gid(PROGRAMS.gid);
    }
    command.spawn().unwrap()
}

async fn networks(cell: &Cell) {
    let hub = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = hub.local_addr().unwrap().port().to_string();
    let datagrams = UdpSocket::bind(format!("127.0.0.1:{port}")).unwrap();
    for address in ["127.0.0.1", "169.254.169.254", "8.8.8.8", "10.0.0.1", "172.17.0.1"] {
        let port = if address == "127.0.0.1" { port.as_str() } else { "80" };
        cell.holds(&["network", address, port]).await;
    }
    hub.set_nonblocking(true).unwrap();
    datagrams.set_nonblocking(true).unwrap();
    assert!(hub.accept().is_err(), "the hub was reached");
    assert!(datagrams.recv(&mut [0; 16]).is_err(), "a datagram arrived");
}

async fn writes_outside(cell: &Cell) {
    let outside =
        ["/x", "/usr/x", "/etc/x", "/bin/x", "/in/x", "/in/attack", "/dev/x", "/proc/x", "/sys/x", "/in/../x"];
    let machine = [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/vm/panic_on_oom",
        "/proc/sysrq-trigger",
        "/proc/1/oom_score_adj",
        "/sys/kernel/uevent_helper",
        "/sys/fs/cgroup/memory/cgroup.procs",
        "/sys/fs/cgroup/cgroup.procs",
    ];
    let words: Vec<_> = ["write"].into_iter().chain(outside).chain(machine).collect();
    cell.holds(&words).await;
    let public = cell.home().join("public");
    fs::create_dir(&public).unwrap();
    [cell.home(), public.as_path()].into_iter().for_each(open_to_all);
    let there = text(&public.join("x"));
    let around = format!("/out/../../../../../..{there}");
    cell.holds(&["write", &there, &around, &format!("/proc/1/root{there}")]).await;
    assert_eq!(fs::read_dir(&public).unwrap().count(), 0);
    let inside = cell.attack(&["write", "/out/x", "/checkpoint/x", "/tmp/x", "/dev/shm/x"]).await;
    assert_eq!(inside.text().matches("ESCAPED").count(), 4, "{}: its own folders: {}", cell.name(), inside.text());
    assert!(inside.folder.outputs().join("x").is_file() && inside.folder.checkpoint().join("x").is_file());
}

async fn devices(cell: &Cell) {
    cell.holds(&["devices"]).await;
}

async fn privileges(cell: &Cell) {
    cell.holds(&["privileges"]).await;
    let everywhere = [
        "call",
        "bpf",
        "mount",
        "unshare-user",
        "unshare-mount",
        "clone-user",
        "perf",
        "kexec",
        "setns",
        "syslog",
        "clock",
        "chroot",
        "pivot",
        "handle",
        "raw",
        "packet",
        "setuid",
        "reboot",
        "tty",
        "userfaultfd",
        "keyctl",
        "ptrace",
        "io_uring",
        "vsock",
        "crypto",
    ];
    cell.holds(&everywhere).await;
    // Answered under bubblewrap, and the end of a program in a container.
    let other_numbers = cell.attack(&["call", "x32"]).await;
    let killed = other_numbers.ending.cause == Cause::ProgramFault { exit_code: 128 + 31 };
    let text = other_numbers.text();
    assert!(!text.contains("ESCAPED") && (killed || text.contains("HELD")), "{}: {text}", cell.name());
    if cell.name() == "bubblewrap" {
        // Containers have a loopback of their own.
        cell.holds(&["call", "netlink", "inet"]).await;
    }
}

async fn full_disk(cell: &Cell) {
    let outcome = cell.attack(&["fill", "/out"]).await;
    assert_eq!(outcome.ending.cause, Cause::DiskFull, "{}: {}", cell.name(), outcome.text());
    let used = outcome.ending.usage.disk_peak_bytes;
    assert!(used > limits().disk_bytes && used < limits().disk_bytes * 20, "{used} bytes");
    let outcome = cell.attack(&["many-files", "/checkpoint"]).await;
    assert_eq!(outcome.ending.cause, Cause::DiskFull, "{}: {}", cell.name(), outcome.text());
    for scratch in ["/tmp", "/dev/shm"] {
        let limits = Limits { tmp_bytes: 8 << 20, ..limits() };
        let outcome = cell.run(Job { limits, ..cell.job(&["/in/attack", "fill", scratch]) }).await;
        assert_eq!(outcome.ending.cause, Cause::ProgramFault { exit_code: 3 }, "{}: {}", cell.name(), outcome.text());
        assert!(outcome.text().contains("No space left"), "{scratch}: {}", outcome.text());
    }
}

async fn unnamed_files(cell: &Cell) {
    let outcome = cell.attack(&["fill-unnamed", "/checkpoint"]).await;
    assert_eq!(outcome.ending.cause, Cause::DiskFull, "{}: {}", cell.name(), outcome.text());
}

async fn fork_bomb(cell: &Cell) {
    let outcome = cell.attack(&["fork"]).await;
    let text = outcome.text();
    let forked: u32 = text.trim().strip_prefix("FORKED ").expect(&text).parse().unwrap();
    assert!(forked > 1 && forked < limits().processes, "{}: {forked}", cell.name());
    assert_eq!(outcome.ending.cause, Cause::ProgramFault { exit_code: 3 });
}

async fn eats_memory(cell: &Cell) {
    let outcome = cell.attack(&["eat"]).await;
    assert_eq!(outcome.ending.cause, Cause::OutOfMemory, "{}: {}", cell.name(), outcome.text());
    let peak = outcome.ending.usage.memory_peak_bytes.unwrap();
    assert!(peak > limits().memory_bytes / 2 && peak < limits().memory_bytes * 2, "{peak}");
}

async fn past_its_time(cell: &Cell) {
    let job = cell.job(&["/in/attack", "spin"]);
    let limits = Limits { time: Duration::from_secs(2), ..limits() };
    let outcome = cell.run(Job { limits, ..job }).await;
    assert_eq!(outcome.ending.cause, Cause::TimeUp, "{}: {}", cell.name(), outcome.text());
    assert!(outcome.ending.usage.time >= limits.time);
    assert!(outcome.ending.usage.cpu.unwrap() > Duration::ZERO);
}

/// However many processes spin, all of them together get what one job may have.
async fn takes_the_processor(cell: &Cell) {
    let limits = Limits { time: Duration::from_secs(3), cpu_milli: 250, ..limits() };
    let outcome = cell.run(Job { limits, ..cell.job(&["/in/attack", "spin-everywhere"]) }).await;
    assert_eq!(outcome.ending.cause, Cause::TimeUp, "{}: {}", cell.name(), outcome.text());
    let (used, ran) = (outcome.ending.usage.cpu.unwrap(), outcome.ending.usage.time);
    // The kernel gives it in portions of a tenth of a second, and one may be begun.
    let share = ran / 4 + Duration::from_millis(250);
    assert!(used > Duration::ZERO && used <= share, "{}: {used:?} of {ran:?}", cell.name());
}

async fn floods(cell: &Cell) {
    let (running, mut lines) = cell.start(cell.job(&["/in/attack", "flood"])).await.unwrap();
    assert_eq!(running.ending().await.cause, Cause::Finished, "{}", cell.name());
    let mut kept = 0;
    while lines.next().await.is_some() {
        kept += 1;
    }
    assert!(kept > 0 && kept <= LINES_WAITING_MAX, "{}: {kept}", cell.name());
}

/// A device is needed back: what the job holds of it is free as soon as its end is known.
async fn will_not_stop(cell: &Cell) {
    for grace in [Duration::ZERO, Duration::from_secs(2)] {
        let marker = format!("stubborn-{}-{}-{}", cell.name(), grace.as_secs(), std::process::id());
        let (running, mut lines) = cell.start(cell.job(&["/in/attack", "stubborn", &marker])).await.unwrap();
        assert_eq!(lines.next().await.unwrap().text, "READY");
        assert!(is_running(&marker), "{}", cell.name());
        running.controls().stop(grace).await;
        let ending = running.ending().await;
        assert_eq!(ending.cause, Cause::Stopped, "{}", cell.name());
        assert!(ending.usage.time < limits().time, "{}: its time limit ended it, not the order", cell.name());
        assert!(!is_running(&marker), "{}", cell.name());
    }
}

async fn left_behind(cell: &Cell) {
    let marker = format!("left-behind-{}-{}", cell.name(), std::process::id());
    let outcome = cell.attack(&["linger", &marker]).await;
    assert!(outcome.text().contains("LEFT"), "{}: {:?} {}", cell.name(), outcome.ending, outcome.text());
    assert!(!is_running(&marker), "{}", cell.name());
}

async fn links_in_inputs(cell: &Cell) {
    let secret = cell.home().join("secret-of-the-worker");
    fs::write(&secret, "secret").unwrap();
    [cell.home(), secret.as_path()].into_iter().for_each(open_to_all);
    let job = cell.job(&["/in/attack", "read", "/in/link", "/in/up"]);
    std::os::unix::fs::symlink(&secret, job.folder.inputs().join("link")).unwrap();
    let up = format!("../../../../../../..{}", text(&secret));
    std::os::unix::fs::symlink(up, job.folder.inputs().join("up")).unwrap();
    let outcome = cell.run(job).await;
    assert_eq!(outcome.text().matches("HELD").count(), 2, "{}: {}", cell.name(), outcome.text());
}

async fn tricks(cell: &Cell) {
    links_in_inputs(cell).await;
    let job = cell.job(&["/in/attack", "tricks"]);
    fs::write(job.folder.inputs().join("secret"), "input").unwrap();
    let outcome = cell.run(job).await;
    assert!(!outcome.text().contains("ESCAPED"), "{}: {}", cell.name(), outcome.text());
    check_harvest(&outcome);
}

fn check_harvest(outcome: &Outcome) {
    let harvest = collect(&outcome.folder.outputs(), CollectLimits { files: 100, bytes: 1 << 20 }).unwrap();
    let mut refused: Vec<_> = harvest.refused.iter().map(|refused| (text(&refused.path), refused.why)).collect();
    refused.sort_by(|left, right| left.0.cmp(&right.0));
    let expected = [
        ("pipe", Why::Channel),
        ("root", Why::Link),
        ("shadow", Why::Link),
        ("socket", Why::Channel),
        ("up", Why::Link),
    ];
    assert_eq!(refused, expected.map(|(path, why)| (path.to_owned(), why)));
    let taken: Vec<_> = harvest.files.iter().map(|found| text(&found.path)).collect();
    assert_eq!(taken, ["plain"]);
    harvest.open(&harvest.files[0]).unwrap();
}

pub fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Whether an attacker that was told to sleep, with this marker, runs anywhere on this machine.
pub fn is_running(marker: &str) -> bool {
    let words = |entry: fs::DirEntry| fs::read(entry.path().join("cmdline")).unwrap_or_default();
    let wanted = format!("sleep\0{marker}\0");
    fs::read_dir("/proc").unwrap().flatten().any(|entry| String::from_utf8_lossy(&words(entry)).contains(&wanted))
}

/// The attacks themselves can succeed: outside a sandbox they do, so that a broken attack does not pass for a good wall. Left
/// out are those that would do real harm here (setting the clock, restarting the machine), and those that need what not every
/// machine has (a terminal, a disk, a namespace to go back to, another kernel to start, sockets of rare protocols).
#[test]
fn attacks_work_where_nothing_holds_them() {
    let home = tempfile::tempdir().unwrap();
    let secret = home.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    let hub = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = hub.local_addr().unwrap().port().to_string();
    let path = home.path().join("s");
    let _socket = UnixListener::bind(&path).unwrap();
    let own = std::process::id().to_string();
    let (secret, path, written) = (text(&secret), text(&path), text(&home.path().join("written")));
    let folder = text(home.path());
    let attacks: [&[&str]; 9] = [
        &["read", &secret],
        &["list", &folder],
        &["network", "127.0.0.1", &port],
        &["unix", &path],
        &["write", &written],
        &["memory", &own],
        &["environment", "PATH"],
        &["devices"],
        &["privileges"],
    ];
    for words in attacks {
        assert!(unconfined(words).contains("ESCAPED"), "{words:?}");
    }
    let calls = [
        "bpf",
        "chroot",
        "clone-user",
        "handle",
        "inet",
        "io_uring",
        "keyctl",
        "mount",
        "netlink",
        "packet",
        "perf",
        "pivot",
        "ptrace",
        "raw",
        "setuid",
        "syslog",
        "unshare-mount",
        "unshare-user",
        "userfaultfd",
    ];
    let held: Vec<_> = calls.iter().filter(|call| !unconfined(&["call", call]).contains("ESCAPED")).collect();
    assert!(held.is_empty(), "these attacks are broken, or this machine is a sandbox itself: {held:?}");
}

/// What an attack says that runs as root of this machine, with mounts of its own so that the machine's stay as they are.
fn unconfined(words: &[&str]) -> String {
    let mut command = Command::new("unshare");
    let output = command.args(["--mount", "--propagation", "private"]).arg(attacker()).args(words).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn attack_that_nobody_wrote_does_not_pass_for_one_that_was_held() {
    for words in [&["call", "no-such-call"][..], &["no-such-attack"], &[]] {
        let output = Command::new(attacker()).args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(99), "{words:?}: {said}");
        assert!(!said.contains("HELD"), "{words:?}: {said}");
    }
}
