//! What happens to each packet, and when: pure, time and lengths go in, fates come out.
use super::Shape;

const SECOND: u64 = 1_000_000_000;
/// What a line that was idle may have carried before anybody looked: threads do not wake to the microsecond.
const SLACK_NS: u64 = 2_000_000;

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It travels.
    Kept,
    /// The line lost it.
    Lost,
    /// There was no room for it in the queue.
    Overflowed,
}

/// One direction of a line. Times are nanoseconds of any clock that does not go back.
pub struct Line {
    chance: u64,
    /// When all that was kept so far has left.
    free_at: u64,
    /// When the last packet arrives.
    arrived_at: u64,
}

impl Line {
    /// A line whose chance begins at this seed.
    pub fn new(seed: u64) -> Self {
        Self { chance: seed, free_at: 0, arrived_at: 0 }
    }

    /// A packet of so many bytes is to be sent now.
    pub fn send(&mut self, shape: &Shape, now: u64, bytes: u64) -> Fate {
        if shape.loss > 0.0 && self.draw() < shape.loss {
            return Fate::Lost;
        }
        let Some(rate) = shape.rate else {
            self.free_at = now;
            return Fate::Kept;
        };
        let waiting = nanoseconds_to_bytes(self.free_at.saturating_sub(now), rate);
        if waiting + bytes > shape.queue().max(bytes) {
            return Fate::Overflowed;
        }
        self.free_at = self.free_at.max(now.saturating_sub(SLACK_NS)) + bytes * 8 * SECOND / rate.max(1);
        Fate::Kept
    }

    /// When what was kept last arrives.
    pub fn arrival(&mut self, shape: &Shape) -> u64 {
        let jitter = if shape.jitter.is_zero() { 0.0 } else { self.draw() * shape.jitter.as_nanos() as f64 };
        self.arrived_at = self.arrived_at.max(self.free_at + shape.delay.as_nanos() as u64 + jitter as u64);
        self.arrived_at
    }

    /// Evenly from 0 to 1 (splitmix64, so that equal seeds lose equal packets everywhere).
    fn draw(&mut self) -> f64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.chance;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn nanoseconds_to_bytes(time: u64, rate: u64) -> u64 {
    u64::try_from(u128::from(time) * u128::from(rate) / u128::from(8 * SECOND)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const START: u64 = 10 * SECOND;

    #[test]
    fn packets_leave_at_the_rate_and_arrive_after_the_delay() {
        let shape = Shape::megabits(8).delay_ms(20).queue_bytes(1 << 30);
        let mut line = Line::new(1);
        let arrivals = (0..1000).map(|_| {
            assert_eq!(line.send(&shape, START, 1000), Fate::Kept);
            line.arrival(&shape)
        });
        let arrivals: Vec<u64> = arrivals.collect();
        assert!(arrivals.windows(2).all(|two| two[1] - two[0] == 1_000_000), "a millisecond each");
        assert_eq!(arrivals[999], START - SLACK_NS + SECOND + 20_000_000);
    }

    #[test]
    fn the_asked_share_is_lost_and_the_same_seed_loses_the_same() {
        let shape = Shape::open().loss(0.01);
        let fates = |seed| {
            let mut line = Line::new(seed);
            (0..100_000).map(move |_| line.send(&shape, START, 1)).collect::<Vec<_>>()
        };
        let lost = fates(7).iter().filter(|fate| **fate == Fate::Lost).count();
        assert!((900..1100).contains(&lost), "{lost}");
        assert_eq!(fates(7), fates(7));
        assert_ne!(fates(7), fates(8));
    }

    #[test]
    fn a_full_queue_drops_and_has_room_again_when_time_has_passed() {
        let shape = Shape::megabits(8).queue_bytes(10_000);
        let mut line = Line::new(1);
        let kept = (0..100).filter(|_| line.send(&shape, START, 1000) == Fate::Kept).count();
        // Ten wait, and what an idle line may have carried before.
        assert!((10..=13).contains(&kept), "{kept}");
        assert_eq!(line.send(&shape, START, 1000), Fate::Overflowed);
        assert_eq!(line.send(&shape, START + 5_000_000, 1000), Fate::Kept);
    }

    #[test]
    fn jitter_spreads_arrivals_and_keeps_their_order() {
        let shape = Shape { jitter: Duration::from_millis(10), ..Shape::open().delay_ms(5) };
        let mut line = Line::new(3);
        let mut last = 0;
        let mut lags = Vec::new();
        for number in 0..1000 {
            let now = START + number * 20_000_000;
            line.send(&shape, now, 100);
            let arrival = line.arrival(&shape);
            assert!(arrival >= last);
            lags.push(arrival - now);
            last = arrival;
        }
        assert!(lags.iter().all(|lag| (5_000_000..=15_000_000).contains(lag)));
        assert!(lags.iter().max() > lags.iter().min().map(|least| least + 8_000_000).as_ref());
    }

    #[test]
    fn a_cut_line_carries_nothing() {
        let mut line = Line::new(3);
        assert!((0..1000).all(|_| line.send(&Shape::cut(), START, 1) == Fate::Lost));
    }
}
