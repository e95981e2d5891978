//! Auctions as a mode of the market: tasks are sold to the best of sealed bids, and who wins and does not start loses a bond.
use alloc::vec::Vec;

use super::mode::{Ended, Rules};
use super::sale::Sale;
use crate::attempt::{Attempt, Why};
use crate::effect::Effect;
use crate::job::Job;
use crate::placed;
use crate::state::Core;

/// Tasks are sold by auction. How one is opened, held and decided is in the modules beside this one.
pub(crate) struct Auctioned;

impl Rules for Auctioned {
    fn sale(&self) -> Sale {
        Sale::Closed
    }

    /// No auction invites them.
    fn counts_managed(&self) -> bool {
        false
    }

    fn failed(&self, core: &mut Core, attempt: &Attempt, end: Ended, effects: &mut Vec<Effect>) {
        core.forfeit(attempt, end, effects);
    }

    fn sold(&self, core: &Core, job: &Job, attempt: &Attempt) -> placed::Sale {
        match attempt.why {
            Why::Won => placed::Sale::Won(core.won_words(job, attempt)),
            Why::Idle | Why::Ahead => match core.firmness.won_price(attempt.seat, job.id) {
                Some(_) => placed::Sale::Kept,
                None => placed::Sale::Unsold,
            },
            Why::Second | Why::Hedge | Why::Test | Why::Audit(_) => placed::Sale::None,
        }
    }
}
