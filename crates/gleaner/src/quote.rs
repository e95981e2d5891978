//! `gleaner quote`: what a job would cost, before anything is paid or sent.
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::{Client, Draft};
use gleaner_wire::api::{GroupQuote, QuoteView, Sure};
use gleaner_wire::job_file::Prefer;
use gleaner_wire::{Amount, Micros, Millis};
use serde::Serialize;

use crate::failure::Advice;
use crate::job::explain;
use crate::output::{data, json, say};
use crate::settings::Settings;
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::words;

/// Options of `gleaner quote`.
#[derive(clap::Args)]
pub struct Args {
    /// The job file
    #[arg(value_name = "JOB.toml")]
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A quote for programs: with the one price that they show.
#[derive(Serialize)]
struct Priced<'a> {
    name: &'a str,
    /// What it should cost, or else its cap.
    price: String,
    #[serde(flatten)]
    view: &'a QuoteView,
}

/// Quotes the job.
pub async fn perform(settings: &Settings, args: &Args) -> Result<ExitCode> {
    let draft = Draft::read(&args.file)?;
    let client = settings.client().await?;
    let view = client.quote(&draft).await?;
    let name = &draft.file.name;
    if args.json {
        let price = words::money(view.expected.unwrap_or(view.cap).min(view.cap));
        json(&Priced { name, price, view: &view })?
    } else {
        data(&render(name, &view))?
    }
    Ok(ExitCode::SUCCESS)
}

fn render(name: &str, view: &QuoteView) -> String {
    let mut parts = vec![words::plain(name), words::count(view.tasks, "task")];
    let cap = words::money(view.cap);
    parts.push(match view.expected {
        Some(expected) => format!("about {}, at most {cap}", words::money(expected.min(view.cap))),
        None => format!("at most {cap}"),
    });
    parts.extend(view.time_ms.map(|time| format!("about {}", words::span(time))));
    if view.expected.is_some() {
        parts.push(format!("rests on {}", words::count(view.rests_on, "task")));
    }
    let mut lines = vec![parts.join(" · "), String::new(), groups(view)];
    if view.expected.is_some() {
        lines.extend([String::new(), choices(view)]);
    }
    let notes = notes(view);
    if !notes.is_empty() {
        lines.push(String::new());
        lines.extend(notes);
    }
    lines.join("\n")
}

fn groups(view: &QuoteView) -> String {
    let columns = [
        ("TASK", Left),
        ("TASKS", Right),
        ("EACH", Right),
        ("ASKED A SECOND", Left),
        ("COST", Right),
        ("TIME", Right),
        ("RESTS ON", Right),
        ("WORKERS NOW", Right),
    ];
    let mut table = Table::new(columns);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    for group in &view.groups {
        let asked = group.per_second.map(|asked| match asked.lowest == asked.median {
            true => words::money(asked.lowest),
            false => format!("{}, half of them {} or less", words::money(asked.lowest), words::money(asked.median)),
        });
        table.row([
            group.task.clone(),
            words::grouped(group.tasks),
            or_dash(group.each_micros.map(|each| words::span(Micros(each).millis()))),
            or_dash(asked),
            or_dash(group.expected.map(words::money)),
            or_dash(group.time_ms.map(words::span)),
            words::count(group.rests_on, "task"),
            words::grouped(group.workers),
        ]);
    }
    table.render()
}

/// Cheap, balanced and fast side by side, and how to order by one of them.
fn choices(view: &QuoteView) -> String {
    let columns = [
        ("ORDER BY", Left),
        ("BINDING PRICE", Right),
        ("EXPECTED", Right),
        ("EIGHT OF TEN COST", Left),
        ("DONE IN", Right),
        ("EIGHT OF TEN TAKE", Left),
        ("HOW SURE", Left),
    ];
    let mut table = Table::new(columns);
    for choice in &view.choices {
        let (Some(price), Some(time)) = (choice.expected, choice.time_ms) else { continue };
        let between = |low: String, high: String| format!("{low} to {high}");
        let money = |units: u64| words::money(Amount(units));
        let span = |millis: u64| words::span(Millis(millis));
        table.row([
            prefer(choice.prefer).to_owned(),
            choice.offer.as_ref().map_or_else(|| "over the cap".to_owned(), |offer| words::money(offer.quote.price)),
            money(price.expected),
            between(money(price.low), money(price.high)),
            span(time.expected),
            between(span(time.low), span(time.high)),
            format!("{}: {}", sure(choice.sure), words::plain(&choice.why)),
        ]);
    }
    let how = "each binds for ten minutes: `gleaner run JOB.toml --quote cheap` reserves exactly its price, and nothing beyond \
               it is charged";
    format!("{}\n{how}", table.render())
}

/// A preference as it is written in a job file.
pub fn prefer(prefer: Prefer) -> &'static str {
    match prefer {
        Prefer::Cheap => "cheap",
        Prefer::Balanced => "balanced",
        Prefer::Fast => "fast",
    }
}

fn sure(sure: Sure) -> &'static str {
    match sure {
        Sure::Unknown => "unknown",
        Sure::Guess => "a guess",
        Sure::Rough => "rough",
        Sure::Fair => "fair",
        Sure::Good => "good",
    }
}

