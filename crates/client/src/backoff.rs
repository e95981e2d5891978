//! How long to wait before trying again: longer each time, and never in step with others.
use std::time::Duration;

const DELAY_FIRST_MS: u64 = 100;
const DELAY_MS_MAX: u64 = 2_000;

/// The wait before try number `attempt` (from 0): half of it fixed, half of it chance.
pub(crate) fn delay(attempt: u32) -> Duration {
    let full = DELAY_FIRST_MS.saturating_mul(1_u64.checked_shl(attempt).unwrap_or(u64::MAX)).min(DELAY_MS_MAX);
    let chance = u64::from(getrandom::u32().unwrap_or(u32::MAX / 2));
    Duration::from_millis(full / 2 + (full / 2) * chance / u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_stay_bounded() {
        for attempt in [0, 1, 5, 31, 64, u32::MAX] {
            let wait = delay(attempt);
            assert!(wait >= Duration::from_millis(DELAY_FIRST_MS / 2) && wait <= Duration::from_millis(DELAY_MS_MAX));
        }
        assert!(delay(10) > delay(0));
    }
}
