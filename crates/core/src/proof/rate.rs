//! How often a worker's results are audited, and how much of its work may be unpaid at a time.
//!
//! Two rules, and the stricter one holds. By its record: a new worker is audited on everything, each good verdict lowers the
//! rate down to a floor, one bad verdict resets it. By its stake: the rate is never below what makes cheating a loss, where
//! what is lost is not the whole stake but the part that a verdict can take. The second rule is turned around to bound
//! what a worker has unpaid, so that its rate stays within a limit.
use gleaner_wire::Amount;
use serde::{Deserialize, Serialize};

use super::draw::WHOLE;
use super::policy::Policy;

/// What was found of an answer, whether it was given for pay or as an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mark {
    /// It was computed again and agrees.
    Good,
    /// It was decided to be wrong.
    Bad,
    /// It was found to be wrong in a way that may not be its maker's fault.
    Doubted,
    /// It was owed and never given.
    GivenUp,
}

/// What is known of a worker's answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Good verdicts since the last bad one, less the answers that were given up.
    pub good: u32,
    /// Bad verdicts, ever.
    pub bad: u32,
    /// Answers that were owed and not given, ever.
    pub given_up: u32,
}

impl Record {
    /// Takes a mark into account.
    pub fn note(&mut self, mark: Mark) {
        match mark {
            Mark::Good => self.good = self.good.saturating_add(1),
            Mark::Bad => {
                self.good = 0;
                self.bad = self.bad.saturating_add(1);
            }
            Mark::Doubted => self.good = 0,
            // Owners take their machines back, so this weighs as little as a good verdict does.
            Mark::GivenUp => {
                self.good = self.good.saturating_sub(1);
                self.given_up = self.given_up.saturating_add(1);
            }
        }
    }
}

/// The rate that a record calls for, in millionths: halving / (halving + good), where each bad verdict makes trust harder
/// to earn.
pub fn rate(record: &Record, policy: &Policy) -> u32 {
    let patience = u64::from(policy.halving.max(1)) * (1 + u64::from(record.bad));
    let rate = u64::from(WHOLE) * patience / (patience + u64::from(record.good));
    u32::try_from(rate).unwrap_or(WHOLE).clamp(floor(record, policy), WHOLE)
}

/// The least rate for a record, however many good marks there are: that of the policy, and as much again for each bad mark.
pub fn floor(record: &Record, policy: &Policy) -> u32 {
    policy.floor.saturating_mul(record.bad.saturating_add(1)).min(WHOLE)
}

/// The least rate with rate × lost > (1 − rate) × gain; everything, if no rate below it will do.
pub fn rate_needed(lost: Amount, gain: Amount) -> u32 {
    if gain == Amount::ZERO {
        return 0;
    }
    let (lost, gain, whole) = (u128::from(lost.0), u128::from(gain.0), u128::from(WHOLE));
    u32::try_from(whole * gain / (lost + gain) + 1).unwrap_or(WHOLE).min(WHOLE)
}

/// The most that a worker may have unpaid so that rate × lost > (1 − rate) × unpaid: whoever makes all of it up loses more
/// than it wins, on average.
pub fn exposure_max(lost: Amount, rate: u32) -> Amount {
    let (lost, rate, whole) = (u128::from(lost.0), u128::from(rate), u128::from(WHOLE));
    if rate >= whole {
        return Amount(u64::MAX);
    }
    let most = (rate * lost).div_ceil(whole - rate).saturating_sub(1);
    Amount(u64::try_from(most).unwrap_or(u64::MAX))
}

/// The figures of one worker, as they are shown: what its rate is and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateView {
    /// The rate at which its results are audited, in millionths: the greater of the next two.
    pub rate: u32,
    /// The rate that its record calls for.
    pub by_record: u32,
    /// The rate below which cheating would pay, with what it would lose and what it has unpaid.
    pub by_stake: u32,
    /// What is known of its answers.
    pub record: Record,
    /// What a verdict would take of its owner's stake.
    pub loses: Amount,
    /// What it has unpaid.
    pub exposure: Amount,
    /// What it may have unpaid: as much as raises its rate to the policy's limit, or as its record's rate allows. A single task
    /// may go beyond, at a higher rate.
    pub exposure_max: Amount,
}

impl RateView {
    /// The figures of a worker with this record that has so much to lose and so much unpaid.
    pub fn of(policy: &Policy, record: &Record, loses: Amount, exposure: Amount) -> Self {
        let by_record = rate(record, policy);
        // Auditors in league with the liar find nothing, so more audits than the formula's are needed to find as much.
        let (needed, whole) = (u64::from(rate_needed(loses, exposure)), u64::from(WHOLE));
        let by_stake = (needed * whole).div_ceil(u64::from(policy.honest.max(1))).min(whole);
        let by_stake = u32::try_from(by_stake).expect("at most the whole");
        let exposure_max = exposure_max(loses, policy.found(by_record.max(policy.stretch)));
        let record = *record;
        Self { rate: by_record.max(by_stake), by_record, by_stake, record, loses, exposure, exposure_max }
    }

