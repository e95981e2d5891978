//! What a program prints, line by line and within bounded memory.
//!
//! Nobody waits for a reader: a program that prints faster than its lines are taken loses lines, and the next one that
//! arrives says how many. So a slow log never slows a program, and a chatty program never fills the worker's memory.

use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;

/// A longer line is cut into several.
pub const LINE_BYTES_MAX: usize = 8 * 1024;
/// So many lines wait for the reader; more are lost.
pub const LINES_WAITING_MAX: usize = 512;

/// Where a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// A line that the program printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where it came from.
    pub stream: Stream,
    /// Its text without the line's end; what is not UTF-8 is replaced.
    pub text: String,
    /// How many lines were lost before this one.
    pub lost: u64,
}

/// The lines of a running program. It may be dropped: the program then prints into the void.
#[derive(Debug)]
pub struct Lines(mpsc::Receiver<Line>);

impl Lines {
    /// The next line; none after the last.
    pub async fn next(&mut self) -> Option<Line> {
        self.0.recv().await
    }

    /// A line that is there already.
    pub fn ready(&mut self) -> Option<Line> {
        self.0.try_recv().ok()
    }
}

/// The end that lines are put into.
#[derive(Debug, Clone)]
pub(crate) struct Sink(mpsc::Sender<Line>);

pub(crate) fn channel() -> (Sink, Lines) {
    let (sender, receiver) = mpsc::channel(LINES_WAITING_MAX);
    (Sink(sender), Lines(receiver))
}

/// Cuts bytes into lines and hands them over.
#[derive(Debug)]
pub(crate) struct Splitter {
    stream: Stream,
    sink: Sink,
    partial: Vec<u8>,
    lost: u64,
    /// Where the beginning of it all is kept.
    head: Option<Arc<Mutex<String>>>,
}

const HEAD_BYTES_MAX: usize = 1024;

impl Splitter {
    pub(crate) fn new(stream: Stream, sink: Sink) -> Self {
        Self { stream, sink, partial: Vec::new(), lost: 0, head: None }
    }

    /// Keeps the first lines as well, to explain a sandbox that could not be built.
    pub(crate) fn remember(self, head: Arc<Mutex<String>>) -> Self {
        Self { head: Some(head), ..self }
    }

    pub(crate) fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = LINE_BYTES_MAX - self.partial.len();
            let window = &bytes[..bytes.len().min(room)];
            match window.iter().position(|byte| *byte == b'\n') {
                Some(end) => {
                    self.partial.extend_from_slice(&bytes[..end]);
                    bytes = &bytes[end + 1..];
                    self.emit();
                }
                None => {
                    self.partial.extend_from_slice(window);
                    bytes = &bytes[window.len()..];
                    if self.partial.len() == LINE_BYTES_MAX {
                        self.emit();
                    }
                }
            }
        }
    }

    /// Hands over what stands without a line's end.
    pub(crate) fn finish(&mut self) {
        if !self.partial.is_empty() {
            self.emit();
        }
    }

    fn emit(&mut self) {
        let text = String::from_utf8_lossy(self.partial.strip_suffix(b"\r").unwrap_or(&self.partial)).into_owned();
        self.partial.clear();
        if let Some(head) = &self.head {
            let mut head = head.lock().unwrap_or_else(PoisonError::into_inner);
            if head.len() + text.len() < HEAD_BYTES_MAX {
                head.push_str(&text);
                head.push('\n');
            }
        }
        let line = Line { stream: self.stream, text, lost: self.lost };
        match self.sink.0.try_send(line) {
            Ok(()) => self.lost = 0,
            Err(_) => self.lost += 1,
        }
    }
}

/// Moves everything from a pipe into lines, until its end.
pub(crate) async fn pump(mut from: impl AsyncRead + Unpin, mut into: Splitter) {
    let mut buffer = vec![0; LINE_BYTES_MAX];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        into.take(&buffer[..count]);
    }
    into.finish();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(parts: &[&[u8]]) -> Vec<Line> {
        let (sink, mut lines) = channel();
        let mut splitter = Splitter::new(Stream::Out, sink);
        parts.iter().for_each(|part| splitter.take(part));
        splitter.finish();
        std::iter::from_fn(|| lines.ready()).collect()
    }

    fn texts(parts: &[&[u8]]) -> Vec<String> {
        lines_of(parts).into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn line_arrives_whole_however_it_is_cut() {
        assert_eq!(texts(&[b"on", b"e\ntw", b"o\r\n\nend"]), ["one", "two", "", "end"]);
    }

    #[test]
    fn endless_line_is_cut() {
        let long = vec![b'x'; LINE_BYTES_MAX * 2 + 1];
        let lengths: Vec<_> = texts(&[&long]).iter().map(String::len).collect();
        assert_eq!(lengths, [LINE_BYTES_MAX, LINE_BYTES_MAX, 1]);
    }

    #[test]
    fn lines_that_nobody_takes_are_lost_and_counted() {
        let (sink, mut lines) = channel();
        let mut splitter = Splitter::new(Stream::Err, sink);
        (0..LINES_WAITING_MAX + 7).for_each(|_| splitter.take(b"x\n"));
        while lines.ready().is_some() {}
        splitter.take(b"after\n");
        assert_eq!(lines.ready(), Some(Line { stream: Stream::Err, text: "after".into(), lost: 7 }));
    }
}
