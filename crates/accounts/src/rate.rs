//! Rate limits: a bucket for each key that fills by the clock. Pure, and bounded in memory whoever asks.
use gleaner_wire::Millis;
use std::collections::HashMap;
use std::hash::Hash;

/// How much at once, and how much in the long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// What may be taken at once after a pause.
    pub burst: u32,
    /// What comes back in a minute.
    pub per_minute: u32,
}

/// A part of a token; whole ones are taken, and time brings back parts.
const PARTS: u64 = 60_000;

#[derive(Clone, Copy)]
struct Bucket {
    /// Tokens in it, in parts.
    parts: u64,
    at: Millis,
}

/// Buckets by key. When there is no room for one more, keys that are new share one bucket, so that those who were here
/// before are not disturbed.
pub struct Buckets<K> {
    rate: Rate,
    keys_max: usize,
    buckets: HashMap<K, Bucket>,
    shared: Bucket,
    swept: Millis,
}

/// How long to wait for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait(pub Millis);

impl<K: Hash + Eq> Buckets<K> {
    /// No key has taken anything yet.
    pub fn new(rate: Rate, keys_max: usize) -> Self {
        let shared = Bucket { parts: full(rate), at: Millis(0) };
        Self { rate, keys_max, buckets: HashMap::new(), shared, swept: Millis(0) }
    }

    /// Takes one, or says how long to wait.
    pub fn take(&mut self, key: K, now: Millis) -> Result<(), Wait> {
        let rate = self.rate;
        if self.buckets.len() >= self.keys_max && !self.buckets.contains_key(&key) {
            self.sweep(now);
            if self.buckets.len() >= self.keys_max {
                return take_from(&mut self.shared, rate, now);
            }
        }
        let bucket = self.buckets.entry(key).or_insert(Bucket { parts: full(rate), at: now });
        take_from(bucket, rate, now)
    }

    /// Keys that are remembered.
    pub fn len(&self) -> usize {
        self.buckets.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Forgets keys whose buckets are full again; at most once a second, since it walks over all of them.
    fn sweep(&mut self, now: Millis) {
        if now.since(self.swept).0 < 1000 {
            return;
        }
        self.swept = now;
        let rate = self.rate;
        self.buckets.retain(|_, bucket| filled(bucket, rate, now) < full(rate));
    }
}

fn full(rate: Rate) -> u64 {
    u64::from(rate.burst) * PARTS
}

fn filled(bucket: &Bucket, rate: Rate, now: Millis) -> u64 {
    let came = now.since(bucket.at).0.saturating_mul(u64::from(rate.per_minute));
    bucket.parts.saturating_add(came).min(full(rate))
}

fn take_from(bucket: &mut Bucket, rate: Rate, now: Millis) -> Result<(), Wait> {
    // A clock that went back brings nothing and takes nothing.
    bucket.parts = filled(bucket, rate, now);
    bucket.at = now;
    match bucket.parts.checked_sub(PARTS) {
        Some(left) => {
            bucket.parts = left;
            Ok(())
        }
        None => Err(Wait(Millis((PARTS - bucket.parts).div_ceil(u64::from(rate.per_minute.max(1)))))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RATE: Rate = Rate { burst: 3, per_minute: 60 };

    #[test]
    fn a_burst_then_one_a_second() {
        let mut buckets = Buckets::new(RATE, 10);
        for _ in 0..3 {
            assert_eq!(buckets.take("a", Millis(5000)), Ok(()));
        }
        assert_eq!(buckets.take("a", Millis(5000)), Err(Wait(Millis(1000))));
        assert_eq!(buckets.take("b", Millis(5000)), Ok(()), "others are not slowed down");
        assert_eq!(buckets.take("a", Millis(5999)), Err(Wait(Millis(1))));
        assert_eq!(buckets.take("a", Millis(6000)), Ok(()));
        assert_eq!(buckets.take("a", Millis(6000)), Err(Wait(Millis(1000))));
    }

    #[test]
    fn strangers_beyond_the_limit_share_one_bucket() {
        let mut buckets = Buckets::new(RATE, 2);
        assert_eq!(buckets.take(1, Millis(5000)), Ok(()));
        assert_eq!(buckets.take(2, Millis(5000)), Ok(()));
        let taken = (3..100).filter(|key| buckets.take(*key, Millis(5000)).is_ok()).count();
        assert_eq!((taken, buckets.len()), (3, 2));
        assert_eq!(buckets.take(1, Millis(5000)), Ok(()), "those who were here before are not disturbed");
        assert_eq!(buckets.take(7, Millis(10_000)), Ok(()), "room comes back when buckets are full again");
        assert_eq!(buckets.len(), 1);
    }

    proptest! {
        #[test]
        fn nobody_gets_more_than_burst_and_rate(steps in prop::collection::vec(0_u64..3000, 1..200)) {
            let (mut buckets, mut now, mut taken) = (Buckets::new(RATE, 4), 1_000_000, 0);
            let start = now;
            for step in steps {
                now += step;
                taken += u64::from(buckets.take("key", Millis(now)).is_ok());
                prop_assert!(taken * 1000 <= 3000 + (now - start));
            }
        }
    }
}
