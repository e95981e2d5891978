//! All receipts of a job together: that none is missing, and that their sums match.
use std::collections::{BTreeMap, BTreeSet};

use gleaner_wire::receipt::{Facts, TaskReceipt, Verdict};
use gleaner_wire::{Amount, AttemptId, TaskId, WorkerKey};

use crate::fault::{Fault, Faults, money, or_nothing};
use crate::verify::Verifier;

/// What the receipts of a job have shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobChecked {
    /// How many they are.
    pub receipts: usize,
    /// How many signatures hold; those that stand in several receipts count in each.
    pub signatures: usize,
    /// What the requester pays for them.
    pub gross: Amount,
    /// What of that is the platform's.
    pub platform: Amount,
    /// What each worker's owner gets.
    pub workers: BTreeMap<WorkerKey, Amount>,
    /// What the requester pays for attempts without a receipt: those that failed by the program's own fault.
    pub without: Amount,
    /// How many claims were refuted.
    pub refuted: usize,
    /// For what the hub has to be believed, each thing once.
    pub believed: BTreeSet<String>,
}

/// Checks receipts of one job, in any order. Whether later ones exist cannot be seen from them.
pub fn verify_job(receipts: &[TaskReceipt], verifier: &mut Verifier) -> Result<JobChecked, Vec<Fault>> {
    let mut sorted: Vec<&TaskReceipt> = receipts.iter().collect();
    sorted.sort_by_key(|receipt| receipt.facts.number);
    let mut together = Together::default();
    for receipt in &sorted {
        together.verify(receipt, verifier);
    }
    for pair in sorted.windows(2) {
        together.follows(pair[0], pair[1]);
    }
    let first = sorted.first().map_or(0, |first| first.facts.number);
    if first > 0 {
        together.sums.believed.insert(format!("receipts before number {first} are not here"));
    }
    for receipt in &sorted {
        together.add(&receipt.facts, first == 0);
    }
    together.bound(&sorted);
    let found = together.faults.into_found();
    if found.is_empty() { Ok(together.sums) } else { Err(found) }
}

#[derive(Default)]
struct Together {
    faults: Faults,
    sums: JobChecked,
    /// What each worker's part costs so far, as its last receipt says.
    last: BTreeMap<WorkerKey, Amount>,
    attempts: BTreeSet<AttemptId>,
    delivered: BTreeMap<TaskId, u64>,
}

impl Together {
    fn verify(&mut self, receipt: &TaskReceipt, verifier: &mut Verifier) {
        let number = receipt.facts.number;
        match verifier.verify(receipt) {
            Ok(checked) => {
                self.sums.signatures += checked.signatures;
                self.sums.believed.extend(checked.believed);
            }
            Err(faults) => {
                for fault in faults {
                    self.faults.push(Fault::Of { number, fault: Box::new(fault) });
                }
            }
        }
    }

    /// Two receipts, the second of which comes right after the first.
    fn follows(&mut self, before: &TaskReceipt, after: &TaskReceipt) {
        let (one, other) = (&before.facts, &after.facts);
        let number = other.number;
        let reason = || format!("receipt {}", one.number);
        if one.number.checked_add(1) != Some(number) {
            let says = format!("{number} after {}", one.number);
            let rule = "one more: some receipts are missing, or one is here twice";
            return self.faults.impossible("the number of a receipt", says, rule);
        }
        if other.previous != Some(before.hash) {
            let what = format!("the hash before receipt {number}");
            self.faults.differs(what, or_nothing(other.previous), before.hash, reason());
        }
        let what = |thing: &str| format!("the {thing} of receipt {number}");
        self.faults.same(&what("hub"), &other.hub, &one.hub, reason);
        self.faults.same(&what("job"), &other.job, &one.job, reason);
        self.faults.same(&what("job's number"), &other.task.job, &one.task.job, reason);
        if other.order != one.order {
            let id = |facts: &Facts| or_nothing(facts.order.as_ref().map(|ordered| ordered.id));
            self.faults.differs(what("order"), id(other), id(one), reason());
        }
        self.faults.same(&what("platform's share"), &other.price.share_points, &one.price.share_points, reason);
    }

