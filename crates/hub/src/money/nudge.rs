//! Blocks for chains that stand still: what waits for the next block waits for ever where blocks are made for transactions only.
use super::{Money, Trouble};
use gleaner_chain::market::Call;
use gleaner_chain::outbox::Status;
use gleaner_chain::primitives::Bytes;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A chain whose height has been the same for so long makes no blocks by itself. Others miss a block or two now and then.
const STILL_AFTER: Duration = Duration::from_secs(60);
/// Transactions for one height: a chain that was set back has used up those of before.
const NUDGES_MAX: u32 = 16;

/// How long a chain has been at its height.
#[derive(Default)]
pub(super) struct Stillness {
    since: Mutex<Option<(u64, Instant)>>,
}

impl Stillness {
    /// Whether the chain has been at this height for so long that no block will come by itself.
    fn lasts(&self, height: u64, now: Instant) -> bool {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        match *since {
            Some((known, at)) if known == height => now.duration_since(at) >= STILL_AFTER,
            Some(_) | None => {
                *since = Some((height, now));
                false
            }
        }
    }
}

impl Money {
    /// Called by whoever waits for a block: has one made where none comes by itself, by a transaction of the hub to itself that
    /// says nothing. On nodes for development that is done at once, elsewhere when the chain has stood still for a while.
    pub(super) async fn nudge(&self) -> Result<(), Trouble> {
        let height = self.market.node.height().await?;
        if !self.stands_still && !self.stillness.lasts(height, Instant::now()) {
            return Ok(());
        }
        let call = Call { to: self.account.address(), data: Bytes::new() };
        for number in 0..NUDGES_MAX {
            let key = format!("nudge:{height}:{number}");
            match self.desk.status(&key)? {
                None => {
                    self.desk.send_once(&key, &call)?;
                    return Ok(());
                }
                Some(Status::Waiting | Status::Underway { .. }) => return Ok(()),
                Some(Status::Done { .. } | Status::Failed { .. }) => (),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_stands_still_once_its_height_has_been_the_same_for_long() {
        let (stillness, start) = (Stillness::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(!stillness.lasts(7, at(0)) && !stillness.lasts(7, at(59)));
        assert!(!stillness.lasts(8, at(60)), "a block has come");
        assert!(!stillness.lasts(8, at(119)) && stillness.lasts(8, at(120)) && stillness.lasts(8, at(500)));
        assert!(!stillness.lasts(7, at(501)), "a chain that was set back may go on");
    }
}
