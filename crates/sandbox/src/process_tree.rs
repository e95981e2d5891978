//! Looks at processes from outside: who descends from whom, how much memory they have, which deleted files they hold.

use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// A process and its parent, out of a line such as `12 (a) name) S 1 …`. A program chooses its name freely, so the last
/// bracket counts.
fn parent_of(stat: &str) -> Option<i32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// All processes that descend from `root`, without itself. Orphans stay below the first process of their sandbox, so they
/// are among them.
pub(crate) fn descendants(root: i32) -> Vec<i32> {
    let mut children = BTreeMap::<i32, Vec<i32>>::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(stat) = fs::read_to_string(process.path().join("stat")) else { continue };
        if let Some(parent) = parent_of(&stat) {
            children.entry(parent).or_default().push(id);
        }
    }
    let (mut found, mut next) = (Vec::new(), vec![root]);
    while let Some(parent) = next.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            found.push(child);
            next.push(child);
        }
    }
    found
}

/// Whether a process is stopped or has ended.
pub(crate) fn stands_still(process: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().next());
    state.is_none_or(|state| matches!(state, "T" | "t" | "Z" | "X"))
}

/// Memory that these processes have for themselves or share among each other, from `/proc/PID/status`.
pub(crate) fn memory_bytes(processes: &[i32]) -> u64 {
    let of = |process: &i32| fs::read_to_string(format!("/proc/{process}/status")).map_or(0, |text| resident(&text));
    processes.iter().map(of).sum()
}

fn resident(status: &str) -> u64 {
    let kilobytes = |line: &str| line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok();
    let counted = |line: &&str| line.starts_with("RssAnon:") || line.starts_with("RssShmem:");
    status.lines().filter(counted).filter_map(kilobytes).sum::<u64>() * 1024
}

/// Bytes in files of one file system that have no name any more but are held open: they fill the disk unseen.
pub(crate) fn unnamed_bytes(processes: &[i32], device: u64) -> u64 {
    let mut seen = BTreeSet::new();
    let mut sum = 0_u64;
    for process in processes {
        for handle in fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten() {
            let Ok(meta) = fs::metadata(handle.path()) else { continue };
            if meta.is_file() && meta.nlink() == 0 && meta.dev() == device && seen.insert(meta.ino()) {
                sum = sum.saturating_add(meta.blocks().saturating_mul(512));
            }
        }
    }
    sum
}

/// Sends a signal to each of these processes; those that are gone already are passed over.
pub(crate) fn signal(processes: &[i32], signal: Signal) {
    for process in processes.iter().filter_map(|process| Pid::from_raw(*process)) {
        let _ = kill_process(process, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn name_with_brackets_does_not_hide_the_parent() {
        assert_eq!(parent_of("12 (a) 99 (b) S 7 12 12 0"), Some(7));
        assert_eq!(parent_of("nonsense"), None);
    }

    #[test]
    fn grandchild_is_found() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 60 & echo $!; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut line = String::new();
        let mut printed = std::io::BufReader::new(child.stdout.take().expect("its output"));
        std::io::BufRead::read_line(&mut printed, &mut line).expect("the child's number");
        let grandchild: i32 = line.trim().parse().expect("a number");
        let own = i32::try_from(std::process::id()).expect("a process number");
        let found = descendants(own);
        signal(&[grandchild], Signal::KILL);
        child.wait().expect("its end");
        assert!(found.contains(&grandchild));
    }

    #[test]
    fn memory_is_what_a_process_does_not_share_with_others() {
        let status = "Name:\tx\nVmRSS:\t 900 kB\nRssAnon:\t 100 kB\nRssFile:\t 700 kB\nRssShmem:\t 100 kB\n";
        assert_eq!(resident(status), 200 * 1024);
    }

    #[test]
    fn deleted_file_that_is_held_open_is_counted() {
        use std::io::Write as _;
        let mut file = tempfile::tempfile().expect("a file without a name");
        file.write_all(&vec![1; 1 << 20]).expect("writing");
        file.sync_all().expect("syncing");
        let device = file.metadata().expect("metadata").dev();
        let own = i32::try_from(std::process::id()).expect("a process number");
        assert!(unnamed_bytes(&[own], device) >= 1 << 20);
        assert_eq!(unnamed_bytes(&[own], device + 1), 0);
    }
}
