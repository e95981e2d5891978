//! What a job would cost and when it would be done, before anything is paid: prices of the seats that would be chosen, times
//! the lengths that earlier tasks had. It reads the state and changes nothing. Results that are known already cost
//! nothing; a quote does not look for them, so it is no less than what is paid.
mod binding;
mod errors;
mod reckon;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use gleaner_wire::api::{AskedView, ChoiceView, GroupQuote, QuoteView, RangeView, ReasonView, Sure};
use gleaner_wire::job_file::Prefer;
use gleaner_wire::{Amount, Check, Hash, Micros, Millis, Needs, Quote, SignedQuote, market};

use crate::explain::Because;
use crate::job::program_key;
use crate::lengths::{Lengths, Range};
use crate::market::tier;
use crate::place::row;
use crate::plan::{Graph, Group};
use crate::state::Core;

pub(crate) use binding::{Quoted, uncovered_at};
pub use errors::{ERROR_BOUNDS, Errors};
use reckon::{Chair, Reckoning, Restraint, asked, chosen, reckon};

/// Different needs in one job that are quoted: all seats are looked at for each.
const KINDS_MAX: usize = 64;
/// How long a quote holds.
const VALID: Millis = Millis(10 * 60_000);
/// A binding price is the high end of its range, and at least this much over what is expected, in hundredths of a percent.
const MARGIN_POINTS: u64 = 2000;
/// Tasks that a quote must rest on to be more than a guess.
const GUESS_BELOW: u64 = 4;
/// The widest range of a price that is known well, and fairly, in thousandths of what is expected.
const GOOD_MILLE: u64 = 250;
const FAIR_MILLE: u64 = 700;

/// The job asks for more different things than a quote looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a job with more than {KINDS_MAX} different `needs` is not quoted; it never costs more than budget.price_max")]
pub struct TooManyKinds;

/// Everybody here who could do a task with some needs.
struct Suitable {
    chairs: Vec<Chair>,
    /// How many of them a job may have at a time.
    places: u64,
    asked: Option<AskedView>,
    /// Workers with room now.
    workers: u64,
    /// Why there are none.
    reasons: Vec<ReasonView>,
}

/// What a group would cost for one preference.
struct Reckoned {
    price: Range,
    time: Range,
    each: Micros,
}

impl Core {
    /// What a planned job would cost if it came now, by the hub's clock.
    pub fn quote(&self, now: Millis, mut graph: Graph) -> Result<QuoteView, TooManyKinds> {
        let work = graph.work();
        self.choose_engine(&mut graph);
        let kinds = self.kinds(&graph)?;
        let lengths: Vec<_> = graph.groups.iter().map(|group| self.lengths_of(group)).collect();
        let of = |prefer| -> Vec<Option<Reckoned>> {
            let groups = graph.groups.iter().zip(&lengths);
            let reckon = |(group, lengths): (&Group, &Option<Lengths>)| {
                let reckoned = reckoned(group, lengths.as_ref()?, &kinds[&group.needs], prefer)?;
                Some(Reckoned { time: reckoned.time.and(self.check_time(group)), ..reckoned })
            };
            groups.map(reckon).collect()
        };
        let prefers = [Prefer::Cheap, Prefer::Balanced, Prefer::Fast];
        let by_prefer = prefers.map(|prefer| (prefer, of(prefer)));
        let own = by_prefer.iter().find(|(prefer, _)| *prefer == graph.prefer).map_or(&[][..], |(_, groups)| groups);
        let groups = graph.groups.iter().zip(&lengths).zip(own);
        let groups: Vec<_> = groups
            .map(|((group, lengths), own)| group_quote(group, *lengths, own.as_ref(), &kinds[&group.needs]))
            .collect();
        let rests_on = groups.iter().map(|group| group.rests_on).min().unwrap_or(0);
        let promise = Promise { work, until: self.now.max(now).after(VALID), price_max: graph.price_max, rests_on };
        let sum = |add: fn(&GroupQuote) -> Option<u64>| {
            groups.iter().try_fold(0_u64, |sum, group| Some(sum.saturating_add(add(group)?)))
        };
        Ok(QuoteView {
            tasks: graph.tasks(),
            expected: sum(|group| group.expected.map(|price| price.0)).map(Amount),
            cap: graph.price_max.unwrap_or(self.params.price_max_default),
            time_ms: sum(|group| group.time_ms.map(|time| time.0)).map(Millis),
            rests_on,
            choices: by_prefer.iter().map(|(prefer, groups)| promise.choice(*prefer, groups)).collect(),
            groups,
        })
    }