    fn add(&mut self, facts: &Facts, from_the_start: bool) {
        let (number, worker, price) = (facts.number, facts.placement.worker, facts.price);
        let before = self.last.insert(worker, price.sum_after).or(from_the_start.then_some(Amount::ZERO));
        let more = price.sum_before.checked_sub(before.unwrap_or(price.sum_before));
        match more.and_then(|more| self.sums.without.checked_add(more)) {
            Some(without) => self.sums.without = without,
            None => {
                let what = format!("the sum of {worker} before receipt {number}");
                let says = money(price.sum_before);
                self.faults.impossible(what, says, format!("at least {}", money(before.unwrap_or_default())));
            }
        }
        let attempt = facts.commitment.claim.attempt;
        if !self.attempts.insert(attempt) {
            let rule = "one that no other receipt is for";
            self.faults.impossible(format!("the attempt of receipt {number}"), attempt, rule);
        }
        self.sums.receipts += 1;
        self.sums.refuted += usize::from(facts.verdict == Verdict::Refuted);
        if facts.verdict.pays() {
            self.pay(facts);
        }
    }

    fn pay(&mut self, facts: &Facts) {
        let (number, task) = (facts.number, facts.task);
        let earlier = facts.commitment.claim.output.and_then(|_| self.delivered.insert(task, number));
        if let Some(earlier) = earlier {
            let says = format!("{task}, which receipt {earlier} has paid for");
            self.faults.impossible(format!("the task of receipt {number}"), says, "one that was not paid for");
        }
        let worker = self.sums.workers.entry(facts.placement.worker).or_default();
        let sums = [
            (&mut self.sums.gross, facts.price.gross),
            (&mut self.sums.platform, facts.payout.platform),
            (worker, facts.payout.worker),
        ];
        for (sum, more) in sums {
            match sum.checked_add(more) {
                Some(total) => *sum = total,
                None => self.faults.impossible("a sum", format!("{sum} and {more} GLN"), "an amount that there can be"),
            }
        }
    }

    /// All together are paid from one order.
    fn bound(&mut self, sorted: &[&TaskReceipt]) {
        let cap = sorted.first().and_then(|first| Some(first.facts.order.as_ref()?.signed.order.cap));
        let all = self.sums.gross.checked_add(self.sums.without);
        if let Some(cap) = cap
            && all.is_none_or(|all| all > cap)
        {
            let says = all.map_or_else(|| "no amount that there is".to_owned(), money);
            self.faults.impossible("what all tasks cost", says, format!("at most the order's cap of {}", money(cap)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Case, World};
    use crate::sign::seal;

    fn job() -> (World, Vec<TaskReceipt>) {
        let mut world = World::new();
        let receipts = [Case::NotDrawn, Case::Agreed, Case::Refuted, Case::Upheld, Case::NotDrawn];
        let receipts = receipts.map(|case| world.receipt(case)).into();
        (world, receipts)
    }

    fn faults(receipts: &[TaskReceipt]) -> String {
        let faults = verify_job(receipts, &mut Verifier::default()).expect_err("something does not fit");
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_receipts_of_a_job_come_to_what_was_paid() {
        let (_, mut receipts) = job();
        receipts.reverse();
        let checked = verify_job(&receipts, &mut Verifier::default()).expect("all of them hold");
        assert_eq!((checked.receipts, checked.refuted, checked.without), (5, 1, Amount::ZERO));
        let workers: u64 = checked.workers.values().map(|amount| amount.0).sum();
        assert_eq!(checked.gross.0, workers + checked.platform.0);
    }

    #[test]
    fn a_missing_a_repeated_and_a_foreign_receipt_are_noticed() {
        let (_, receipts) = job();
        let without = [&receipts[..2], &receipts[3..]].concat();
        assert!(faults(&without).contains("is 3 after 1; it must be one more"), "{}", faults(&without));
        let twice = [&receipts[..], &receipts[4..]].concat();
        assert!(faults(&twice).contains("is 4 after 4; it must be one more"));
        let mut elsewhere = World::new();
        let foreign = [Case::Agreed, Case::NotDrawn].map(|case| elsewhere.receipt(case));
        let foreign = [&receipts[..1], &foreign[1..]].concat();
        assert!(faults(&foreign).contains("the hash before receipt 1"), "{}", faults(&foreign));
    }

    #[test]
    fn a_task_is_paid_once_even_if_the_hub_signs_it_twice() {
        let (world, mut receipts) = job();
        let mut again = receipts[4].facts.clone();
        (again.number, again.previous) = (5, Some(receipts[4].hash));
        receipts.push(seal(again, &world.hub));
        let faults = faults(&receipts);
        assert!(
            faults.contains("the attempt of receipt 5") && faults.contains("which receipt 4 has paid for"),
            "{faults}"
        );
    }
}