/// Has the job quoted, and orders it by one of the choices.
pub async fn take(client: &Client, draft: &mut Draft, wanted: Prefer) -> Result<()> {
    let view = client.quote(draft).await?;
    let choice = view.choices.into_iter().find(|choice| choice.prefer == wanted);
    let name = prefer(wanted);
    let choice = choice.ok_or_else(|| Advice::new("the hub gives no such quote", "run the job without --quote"))?;
    let Some(offer) = choice.offer else {
        let problem = format!("there is no {name} quote for this job: {}", words::plain(&choice.why));
        let help = match choice.expected {
            Some(_) => "its price is over budget.price_max: raise that, or leave it out",
            None => "run it without --quote: it never costs more than budget.price_max",
        };
        return Err(Advice::new(problem, help).into());
    };
    let (quote, high) = (&offer.quote, words::span(offer.quote.time_high_ms));
    say(format!(
        "quote {} · {name} · {} and not a unit more, {} expected · about {}, hardly more than {high}",
        &quote.id().to_string()[..12],
        words::money(quote.price),
        words::money(quote.expected),
        words::span(quote.time_ms),
    ));
    draft.order_by(offer);
    Ok(())
}

/// What whoever reads the price should know.
fn notes(view: &QuoteView) -> Vec<String> {
    let mut lines = Vec::new();
    let is_new = |group: &&GroupQuote| group.rests_on == 0;
    for group in view.groups.iter().filter(is_new) {
        let name = words::plain(&group.task);
        lines.push(format!("nothing like `{name}` has run here yet, so its price is not known; the cap holds"));
    }
    for group in view.groups.iter().filter(|group| group.workers == 0) {
        lines.push(format!("no worker could take `{}` now:", words::plain(&group.task)));
        lines.extend(explain::reasons(&group.reasons));
    }
    if let Some(expected) = view.expected.filter(|expected| *expected > view.cap) {
        let (expected, cap) = (words::money(expected), words::money(view.cap));
        lines.push(format!(
            "all of it should cost {expected}, and the job ends at {cap}: raise budget.price_max to see it done"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::api::{AskedView, ChoiceView, RangeView, ReasonView};
    use gleaner_wire::{Hash, Quote, SignedQuote};

    fn quote() -> QuoteView {
        let asked = AskedView { lowest: Amount(1_000_000), median: Amount(2_000_000) };
        let group = GroupQuote {
            task: "square".to_owned(),
            tasks: 20,
            each_micros: Some(1_500_000),
            rests_on: 40,
            per_second: Some(asked),
            expected: Some(Amount(30_000_000)),
            time_ms: Some(Millis(15_000)),
            workers: 2,
            reasons: Vec::new(),
        };
        QuoteView {
            tasks: 20,
            expected: group.expected,
            cap: Amount::gln(1),
            time_ms: group.time_ms,
            rests_on: group.rests_on,
            groups: vec![group],
            choices: [Prefer::Cheap, Prefer::Balanced, Prefer::Fast].map(choice).into(),
        }
    }

    fn choice(prefer: Prefer) -> ChoiceView {
        let quote = Quote {
            work: Hash([1; 32]),
            prefer,
            price: Amount(36_000_000),
            expected: Amount(30_000_000),
            time_ms: Millis(15_000),
            time_high_ms: Millis(17_000),
            until: Millis(600_000),
        };
        ChoiceView {
            prefer,
            expected: Some(RangeView { low: 27_000_000, expected: 30_000_000, high: 33_000_000 }),
            time_ms: Some(RangeView { low: 13_000, expected: 15_000, high: 17_000 }),
            sure: Sure::Good,
            why: "it rests on 40 earlier tasks like these".to_owned(),
            offer: Some(SignedQuote { quote, signature: vec![0; 64] }),
        }
    }

    #[test]
    fn three_choices_stand_side_by_side_with_their_ranges() {
        let mut view = quote();
        view.choices[2].offer = None;
        let text = choices(&view);
        let lines: Vec<_> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines[1],
            "cheap 0.036 GLN 0.03 GLN 0.027 GLN to 0.033 GLN 15.0 s 13.0 s to 17.0 s good: it rests on 40 earlier tasks like these"
        );
        assert!(lines[3].starts_with("fast over the cap 0.03 GLN"), "{text}");
        assert!(lines[4].contains("--quote cheap"), "{text}");
    }

    #[test]
    fn a_known_job_has_a_price_a_time_and_what_they_rest_on() {
        let text = render("squares", &quote());
        let first = text.lines().next().unwrap_or_default();
        assert_eq!(first, "squares · 20 tasks · about 0.03 GLN, at most 1 GLN · about 15.0 s · rests on 40 tasks");
        assert!(text.contains("0.001 GLN, half of them 0.002 GLN or less"), "{text}");
    }

    #[test]
    fn a_price_over_the_cap_says_what_happens() {
        let mut view = quote();
        view.cap = Amount(10_000_000);
        let text = render("squares", &view);
        assert!(text.contains("about 0.01 GLN, at most 0.01 GLN"), "{text}");
        assert!(
            text.ends_with(
                "all of it should cost 0.03 GLN, and the job ends at 0.01 GLN: raise budget.price_max to see it done"
            ),
            "{text}"
        );
    }

    #[test]
    fn what_is_not_known_and_who_is_missing_is_said() {
        let mut view = quote();
        (view.expected, view.time_ms, view.rests_on) = (None, None, 0);
        let group = &mut view.groups[0];
        (group.expected, group.time_ms, group.each_micros, group.rests_on) = (None, None, None, 0);
        (group.per_second, group.workers) = (None, 0);
        group.reasons = vec![ReasonView { code: "busy".into(), text: "it is busy".into(), devices: Some(2) }];
        let text = render("squares", &view);
        assert!(text.starts_with("squares · 20 tasks · at most 1 GLN\n"), "{text}");
        assert!(text.contains("nothing like `square` has run here yet"), "{text}");
        assert!(text.ends_with("no worker could take `square` now:\n  - 2 devices: it is busy"), "{text}");
    }
}
