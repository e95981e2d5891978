//! What a job would cost and when it would be done, for each of the three things that may matter more.
use gleaner_client::Draft;
use gleaner_wire::api::{GroupQuote, QuoteView};
use gleaner_wire::job_file::Prefer;
use gleaner_wire::{Amount, Asker};
use serde::Serialize;

use crate::ordering::Wanted;
use crate::{Desk, Error};

/// The three choices, in the order in which people read them.
const CHOICES: [Prefer; 3] = [Prefer::Cheap, Prefer::Balanced, Prefer::Fast];

/// What a job would cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quoted {
    /// What the job is called.
    pub name: String,
    /// How many tasks it has.
    pub tasks: u64,
    /// What it never costs more than.
    pub cap: Amount,
    /// Cheap, balanced and fast side by side.
    pub choices: Vec<Choice>,
}

/// What a job would cost and when it would be done if this mattered more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// What matters more.
    pub prefer: Prefer,
    /// What it should cost, in units of 10⁻⁹ GLN; none while that is not known of one of its tasks.
    pub expected: Option<Range>,
    /// How long it should take, in milliseconds.
    pub time_ms: Option<Range>,
    /// On how many earlier tasks that rests.
    pub rests_on: u64,
    /// What that rests on, or why it is not known, in words.
    pub why: String,
    /// Its `[[task]]`s.
    pub groups: Vec<GroupQuote>,
}

/// What is expected, and how far it may be off. All three are the same where nothing is known of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Range {
    /// The least.
    pub low: u64,
    /// What is expected.
    pub expected: u64,
    /// The most.
    pub high: u64,
}

impl Range {
    fn exactly(expected: u64) -> Self {
        Self { low: expected, expected, high: expected }
    }
}

impl Desk {
    /// What a job would cost. Its files are read; nothing is sent or paid.
    pub async fn quote(&self, asker: &Asker, wanted: &Wanted) -> Result<Quoted, Error> {
        let account = self.account(asker).await?;
        let base = account.base(wanted.folder.as_deref())?;
        let hidden = |error| Error::of_job(error, &base);
        let draft = Draft::confined(&wanted.job, &base, 0).map_err(hidden)?;
        let client = account.client(&self.inner)?;
        let packing = self.inner.turns.packing().await;
        let views = client.quotes(&draft, &CHOICES).await.map_err(hidden)?;
        drop(packing);
        let first = views.first().ok_or(Error::Defect)?;
        let (name, tasks, cap) = (draft.file.name.clone(), first.tasks, first.cap);
        let choices = CHOICES.into_iter().zip(views).map(|(prefer, view)| choice(prefer, view)).collect();
        Ok(Quoted { name, tasks, cap, choices })
    }
}

fn choice(prefer: Prefer, view: QuoteView) -> Choice {
    let why = why(&view);
    Choice {
        prefer,
        expected: view.expected.map(|expected| Range::exactly(expected.0)),
        time_ms: view.time_ms.map(|time| Range::exactly(time.0)),
        rests_on: view.rests_on,
        why,
        groups: view.groups,
    }
}

fn why(view: &QuoteView) -> String {
    let named = |group: &GroupQuote| format!("`{}`", group.task);
    if let Some(group) = view.groups.iter().find(|group| group.workers == 0) {
        let reason = group.reasons.first().map(|reason| format!(": {}", reason.text)).unwrap_or_default();
        return format!("no worker could take {} now{reason}", named(group));
    }
    if let Some(group) = view.groups.iter().find(|group| group.rests_on == 0) {
        return format!("nothing like {} has run here yet; the cap holds", named(group));
    }
    let over = match view.expected {
        Some(expected) if expected > view.cap => {
            format!("; all of it should cost {expected} GLN, and the job ends at its cap of {} GLN", view.cap)
        }
        Some(_) | None => String::new(),
    };
    let noun = if view.rests_on == 1 { "task" } else { "tasks" };
    format!("it rests on {} earlier {noun} like these, and on what workers ask now{over}", view.rests_on)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::Millis;
    use gleaner_wire::api::ReasonView;

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

    fn view(groups: Vec<GroupQuote>, expected: Option<Amount>) -> QuoteView {
        let rests_on = groups.iter().map(|group| group.rests_on).min().unwrap_or(0);
        QuoteView { tasks: 20, expected, cap: Amount::gln(1), time_ms: expected.map(|_| Millis(7)), rests_on, groups }
    }

    #[test]
    fn a_choice_says_what_it_rests_on() {
        let known = choice(Prefer::Fast, view(vec![group(40, 2)], Some(Amount(5))));
        assert_eq!(known.why, "it rests on 40 earlier tasks like these, and on what workers ask now");
        assert_eq!((known.expected, known.time_ms), (Some(Range::exactly(5)), Some(Range::exactly(7))));
        let dear = choice(Prefer::Fast, view(vec![group(1, 2)], Some(Amount::gln(2))));
        assert!(
            dear.why.ends_with("all of it should cost 2 GLN, and the job ends at its cap of 1 GLN"),
            "{}",
            dear.why
        );
    }

    #[test]
    fn what_is_not_known_or_not_here_is_said() {
        let new = choice(Prefer::Cheap, view(vec![group(3, 1), group(0, 1)], None));
        assert_eq!(new.why, "nothing like `square` has run here yet; the cap holds");
        let mut nobody = group(3, 0);
        nobody.reasons = vec![ReasonView { code: "busy".into(), text: "it is busy".into(), devices: Some(2) }];
        assert_eq!(
            choice(Prefer::Cheap, view(vec![nobody], None)).why,
            "no worker could take `square` now: it is busy"
        );
    }
}
