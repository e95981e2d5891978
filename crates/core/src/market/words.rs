//! Auctions in words: where one stands, and why a bid won.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use gleaner_wire::api::{AwardView, ReasonView};

use super::auctions::{Auction, Entry, Stage};
use super::award::Award;
use super::sale::Sale;
use crate::attempt::Attempt;
use crate::job::{Group, Job};
use crate::state::Core;

impl Core {
    /// What there is to say of the sale of a group's waiting tasks, beside why seats do not take them.
    pub(crate) fn sale_reasons(&self, group: &Group) -> Option<ReasonView> {
        let (code, text) = match group.sale {
            Sale::Posted => return None,
            Sale::Closed => {
                ("auction_waits", "they are sold by auction, which opens when a device that fits is idle".into())
            }
            Sale::Open(id) => ("auction_open", stage_words(self.auctions.open.get(&id)?)),
            Sale::FellBack(count) => {
                ("auction_fell_back", format!("nobody bid for {count} of them in time, so they go by posted prices"))
            }
        };
        Some(ReasonView { code: code.to_string(), text, devices: None })
    }

    /// Why an attempt runs where its bid won.
    pub(crate) fn won_words(&self, job: &Job, attempt: &Attempt) -> String {
        let of = |award: &&Award| award.group == attempt.group && award.index == attempt.index;
        let Some(award) = job.awards.iter().rev().find(of) else {
            return format!("its bid won an auction; it is paid {} GLN a second", attempt.price);
        };
        let second = match award.second {
            Some(second) => format!("the second best is {second} GLN, so it is paid {} GLN a second", award.price),
            None => format!("nobody else bid, so it is paid its standing price, {} GLN a second", award.price),
        };
        format!(
            "its bid of {} GLN a second won the auction with {} bids: a finished task is expected to cost {} GLN, {second}",
            award.bid, award.bids, award.score
        )
    }

    /// The awards of a job that are remembered.
    pub(crate) fn award_views(&self, job: &Job) -> Vec<AwardView> {
        let view = |award: &Award| AwardView {
            task: self.task_name(job, award.group, award.index),
            worker: self.workers[award.worker.0 as usize].offer.name.clone(),
            bids: award.bids,
            bid: award.bid,
            score: award.score,
            second: award.second,
            price: award.price,
        };
        job.awards.iter().map(view).collect()
    }
}

fn stage_words(auction: &Auction) -> String {
    let (lot, invited) = (auction.lot, auction.entries.len());
    let sealed = auction.count(|entry| matches!(entry, Entry::Sealed(_)));
    let opened = auction.count(|entry| matches!(entry, Entry::Opened(_)));
    match auction.stage {
        Stage::Sealing => {
            format!("an auction of {lot} of them takes sealed bids: {sealed} are in, {invited} devices were invited")
        }
        Stage::Opening => format!("an auction of {lot} of them opens its bids: {opened} of {} so far", sealed + opened),
        Stage::Drawing => format!("an auction of {lot} of them has equal bids, and a lot is drawn"),
    }
}
