//! Transfers as people see them: how far, how fast, how long still, and what was saved.
use std::time::{Duration, Instant};

use gleaner_client::data::{PullProgress, PushProgress};
use gleaner_wire::Millis;
use indicatif::ProgressBar;

use crate::output::say;
use crate::progress::spinner;
use crate::words;

/// Where there is no terminal, a line comes this often.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// How much the speed since the last look counts.
const SPEED_WEIGHT: f64 = 0.2;

/// Bytes a second, for people.
pub fn rate(bytes: u64, seconds: f64) -> String {
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate")]
    let rate = (bytes as f64 / seconds.max(0.001)) as u64;
    format!("{}/s", words::bytes(rate))
}

/// How fast something grows.
struct Speed {
    at: Instant,
    bytes: u64,
    rate: f64,
}

impl Speed {
    fn new() -> Self {
        Self { at: Instant::now(), bytes: 0, rate: 0.0 }
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    fn look(&mut self, bytes: u64) -> f64 {
        let seconds = self.at.elapsed().as_secs_f64();
        if seconds > 0.05 {
            let rate = bytes.saturating_sub(self.bytes) as f64 / seconds;
            self.rate = if self.rate > 0.0 { self.rate + (rate - self.rate) * SPEED_WEIGHT } else { rate };
            (self.at, self.bytes) = (Instant::now(), bytes);
        }
        self.rate
    }
}

/// One line that changes, or a line now and then.
struct Line {
    bar: ProgressBar,
    said: Instant,
}

impl Line {
    fn new() -> Self {
        Self { bar: spinner("looking at what there is"), said: Instant::now() }
    }

    fn show(&mut self, text: String) {
        if self.bar.is_hidden() && self.said.elapsed() >= LINE_EVERY {
            self.said = Instant::now();
            say(&text);
        }
        self.bar.set_message(text);
    }
}

/// A push.
pub struct Pushing {
    line: Line,
    speed: Speed,
}

impl Pushing {
    /// One that begins.
    pub fn new() -> Self {
        Self { line: Line::new(), speed: Speed::new() }
    }

    /// Shows how far it is.
    pub fn show(&mut self, name: &str, so_far: &PushProgress) {
        let (name, counts, sent) = (words::plain(name), so_far.counts, so_far.sent);
        if so_far.paused {
            return self.line.show(format!("{name}: paused; `gleaner data resume` lets it go on"));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate")]
        let speed = self.speed.look(sent.bytes) as u64;
        let saved = counts.read_bytes.saturating_sub(counts.squeezed_bytes);
        self.line.show(format!(
            "{name}: {}, {} read · {} sent · {}/s · {} saved by knowing and squeezing",
            words::count(counts.files, "file"),
            words::bytes(counts.read_bytes),
            words::bytes(sent.bytes),
            words::bytes(speed),
            words::bytes(saved),
        ));
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.line.bar.finish_and_clear();
    }
}

/// A pull.
pub struct Pulling {
    name: String,
    line: Line,
    speed: Speed,
}

impl Pulling {
    /// One that begins.
    pub fn new(name: &str) -> Self {
        Self { name: words::plain(name), line: Line::new(), speed: Speed::new() }
    }

    /// Shows how far it is.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rates and spans"
    )]
    pub fn show(&mut self, so_far: &PullProgress) {
        let (counts, totals, name) = (so_far.counts, so_far.totals, &self.name);
        if so_far.paused {
            return self.line.show(format!("{name}: paused; `gleaner data resume` lets it go on"));
        }
        let speed = self.speed.look(counts.written_bytes);
        let left = totals.stored_bytes.saturating_sub(counts.written_bytes);
        let left = if speed > 1.0 {
            format!("{} left", words::span(Millis((left as f64 / speed * 1000.0) as u64)))
        } else {
            "waiting".to_owned()
        };
        let text = format!(
            "{name}: {} of {} written · {}/s · {left}",
            words::bytes(counts.written_bytes),
            words::bytes(totals.stored_bytes),
            words::bytes(speed as u64),
        );
        self.line.show(text);
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.line.bar.finish_and_clear();
    }
}