    /// Everybody here who could do the tasks, by what they need.
    fn kinds<'a>(&self, graph: &'a Graph) -> Result<BTreeMap<&'a Needs, Suitable>, TooManyKinds> {
        let mut kinds: BTreeMap<&Needs, Suitable> = BTreeMap::new();
        for group in &graph.groups {
            if !kinds.contains_key(&group.needs) {
                if kinds.len() >= KINDS_MAX {
                    return Err(TooManyKinds);
                }
                kinds.insert(&group.needs, self.suitable(&group.needs, graph.market.tier));
            }
        }
        Ok(kinds)
    }

    /// How long a group's last result waits for its check.
    fn check_time(&self, group: &Group) -> Range {
        let checked = self.params.checks && group.spec.check != Check::None;
        let wait = if checked { self.claims.wait.0 } else { 0 };
        Range { low: wait, expected: wait, high: wait }
    }

    fn lengths_of(&self, group: &Group) -> Option<Lengths> {
        self.programs.lengths(self.programs.find(&program_key(group))?)
    }

    fn suitable(&self, needs: &Needs, firm: market::Tier) -> Suitable {
        let mut free = vec![false; self.workers.len()];
        let mut chairs = Vec::new();
        for seat in &self.seats {
            match self.because(needs, None, seat) {
                None => free[seat.worker.0 as usize] = true,
                Some(Because::AllBusy | Because::StakeUsedUp | Because::Bidding | Because::Kept) => {}
                Some(_) => continue,
            }
            chairs.extend(Chair::of(seat, needs, tier::price(seat.price, firm)));
        }
        let workers = free.iter().filter(|free| **free).count() as u64;
        let reasons = if workers == 0 { self.seat_reasons(needs, None, |_| None) } else { Vec::new() };
        let slots: u64 = chairs.iter().map(|chair| chair.slots).sum();
        let places = if firm == market::Tier::Reserved { (slots / 2).max(1) } else { u64::MAX };
        Suitable { asked: asked(&chairs), chairs, places, workers, reasons }
    }
}

fn reckoned(group: &Group, lengths: &Lengths, suitable: &Suitable, prefer: Prefer) -> Option<Reckoned> {
    let tasks = group.spec.extent.count();
    let chosen = chosen(tasks.min(suitable.places), &suitable.chairs, row(prefer));
    let restraint = match prefer {
        Prefer::Cheap => None,
        Prefer::Balanced | Prefer::Fast => Restraint::of(tasks, &suitable.chairs, lengths.mean),
    };
    let Reckoning { price, time, each } = reckon(tasks, &chosen, lengths.mean, restraint)?;
    let width = chosen.iter().map(|chair| chair.slots).sum::<u64>().min(tasks);
    let body = Micros(time.0.saturating_sub(each.0));
    Some(Reckoned { price: lengths.sum(tasks, price.0), time: lengths.side_by_side(body, each, width), each })
}

fn group_quote(group: &Group, lengths: Option<Lengths>, own: Option<&Reckoned>, suitable: &Suitable) -> GroupQuote {
    GroupQuote {
        task: group.spec.name.clone(),
        tasks: group.spec.extent.count(),
        each_micros: own.map(|own| own.each.0),
        rests_on: lengths.map_or(0, |lengths| u64::from(lengths.runs)),
        per_second: suitable.asked,
        expected: own.map(|own| Amount(own.price.expected)),
        time_ms: own.map(|own| Micros(own.time.expected).millis()),
        workers: suitable.workers,
        reasons: suitable.reasons.clone(),
    }
}

