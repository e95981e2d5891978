//! Which bids win a lot of equal tasks, and what they are paid.
//!
//! A bid's score is the expected cost of a finished task: price × learned duration ÷ learned reliability. The best scores
//! win, one task each. All winners are paid by the best score that lost: the price at which their own score would have been
//! that one. What a bidder asks decides whether it wins and never what it is paid, so asking what the work costs it
//! is the best it can do. For the same reason a lot gives out one task less than it has bids (the rest is in the next
//! lot), and the bids of one owner do not set the price of each other.
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use gleaner_wire::{Amount, Micros};
use serde::{Deserialize, Serialize};

/// The expected cost of a finished task, in millionths of the smallest unit of money; the least is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Score(u128);

impl Score {
    /// The score of a price a second, for a task that takes this long until it is finished.
    pub fn of(price: Amount, until_finished: Micros) -> Self {
        Self(u128::from(price.0) * u128::from(until_finished.0))
    }

    /// The price a second at which a task that takes this long until it is finished has this score, rounded down.
    pub fn price(self, until_finished: Micros) -> Amount {
        Amount(u64::try_from(self.0 / u128::from(until_finished.0.max(1))).unwrap_or(u64::MAX))
    }

    /// The same as money, rounded up.
    pub fn cost(self) -> Amount {
        Amount(u64::try_from(self.0.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

/// An opened bid, with what is known of the bidder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bid {
    /// Who bids.
    pub bidder: u32,
    /// Who owns the bidder: several bidders may have one owner.
    pub owner: u32,
    /// What it asks for a second.
    pub price: Amount,
    /// How long it should take until a task is finished; see [`super::Record::until_finished`].
    pub until_finished: Micros,
    /// What its standing offer asks for a second: a bid may be lower, never higher.
    pub standing: Amount,
    /// What the job can pay it for a second at most.
    pub ceiling: Amount,
}

impl Bid {
    /// Its score.
    pub fn score(&self) -> Score {
        Score::of(self.price, self.until_finished)
    }

    /// Whether it may win.
    pub fn is_valid(&self) -> bool {
        self.price <= self.standing && self.price <= self.ceiling
    }

    /// What it is paid for a second if it wins: by the second score, or where there is none by its standing offer.
    fn paid(&self, second: Option<Score>) -> Amount {
        let price = second.map_or(self.standing, |second| second.price(self.until_finished));
        price.min(self.ceiling).max(self.price)
    }
}

/// A bid that won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Won {
    /// The bid.
    pub bid: Bid,
    /// The best score that lost, of another owner; none if there was no other.
    pub second: Option<Score>,
    /// What it is paid for a second.
    pub price: Amount,
}

/// How a lot ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// These bids win, the best first.
    Won(Vec<Won>),
    /// The last to win and the first to lose have the same score: a lot must be drawn.
    Tied,
    /// No bid may win.
    NoBids,
}

/// A bid's place in the order: its score, then the lot drawn for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    score: Score,
    lot: u64,
    at: u32,
}

/// The best scores that lost, by different owners.
#[derive(Clone, Copy, Default)]
struct Lost {
    best: Option<(Score, u32)>,
    /// The best of another owner than that one.
    other: Option<Score>,
}

impl Lost {
    fn note(&mut self, score: Score, owner: u32) {
        match self.best {
            Some((best, of)) if score >= best => {
                if owner != of && self.other.is_none_or(|other| score < other) {
                    self.other = Some(score);
                }
            }
            Some((best, of)) => {
                if owner != of {
                    self.other = Some(best);
                }
                self.best = Some((score, owner));
            }
            None => self.best = Some((score, owner)),
        }
    }

    /// The best of another owner.
    fn beside(&self, owner: u32) -> Option<Score> {
        self.best.filter(|(_, of)| *of != owner).map(|(score, _)| score).or(self.other)
    }
}

/// Clears a lot of `tasks` equal tasks in one pass over its bids. A seed decides between equal scores; without one, those that
/// matter are reported as tied.
pub fn clear(bids: &[Bid], tasks: u32, seed: Option<u64>) -> Outcome {
    let valid = bids.iter().filter(|bid| bid.is_valid()).count();
    // One bid must be left to set the price, unless there is no other.
    let wanted = (tasks as usize).min(valid.saturating_sub(1).max(1));
    if valid == 0 || wanted == 0 {
        return Outcome::NoBids;
    }
    let mut best: BinaryHeap<Place> = BinaryHeap::with_capacity(wanted + 1);
    let mut lost = Lost::default();
    for (at, bid) in (0..).zip(bids).filter(|(_, bid)| bid.is_valid()) {
        let score = bid.score();
        let worst = best.peek().filter(|_| best.len() == wanted).map(|worst| worst.score);
        if worst.is_some_and(|worst| score > worst) {
            lost.note(score, bid.owner);
            continue;
        }
        best.push(Place { score, lot: seed.map_or(0, |seed| draw(seed, bid.bidder)), at });
        if best.len() > wanted {
            let place = best.pop().expect("it was just filled");
            lost.note(place.score, bids[place.at as usize].owner);
        }
    }
    let worst = best.peek().map(|worst| worst.score);
    if seed.is_none() && lost.best.map(|(score, _)| score) == worst {
        return Outcome::Tied;
    }
    let winners = best.into_sorted_vec().into_iter().map(|place| {
        let bid = bids[place.at as usize];
        let second = lost.beside(bid.owner);
        Won { bid, second, price: bid.paid(second) }
    });
    Outcome::Won(winners.collect())
}

