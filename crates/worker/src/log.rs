//! What a program writes to standard error, on its way to the hub: bounded for each attempt, dropped when the way
//! is full. A log never slows a program down and never grows the worker.
use std::time::{Duration, Instant};

use gleaner_wire::{AttemptId, LOG_BYTES_MAX};
use tokio::sync::mpsc;

/// The most log of one attempt.
pub const ATTEMPT_LOG_BYTES_MAX: usize = 1024 * 1024;
/// Pieces that wait for the connection.
pub const PIECES_WAITING_MAX: usize = 256;
const PIECE_BYTES: usize = LOG_BYTES_MAX / 4;
const PIECE_AGE_MAX: Duration = Duration::from_millis(200);
/// How much of the end is kept to explain a failure.
const TAIL_BYTES: usize = 1024;
const TRUNCATED: &str = "[log truncated: an attempt may log 1 MiB]\n";

/// A piece of an attempt's log.
pub type Piece = (AttemptId, String);

/// The log of one attempt.
#[derive(Debug)]
pub struct Log {
    attempt: AttemptId,
    to: mpsc::Sender<Piece>,
    pending: Vec<u8>,
    pending_since: Option<Instant>,
    tail: Vec<u8>,
    written: usize,
}

impl Log {
    /// The log of an attempt, still empty.
    pub fn new(attempt: AttemptId, to: mpsc::Sender<Piece>) -> Self {
        Self { attempt, to, pending: Vec::new(), pending_since: None, tail: Vec::new(), written: 0 }
    }

    /// Adds to the log.
    pub fn write(&mut self, bytes: &[u8]) {
        self.keep_tail(bytes);
        let room = ATTEMPT_LOG_BYTES_MAX.saturating_sub(self.written);
        if room == 0 {
            return;
        }
        self.pending.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.written += bytes.len().min(room);
        if self.written == ATTEMPT_LOG_BYTES_MAX {
            self.pending.push(b'\n');
            self.pending.extend_from_slice(TRUNCATED.as_bytes());
        }
        self.pending_since.get_or_insert_with(Instant::now);
        if self.pending.len() >= PIECE_BYTES {
            self.flush();
        }
        self.flush_old();
    }

    /// Sends what has waited long enough for more.
    pub fn flush_old(&mut self) {
        if self.pending_since.is_some_and(|since| since.elapsed() >= PIECE_AGE_MAX) {
            self.flush();
        }
    }

    /// Sends what was written so far.
    pub fn flush(&mut self) {
        self.pending_since = None;
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending.clear();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(LOG_BYTES_MAX));
            if self.to.try_send((self.attempt, piece.to_owned())).is_err() {
                tracing::debug!(attempt = %self.attempt, "a piece of log was dropped: the connection is too slow");
            }
            rest = after;
        }
    }

    /// The last lines, to explain a failure.
    pub fn tail(&self) -> String {
        String::from_utf8_lossy(&self.tail).trim().to_owned()
    }

    fn keep_tail(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL_BYTES)..]);
        let excess = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_without_end_is_cut_and_says_so() {
        let (to, mut from) = mpsc::channel(PIECES_WAITING_MAX);
        let mut log = Log::new(AttemptId(1), to);
        let mut text = String::new();
        for _ in 0..200 {
            log.write(&[b'x'; 10_000]);
            while let Ok((_, piece)) = from.try_recv() {
                assert!(piece.len() <= LOG_BYTES_MAX);
                text.push_str(&piece);
            }
        }
        log.flush();
        assert!(text.ends_with(TRUNCATED));
        assert_eq!(text.len(), ATTEMPT_LOG_BYTES_MAX + 1 + TRUNCATED.len());
        assert_eq!(log.tail().len(), TAIL_BYTES);
    }

    #[test]
    fn a_log_that_nobody_takes_does_not_block() {
        let (to, _from) = mpsc::channel(1);
        let mut log = Log::new(AttemptId(1), to);
        for _ in 0..10 {
            log.write(&[b'y'; PIECE_BYTES]);
        }
    }
}
