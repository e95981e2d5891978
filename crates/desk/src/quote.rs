//! What a job would cost and when it would be done, for each of the three things that may matter more; and binding prices, which
//! the hub has signed and the desk keeps until a job is ordered by one of them.
use gleaner_client::Draft;
use gleaner_wire::api::{ChoiceView, GroupQuote, QuoteView, RangeView, ReasonView, Sure};
use gleaner_wire::job_file::Prefer;
use gleaner_wire::{Amount, Asker, Hash, Millis, SignedQuote};
use serde::Serialize;

use crate::account::Account;
use crate::books::{Kept, has_ended, now_ms};
use crate::images::Exact;
use crate::ordering::Wanted;
use crate::{Desk, Error, images, paths};

/// What a job would cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = DeskQuote)]
pub struct Quoted {
    /// What names the quote. A submission with it is ordered by its binding price, and must be of the same job.
    pub quote: String,
    /// What the job is called.
    pub name: String,
    /// How many tasks it has.
    pub tasks: u64,
    /// What it never costs more than where no price is binding.
    pub cap: Amount,
    /// Cheap, balanced and fast side by side.
    pub choices: Vec<Choice>,
    /// Its `[[task]]`s, as the job file says what matters more.
    pub groups: Vec<GroupQuote>,
    /// Why nobody could take one of its tasks now, with how many devices each reason holds for.
    pub reasons: Vec<ReasonView>,
}

/// What a job would cost and when it would be done if this mattered more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = DeskChoice)]
pub struct Choice {
    /// What matters more.
    pub name: Prefer,
    /// What it should cost; none while that is not known of one of its tasks.
    pub price: Option<PriceRange>,
    /// How long it should take, in milliseconds.
    pub finish_ms: Option<TimeRange>,
    /// How sure that is.
    pub sure: Sure,
    /// Why it is as sure as that, or why nothing is known, in words.
    pub why: String,
    /// On how many earlier tasks that rests.
    pub rests_on: u64,
    /// What it is ordered for; none where nothing is known, or the price is over the job's own cap.
    pub binding: Option<Binding>,
}

/// What a job should cost, and between what eight of ten such jobs end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct PriceRange {
    /// One in ten costs less.
    pub low: Amount,
    /// What is expected.
    pub expected: Amount,
    /// One in ten costs more.
    pub high: Amount,
}

/// How long a job should take, and between what eight of ten such jobs end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct TimeRange {
    /// One in ten takes less.
    pub low: Millis,
    /// What is expected.
    pub expected: Millis,
    /// One in ten takes more.
    pub high: Millis,
}

/// A price that the hub has promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = BindingPrice)]
pub struct Binding {
    /// What is reserved, to the unit; what is not spent comes back, and nothing beyond it is charged.
    pub price: Amount,
    /// Until when the job can be ordered for it, in milliseconds since 1970.
    pub until: Millis,
}

impl Desk {
    /// What a job would cost. Its files are read; nothing is sent or paid.
    pub async fn quote(&self, asker: &Asker, wanted: &Wanted) -> Result<Quoted, Error> {
        let account = self.account(asker).await?;
        let tree = wanted.folder.as_deref();
        account.base(tree)?;
        let hidden = |error| Error::of_job(error, &account.files, tree);
        let mut draft = Draft::confined(&wanted.job, &account.files, 0).map_err(hidden)?;
        paths::place(&mut draft.file, tree);
        let images = images::fix(&mut draft.file, &Exact::new(), self.inner.registries).await?;
        let client = account.client(&self.inner)?;
        let packing = self.inner.turns.packing().await;
        let view = client.quote(&draft).await.map_err(hidden)?;
        drop(packing);
        let offers: Vec<SignedQuote> = view.choices.iter().filter_map(|choice| choice.offer.clone()).collect();
        let kept = Kept { work: work_of(&wanted.job, tree), offers, images };
        let id = name_of(&kept);
        self.inner.books.keep_quote(&account.id, &id, &kept).await?;
        Ok(quoted(id, draft.file.name, view))
    }

    /// The binding price that a job is ordered by, if one was quoted for it, and what its tags stood for then. Sent again, it is the
    /// same even if it has ended meanwhile: whether the job came before, the hub knows.
    pub(crate) async fn offer(
        &self,
        account: &Account,
        wanted: &Wanted,
        prefer: Prefer,
        again: bool,
    ) -> Result<(Option<SignedQuote>, Exact), Error> {
        let Some(id) = &wanted.quote else { return Ok((None, Exact::new())) };
        let kept = self.inner.books.quote(&account.id, id).await?.ok_or(Error::QuoteExpired)?;
        if kept.work != work_of(&wanted.job, wanted.folder.as_deref()) {
            return Err(Error::OtherQuote);
        }
        let offer = kept.offer(prefer).cloned();
        if !again && offer.as_ref().is_some_and(has_ended) {
            return Err(Error::QuoteExpired);
        }
        Ok((offer, kept.images))
    }
}

/// What a quote is for, as far as the desk can tell; whether its files are the same the hub sees.
fn work_of(job: &str, tree: Option<&str>) -> Hash {
    Hash::of(format!("{}\0{job}", tree.unwrap_or("/")).as_bytes())
}

