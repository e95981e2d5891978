//! Results that somebody else computed differently, and what the court of the chain made of it: part of `gleaner job show`,
//! `gleaner job explain` and `gleaner worker show`.
use anyhow::Result;
use gleaner_client::Client;
use gleaner_wire::api::{CaseStage, CaseView, ContestView, ContestedAnswer, ToleranceView};
use gleaner_wire::receipt::Side;
use gleaner_wire::{Hash, JobId};

use crate::words;

/// The most contests that are listed; `--json` has all that the hub keeps.
const SHOWN_MAX: usize = 10;
/// The distance of results that just agree.
const TOLERATED: u64 = 1_000_000;

/// Who answered what, how polls went, and who was wrong; the most recent last.
pub fn contests(contests: &[ContestView]) -> String {
    let hidden = contests.len().saturating_sub(SHOWN_MAX);
    let mut lines = Vec::new();
    if hidden > 0 {
        lines.push(format!("the last {SHOWN_MAX} of {} contested results:", contests.len()));
    }
    contests[hidden..].iter().for_each(|contest| lines.extend(contest_lines(contest)));
    lines.join("\n")
}

fn contest_lines(contest: &ContestView) -> Vec<String> {
    let (task, worker) = (words::plain(&contest.task), words::plain(&contest.worker));
    let mut lines = vec![format!("{task} on {worker} was contested: {}", contest.verdict.words())];
    let follows = follows(contest.wrong, contest);
    lines.push(format!("    {worker} delivered {}{follows}", brief(&contest.delivered)));
    lines.extend(contest.answers.iter().map(|answer| answer_line(answer, contest)));
    for (number, votes) in (1..).zip(&contest.polls) {
        let sides = votes.iter().enumerate().map(|(place, votes)| format!("{votes} for {}", Side::at(place)));
        lines.push(format!("    poll {number}: {}", sides.collect::<Vec<_>>().join(", ")));
    }
    lines
}

fn answer_line(answer: &ContestedAnswer, contest: &ContestView) -> String {
    let what = answer.computed.map_or_else(|| "nothing: the program failed".to_owned(), |hash| brief(&hash));
    let last = if answer.asked_last { ", asked after the polls" } else { "" };
    let follows = follows(answer.wrong, contest);
    format!("    {} computed {what}, as {}{last}{follows}", words::plain(&answer.worker), answer.side)
}

/// What being wrong costs.
fn follows(wrong: bool, contest: &ContestView) -> String {
    match (wrong, contest.takes.0) {
        (false, _) => String::new(),
        (true, 0) => "; it was wrong".to_owned(),
        (true, _) => format!("; it was wrong, and {} of its stake are called in", words::money(contest.takes)),
    }
}

/// What the court made of those who were wrong in a job, if anybody was.
pub async fn court_of(client: &Client, job: JobId, contests: &[ContestView]) -> Result<Vec<CaseView>> {
    let wrong = contests.iter().any(|contest| contest.wrong || contest.answers.iter().any(|answer| answer.wrong));
    if wrong { Ok(client.cases(Some(job), None).await?) } else { Ok(Vec::new()) }
}

/// What the court made of those who were wrong.
pub fn court(cases: &[CaseView]) -> String {
    cases.iter().map(case_line).collect::<Vec<_>>().join("\n")
}

fn case_line(case: &CaseView) -> String {
    let dispute = case.dispute.map_or_else(String::new, |dispute| format!(" in dispute {dispute}"));
    let stage = match &case.stage {
        CaseStage::Waiting => "is to be accused".to_owned(),
        CaseStage::Open { seats: 0, .. } => format!("is accused{dispute}; its committee is not drawn yet"),
        CaseStage::Open { seats, voted, .. } => format!("is accused{dispute}; {voted} of {seats} have voted"),
        CaseStage::Slashed => format!("was found guilty{dispute}: {} of its stake are gone", words::money(case.taken)),
        CaseStage::Acquitted => format!("was found innocent{dispute}"),
        CaseStage::Undecided => format!("was accused{dispute}, and there was no verdict in time"),
        CaseStage::Dropped { reason } => format!("was not accused: {}", words::plain(reason)),
    };
    let by = case.transaction.map_or_else(String::new, |hash| format!(", by transaction 0x{hash}"));
    format!("court: {} {stage}{by} (job {}, evidence {})", case.provider, case.job, brief(&case.evidence))
}

