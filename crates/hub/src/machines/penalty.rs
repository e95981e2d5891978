//! What a machine lost because it was found wrong, in words for its owner, out of a case before the court and its evidence.
use gleaner_wire::api::{CaseStage, CaseView};
use gleaner_wire::machine::Penalty;
use gleaner_wire::{Millis, WorkerKey};

/// The penalty of a machine in a case of its owner's; none if the evidence is about another of the owner's machines.
pub(crate) fn penalty(case: &CaseView, evidence: Option<&[u8]>, machine: WorkerKey) -> Option<Penalty> {
    let receipts = evidence.and_then(|document| gleaner_receipt::read(document).ok()).unwrap_or_default();
    let facts = receipts.first().map(|receipt| &receipt.facts);
    // What cannot be read is shown all the same: the owner has to know of it.
    if facts.is_some_and(|facts| !facts.deductions.iter().any(|deduction| deduction.worker == machine)) {
        return None;
    }
    Some(Penalty {
        at: facts.map_or(Millis(0), |facts| facts.meter.finished),
        job: Some(case.job),
        task: facts.map(|facts| format!("{}[{}]", facts.task.group, facts.task.index)).unwrap_or_default(),
        amount: case.taken,
        why: why(&case.stage),
        evidence: Some(case.evidence),
    })
}

fn why(stage: &CaseStage) -> String {
    let then = match stage {
        CaseStage::Waiting => "it is to be brought before the court of the chain".to_owned(),
        CaseStage::Open { seats: 0, .. } => "a committee is being drawn".to_owned(),
        CaseStage::Open { seats, voted, .. } => format!("a committee of {seats} judges it, and {voted} have voted"),
        CaseStage::Slashed => "the court took this of the stake".to_owned(),
        CaseStage::Acquitted => "the court found it innocent, and nothing was taken".to_owned(),
        CaseStage::Undecided => "the court came to no verdict in time, and nothing was taken".to_owned(),
        CaseStage::Dropped { reason } => format!("it was not brought before the court: {reason}"),
    };
    format!("Others computed something else and outvoted its answer; {then}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_receipt::sample;
    use gleaner_wire::receipt::Seed;
    use gleaner_wire::{Address, Amount, Hash, JobId};

    #[test]
    fn a_case_is_shown_to_the_machine_whose_answer_it_was() {
        let case = CaseView {
            job: JobId(7),
            provider: Address([1; 20]),
            evidence: Hash([2; 32]),
            dispute: Some(3),
            stage: CaseStage::Slashed,
            taken: Amount::gln(2),
            transaction: None,
        };
        let receipt =
            sample::World::on_chain(1, Box::new(|root| (Seed::Hub, Hash::of(&root.0)))).receipt(sample::Case::Refuted);
        let document = serde_json::to_vec(&receipt).expect("plain data");
        let loser = receipt.facts.deductions[0].worker;
        let shown = penalty(&case, Some(&document), loser).expect("its own");
        assert_eq!((shown.amount, shown.at), (Amount::gln(2), receipt.facts.meter.finished));
        assert!(shown.why.ends_with("the court took this of the stake."), "{}", shown.why);
        assert_eq!(penalty(&case, Some(&document), WorkerKey([0xee; 32])), None, "another machine of the same owner");
        assert!(penalty(&case, None, loser).is_some(), "evidence that is gone hides nothing");
    }
}