/// The lot of a bidder: one step of splitmix64 over seed and bidder.
fn draw(seed: u64, bidder: u32) -> u64 {
    let mut mixed = seed ^ u64::from(bidder).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn bid(bidder: u32, price: u64, until_finished: u64) -> Bid {
        let (price, until_finished) = (Amount(price), Micros(until_finished));
        Bid { bidder, owner: bidder, price, until_finished, standing: Amount(1000), ceiling: Amount(100_000) }
    }

    fn winners(bids: &[Bid], tasks: u32) -> Vec<(u32, u64)> {
        match clear(bids, tasks, Some(1)) {
            Outcome::Won(won) => won.iter().map(|won| (won.bid.bidder, won.price.0)).collect(),
            Outcome::Tied | Outcome::NoBids => vec![],
        }
    }

    #[test]
    fn the_best_score_wins_and_is_paid_by_the_second() {
        // The dear one is four times as fast, so its score is the best, and the second would be 600 a second of its time.
        let bids = [bid(0, 200, 4000), bid(1, 500, 1000), bid(2, 150, 4000)];
        assert_eq!(winners(&bids, 1), [(1, 600)]);
    }

    #[test]
    fn a_lot_leaves_one_bid_to_set_the_price() {
        let bids = [bid(0, 10, 100), bid(1, 20, 100), bid(2, 30, 100)];
        assert_eq!(winners(&bids, 5), [(0, 30), (1, 30)]);
        assert_eq!(winners(&bids[..2], 5), [(0, 20)]);
        assert_eq!(winners(&bids, 0), []);
    }

    #[test]
    fn a_bid_alone_is_paid_by_its_standing_offer() {
        assert_eq!(winners(&[bid(7, 10, 100)], 1), [(7, 1000)]);
        let poor = Bid { ceiling: Amount(300), ..bid(7, 10, 100) };
        assert_eq!(winners(&[poor], 1), [(7, 300)], "or what the job can pay");
    }

    #[test]
    fn bids_over_the_standing_offer_or_the_cap_do_not_count() {
        let over = Bid { standing: Amount(9), ..bid(0, 10, 100) };
        let poor = Bid { ceiling: Amount(9), ..bid(1, 10, 100) };
        assert_eq!(clear(&[over, poor], 1, None), Outcome::NoBids);
        assert_eq!(winners(&[over, poor, bid(2, 500, 100)], 1), [(2, 1000)]);
    }

    #[test]
    fn bids_of_one_owner_do_not_set_each_others_price() {
        let mine = |bidder, price| Bid { owner: 9, ..bid(bidder, price, 100) };
        let bids = [mine(0, 10), mine(1, 11), bid(2, 40, 100)];
        assert_eq!(winners(&bids, 1), [(0, 40)]);
        assert_eq!(winners(&[bid(2, 5, 100), mine(0, 10), mine(1, 11)], 1), [(2, 10)]);
    }

    #[test]
    fn a_tie_is_drawn_and_every_bidder_wins_some() {
        let bids = [bid(0, 10, 100), bid(1, 10, 100), bid(2, 20, 100)];
        assert_eq!(clear(&bids, 1, None), Outcome::Tied);
        let won = |seed| match clear(&bids, 1, Some(seed)) {
            Outcome::Won(won) => won[0].bid.bidder,
            Outcome::Tied | Outcome::NoBids => panic!("a seed decides"),
        };
        let firsts = (0..1000).filter(|seed| won(*seed) == 0).count();
        assert!((400..600).contains(&firsts), "{firsts}");
        assert_eq!(winners(&bids, 2), winners(&bids, 2), "a seed gives the same");
        assert!(matches!(clear(&bids, 2, None), Outcome::Won(_)), "both win, and nothing is to be drawn");
    }

    fn any_bid() -> impl Strategy<Value = Bid> {
        (0..8_u32, 0..4_u32, 0..2000_u64, 1..2000_u64, 0..2000_u64, 0..4000_u64).prop_map(
            |(bidder, owner, price, until_finished, standing, ceiling)| Bid {
                bidder,
                owner,
                price: Amount(price),
                until_finished: Micros(until_finished),
                standing: Amount(standing),
                ceiling: Amount(ceiling),
            },
        )
    }

    proptest! {
        #[test]
        fn nobody_is_paid_below_its_bid_or_above_the_cap(
            bids in prop::collection::vec(any_bid(), 0..20), tasks in 0..20_u32, seed: u64,
        ) {
            let Outcome::Won(won) = clear(&bids, tasks, Some(seed)) else { return Ok(()) };
            prop_assert!(won.len() <= tasks as usize);
            let mut scores: Vec<Score> = bids.iter().filter(|bid| bid.is_valid()).map(Bid::score).collect();
            scores.sort_unstable();
            for (won, score) in won.iter().zip(scores) {
                prop_assert_eq!(won.bid.score(), score);
                prop_assert!(won.price >= won.bid.price && won.price <= won.bid.ceiling);
            }
        }

        #[test]
        fn asking_another_price_than_the_cost_never_gains(
            bids in prop::collection::vec(any_bid(), 1..12), tasks in 1..8_u32, seed: u64, asked in 0..2000_u64,
        ) {
            let bids: Vec<Bid> = (0..).zip(bids).map(|(owner, bid)| Bid { owner, bidder: owner, ..bid }).collect();
            let cost = bids[0].price;
            prop_assume!(bids[0].is_valid());
            let profit = |price: Amount| {
                let mut bids = bids.clone();
                bids[0].price = price;
                let Outcome::Won(won) = clear(&bids, tasks, Some(seed)) else { return 0 };
                let won = won.iter().find(|won| won.bid.bidder == 0);
                won.map_or(0, |won| i128::from(won.price.0) - i128::from(cost.0))
            };
            // A price is a whole number, so that the price of a score may be up to one unit short of it.
            prop_assert!(profit(Amount(asked)) <= profit(cost) + 1);
        }
    }
}
