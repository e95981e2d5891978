//! What a job would cost and when it would be done, for each of the three things that may matter more.
use gleaner_client::Draft;
use gleaner_wire::api::{GroupQuote, QuoteView, ReasonView};
use gleaner_wire::job_file::Prefer;
use gleaner_wire::{Amount, Asker, Hash, Millis};
use serde::Serialize;

use crate::ordering::Wanted;
use crate::{Desk, Error, paths};

/// The three choices, in the order in which people read them.
const CHOICES: [Prefer; 3] = [Prefer::Cheap, Prefer::Balanced, Prefer::Fast];

/// What a job would cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quoted {
    /// What names the quote; a submission with it must be of the same job.
    pub quote: String,
    /// What the job is called.
    pub name: String,
    /// How many tasks it has.
    pub tasks: u64,
    /// What it never costs more than.
    pub cap: Amount,
    /// Cheap, balanced and fast side by side.
    pub choices: Vec<Choice>,
    /// Why nobody could take one of its tasks now, with how many devices each reason holds for.
    pub reasons: Vec<ReasonView>,
}

/// What a job would cost and when it would be done if this mattered more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// What matters more.
    pub name: Prefer,
    /// What it should cost; none while that is not known of one of its tasks.
    pub price: Option<Amount>,
    /// What it never costs more than.
    pub cap: Amount,
    /// How long it should take, from and to, in milliseconds; both are the same where nothing is known of how far it may be
    /// off.
    pub finish_ms: Option<[Millis; 2]>,
    /// On how many earlier tasks that rests.
    pub rests_on: u64,
    /// What that rests on, or why it is not known, in words.
    pub why: String,
    /// Its `[[task]]`s.
    pub groups: Vec<GroupQuote>,
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
        let client = account.client(&self.inner)?;
        let packing = self.inner.turns.packing().await;
        let views = client.quotes(&draft, &CHOICES).await.map_err(hidden)?;
        drop(packing);
        let first = views.first().ok_or(Error::Defect)?;
        let (name, tasks, cap) = (draft.file.name.clone(), first.tasks, first.cap);
        let reasons = first.groups.iter().flat_map(|group| group.reasons.clone()).collect();
        let choices = CHOICES.into_iter().zip(views).map(|(prefer, view)| choice(prefer, view)).collect();
        Ok(Quoted { quote: quote_of(&wanted.job, tree), name, tasks, cap, choices, reasons })
    }
}

/// The name of a quote: by what it is for.
pub(crate) fn quote_of(job: &str, tree: Option<&str>) -> String {
    Hash::of(format!("{}\0{job}", tree.unwrap_or("/")).as_bytes()).to_string()[..32].to_owned()
}

fn choice(prefer: Prefer, view: QuoteView) -> Choice {
    let why = why(&view);
    Choice {
        name: prefer,
        price: view.expected,
        cap: view.cap,
        finish_ms: view.time_ms.map(|time| [time, time]),
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
        assert_eq!((known.price, known.finish_ms), (Some(Amount(5)), Some([Millis(7); 2])));
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
