//! What a direction of a line does to packets.
use std::time::Duration;

/// A queue that is not said otherwise holds what the line carries in this time.
const QUEUE_TIME: Duration = Duration::from_millis(50);
/// And never less than this.
const QUEUE_BYTES_MIN: u64 = 128 * 1024;

/// What a direction of a line does to packets. The default does nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shape {
    /// Bits a second, counted from the IP header on. None: as fast as this computer can.
    pub rate: Option<u64>,
    /// How long a packet is under way.
    pub delay: Duration,
    /// By how much longer it may be, evenly spread. Packets never overtake each other.
    pub jitter: Duration,
    /// The share of packets that is lost, from 0 to 1.
    pub loss: f64,
    /// Bytes that may wait for a line with a rate; what comes beyond is dropped. None: 50 ms of the rate.
    pub queue_bytes: Option<u64>,
}

impl Shape {
    /// A line that is open: no limit, no delay, no loss.
    pub fn open() -> Self {
        Self::default()
    }

    /// A line of so many megabits a second.
    pub fn megabits(rate: u64) -> Self {
        Self { rate: Some(rate * 1_000_000), ..Self::default() }
    }

    /// The same line, longer.
    #[must_use]
    pub fn delay_ms(self, delay: u64) -> Self {
        Self { delay: Duration::from_millis(delay), ..self }
    }

    /// The same line, less steady.
    #[must_use]
    pub fn jitter_ms(self, jitter: u64) -> Self {
        Self { jitter: Duration::from_millis(jitter), ..self }
    }

    /// The same line, losing this share of the packets.
    #[must_use]
    pub fn loss(self, loss: f64) -> Self {
        Self { loss, ..self }
    }

    /// The same line, with room for this many bytes that wait.
    #[must_use]
    pub fn queue_bytes(self, queue: u64) -> Self {
        Self { queue_bytes: Some(queue), ..self }
    }

    /// A line that was cut: nothing arrives.
    pub fn cut() -> Self {
        Self { loss: 1.0, ..Self::default() }
    }

    /// What may wait, in bytes.
    pub(crate) fn queue(&self) -> u64 {
        let usual = self.rate.map_or(u64::MAX, |rate| rate / 8 * QUEUE_TIME.as_millis() as u64 / 1000);
        self.queue_bytes.unwrap_or(usual.max(QUEUE_BYTES_MIN))
    }
}
