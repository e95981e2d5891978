//! The check of one claim that the lot fell on: an audit, and where answers differ, polls and at last a referee.
use std::collections::BTreeMap;

use gleaner_core::proof::{Candidate, Mark, Step, Vote, auditors};
use gleaner_wire::Hash;
use gleaner_wire::receipt::{RIVALS_MAX, Side};

use super::people::{Answer, Role, VERDICT_TAKES};
use super::setting::Kind;
use super::world::World;
use crate::chance::{mix, mix_two};

/// Auditors that are asked one after the other until one of them answers.
const ASKED_MAX: usize = 4;
/// One agreement of trusted workers in so many is compared with another class of devices as well, to learn, and in so many
/// times as many once that pair is known.
const COMPARED_ONE_IN: u64 = 8;

/// What a worker delivered, and is to be paid for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    pub worker: usize,
    pub task: u64,
    pub answer: Answer,
    pub hash: Hash,
}

/// Who can be asked about a claim: one worker of each other owner.
struct Jury {
    workers: Vec<usize>,
    candidates: Vec<Candidate>,
}

/// Answers by whom; nothing for who gave none.
type Answers = BTreeMap<usize, Option<Answer>>;

impl World<'_> {
    /// Whether a claim is paid.
    pub fn check(&mut self, claim: &Claim, seed: &Hash) -> bool {
        let (jury, mut answers) = (self.jury(claim), Answers::new());
        let first = auditors(seed, &claim.hash, 0, &jury.candidates, ASKED_MAX);
        let auditor = first.into_iter().find(|at| self.ask(claim, jury.workers[*at], &mut answers).is_some());
        let upheld = match auditor.map(|at| jury.workers[at]) {
            None => self.referee(claim, &answers),
            Some(auditor) if !self.is_known(claim, auditor) => self.calibrate(claim, auditor, &answers),
            Some(auditor) if self.agrees(claim, auditor, &answers) => {
                self.note(claim.worker, Mark::Good);
                self.note(auditor, Mark::Good);
                self.learn(claim, auditor, &answers);
                true
            }
            Some(_) => self.vote(claim, seed, &jury, &mut answers),
        };
        for (worker, answer) in &answers {
            if answer.is_none() {
                self.note(*worker, Mark::GivenUp);
            }
        }
        upheld
    }

    /// Too little is known of what honest results differ by: a referee says what is paid, and nobody is blamed.
    fn calibrate(&mut self, claim: &Claim, auditor: usize, answers: &Answers) -> bool {
        let (one, other) = (self.place(claim.worker), self.place(auditor));
        self.noise.learn(claim.task, one, other, answers[&auditor] == Some(claim.answer));
        self.count_work(1);
        claim.answer == Answer::Right
    }

    fn is_known(&self, claim: &Claim, auditor: usize) -> bool {
        self.noise.is_known(self.place(claim.worker).1, self.place(auditor).1)
    }

    /// Those of the claimant's own class; if they are too few, those of classes that it can be compared with as well.
    fn jury(&self, claim: &Claim) -> Jury {
        let class = self.people.workers[claim.worker].class;
        let same = self.jury_of(claim, |other| self.noise.alike(class, other));
        let enough = same.workers.len() >= self.policy.voters_min as usize;
        if enough { same } else { self.jury_of(claim, |other| self.noise.comparable(class, other)) }
    }

    fn jury_of(&self, claim: &Claim, fits: impl Fn(usize) -> bool) -> Jury {
        let (mut workers, mut candidates) = (Vec::new(), Vec::new());
        let ours = self.people.workers[claim.worker].owner;
        for (number, owner) in self.people.owners.iter().enumerate() {
            if number == ours || owner.from > self.round {
                continue;
            }
            let fitting = || owner.workers.iter().filter(|at| fits(self.people.workers[**at].class));
            let count = fitting().count() as u64;
            if count == 0 {
                continue;
            }
            let nth = mix_two(claim.task, number as u64) % count;
            let at = *fitting().nth(nth as usize).expect("below the count");
            let weight = owner.workers.iter().map(|at| self.people.workers[*at].stake.0).sum();
            candidates.push(Candidate { key: self.people.workers[at].key, weight });
            workers.push(at);
        }
        Jury { workers, candidates }
    }

    /// Has a worker answer, once.
    fn ask(&mut self, claim: &Claim, worker: usize, answers: &mut Answers) -> Option<Answer> {
        if let Some(answer) = answers.get(&worker) {
            return *answer;
        }
        let answer = self.people.audit(worker, claim.task, (claim.worker, claim.answer), self.setting, &self.policy);
        self.count_work(u64::from(answer.is_some()));
        answers.insert(worker, answer);
        answer
    }

    /// Repeated polls, and what follows from them.
    fn vote(&mut self, claim: &Claim, seed: &Hash, jury: &Jury, answers: &mut Answers) -> bool {
        self.tally.votes += 1;
        let mut vote = Vote::beside_referees(&self.policy, jury.workers.len());
        let mut rivals = Vec::new();
        while let Some(poll) = vote.next_poll() {
            let drawn = auditors(seed, &claim.hash, poll, &jury.candidates, vote.sample());
            let drawn: Vec<usize> = drawn.into_iter().map(|at| jury.workers[at]).collect();
            let given: Vec<usize> =
                drawn.into_iter().filter(|worker| self.ask(claim, *worker, answers).is_some()).collect();
            self.add_rivals(claim, answers, &mut rivals);
            let sides = given.iter().map(|worker| self.side(claim, *worker, &rivals, answers));
            vote.count(&Side::counts(sides, rivals.len()));
        }
        match vote.step() {
            Step::Decided(side) => self.decide(claim, side, &rivals, answers),
            Step::Undecided | Step::Again => return self.referee(claim, answers),
        }
        vote.step() == Step::Decided(Side::Claim)
    }

    /// Adds those who answered something else than the claim and than all rivals so far.
    fn add_rivals(&self, claim: &Claim, answers: &Answers, rivals: &mut Vec<usize>) {
        let given = answers.iter().filter(|(_, answer)| answer.is_some()).map(|(worker, _)| *worker);
        for worker in given {
            if self.side(claim, worker, rivals, answers) == Side::Alone && rivals.len() < RIVALS_MAX {
                rivals.push(worker);
            }
        }
    }

    fn side(&self, claim: &Claim, worker: usize, rivals: &[usize], answers: &Answers) -> Side {
        if self.agrees(claim, worker, answers) {
            return Side::Claim;
        }
        let alike = rivals.iter().position(|rival| self.alike(claim, worker, *rival, answers));
        alike.map_or(Side::Alone, |place| Side::at(place + 1))
    }

    /// The side that won keeps its standing, and everybody whose answer differs from it loses its stake. An answer that
    /// differs from the claim but not from most others of the winning side was noise.
    fn decide(&mut self, claim: &Claim, winner: Side, rivals: &[usize], answers: &Answers) {
        let given = answers.iter().filter(|(_, answer)| answer.is_some()).map(|(worker, _)| *worker);
        let given: Vec<usize> = given.collect();
        let wins = |worker: &usize| self.side(claim, *worker, rivals, answers) == winner;
        let winners: Vec<usize> = given.iter().copied().filter(wins).collect();
        for worker in given {
            let alike = winners.iter().filter(|winner| self.alike(claim, worker, **winner, answers)).count();
            self.judge(worker, alike * 2 > winners.len());
        }
        self.judge(claim.worker, winner == Side::Claim);
    }

    /// Managed workers compute the task themselves. They are the platform's own, and right.
    fn referee(&mut self, claim: &Claim, answers: &Answers) -> bool {
        self.tally.refereed += 1;
        self.count_work(1);
        for (worker, answer) in answers {
            if let Some(answer) = answer {
                self.judge(*worker, *answer == Answer::Right);
            }
        }
        self.judge(claim.worker, claim.answer == Answer::Right);
        claim.answer == Answer::Right
    }

    fn judge(&mut self, worker: usize, right: bool) {
        self.note(worker, if right { Mark::Good } else { Mark::Bad });
        if !right {
            self.convict(worker);
        }
    }

    fn agrees(&self, claim: &Claim, worker: usize, answers: &Answers) -> bool {
        let classes = &self.people.workers;
        answers[&worker].is_some_and(|answer| {
            let ours = (claim.worker, classes[claim.worker].class, claim.answer);
            self.noise.agree(claim.task, ours, (worker, classes[worker].class, answer))
        })
    }

    fn alike(&self, claim: &Claim, one: usize, other: usize, answers: &Answers) -> bool {
        let of = |worker: usize| answers[&worker].map(|answer| (worker, self.people.workers[worker].class, answer));
        one == other || of(one).zip(of(other)).is_some_and(|(one, other)| self.noise.agree(claim.task, one, other))
    }

    /// Two trusted workers agree, so that what their results differ by is honest; now and then a third one of another class
    /// computes the task too, without being judged.
    fn learn(&mut self, claim: &Claim, auditor: usize, answers: &Answers) {
        if self.setting.devices == Kind::Exact || !self.is_trusted(claim.worker) || !self.is_trusted(auditor) {
            return;
        }
        let (one, other) = (self.place(claim.worker), self.place(auditor));
        self.noise.learn(claim.task, one, other, answers[&auditor] == Some(claim.answer));
        let lot = mix(claim.task);
        if self.setting.devices != Kind::Diverging || !lot.is_multiple_of(COMPARED_ONE_IN) {
            return;
        }
        let third = (mix_two(claim.task, 3) % self.people.workers.len() as u64) as usize;
        let here = self.people.owners[self.people.workers[third].owner].from <= self.round;
        let across = self.place(third);
        let often = (lot / COMPARED_ONE_IN).is_multiple_of(COMPARED_ONE_IN);
        if self.noise.is_known(one.1, across.1) && !often {
            return;
        }
        if here && self.is_trusted(third) && !self.noise.alike(one.1, across.1) {
            self.count_work(1);
            let same = self.people.claim(third, claim.task, self.setting, &self.policy) == claim.answer;
            self.noise.learn(claim.task, one, across, same);
        }
    }

    fn place(&self, worker: usize) -> (usize, usize) {
        (worker, self.people.workers[worker].class)
    }

    /// An owner loses what the order has locked of its stake, unless that is gone already; the second time it is out, with
    /// all its workers.
    fn convict(&mut self, worker: usize) {
        let (at, order) = (self.people.workers[worker].owner, self.order());
        let owner = &mut self.people.owners[at];
        if owner.from > self.round {
            return;
        }
        owner.wrong += 1;
        let (taken, out) = (owner.wrong_in.replace(order) == Some(order), owner.wrong >= self.policy.wrong_max);
        match owner.role {
            Role::Honest => self.tally.false_slashings += u64::from(!taken),
            Role::Liar | Role::Lazy if taken => (),
            Role::Liar | Role::Lazy => self.tally.cheat_slashed(VERDICT_TAKES, self.people.workers[worker].price),
        }
        if out {
            for worker in self.people.owners[at].workers.iter().map(|at| &self.people.workers[*at]) {
                self.tally.cheat_out(worker.role, worker.delivered);
            }
            self.send_away(at);
        }
    }
}
