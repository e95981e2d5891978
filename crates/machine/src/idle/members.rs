//! Which processes belong to an idle command: those of its group, and those that left the group and still carry its mark in
//! their environment.
use std::collections::BTreeSet;

use rustix::process::{Pid, Signal};

use crate::probe::{Tree, command};

/// The variable that every process of an idle command inherits.
pub(super) const MARK: &str = "GLEANER_IDLE_COMMAND";

/// The living processes of a group. One that has ended and waits to be collected holds nothing, and does not count.
pub(super) fn of_group(tree: &Tree, group: u32) -> BTreeSet<u32> {
    if cfg!(target_os = "macos") {
        let list = command::output("ps", &["-axo", "pid=,pgid=,stat="]).unwrap_or_default();
        return of_list(&list, group);
    }
    pids(tree).filter(|pid| group_of(tree, *pid) == Some(group)).collect()
}

/// The living processes that carry a mark, as far as they can be looked at; on macOS none can.
pub(super) fn of_mark(tree: &Tree, mark: &str) -> BTreeSet<u32> {
    let wanted = format!("{MARK}={mark}");
    let own = std::process::id();
    pids(tree).filter(|pid| *pid != own && carries(tree, *pid, &wanted) && group_of(tree, *pid).is_some()).collect()
}

/// Ends every process that carries a mark: what an idle command of an earlier worker left behind. Returns how many.
pub fn sweep(mark: &str) -> usize {
    signal_marked(&Tree::default(), mark, Signal::KILL)
}

/// Sends a signal to every process that carries a mark.
pub(super) fn signal_marked(tree: &Tree, mark: &str, signal: Signal) -> usize {
    let wanted = format!("{MARK}={mark}");
    of_mark(tree, mark).into_iter().filter(|pid| signal_if(*pid, signal, || carries(tree, *pid, &wanted))).count()
}

/// Sends a signal to a process if it is still the one that is meant: its number may be another's by now.
#[cfg(target_os = "linux")]
fn signal_if(pid: u32, signal: Signal, is_meant: impl FnOnce() -> bool) -> bool {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    is_meant() && pidfd_send_signal(&process, signal).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn signal_if(pid: u32, signal: Signal, is_meant: impl FnOnce() -> bool) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    is_meant() && rustix::process::kill_process(pid, signal).is_ok()
}

fn pids(tree: &Tree) -> impl Iterator<Item = u32> {
    tree.list("/proc").into_iter().filter_map(|name| name.parse().ok())
}

fn carries(tree: &Tree, pid: u32, wanted: &str) -> bool {
    let environment = tree.text(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split('\0').any(|variable| variable == wanted)
}

/// The group of a process that has not ended.
fn group_of(tree: &Tree, pid: u32) -> Option<u32> {
    let (state, group) = status(&tree.text(format!("/proc/{pid}/stat"))?)?;
    (!['Z', 'X'].contains(&state)).then_some(group)
}

/// The state and the group in a `stat` file. The name before them is in brackets and may hold anything.
fn status(text: &str) -> Option<(char, u32)> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    let state = words.next()?.chars().next()?;
    Some((state, words.nth(1)?.parse().ok()?))
}

/// The living processes of a group in a list of numbers, groups and states.
fn of_list(list: &str, group: u32) -> BTreeSet<u32> {
    let member = |line: &str| {
        let mut words = line.split_whitespace();
        let (pid, of, state) = (words.next()?, words.next()?, words.next()?);
        (of.parse() == Ok(group) && !state.starts_with('Z')).then(|| pid.parse().ok()).flatten()
    };
    list.lines().filter_map(member).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_cannot_hide_its_state() {
        assert_eq!(status("7 (miner) S 1 5 5 0 -1"), Some(('S', 5)));
        assert_eq!(status("7 (a) Z 1 9 (b) R 1 5 5 0 -1"), Some(('R', 5)));
        assert_eq!(status("7 (miner"), None);
    }

    #[test]
    fn members_are_found_by_group_and_by_mark_and_the_ended_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |pid: u32, stat: &str, environment: &str| {
            let dir = folder.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&dir).expect("a folder");
            std::fs::write(dir.join("stat"), stat).expect("written");
            std::fs::write(dir.join("environ"), environment).expect("written");
        };
        write(10, "10 (sh) S 1 10 10 0", "");
        write(11, "11 (miner) R 10 10 10 0", "");
        write(12, "12 (gone) Z 10 10 10 0", "");
        write(13, "13 (daemon) S 1 13 13 0", "HOME=/root\0GLEANER_IDLE_COMMAND=/w\0");
        write(14, "14 (other) S 1 14 14 0", "GLEANER_IDLE_COMMAND=/w2\0A=GLEANER_IDLE_COMMAND=/w\0");
        let tree = Tree::at(folder.path());
        assert_eq!(of_group(&tree, 10), [10, 11].into());
        assert_eq!(of_mark(&tree, "/w"), [13].into());
    }

    #[test]
    fn a_list_of_processes_tells_the_same() {
        assert_eq!(of_list("  10    10 Ss\n   11    10 R+\n   12    10 Z\n 100 11 S\n", 10), [10, 11].into());
    }
}
