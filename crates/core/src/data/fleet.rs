//! The holders of a group's inputs taken together: how fast they are, and when each of them has what it needs.
use gleaner_wire::{Micros, Millis};
use serde::{Deserialize, Serialize};

/// Holders that must wait for about as long share a bucket: none, up to 128 ms, and then twice as long each.
const BUCKETS: usize = 24;
const FIRST_BUCKET_MS: u64 = 128;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Bucket {
    /// The sum of speeds of all slots.
    speed: u64,
    /// The sum of speed × wait in microseconds.
    waits: u128,
}

/// The holders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HolderFleet {
    /// When it was last counted.
    pub counted_at: Option<Millis>,
    /// Slots.
    pub slots: u64,
    /// The speed of the fastest.
    pub speed_max: u32,
    buckets: [Bucket; BUCKETS],
}

impl HolderFleet {
    /// Nobody yet.
    pub fn counted(now: Millis) -> Self {
        Self { counted_at: Some(now), ..Self::default() }
    }

    /// Counts a seat that can start after a while.
    pub fn add(&mut self, speed: u32, slots: u32, wait: Micros) {
        let bucket = match wait.millis().0 {
            0 => 0,
            millis => ((millis / FIRST_BUCKET_MS).checked_ilog2().map_or(1, |log| log as usize + 2)).min(BUCKETS - 1),
        };
        let sum = u64::from(speed) * u64::from(slots);
        let bucket = &mut self.buckets[bucket];
        bucket.speed = bucket.speed.saturating_add(sum);
        bucket.waits = bucket.waits.saturating_add(u128::from(sum) * u128::from(wait.0));
        self.slots += u64::from(slots);
        self.speed_max = self.speed_max.max(speed);
    }

    /// Whether any of them has all it needs now.
    pub fn any_now(&self) -> bool {
        self.buckets[0].speed > 0
    }

    /// How long they would take for this many tasks, the last of them on the fastest; a task takes `at_best` there.
    pub fn time_for(&self, tasks: u64, at_best: Micros) -> Option<Micros> {
        let work = u128::from(tasks) * u128::from(at_best.0) * u128::from(self.speed_max);
        let (mut speed, mut waits, mut best) = (0_u128, 0_u128, None);
        for bucket in self.buckets.iter().filter(|bucket| bucket.speed > 0) {
            // Whoever comes only after the rest are done is of no help.
            let starts = bucket.waits / u128::from(bucket.speed);
            if best.is_some_and(|best| best <= starts) {
                break;
            }
            speed += u128::from(bucket.speed);
            waits = waits.saturating_add(bucket.waits);
            best = Some(work.saturating_add(waits) / speed);
        }
        best.map(|best| Micros(u64::try_from(best).unwrap_or(u64::MAX).saturating_add(at_best.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    #[test]
    fn holders_that_are_ready_share_the_work() {
        let mut fleet = HolderFleet::default();
        assert_eq!(fleet.time_for(10, Micros(SECOND)), None);
        fleet.add(1000, 2, Micros(0));
        assert_eq!(fleet.time_for(10, Micros(SECOND)), Some(Micros(6 * SECOND)));
        fleet.add(500, 4, Micros(0));
        assert_eq!((fleet.slots, fleet.speed_max), (6, 1000));
        assert_eq!(fleet.time_for(10, Micros(SECOND)), Some(Micros(SECOND * 7 / 2)));
    }

    #[test]
    fn one_that_comes_too_late_does_not_help() {
        let mut fleet = HolderFleet::default();
        fleet.add(1000, 1, Micros(0));
        fleet.add(1000, 1, Micros(100 * SECOND));
        assert_eq!(fleet.time_for(10, Micros(SECOND)), Some(Micros(11 * SECOND)));
        assert_eq!(fleet.time_for(200, Micros(SECOND)), Some(Micros(151 * SECOND)));
    }
}
