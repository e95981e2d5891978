//! The audit: who could be asked, whom the lots fell on, what they answered, and how that compares.
use std::collections::{BTreeMap, BTreeSet};

use gleaner_core::proof;
use gleaner_wire::check::{Check as Rule, Compared};
use gleaner_wire::receipt::{Answer, Audit, Facts, JURORS_MAX, Juror, Poll, Verdict, claim_hash};
use gleaner_wire::{Hash, WorkerKey};

use super::Check;
use crate::fault::or_nothing;
use crate::reckon;

impl Check<'_> {
    pub(super) fn audit(&mut self, facts: &Facts) {
        let Some(audit) = &facts.audit else { return };
        let seed = match &facts.draw {
            Some(draw) if draw.selected => draw.seed,
            Some(_) | None => {
                let says = format!("{} answers", audit.answers.len());
                return self.faults.impossible(
                    "the audit",
                    says,
                    "left out, because the lot did not fall on the claim",
                );
            }
        };
        if audit.jurors.len() > JURORS_MAX {
            let says = audit.jurors.len();
            return self.faults.impossible("the number of jurors", says, format!("at most {JURORS_MAX}"));
        }
        self.jurors(facts, audit);
        let claim = claim_hash(&facts.commitment.claim);
        for (number, poll) in (0..).zip(&audit.polls) {
            self.poll(number, audit, poll, &seed, &claim);
        }
        self.answers(facts, audit);
        self.votes(facts, audit);
    }

    /// Nobody judges itself, and every owner stands once among those whom lots are drawn for.
    fn jurors(&mut self, facts: &Facts, audit: &Audit) {
        let (worker, owner) = (facts.placement.worker, facts.placement.provider);
        let (mut keys, mut owners) = (BTreeSet::from([worker]), BTreeSet::new());
        owners.extend(owner);
        for Juror { key, provider, .. } in &audit.jurors {
            let other = keys.insert(*key);
            if !other || provider.is_some_and(|provider| !owners.insert(provider)) {
                let says = format!("{key} of the owner {}", or_nothing(*provider));
                let rule = format!("of another owner than the others and the worker {worker} of {}", or_nothing(owner));
                self.faults.impossible("a juror", says, rule);
            }
        }
        if audit.referee.is_some_and(|referee| keys.contains(&referee)) {
            let rule = "somebody else than the worker and the jurors";
            self.faults.impossible("the referee", or_nothing(audit.referee), rule);
        }
    }

    /// Whoever was asked is whom the lot fell on, but for those who gave no answer.
    fn poll(&mut self, number: u32, audit: &Audit, poll: &Poll, seed: &Hash, claim: &Hash) {
        let wanted = if number == 0 { 1 } else { audit.sample as usize };
        let gone = audit.jurors.iter().filter(|juror| juror.gone).count();
        let candidates = reckon::candidates(&audit.jurors);
        let lots = proof::auditors(seed, claim, number, &candidates, wanted.saturating_add(gone));
        let mut expected = Vec::new();
        for juror in lots.into_iter().map(|at| &audit.jurors[at]) {
            let is_next = poll.drawn.get(expected.len()) == Some(&juror.key);
            if expected.len() < wanted && (is_next || !juror.gone) {
                expected.push(juror.key);
            }
        }
        if expected != poll.drawn {
            let reason = format!("the lot by the seed {seed} among {} jurors", candidates.len());
            let what = format!("who was asked in poll {number}");
            self.faults.differs(what, names(&poll.drawn), names(&expected), reason);
        }
        let (agree, differ) = reckon::count(audit, &poll.drawn);
        let reason = || "the answers".to_owned();
        self.faults.same(&format!("the number of those who agree in poll {number}"), &poll.agree, &agree, reason);
        self.faults.same(&format!("the number of those who differ in poll {number}"), &poll.differ, &differ, reason);
        for auditor in poll.drawn.iter().filter(|auditor| reckon::answer_of(audit, auditor).is_none()) {
            self.faults.impossible(format!("the answer of {auditor} in poll {number}"), "missing", "there");
        }
    }

    fn answers(&mut self, facts: &Facts, audit: &Audit) {
        let asked: BTreeSet<WorkerKey> = audit.polls.iter().flat_map(|poll| poll.drawn.iter().copied()).collect();
        let mut attempts = BTreeMap::from([(facts.commitment.claim.attempt, facts.placement.worker)]);
        let mut seen = BTreeSet::new();
        for answer in &audit.answers {
            let Answer { auditor, commitment, .. } = answer;
            let what = format!("the claim of {auditor}");
            self.commitment(&what, facts, commitment, auditor);
            let claim = &commitment.claim;
            self.faults.same(&format!("the task in {what}"), &claim.task, &facts.task, || "the receipt".to_owned());
            let owner = *attempts.entry(claim.attempt).or_insert(*auditor);
            if owner != *auditor {
                let says = format!("{}, which is an attempt of {owner}", claim.attempt);
                self.faults.impossible(format!("the attempt in {what}"), says, "one of its own");
            }
            if !seen.insert(auditor) {
                self.faults.impossible("the number of answers", format!("two of {auditor}"), "one of each");
            }
            // A vote that was broken off because its job ended leaves answers that no poll has counted.
            let counts = asked.contains(auditor) || audit.referee == Some(*auditor);
            if !counts && facts.verdict != Verdict::Undecided {
                self.faults.impossible(&*what, "an answer", "left out, because no lot fell on it");
            }
            self.comparison(facts, audit, answer);
        }
    }

    /// What the results compare to, as far as that can be seen from their hashes.
    fn comparison(&mut self, facts: &Facts, audit: &Audit, answer: &Answer) {
        let Answer { auditor, commitment, agrees, distance, like_rival } = answer;
        let (ours, theirs) = (&facts.commitment.claim, &commitment.claim);
        let known = reckon::compared(facts.check, ours, theirs);
        let right = known.unwrap_or(measured(facts.check, answer));
        let reason = || match known {
            Some(_) => format!("its result {} beside {}", or_nothing(theirs.output), or_nothing(ours.output)),
            None => format!("a distance of {distance} where {} is tolerated", Compared::TOLERATED),
        };
        self.faults.same(&format!("the distance of the answer of {auditor}"), distance, &right.distance, reason);
        self.faults.same(&format!("whether {auditor} agrees"), agrees, &right.agrees, reason);
        let rival = reckon::first_answer(audit).filter(|rival| !rival.agrees);
        let like = match (agrees, rival) {
            (true, _) | (false, None) => None,
            (false, Some(rival)) => {
                let known = reckon::compared(facts.check, &rival.commitment.claim, theirs);
                known.map(|known| known.agrees).or(*like_rival).or(Some(false))
            }
        };
        if like != *like_rival {
            let reason = format!("its result {}", or_nothing(theirs.output));
            let what = format!("whether {auditor} agrees with the first that differs");
            self.faults.differs(what, or_nothing(*like_rival), or_nothing(like), reason);
        }
        if known.is_none() {
            self.believe(format!(
                "the answer of {auditor} is {distance} millionths of what is tolerated from the claim"
            ));
        }
    }

    /// There is a vote if the first answer differs, and no more of it than it takes.
    fn votes(&mut self, facts: &Facts, audit: &Audit) {
        let is_contested = reckon::first_answer(audit).is_some_and(|first| !first.agrees);
        let samples = if is_contested { reckon::samples(&audit.jurors) } else { 0..=0 };
        if !samples.contains(&audit.sample) {
            let rule = format!("{} to {} with these jurors and answers", samples.start(), samples.end());
            self.faults.impossible("how many each poll asks", audit.sample, rule);
        }
        let most = if is_contested { usize::MAX } else { 1 };
        let superfluous = if is_contested { reckon::vote(audit).1 } else { 0 };
        if audit.polls.len() > most || superfluous > 0 {
            let needed = audit.polls.len().min(most) - superfluous;
            let says = audit.polls.len();
            self.faults.impossible("the number of polls", says, format!("{needed}, because that decides"));
        }
        let (step, _) = reckon::vote(audit);
        let open = is_contested && step == proof::Step::Undecided && !reckon::is_unrepeatable(audit);
        if audit.referee.is_some() && !open {
            let rule = "nobody, because it was decided without one";
            self.faults.impossible("the referee", or_nothing(audit.referee), rule);
        }
        if is_contested && step == proof::Step::Again && facts.verdict == Verdict::Undecided {
            self.believe("the job ended while a vote was under way");
        }
    }
}

/// What a measured distance says. What machines were seen to differ by may be tolerated beyond the job's own tolerance, if
/// the job wants that; how much that is, the hub knows.
fn measured(check: Rule, answer: &Answer) -> Compared {
    let right = Compared::at(answer.distance);
    let learns = matches!(check, Rule::Numeric { learned: true, .. });
    let agrees = right.agrees || (learns && answer.agrees && right != Compared::APART);
    Compared { agrees, ..right }
}

fn names(keys: &[WorkerKey]) -> String {
    if keys.is_empty() {
        return "nobody".to_owned();
    }
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
