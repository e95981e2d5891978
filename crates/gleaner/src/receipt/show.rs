//! `gleaner receipt show`.
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use gleaner_wire::check::{Check, Compared};
use gleaner_wire::receipt::{Answer, Audit, Deduction, Draw, Facts, Seed, Side, TaskReceipt, claim_hash};
use gleaner_wire::{Amount, Hash, WorkerKey};

use crate::output::data;
use crate::words;

/// Options of `gleaner receipt show`.
#[derive(clap::Args)]
pub struct Args {
    /// Receipts: one in a file, or an array or lines of them
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Prints what receipts say; whether it is true, `gleaner receipt verify` says.
pub fn perform(args: &Args) -> Result<ExitCode> {
    for receipt in super::read(&args.file)? {
        data(&words_of(&receipt))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn words_of(receipt: &TaskReceipt) -> String {
    let facts = &receipt.facts;
    let mut lines = vec![format!("receipt {} of job {} · task {}", facts.number, facts.task.job, facts.task)];
    let mut line = |name: &str, text: String| lines.push(format!("  {name:<11}{}", words::plain(&text)));
    line("verdict", facts.verdict.to_string());
    line("order", order(facts));
    line("placement", placement(facts));
    if !facts.owners.is_empty() {
        line("owners", format!("{} signed for the workers in it", words::count(facts.owners.len() as u64, "owner")));
    }
    line("ran", ran(facts));
    line("price", price(facts));
    line("claim", claim(facts));
    line("check", check(&facts.check));
    for text in facts.draw.iter().flat_map(draw) {
        line("draw", text);
    }
    for text in facts.audit.iter().flat_map(audit) {
        line("audit", text);
    }
    line("payout", payout(facts));
    for Deduction { worker, amount, evidence, .. } in &facts.deductions {
        line(
            "deduction",
            format!("{} from {}, for the claim {}", words::money(*amount), short(worker), brief(evidence)),
        );
    }
    line("hub", facts.hub.to_string());
    line("hash", receipt.hash.to_string());
    line("before", facts.previous.map_or_else(|| "nothing: it is the first".to_owned(), |hash| hash.to_string()));
    lines.join("\n")
}

fn order(facts: &Facts) -> String {
    let Some(ordered) = &facts.order else { return "none: the hub has no chain".to_owned() };
    let order = &ordered.signed.order;
    let cap = words::money(order.cap);
    format!("0x{} on chain {}, at most {cap}, signed by {}", ordered.id, ordered.chain_id, order.requester)
}

fn placement(facts: &Facts) -> String {
    let placement = &facts.placement;
    let owner = placement.provider.map_or_else(String::new, |provider| format!(" of {provider}"));
    let (worker, class, market) = (short(&placement.worker), &placement.class, placement.market);
    let resumed = if placement.resumed { " from a checkpoint" } else { "" };
    let (runtime, device) = (placement.runtime, placement.device);
    format!("{worker}{owner} by {runtime}{resumed} on {device} ({class}), {market}: {}", placement.why)
}

fn ran(facts: &Facts) -> String {
    let (meter, claimed) = (&facts.meter, facts.commitment.claim.ran);
    let within = words::span(meter.finished.since(meter.placed));
    format!("{} µs of {} µs claimed, within {within}", meter.ran.0, claimed.0)
}

fn price(facts: &Facts) -> String {
    let (price, per_second) = (&facts.price, words::money(facts.placement.per_second));
    let hold = words::money(price.hold);
    let bond = match price.bond {
        Amount::ZERO => String::new(),
        bond => format!(", less {} because it won auctions and did not start", words::money(bond)),
    };
    format!("{per_second} a second, at most {hold}{bond}: {}", words::money(price.gross))
}

fn claim(facts: &Facts) -> String {
    let (claim, batch) = (&facts.commitment.claim, &facts.commitment.batch);
    let output = claim.output.map_or_else(|| "a program that failed".to_owned(), |output| format!("output {output}"));
    let place = format!("{} of {}", batch.place + 1, batch.count);
    format!("{}: {output}, signed with others as {place}", brief(&claim_hash(claim)))
}

fn check(check: &Check) -> String {
    match check {
        Check::None => "none is asked for".to_owned(),
        Check::Exact => "byte for byte".to_owned(),
        Check::Numeric { absolute, relative, .. } => {
            format!("as numbers, {absolute} or {relative} of their size apart")
        }
        Check::Image { pixel, perceptual, .. } => {
            format!("as pictures, {pixel} of 65535 a channel and {perceptual} millionths of structure apart")
        }
        Check::Program { input } => format!("by the requester's program, input {input}"),
    }
}

fn draw(draw: &Draw) -> Vec<String> {
    let Draw { round, source, seed, record, rate, selected, .. } = draw;
    let source = match source {
        Seed::Chain(_) => "of the block after its anchor",
        Seed::Hub => "drawn by the hub itself",
    };
    let fell = if *selected { "fell on it" } else { "did not fall on it" };
    let record = format!("{} good and {} bad answers", record.good, record.bad);
    let (whole, parts) = (rate / 10_000, rate % 10_000);
    vec![
        format!("round {}, claim {} of {}, seed {seed} {source}", round.number, round.place + 1, round.count),
        format!("the lot {fell}, at a rate of {whole}.{parts:04} % after {record}"),
    ]
}

fn audit(audit: &Audit) -> Vec<String> {
    let gone = audit.jurors.iter().filter(|juror| juror.gone).count() as u64;
    let mut lines =
        vec![format!("{} could be asked, {gone} gave no answer", words::count(audit.jurors.len() as u64, "juror"))];
    lines.extend(audit.answers.iter().map(|answer| {
        let is_referee = audit.referees.iter().any(|referee| referee.key == answer.auditor);
        let asked = if is_referee { " (asked after the polls)" } else { "" };
        format!("{}{asked} {}", short(&answer.auditor), said(answer))
    }));
    for (number, poll) in audit.polls.iter().enumerate().skip(1) {
        let (asked, votes) = (poll.drawn.len(), votes(&poll.votes));
        lines.push(format!("poll {number} of {asked}: {votes}"));
    }
    lines
}

fn said(answer: &Answer) -> String {
    let result = answer.commitment.claim.output.map_or_else(|| "nothing".to_owned(), |output| brief(&output));
    let apart = match answer.distance {
        0 => "the same".to_owned(),
        Compared::TOLERATED.. if answer.side != Side::Claim => "another result".to_owned(),
        distance => format!("{}.{:02} % of what is tolerated away", distance / 10_000, distance % 10_000 / 100),
    };
    let agrees = match answer.side {
        Side::Claim => "agrees".to_owned(),
        Side::Rival(_) | Side::Alone => format!("differs, for {}", answer.side),
    };
    format!("{agrees}: it computed {result}, {apart}")
}

/// How many are for what.
fn votes(votes: &[u32]) -> String {
    let sides = votes.iter().enumerate().map(|(place, votes)| format!("{votes} for {}", Side::at(place)));
    sides.collect::<Vec<_>>().join(", ")
}

fn payout(facts: &Facts) -> String {
    let (worker, platform) = (words::money(facts.payout.worker), words::money(facts.payout.platform));
    let sum = words::money(facts.price.sum_after);
    format!("{worker} to the worker's owner, {platform} to the platform; {sum} for this worker's part so far")
}

fn short(key: &WorkerKey) -> String {
    brief(&Hash(key.0))
}

fn brief(hash: &Hash) -> String {
    hash.to_string().chars().take(12).collect()
}
