//! A limit of bytes a second that can change while bytes flow.
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What may be taken at once after a pause: this part of a second's worth.
const BURST: f64 = 0.1;

#[derive(Debug)]
struct State {
    /// Bytes a second; none: as fast as it goes.
    limit: Option<u64>,
    tokens: f64,
    filled: Instant,
}

/// A bucket that fills at the allowed speed.
#[derive(Debug)]
pub struct Pace {
    state: Mutex<State>,
}

impl Pace {
    /// At most this many bytes a second; none: as fast as it goes.
    pub fn new(limit: Option<u64>) -> Self {
        Self { state: Mutex::new(State { limit, tokens: 0.0, filled: Instant::now() }) }
    }

    /// Changes the limit; whoever waits notices soon.
    pub fn set_limit(&self, limit: Option<u64>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).limit = limit;
    }

    /// How many bytes a second are allowed; none: as many as come.
    pub fn limit(&self) -> Option<u64> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).limit
    }

    /// Takes what is owed. If it is not there, how long to wait before asking again with what is still owed.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rates and small counts"
    )]
    pub fn take(&self, owed: &mut u64) -> Option<Duration> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(limit) = state.limit else {
            *owed = 0;
            return None;
        };
        let rate = limit.max(1) as f64;
        let now = Instant::now();
        state.tokens = (state.tokens + rate * (now - state.filled).as_secs_f64()).min(rate * BURST);
        state.filled = now;
        let taken = (state.tokens as u64).min(*owed);
        state.tokens -= taken as f64;
        *owed -= taken;
        (*owed > 0).then(|| Duration::from_secs_f64(((*owed as f64).min(rate * BURST) / rate).max(0.001)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_and_can_be_lifted() {
        let pace = Pace::new(Some(1_000_000));
        let begun = Instant::now();
        let mut owed = 200_000;
        while let Some(wait) = pace.take(&mut owed) {
            std::thread::sleep(wait);
        }
        let taken = begun.elapsed();
        assert!(taken >= Duration::from_millis(190), "{taken:?}");
        assert_eq!(pace.limit(), Some(1_000_000));
        pace.set_limit(None);
        let mut owed = u64::MAX;
        assert_eq!(pace.take(&mut owed), None);
        assert_eq!(owed, 0);
    }
}