/// The name of a quote: by what it is for, what was promised, and when.
fn name_of(kept: &Kept) -> String {
    let mut named = format!("{}\0{}", kept.work, now_ms());
    for offer in &kept.offers {
        named.push_str(&offer.quote.id().to_string());
    }
    Hash::of(named.as_bytes()).to_string()[..32].to_owned()
}

fn quoted(quote: String, name: String, view: QuoteView) -> Quoted {
    let reasons = view.groups.iter().flat_map(|group| group.reasons.clone()).collect();
    let choices = view.choices.iter().map(|of| choice(&view, of)).collect();
    Quoted { quote, name, tasks: view.tasks, cap: view.cap, choices, groups: view.groups, reasons }
}

fn choice(view: &QuoteView, of: &ChoiceView) -> Choice {
    let price = |RangeView { low, expected, high }| PriceRange {
        low: Amount(low),
        expected: Amount(expected),
        high: Amount(high),
    };
    let time = |RangeView { low, expected, high }| TimeRange {
        low: Millis(low),
        expected: Millis(expected),
        high: Millis(high),
    };
    Choice {
        name: of.prefer,
        price: of.expected.map(price),
        finish_ms: of.time_ms.map(time),
        sure: of.sure,
        why: why(view, of),
        rests_on: view.rests_on,
        binding: of.offer.as_ref().map(|offer| Binding { price: offer.quote.price, until: offer.quote.until }),
    }
}

/// What the hub says, and what that means for who orders.
fn why(view: &QuoteView, of: &ChoiceView) -> String {
    match (&of.expected, &of.offer) {
        (Some(_), Some(_)) => of.why.clone(),
        (Some(_), None) => {
            format!("{}; its binding price is over the cap of {} GLN, so only the cap holds", of.why, view.cap)
        }
        (None, _) => unknown(view).unwrap_or_else(|| of.why.clone()),
    }
}

/// Why nothing is known of a job.
fn unknown(view: &QuoteView) -> Option<String> {
    if let Some(group) = view.groups.iter().find(|group| group.workers == 0) {
        let reason = group.reasons.first().map(|reason| format!(": {}", reason.text)).unwrap_or_default();
        return Some(format!("no worker could take `{}` now{reason}; the cap holds", group.task));
    }
    let group = view.groups.iter().find(|group| group.rests_on == 0)?;
    Some(format!("nothing like `{}` has run here yet; the cap holds", group.task))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::Quote;

    fn group(rests_on: u64, workers: u64) -> GroupQuote {
        GroupQuote {
            task: "square".into(),
            tasks: 20,
            each_micros: None,
            rests_on,
            per_second: None,
            expected: None,
            time_ms: None,
            workers,
            reasons: Vec::new(),
        }
    }

    /// What is known of a job with these tasks, or nothing.
    fn view(groups: Vec<GroupQuote>, known: bool, offered: bool) -> QuoteView {
        let rests_on = groups.iter().map(|group| group.rests_on).min().unwrap_or(0);
        let range = RangeView { low: 4, expected: 5, high: 7 };
        let quote = Quote {
            work: Hash([7; 32]),
            prefer: Prefer::Fast,
            price: Amount(8),
            expected: Amount(5),
            time_ms: Millis(5),
            time_high_ms: Millis(7),
            until: Millis(99),
        };
        let fast = ChoiceView {
            prefer: Prefer::Fast,
            expected: known.then_some(range),
            time_ms: known.then_some(range),
            sure: if known { Sure::Fair } else { Sure::Unknown },
            why: "it rests on 40 earlier tasks like these".into(),
            offer: offered.then(|| SignedQuote { quote, signature: vec![0; 64] }),
        };
        let (expected, time_ms) = (None, None);
        QuoteView { tasks: 20, expected, cap: Amount::gln(1), time_ms, rests_on, groups, choices: vec![fast] }
    }

    fn only(view: QuoteView) -> Choice {
        quoted("q".into(), "n".into(), view).choices.remove(0)
    }

    #[test]
    fn a_choice_says_what_it_costs_how_sure_that_is_and_what_binds() {
        let known = only(view(vec![group(40, 2)], true, true));
        assert_eq!(known.why, "it rests on 40 earlier tasks like these");
        assert_eq!((known.sure, known.rests_on), (Sure::Fair, 40));
        let (low, expected, high) = (Amount(4), Amount(5), Amount(7));
        assert_eq!(known.price, Some(PriceRange { low, expected, high }));
        assert_eq!(known.finish_ms, Some(TimeRange { low: Millis(4), expected: Millis(5), high: Millis(7) }));
        assert_eq!(known.binding, Some(Binding { price: Amount(8), until: Millis(99) }));
    }

    #[test]
    fn what_is_not_known_not_here_or_over_the_cap_is_said() {
        let new = only(view(vec![group(3, 1), group(0, 1)], false, false));
        assert_eq!(new.why, "nothing like `square` has run here yet; the cap holds");
        assert_eq!((new.price, new.binding, new.sure), (None, None, Sure::Unknown));
        let mut nobody = group(3, 0);
        nobody.reasons = vec![ReasonView { code: "busy".into(), text: "it is busy".into(), devices: Some(2) }];
        assert_eq!(
            only(view(vec![nobody], false, false)).why,
            "no worker could take `square` now: it is busy; the cap holds"
        );
        let dear = only(view(vec![group(40, 2)], true, false));
        assert!(dear.why.ends_with("over the cap of 1 GLN, so only the cap holds"), "{}", dear.why);
    }
}
