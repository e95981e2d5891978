//! The audit: who could be asked, whom the lots fell on, what they answered, and how that compares.
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use gleaner_core::proof;
use gleaner_wire::check::Compared;
use gleaner_wire::receipt::{
    Answer, Audit, Facts, JURORS_MAX, Juror, Poll, REFEREES_MAX, RIVALS_MAX, Referee, Side, Verdict, claim_hash,
};
use gleaner_wire::{Hash, WorkerKey};

use super::Check;
use crate::fault::or_nothing;
use crate::reckon;

/// What is tolerated where nothing is learned.
const CHECKS_OWN: RangeInclusive<u64> = Compared::TOLERATED..=Compared::TOLERATED;

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
        let bounds = [
            ("the number of jurors", audit.jurors.len(), JURORS_MAX),
            ("the number of different answers", audit.rivals.len(), RIVALS_MAX),
            ("the number of referees", audit.referees.len(), REFEREES_MAX),
        ];
        if let Some((what, says, most)) = bounds.into_iter().find(|(_, says, most)| says > most) {
            return self.faults.impossible(what, says, format!("at most {most}"));
        }
        self.jurors(facts, audit);
        let claim = claim_hash(&facts.commitment.claim);
        for (number, poll) in (0..).zip(&audit.polls) {
            self.poll(number, audit, poll, &seed, &claim);
        }
        self.rivals(facts, audit);
        self.answers(facts, audit);
        self.votes(facts, audit);
        self.referees(facts, audit, &seed, &claim);
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
    }

    /// Rivals are those who answered, and whose answers differ from the claim and from each other as far as can be seen.
    fn rivals(&mut self, facts: &Facts, audit: &Audit) {
        for (place, key) in (1..).zip(&audit.rivals) {
            let what = format!("the answer with the number {place}");
            let Some(answer) = reckon::answer_of(audit, key) else {
                self.faults.impossible(what, format!("that of {key}"), "the answer of somebody who gave one");
                continue;
            };
            let says = answer.side;
            self.faults.same(&format!("the side of {key}"), &says, &Side::at(place), || what.clone());
            let earlier = audit.rivals[..place - 1].iter().filter_map(|other| reckon::answer_of(audit, other));
            let others = earlier.map(|other| &other.commitment.claim).chain([&facts.commitment.claim]);
            let same = |other| reckon::compared(facts.check, other, &answer.commitment.claim) == Some(Compared::SAME);
            if others.into_iter().any(same) {
                let rule = "another one than the claim's and those of the rivals before it";
                self.faults.impossible(what, or_nothing(answer.commitment.claim.output), rule);
            }
        }
    }

    /// Those who were asked after the polls: the platform's own first, then jurors as the lot has it, and no more than it took.
    fn referees(&mut self, facts: &Facts, audit: &Audit, seed: &Hash, claim: &Hash) {
        let is_juror = |key: &WorkerKey| reckon::juror_of(audit, key).is_some();
        let (worker, owner) = (facts.placement.worker, facts.placement.provider);
        let keys = || audit.referees.iter().map(|referee| referee.key);
        if let Some(first) = keys().next().filter(|key| is_juror(key) || *key == worker) {
            let rule = "one of the platform's own, and neither a juror nor the worker";
            self.faults.impossible("the first referee", first, rule);
        }
        for Referee { key, provider } in &audit.referees {
            let says = format!("{key} of the owner {}", or_nothing(*provider));
            match reckon::juror_of(audit, key) {
                Some(juror) if juror.provider != *provider => {
                    let rule = format!("of the same owner as the juror, {}", or_nothing(juror.provider));
                    self.faults.impossible("a referee", says, rule);
                }
                None if provider.is_some() && *provider == owner => {
                    let rule = format!("of another owner than the worker's, {}", or_nothing(owner));
                    self.faults.impossible("a referee", says, rule);
                }
                Some(_) | None => (),
            }
        }
        let polled: BTreeSet<&WorkerKey> = audit.polls.iter().flat_map(|poll| &poll.drawn).collect();
        let lots =
            proof::auditors(seed, claim, proof::REFEREE_LOT, &reckon::candidates(&audit.jurors), audit.jurors.len());
        let left = lots.into_iter().map(|at| &audit.jurors[at]).filter(|juror| !polled.contains(&juror.key));
        let asked: Vec<WorkerKey> = keys().filter(is_juror).collect();
        let mut expected = Vec::new();
        for juror in left {
            let is_next = asked.get(expected.len()) == Some(&juror.key);
            if expected.len() < asked.len() && (is_next || !juror.gone) {
                expected.push(juror.key);
            }
        }
        if expected != asked {
            let reason = format!("the lot by the seed {seed} among those who had not answered");
            self.faults.differs("who was asked to confirm", names(&asked), names(&expected), reason);
        }
        let enough = |without: &usize| matches!(reckon::last_word(audit, *without), proof::Last::Decided(_));
        if (1..=audit.referees.len()).any(|without| enough(&without)) {
            let says = audit.referees.len();
            self.faults.impossible("the number of referees", says, "fewer, because that decides");
        }
        for key in keys().filter(|key| reckon::answer_of(audit, key).is_none()) {
            self.faults.impossible(format!("the answer of {key}"), "missing", "there, because it was asked");
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
        let votes = reckon::count(audit, &poll.drawn);
        if poll.votes != votes {
            let says = |votes: &[u32]| votes.iter().map(u32::to_string).collect::<Vec<_>>().join(" to ");
            let what = format!("the votes in poll {number}");
            self.faults.differs(what, says(&poll.votes), says(&votes), "the answers");
        }
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
            let counts = asked.contains(auditor) || reckon::is_referee(audit, auditor);
            if !counts && facts.verdict != Verdict::Undecided {
                self.faults.impossible(&*what, "an answer", "left out, because no lot fell on it");
            }
            self.comparison(facts, audit, answer);
        }
    }

    /// What the results compare to, as far as that can be seen from their hashes.
    fn comparison(&mut self, facts: &Facts, audit: &Audit, answer: &Answer) {
        let Answer { auditor, commitment, side, distance, tolerated } = answer;
        let (ours, theirs) = (&facts.commitment.claim, &commitment.claim);
        let known = reckon::compared(facts.check, ours, theirs);
        let right = known.unwrap_or(Compared { agrees: distance <= tolerated, distance: *distance });
        let reason = || match known {
            Some(_) => format!("its result {} beside {}", or_nothing(theirs.output), or_nothing(ours.output)),
            None => format!("a distance of {distance} where {tolerated} is tolerated"),
        };
        self.tolerated(facts, answer);
        self.faults.same(&format!("the distance of the answer of {auditor}"), distance, &right.distance, reason);
        let agrees = reckon::agrees(answer);
        self.faults.same(&format!("whether {auditor} agrees"), &agrees, &right.agrees, reason);
        if !right.agrees {
            let sided = self.side(facts, audit, answer);
            let reason = || format!("its result {}", or_nothing(theirs.output));
            self.faults.same(&format!("whom {auditor} agrees with"), side, &sided, reason);
        }
        if *side == Side::Alone && audit.rivals.len() < RIVALS_MAX {
            self.faults.impossible(
                format!("whom {auditor} agrees with"),
                side,
                "one of the different answers, or its own",
            );
        }
        if known.is_none() {
            self.believe(format!(
                "the answer of {auditor} is {distance} millionths of what the check tolerates from the claim"
            ));
        }
    }

    /// No less is tolerated than the check does; more only where the job lets the hub learn it.
    fn tolerated(&mut self, facts: &Facts, answer: &Answer) {
        let Answer { auditor, tolerated, .. } = answer;
        let bounds = if facts.check.learns() { Compared::TOLERATED..=u64::MAX - 1 } else { CHECKS_OWN };
        if !bounds.contains(tolerated) {
            let rule = match facts.check.learns() {
                true => "at least a million, and not everything",
                false => "a million, which is what the check says",
            };
            self.faults.impossible(format!("what is tolerated of {auditor}"), tolerated, rule);
        } else if *tolerated > Compared::TOLERATED {
            self.believe(format!(
                "honest devices like these two were seen to differ by {tolerated} millionths of what the check tolerates"
            ));
        }
    }

    /// Which side an answer that differs from the claim is on, as far as hashes tell; where they do not, the hub is believed.
    fn side(&self, facts: &Facts, audit: &Audit, answer: &Answer) -> Side {
        let theirs = &answer.commitment.claim;
        for (place, key) in (1..).zip(&audit.rivals) {
            let Some(rival) = reckon::answer_of(audit, key) else { continue };
            if *key == answer.auditor {
                return Side::at(place);
            }
            match reckon::compared(facts.check, &rival.commitment.claim, theirs) {
                Some(compared) if compared.agrees => return Side::at(place),
                Some(_) => (),
                None if answer.side == Side::at(place) => return answer.side,
                None => (),
            }
        }
        Side::Alone
    }

    /// There is a vote if the first answer differs, and no more of it than it takes.
    fn votes(&mut self, facts: &Facts, audit: &Audit) {
        let is_contested = reckon::first_answer(audit).is_some_and(|first| !reckon::agrees(first));
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
        let open = is_contested && step == proof::Step::Undecided;
        if !audit.referees.is_empty() && !open {
            let asked: Vec<WorkerKey> = audit.referees.iter().map(|referee| referee.key).collect();
            let rule = "nobody, because it was decided without";
            self.faults.impossible("who was asked after the polls", names(&asked), rule);
        }
        if audit.rivals.len() > audit.answers.len() || (!is_contested && !audit.rivals.is_empty()) {
            let says = audit.rivals.len();
            self.faults.impossible("the number of different answers", says, "that of the answers which differ");
        }
        if is_contested && step == proof::Step::Again && facts.verdict == Verdict::Undecided {
            self.believe("the job ended while a vote was under way");
        }
    }
}

pub(super) fn names(keys: &[WorkerKey]) -> String {
    if keys.is_empty() {
        return "nobody".to_owned();
    }
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