/// What all quotes of a job have in common.
struct Promise {
    work: Hash,
    until: Millis,
    price_max: Option<Amount>,
    rests_on: u64,
}

impl Promise {
    fn choice(&self, prefer: Prefer, groups: &[Option<Reckoned>]) -> ChoiceView {
        let total = groups.iter().try_fold((Range::default(), Range::default()), |(price, time), group| {
            let group = group.as_ref()?;
            Some((price.and(group.price), time.and(group.time)))
        });
        let Some((price, time)) = total else {
            let why = match self.rests_on {
                0 => "nothing like it has run here yet".into(),
                _ => "no device here fits all of its tasks".into(),
            };
            return ChoiceView { prefer, expected: None, time_ms: None, sure: Sure::Unknown, why, offer: None };
        };
        let sure = sureness(self.rests_on, price);
        let millis = |micros| Micros(micros).millis().0;
        let time = RangeView { low: millis(time.low), expected: millis(time.expected), high: millis(time.high) };
        let expected = RangeView { low: price.low, expected: price.expected, high: price.high };
        let offer = Quote {
            work: self.work,
            prefer,
            price: binding_price(price),
            expected: Amount(price.expected),
            time_ms: Millis(time.expected),
            time_high_ms: Millis(time.high),
            until: self.until,
        };
        let affordable = self.price_max.is_none_or(|cap| offer.price <= cap);
        ChoiceView {
            prefer,
            expected: Some(expected),
            time_ms: Some(time),
            sure,
            why: why(sure, self.rests_on),
            // The shell signs it.
            offer: affordable.then(|| SignedQuote { quote: offer, signature: Vec::new() }),
        }
    }
}

/// What a quote promises: enough for nine of ten such jobs, and never hardly more than is expected.
fn binding_price(price: Range) -> Amount {
    let least = u128::from(price.expected) * u128::from(10_000 + MARGIN_POINTS);
    let least = u64::try_from(least.div_ceil(10_000)).unwrap_or(u64::MAX);
    Amount(price.high.max(least).max(1))
}

fn sureness(rests_on: u64, price: Range) -> Sure {
    let width = (price.high - price.low).saturating_mul(1000) / price.expected.max(1);
    if rests_on < GUESS_BELOW {
        Sure::Guess
    } else if width <= GOOD_MILLE {
        Sure::Good
    } else if width <= FAIR_MILLE {
        Sure::Fair
    } else {
        Sure::Rough
    }
}

fn why(sure: Sure, rests_on: u64) -> String {
    let tasks = match rests_on {
        1 => "one earlier task".into(),
        _ => format!("{rests_on} earlier tasks"),
    };
    match sure {
        Sure::Unknown => "nothing like it has run here yet".into(),
        Sure::Guess => format!("it rests on {tasks} like these, too few to tell how much they differ"),
        Sure::Rough => format!("it rests on {tasks} like these, and they differ much"),
        Sure::Fair | Sure::Good => format!("it rests on {tasks} like these"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_price_covers_its_range_and_a_margin() {
        let price = |low, expected, high| binding_price(Range { low, expected, high }).0;
        assert_eq!(price(50, 100, 190), 190);
        assert_eq!(price(97, 100, 103), 120);
        assert_eq!(price(0, 0, 0), 1, "an order cannot be for nothing");
    }

    #[test]
    fn a_quote_is_as_sure_as_its_range_is_narrow_and_its_tasks_are_many() {
        let range = |low, high| Range { low, expected: 1000, high };
        assert_eq!(sureness(3, range(999, 1001)), Sure::Guess);
        assert_eq!(sureness(4, range(900, 1100)), Sure::Good);
        assert_eq!(sureness(400, range(700, 1300)), Sure::Fair);
        assert_eq!(sureness(400, range(300, 2000)), Sure::Rough);
        assert_eq!(why(Sure::Fair, 40), "it rests on 40 earlier tasks like these");
    }
}
