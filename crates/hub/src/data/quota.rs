//! How much an account may keep on this hub, so that nobody fills it for everybody.
//!
//! What is kept is in the catalog. What was brought and belongs to nothing yet is counted here, for a while: the store gives
//! it up by itself when there is no room.
use super::Keeps;
use gleaner_accounts::AccountId;
use gleaner_data::net::http::Allowance;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// One account keeps at most this part of what the hub has room for.
const SHARE: u64 = 4;
/// Datasets that one account keeps: what was pushed, and what its jobs read.
pub(crate) const DATASETS_MAX: u64 = 10_000;
/// Chunks in all of its lists together, here or on its own machine: half a terabyte of chunks of average size.
pub(crate) const CHUNKS_MAX: u64 = 1 << 23;
/// For how long what was brought counts without being kept.
const BROUGHT_TIME: Duration = Duration::from_secs(3600);
/// Accounts that are remembered; of more, those that have waited longest begin anew.
const ACCOUNTS_MAX: usize = 100_000;

/// What an account has brought lately.
#[derive(Clone, Copy)]
struct Brought {
    /// What it keeps, as the catalog last said.
    kept: u64,
    bytes: u64,
    since: Instant,
}

/// What accounts may keep, and what they have brought.
pub(crate) struct Quota {
    bytes_max: u64,
    brought: Mutex<HashMap<AccountId, Brought>>,
    /// Held while something is kept, so that what is looked at before is true after.
    turn: Mutex<()>,
}

/// Why an account may not keep something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Over {
    /// Too many bytes.
    #[error(
        "your account keeps {kept} of at most {max} bytes on this hub, and this is {more} more: remove datasets that you do \
         not need, or ask the hub's operator for more room"
    )]
    Bytes { kept: u64, more: u64, max: u64 },
    /// Too many datasets.
    #[error(
        "your account keeps {DATASETS_MAX} datasets on this hub, which is the most: remove those that you do not need"
    )]
    Datasets,
    /// Too long lists.
    #[error(
        "the lists of your account's datasets would have more than {CHUNKS_MAX} chunks: remove datasets that you do not need"
    )]
    Chunks,
}

impl Quota {
    /// Of a hub with so much room; `account_bytes_max` is what the operator says, if anything.
    pub(crate) fn new(bytes_max: u64, account_bytes_max: Option<u64>) -> Self {
        let bytes_max = account_bytes_max.unwrap_or(bytes_max / SHARE);
        Self { bytes_max, brought: Mutex::default(), turn: Mutex::default() }
    }

    fn brought(&self) -> MutexGuard<'_, HashMap<AccountId, Brought>> {
        self.brought.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nobody else keeps anything.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an account that keeps this may keep so much more.
    pub(crate) fn check(&self, keeps: Keeps, is_new: bool, more_bytes: u64, more_chunks: u64) -> Result<(), Over> {
        if keeps.bytes.saturating_add(more_bytes) > self.bytes_max {
            return Err(Over::Bytes { kept: keeps.bytes, more: more_bytes, max: self.bytes_max });
        }
        if is_new && keeps.datasets >= DATASETS_MAX {
            return Err(Over::Datasets);
        }
        if keeps.chunks.saturating_add(more_chunks) > CHUNKS_MAX { Err(Over::Chunks) } else { Ok(()) }
    }

    /// Notes what an account keeps, before it brings something.
    pub(crate) fn note(&self, account: AccountId, kept: u64) {
        let (mut brought, now) = (self.brought(), Instant::now());
        if brought.len() >= ACCOUNTS_MAX && !brought.contains_key(&account) {
            brought.retain(|_, one| now.duration_since(one.since) < BROUGHT_TIME);
            if brought.len() >= ACCOUNTS_MAX {
                brought.clear();
            }
        }
        let one = brought.entry(account).or_insert(Brought { kept, bytes: 0, since: now });
        if now.duration_since(one.since) >= BROUGHT_TIME {
            *one = Brought { kept, bytes: 0, since: now };
        }
        one.kept = kept;
    }

    /// Something that an account has brought is kept, and counts as that.
    pub(crate) fn kept(&self, account: AccountId, bytes: u64) {
        if let Some(one) = self.brought().get_mut(&account) {
            (one.bytes, one.kept) = (one.bytes.saturating_sub(bytes), one.kept.saturating_add(bytes));
        }
    }

    /// What an account may still bring.
    pub(super) fn allowance(self: &Arc<Self>, account: AccountId) -> Arc<dyn Allowance> {
        Arc::new(Room { quota: Arc::clone(self), account })
    }
}

/// The room of one account.
struct Room {
    quota: Arc<Quota>,
    account: AccountId,
}

impl Allowance for Room {
    fn take(&self, bytes: u64) -> bool {
        let mut brought = self.quota.brought();
        // Whoever was forgotten meanwhile is noted again with the next request.
        let Some(one) = brought.get_mut(&self.account) else { return bytes <= self.quota.bytes_max };
        let fits = one.kept.saturating_add(one.bytes).saturating_add(bytes) <= self.quota.bytes_max;
        if fits {
            one.bytes += bytes;
        }
        fits
    }

    fn give_back(&self, bytes: u64) {
        if let Some(one) = self.quota.brought().get_mut(&self.account) {
            one.bytes = one.bytes.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_brings_as_much_as_it_may_keep_and_others_do_not_feel_it() {
        let quota = Arc::new(Quota::new(400, None));
        let (one, other) = (AccountId(1), AccountId(2));
        quota.note(one, 30);
        quota.note(other, 0);
        let room = quota.allowance(one);
        assert!(room.take(60) && !room.take(11), "30 are kept, and 100 is a quarter");
        room.give_back(20);
        assert!(room.take(30) && !room.take(1));
        // A later request of the same account shares it, and what is kept is not counted twice.
        quota.kept(one, 70);
        quota.note(one, 100);
        assert!(!quota.allowance(one).take(1));
        quota.note(one, 30);
        assert!(quota.allowance(one).take(70), "something was removed");
        assert!(quota.allowance(other).take(100));
    }

    #[test]
    fn what_the_operator_says_counts_and_a_refusal_says_what_to_do() {
        let quota = Quota::new(400, Some(50));
        let keeps = Keeps { datasets: 1, bytes: 40, chunks: 5 };
        assert_eq!(quota.check(keeps, true, 10, 1), Ok(()));
        let over = quota.check(keeps, true, 11, 1).expect_err("too much");
        assert_eq!(over, Over::Bytes { kept: 40, more: 11, max: 50 });
        assert!(over.to_string().contains("remove datasets"), "{over}");
        let many = Keeps { datasets: DATASETS_MAX, ..keeps };
        assert_eq!(quota.check(many, true, 1, 1), Err(Over::Datasets));
        assert_eq!(quota.check(many, false, 1, 1), Ok(()), "one that is there is no new one");
        assert_eq!(quota.check(keeps, true, 1, CHUNKS_MAX - 4), Err(Over::Chunks));
    }
}
