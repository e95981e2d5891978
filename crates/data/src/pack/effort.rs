//! How hard the hands squeeze, chosen anew while they work: by how fast they are, how much it saves, and how fast what
//! they make goes on.
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::port::Sink;
use crate::squeeze::Level;
use crate::squeeze::policy::{self, Measured};

/// How often it is chosen.
const WINDOW: Duration = Duration::from_millis(100);
/// Fewer bytes say too little.
const WINDOW_BYTES: u64 = 512 * 1024;
/// How long the speed of a line that has become free is still believed: what is sent unsqueezed then would fill it again.
const BELIEVED: Duration = Duration::from_secs(10);
/// While nothing is squeezed, one chunk in so many is: it tells what squeezing would bring.
const TASTED: u32 = 64;

/// What a hand has done since it told.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Toil {
    /// Bytes that went through it.
    pub(super) bytes: u64,
    /// Time that it took, with neither squeezing nor waiting for the sink.
    pub(super) seal: Duration,
    /// Bytes that became smaller, what is left of them, and the time that took.
    pub(super) squeezed: u64,
    pub(super) left: u64,
    pub(super) squeeze: Duration,
    /// Bytes on which squeezing was tried.
    pub(super) tried: u64,
}

impl Toil {
    fn add(&mut self, more: &Self) {
        self.bytes += more.bytes;
        self.seal += more.seal;
        self.squeezed += more.squeezed;
        self.left += more.left;
        self.squeeze += more.squeeze;
        self.tried += more.tried;
    }
}

struct Book {
    since: Instant,
    toil: Toil,
    /// The line's speed when it last was what everything waited for.
    line: Option<(Instant, u64)>,
}

/// The level that all hands use.
pub(super) struct Effort {
    /// Zero for none.
    level: AtomicI32,
    adapts: bool,
    threads: u64,
    book: Mutex<Book>,
}

impl Effort {
    pub(super) fn new(level: Option<Level>, adapts: bool, threads: usize) -> Self {
        let book = Book { since: Instant::now(), toil: Toil::default(), line: None };
        let level = AtomicI32::new(level.map_or(0, Level::number));
        Self { level, adapts, threads: threads as u64, book: Mutex::new(book) }
    }

    /// The level in use.
    pub(super) fn level(&self) -> Option<Level> {
        Some(self.level.load(Ordering::Relaxed)).filter(|number| *number > 0).map(Level::new)
    }

    /// The level for the next chunk of a hand that has made so many.
    pub(super) fn level_for(&self, chunks: u32) -> Option<Level> {
        let tastes = self.adapts && chunks.is_multiple_of(TASTED);
        self.level().or_else(|| tastes.then_some(Level::QUICK))
    }

    /// Takes note of what a hand has done, and chooses when enough has been seen.
    pub(super) fn note(&self, toil: &Toil, sink: &dyn Sink) {
        if !self.adapts {
            return;
        }
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        book.toil.add(toil);
        let now = Instant::now();
        if now.duration_since(book.since) < WINDOW || book.toil.bytes < WINDOW_BYTES {
            return;
        }
        if let Some(speed) = sink.bottleneck() {
            book.line = Some((now, speed));
        }
        book.line = book.line.filter(|(seen, _)| now.duration_since(*seen) < BELIEVED);
        let line = book.line.map(|(_, speed)| speed);
        (book.since, book.toil) = (now, self.choose(book.toil, line));
    }

    /// Chooses by what was done, and says what is still to be remembered of it.
    fn choose(&self, toil: Toil, line: Option<u64>) -> Toil {
        let level = self.level();
        if toil.tried == 0 {
            return toil;
        }
        if toil.squeezed > 0 {
            let measured = Measured {
                line,
                at: level.unwrap_or(Level::QUICK),
                squeeze: rate(toil.squeezed, toil.squeeze),
                left: toil.left * 1000 / toil.squeezed,
                worth: toil.squeezed * 1000 / toil.tried,
                seal: rate(toil.bytes, toil.seal),
                threads: self.threads,
            };
            let chosen = policy::level(level, &measured);
            if chosen != level {
                tracing::debug!(?measured, ?level, ?chosen, "squeezing otherwise");
                self.level.store(chosen.map_or(0, Level::number), Ordering::Relaxed);
            }
        }
        Toil::default()
    }
}

fn rate(bytes: u64, time: Duration) -> u64 {
    let nanos = time.as_nanos().max(1);
    u64::try_from(u128::from(bytes) * 1_000_000_000 / nanos).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(level: Option<Level>) -> Toil {
        let harder = level.map_or(0, |level| level.number() as u32);
        Toil {
            bytes: 10_000_000,
            seal: Duration::from_millis(10),
            squeezed: 10_000_000,
            left: 3_500_000,
            squeeze: Duration::from_millis(25) * (1 + harder),
            tried: 10_000_000,
        }
    }

    fn settled(line: Option<u64>) -> Option<i32> {
        let effort = Effort::new(Some(Level::new(3)), true, 2);
        for _ in 0..10 {
            assert_eq!(effort.choose(text(effort.level()), line).bytes, 0, "a new window begins");
        }
        effort.level().map(Level::number)
    }

    #[test]
    fn hands_squeeze_harder_the_slower_the_line_is_and_not_at_all_where_none_is() {
        assert_eq!(settled(None), None);
        assert_eq!(settled(Some(125_000_000)), Some(1));
        assert!(settled(Some(100_000)) > Some(6));
    }

    #[test]
    fn what_cannot_be_squeezed_is_no_reason_to_stop_trying() {
        let effort = Effort::new(Some(Level::new(3)), true, 2);
        effort.choose(Toil { squeezed: 0, left: 0, ..text(None) }, None);
        assert_eq!(effort.level(), Some(Level::new(3)));
    }

    #[test]
    fn where_nothing_is_squeezed_a_few_chunks_still_are() {
        let effort = Effort::new(None, true, 2);
        assert_eq!((0..128).filter(|chunks| effort.level_for(*chunks).is_some()).count(), 2);
        assert_eq!(Effort::new(None, false, 2).level_for(0), None);
    }
}
