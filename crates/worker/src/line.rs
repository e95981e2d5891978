//! How fast the hub is reached from here.
use std::time::{Duration, SystemTime};

use gleaner_client::{Client, Error, HubAddress, Moved, Token};
use gleaner_machine::line::{Line, Sample};
use gleaner_wire::{ByteSize, Micros, Millis};

/// The way to the hub, as it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineSpeed {
    /// The quickest answer.
    pub round_trip: Duration,
    /// Bytes a second from the hub, if it took long enough to be measured.
    pub down: Option<ByteSize>,
    /// Bytes a second to the hub.
    pub up: Option<ByteSize>,
}

/// Measures the way to a hub, for a few seconds at most.
pub async fn measure(hub: &HubAddress) -> Result<LineSpeed, Error> {
    let measured = Client::at(hub, Token::new(""), "provider")?.measure_line().await?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = Millis(u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
    let (down, up) = (rate(&measured.down, now), rate(&measured.up, now));
    Ok(LineSpeed { round_trip: measured.round_trip, down, up })
}

fn rate(moved: &[Moved], now: Millis) -> Option<ByteSize> {
    let mut line = Line::default();
    for Moved { bytes, took } in moved {
        let took = Micros(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        line.add(Sample { at: now, bytes: ByteSize(*bytes), took });
    }
    line.bytes_per_second(now)
}

impl std::fmt::Display for LineSpeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let micros = self.round_trip.as_micros();
        write!(f, "answers in {}.{} ms", micros / 1000, micros % 1000 / 100)?;
        let mut speed = |bytes: Option<ByteSize>, way| match bytes {
            Some(ByteSize(bytes)) => write!(f, ", {}.{} MB/s {way}", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
            None => Ok(()),
        };
        speed(self.down, "from it")?;
        speed(self.up, "to it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_told_in_words() {
        let (down, up) = (Some(ByteSize(12_340_000)), None);
        let line = LineSpeed { round_trip: Duration::from_micros(1290), down, up };
        assert_eq!(line.to_string(), "answers in 1.2 ms, 12.3 MB/s from it");
    }

    #[test]
    fn the_rate_is_that_of_most_of_the_bytes() {
        let piece = |millis| Moved { bytes: 1_000_000, took: Duration::from_millis(millis) };
        let moved = [piece(100), piece(100), piece(100), piece(2000)];
        assert_eq!(rate(&moved, Millis(0)), Some(ByteSize(10_000_000)));
        assert_eq!(rate(&[], Millis(0)), None);
    }
}
