//! What came out of a world, in whole numbers.
use gleaner_wire::Amount;
use serde::Serialize;

use super::people::Role;

/// Counts while a world runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Of the steady state: paid tasks, wrong ones among them, and everything that was computed for audits.
    pub paid: u64,
    pub paid_wrong: u64,
    pub claims: u64,
    pub audit_work: u64,
    /// Of the whole run.
    pub false_slashings: u64,
    pub votes: u64,
    pub refereed: u64,
    pub cheats_claims: u64,
    pub cheats_gain_micro: i64,
    pub wrong_ever: u64,
    pub exclusions: u64,
    pub delivered_until_out: u64,
}

/// What came out of a world. Shares are in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Tasks that were paid in the steady state.
    pub paid: u64,
    /// Wrong results that were paid, of all that were paid in the steady state.
    pub wrong_paid: u32,
    /// Work for audits, polls, referees and tasks done again, beside the work that was paid, in the steady state.
    pub overhead: u32,
    /// Times that an honest owner lost part of its stake, in the whole run.
    pub false_slashings: u64,
    /// What cheating brings a cheat in an hour, in millionths of an honest hour's pay: what wrong answers were paid, less
    /// what verdicts took.
    pub profit_micro: i64,
    /// How often a cheat was found wrong for the last time and was out, in the whole run.
    pub exclusions: u64,
    /// What it had delivered until then, on average.
    pub tasks_until_out: u64,
    /// Wrong results that were paid for each exclusion, in thousandths.
    pub wrong_each_milli: u64,
    /// Answers that differed and were voted on.
    pub votes: u64,
    /// Of these, what managed referees had to decide.
    pub refereed: u64,
}

impl Tally {
    /// A cheat was paid for something that it did not compute: it has won the price of a task.
    pub fn cheat_paid(&mut self) {
        self.cheats_gain_micro += 1_000_000;
        self.wrong_ever += 1;
    }

    /// A verdict took so much of a cheat's stake.
    pub fn cheat_slashed(&mut self, taken: Amount, price: Amount) {
        let prices = u128::from(taken.0) * 1_000_000 / u128::from(price.0.max(1));
        self.cheats_gain_micro -= i64::try_from(prices).unwrap_or(i64::MAX);
    }

    /// A worker is out, after it has delivered so many tasks.
    pub fn cheat_out(&mut self, role: Role, delivered: u64) {
        if role != Role::Honest {
            self.exclusions += 1;
            self.delivered_until_out += delivered;
        }
    }

    pub fn outcome(&self) -> Outcome {
        let share = |part: u64, whole: u64| u32::try_from(part * 1_000_000 / whole.max(1)).unwrap_or(u32::MAX);
        let claims = i64::try_from(self.cheats_claims.max(1)).unwrap_or(i64::MAX);
        Outcome {
            paid: self.paid,
            wrong_paid: share(self.paid_wrong, self.paid),
            overhead: share(self.audit_work, self.claims),
            false_slashings: self.false_slashings,
            profit_micro: self.cheats_gain_micro / claims,
            exclusions: self.exclusions,
            tasks_until_out: self.delivered_until_out / self.exclusions.max(1),
            wrong_each_milli: self.wrong_ever * 1000 / self.exclusions.max(1),
            votes: self.votes,
            refereed: self.refereed,
        }
    }
}