    /// Whether a worker that makes up all that it has unpaid loses by it: everything is audited, or what a verdict takes
    /// outweighs what comes through, auditors in league with it reckoned in.
    pub fn deters(&self, policy: &Policy) -> bool {
        let (found, whole) = (u128::from(policy.found(self.rate)), u128::from(WHOLE));
        let nothing = self.exposure == Amount::ZERO || self.rate >= WHOLE;
        nothing || found * u128::from(self.loses.0) > (whole - found) * u128::from(self.exposure.0)
    }

    /// Whether the worker may take on one more task of this price before its unpaid work is checked. One task at a time is
    /// always possible: its rate is raised as far as its price asks for.
    pub fn may_take(&self, price: Amount) -> bool {
        let more = self.exposure.checked_add(price).is_some_and(|sum| sum <= self.exposure_max);
        more || self.exposure == Amount::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn after(marks: &[Mark]) -> Record {
        let mut record = Record::default();
        marks.iter().for_each(|mark| record.note(*mark));
        record
    }

    #[test]
    fn a_new_worker_is_audited_on_everything_and_a_good_one_rarely() {
        let policy = Policy::default();
        assert_eq!(rate(&Record::default(), &policy), WHOLE);
        let halved = Record { good: policy.halving, ..Record::default() };
        assert_eq!(rate(&halved, &policy), WHOLE / 2);
        assert_eq!(rate(&Record { good: u32::MAX, ..Record::default() }, &policy), policy.floor);
    }

    #[test]
    fn one_bad_verdict_resets_the_rate_and_trust_is_harder_to_earn_again() {
        let policy = Policy::default();
        let mut record = after(&[Mark::Good; 1000]);
        record.note(Mark::Bad);
        assert_eq!(rate(&record, &policy), WHOLE);
        let again = after(&[Mark::Bad, Mark::Good, Mark::Good, Mark::Good]);
        assert!(rate(&again, &policy) > rate(&after(&[Mark::Good; 3]), &policy));
        let caught = Record { good: u32::MAX, bad: 1, ..Record::default() };
        assert_eq!(rate(&caught, &policy), 2 * policy.floor, "and never as much of it");
    }

    #[test]
    fn an_answer_that_was_given_up_takes_a_good_one_back() {
        assert_eq!(after(&[Mark::Good, Mark::GivenUp, Mark::GivenUp]), Record { given_up: 2, ..Record::default() });
    }

    #[test]
    fn with_nothing_to_lose_everything_is_audited_and_one_task_is_held_at_a_time() {
        let old = Record { good: 1_000_000, ..Record::default() };
        let idle = RateView::of(&Policy::default(), &old, Amount::ZERO, Amount::ZERO);
        assert!(idle.may_take(Amount::gln(1)));
        let busy = RateView::of(&Policy::default(), &old, Amount::ZERO, Amount::gln(1));
        assert_eq!((busy.rate, busy.may_take(Amount(1))), (WHOLE, false));
    }

    #[test]
    fn figures_are_pinned() {
        assert_eq!(rate_needed(Amount::gln(19), Amount::gln(1)), 50_001, "more than one in twenty");
        assert_eq!(exposure_max(Amount::gln(19), 50_000), Amount(999_999_999), "less than a nineteenth of the stake");
        assert_eq!(rate_needed(Amount::ZERO, Amount(1)), WHOLE);
        assert_eq!(rate_needed(Amount(1), Amount::ZERO), 0);
        assert_eq!(exposure_max(Amount(1), WHOLE), Amount(u64::MAX));
    }

    proptest! {
        #[test]
        fn the_rate_needed_is_the_least_that_makes_cheating_a_loss(lost in 1..u64::MAX, gain in 1..u64::MAX) {
            let loses = |rate: u32| {
                let found = u128::from(rate) * u128::from(lost);
                found > u128::from(WHOLE - rate) * u128::from(gain)
            };
            let needed = rate_needed(Amount(lost), Amount(gain));
            prop_assert!(loses(needed));
            prop_assert!(needed == 0 || !loses(needed - 1));
        }

        #[test]
        fn whatever_is_at_stake_cheating_is_a_loss(good in 0..500_u32, loses in any::<u64>(), unpaid in any::<u64>()) {
            let (policy, record) = (Policy::default(), Record { good, ..Record::default() });
            let view = RateView::of(&policy, &record, Amount(loses), Amount(unpaid));
            prop_assert!(view.deters(&policy), "{view:?}");
        }

        #[test]
        fn within_the_exposure_a_rate_within_the_limit_is_enough(good in 0..500_u32, lost in 1_000_000..u64::MAX / 8) {
            let (policy, record) = (Policy::default(), Record { good, ..Record::default() });
            let idle = RateView::of(&policy, &record, Amount(lost), Amount::ZERO);
            let full = RateView::of(&policy, &record, Amount(lost), idle.exposure_max);
            // Rates are whole millionths, so the last one may be needed for rounding.
            prop_assert!(full.by_stake <= full.by_record.max(policy.stretch) + 2, "{full:?}");
            prop_assert!(!full.may_take(Amount(1)));
        }
    }
}
