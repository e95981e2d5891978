//! What attempts write: one file of lines for each job, bounded, with followers told of new lines.
//!
//! Logs help people; they are not part of the journal. A line may be lost in a crash, or when the disk does not keep
//! up, and then a metric says how many.
use crate::metrics::Metrics;
use gleaner_wire::api::LogView;
use gleaner_wire::{JobId, Millis};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// The longest log of one job.
const JOB_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Pieces that wait for the disk; further ones are lost, and counted.
const PIECES_WAITING_MAX: usize = 1024;
/// Files kept open.
const FILES_OPEN_MAX: usize = 64;

enum Piece {
    Lines { job: JobId, at: Millis, task: String, worker: String, text: String },
    Close(JobId),
}

/// How far a job's log is.
#[derive(Clone, Copy, Default)]
pub(crate) struct Progress {
    /// Counted up with every write.
    pub(crate) writes: u64,
    /// Whether nothing more will come.
    pub(crate) closed: bool,
}

type Followers = Arc<Mutex<HashMap<JobId, watch::Sender<Progress>>>>;

/// Where lines go in; never waits.
pub(crate) struct LogWriter {
    sender: SyncSender<Piece>,
    metrics: Arc<Metrics>,
}

/// Where lines come out.
#[derive(Clone)]
pub(crate) struct LogReader {
    dir: PathBuf,
    followers: Followers,
}

/// Opens the folder of logs and starts the thread that writes them.
pub(crate) fn open(dir: &Path, metrics: Arc<Metrics>) -> std::io::Result<(LogWriter, LogReader)> {
    std::fs::create_dir_all(dir)?;
    let (sender, receiver) = sync_channel(PIECES_WAITING_MAX);
    let followers = Followers::default();
    let mut files = Files { dir: dir.to_owned(), open: HashMap::new(), followers: Arc::clone(&followers) };
    std::thread::Builder::new().name("hub-logs".to_owned()).spawn(move || files.run(&receiver))?;
    Ok((LogWriter { sender, metrics }, LogReader { dir: dir.to_owned(), followers }))
}

impl LogWriter {
    /// Writes what an attempt said.
    pub(crate) fn write(&self, job: JobId, at: Millis, task: &str, worker: &str, text: &str) {
        let lines = text.lines().count() as u64;
        let piece = Piece::Lines { job, at, task: task.into(), worker: worker.into(), text: text.into() };
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = self.sender.try_send(piece) {
            self.metrics.log_lines_lost.fetch_add(lines, Ordering::Relaxed);
        }
    }

    /// Nothing more will come for this job. If this gets lost, followers find out by asking.
    pub(crate) fn close(&self, job: JobId) {
        let _ = self.sender.try_send(Piece::Close(job));
    }
}

impl LogReader {
    /// The file of a job; it is not there before the first line.
    pub(crate) fn path(&self, job: JobId) -> PathBuf {
        path(&self.dir, job)
    }

    /// News of a job's log.
    pub(crate) fn follow(&self, job: JobId) -> watch::Receiver<Progress> {
        let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        followers.retain(|_, sender| sender.receiver_count() > 0);
        followers.entry(job).or_default().subscribe()
    }
}

struct LogFile {
    file: File,
    bytes: u64,
}

struct Files {
    dir: PathBuf,
    open: HashMap<JobId, LogFile>,
    followers: Followers,
}

impl Files {
    fn run(&mut self, pieces: &Receiver<Piece>) {
        while let Ok(piece) = pieces.recv() {
            match piece {
                Piece::Lines { job, at, task, worker, text } => {
                    let lines = encode_lines(at, &task, &worker, &text);
                    if let Err(error) = self.append(job, at, &lines) {
                        tracing::warn!(%job, %error, "lines of a job's log were lost");
                    }
                    self.tell(job, false);
                }
                Piece::Close(job) => {
                    self.open.remove(&job);
                    self.tell(job, true);
                }
            }
        }
    }

    fn append(&mut self, job: JobId, at: Millis, lines: &str) -> std::io::Result<()> {
        let log = self.file(job)?;
        if log.bytes >= JOB_BYTES_MAX {
            return Ok(());
        }
        log.file.write_all(lines.as_bytes())?;
        log.bytes += lines.len() as u64;
        if log.bytes >= JOB_BYTES_MAX {
            let limit = JOB_BYTES_MAX / 1024 / 1024;
            let text = format!("the log of this job has reached {limit} MiB; what follows is not kept");
            log.file.write_all(encode_lines(at, "hub", "hub", &text).as_bytes())?;
        }
        Ok(())
    }

    fn file(&mut self, job: JobId) -> std::io::Result<&mut LogFile> {
        if !self.open.contains_key(&job) {
            if self.open.len() >= FILES_OPEN_MAX {
                self.open.clear();
            }
            let file = OpenOptions::new().create(true).append(true).open(path(&self.dir, job))?;
            let bytes = file.metadata()?.len();
            self.open.insert(job, LogFile { file, bytes });
        }
        Ok(self.open.get_mut(&job).expect("it was put there just above"))
    }

    fn tell(&self, job: JobId, closed: bool) {
        let followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = followers.get(&job) {
            sender.send_modify(|progress| *progress = Progress { writes: progress.writes + 1, closed });
        }
    }
}

fn path(dir: &Path, job: JobId) -> PathBuf {
    dir.join(format!("{job}.ndjson"))
}

fn encode_lines(at: Millis, task: &str, worker: &str, text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let view = LogView { at, task: task.to_owned(), worker: worker.to_owned(), text: line.to_owned() };
        lines.push_str(&serde_json::to_string(&view).expect("a view is plain data"));
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_reaches_its_limit_says_so_and_grows_no_more() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut files = Files { dir: dir.path().to_owned(), open: HashMap::new(), followers: Followers::default() };
        let lines = encode_lines(Millis(1), "t[0]", "w", &"x".repeat(1024 * 1024));
        for _ in 0..20 {
            files.append(JobId(1), Millis(1), &lines).expect("written");
        }
        let text = std::fs::read_to_string(path(dir.path(), JobId(1))).expect("there");
        assert!(text.len() < 18 * 1024 * 1024);
        assert_eq!(text.lines().count(), 17);
        assert!(text.lines().next_back().expect("a line").contains("is not kept"));
    }
}
