//! The most memory that a process had.
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The kernel keeps the highest mark, so that only what comes in the last moment of a process is missed.
const LOOK_TIME: Duration = Duration::from_millis(10);

/// Looks after a process whose number will stand in a file.
pub struct Watch {
    done: mpsc::Sender<()>,
    thread: JoinHandle<u64>,
}

impl Watch {
    /// Begins to look.
    pub fn start(note: PathBuf) -> Self {
        let (done, told) = mpsc::channel();
        let thread = thread::spawn(move || {
            let (mut process, mut peak) = (None, 0);
            while told.recv_timeout(LOOK_TIME) == Err(RecvTimeoutError::Timeout) {
                process = process.or_else(|| fs::read_to_string(&note).ok()?.trim().parse().ok());
                peak = process.and_then(peak_of).map_or(peak, |now: u64| now.max(peak));
            }
            peak
        });
        Self { done, thread }
    }

    /// The most that was seen, in bytes.
    pub fn stop(self) -> u64 {
        drop(self.done);
        self.thread.join().unwrap_or(0)
    }
}

/// The most that a process has had so far, in bytes.
pub fn peak_of(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_was_given_back_still_counts() {
        let own = std::process::id();
        let taken = vec![1_u8; 64 << 20];
        assert!(std::hint::black_box(&taken).iter().all(|byte| *byte == 1));
        drop(taken);
        assert!(peak_of(own).is_some_and(|peak| peak >= 64 << 20));
        assert_eq!(peak_of(u32::MAX), None);
    }
}