/// What was learned of what honest results differ by.
pub fn tolerances(tolerances: &[ToleranceView]) -> String {
    tolerances.iter().map(tolerance_line).collect::<Vec<_>>().join("\n")
}

fn tolerance_line(view: &ToleranceView) -> String {
    let ToleranceView { task, one, other, seen, needed, tolerated } = view;
    let between = if one == other { format!("on {one}") } else { format!("on {one} and on {other}") };
    let compared = format!("{} compared", words::count(u64::from(*seen), "result"));
    let may = match tolerated {
        None => format!("are not judged against each other yet: {compared} of {needed}"),
        Some(_) if seen < needed => {
            format!("may differ by what the check tolerates; {compared} of {needed} to learn more")
        }
        Some(tolerated) => {
            let times = tolerated / (TOLERATED / 100);
            format!("may differ by {}.{:02} of what the check tolerates; {compared}", times / 100, times % 100)
        }
    };
    words::plain(&format!("results of `{task}` {between} {may}"))
}

fn brief(hash: &Hash) -> String {
    hash.to_string().chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::receipt::Verdict;
    use gleaner_wire::{Address, Amount, AttemptId, Millis};

    fn contest() -> ContestView {
        let answer = |worker: &str, byte, side, wrong| ContestedAnswer {
            worker: worker.into(),
            computed: Some(Hash([byte; 32])),
            side,
            asked_last: worker == "dot",
            wrong,
        };
        ContestView {
            task: "one[0]".into(),
            attempt: AttemptId(1),
            worker: "liar".into(),
            delivered: Hash([1; 32]),
            verdict: Verdict::Refuted,
            answers: vec![answer("ann", 2, Side::Rival(1), true), answer("dot", 3, Side::Rival(2), false)],
            polls: vec![vec![0, 1, 2]],
            wrong: true,
            takes: Amount(500_000_000),
            at: Millis(0),
        }
    }

    #[test]
    fn who_answered_what_and_what_it_costs_is_told() {
        let lines = [
            "one[0] on liar was contested: others computed something else, and the vote was against it",
            "    liar delivered 010101010101; it was wrong, and 0.5 GLN of its stake are called in",
            "    ann computed 020202020202, as answer 1; it was wrong, and 0.5 GLN of its stake are called in",
            "    dot computed 030303030303, as answer 2, asked after the polls",
            "    poll 1: 0 for the claim, 1 for answer 1, 2 for answer 2",
        ];
        assert_eq!(contests(&[contest()]), lines.join("\n"));
    }

    #[test]
    fn every_stage_of_a_case_is_told() {
        let case = |stage, transaction| CaseView {
            job: JobId(4),
            provider: Address([5; 20]),
            evidence: Hash([6; 32]),
            dispute: Some(2),
            stage,
            taken: Amount(500_000_000),
            transaction,
        };
        let guilty = court(&[case(CaseStage::Slashed, Some(Hash([7; 32])))]);
        assert!(guilty.contains("was found guilty in dispute 2: 0.5 GLN of its stake are gone, by transaction 0x0707"));
        let open = court(&[case(CaseStage::Open { seats: 3, voted: 1, ends: 9 }, None)]);
        assert!(open.contains("is accused in dispute 2; 1 of 3 have voted (job 4, evidence 060606060606)"), "{open}");
    }

    #[test]
    fn what_was_learned_is_told() {
        let view = |other: &str, seen, tolerated| ToleranceView {
            task: "simulate".into(),
            one: "wgsl on amd".into(),
            other: other.into(),
            seen,
            needed: 64,
            tolerated,
        };
        let told = tolerances(&[view("wgsl on nvidia", 12, None), view("wgsl on amd", 100, Some(3_250_000))]);
        assert_eq!(
            told,
            "results of `simulate` on wgsl on amd and on wgsl on nvidia are not judged against each other yet: 12 results \
             compared of 64\nresults of `simulate` on wgsl on amd may differ by 3.25 of what the check tolerates; 100 \
             results compared"
        );
    }
}
