//! The workers of a world, and what each of them answers.
use gleaner_core::proof::{Policy, Record, floor, rate};
use gleaner_wire::{Amount, Hash, WorkerKey};

use super::setting::Setting;
use crate::chance::{Chance, mix_two};

/// What a minute costs on average, in units: 0.36 GLN an hour.
const PRICE: u64 = 6_000_000;
/// What a verdict takes: half of the 1 GLN that an order locks, 83 minutes' pay.
pub(super) const VERDICT_TAKES: Amount = Amount(500_000_000);
/// Stakes, in GLN. How large they are decides how often somebody is drawn, and nothing else.
const STAKE_MIN: u64 = 10;
const STAKE_MAX: u64 = 100;
/// The most workers of one owner.
const WORKERS_MAX: u64 = 3;
/// One audit in a hundred is not answered by an honest worker, because its owner came back.
const GIVES_UP_PER_MILLE: u32 = 10;
/// Lazy workers who cannot see audits guess that one task in so many is one.
const GUESS_ONE_IN: u64 = 20;

/// What a worker is up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Honest,
    Liar,
    Lazy,
}

/// What somebody says the result of a task is. Two who computed it say the same, up to noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Answer {
    Right,
    /// What everybody in the league says.
    Agreed,
    /// What only this worker says.
    Own(usize),
}

/// One worker.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    pub owner: usize,
    pub role: Role,
    pub class: usize,
    pub key: WorkerKey,
    pub price: Amount,
    pub stake: Amount,
    pub record: Record,
    /// The rate of the round that is being drawn.
    pub rate: u32,
    /// Paid tasks delivered since it joined.
    pub delivered: u64,
}

/// Whoever owns some workers. They come and go together.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub workers: Vec<usize>,
    pub role: Role,
    /// The round in which it joins; it is here from then on.
    pub from: u64,
    /// How often its workers were found wrong.
    pub wrong: u32,
    /// The order in which that was last; its lock is gone.
    pub wrong_in: Option<u64>,
    /// What is not paid yet.
    pub exposure: Amount,
}

/// Everybody.
#[derive(Clone, Debug)]
pub(super) struct People {
    pub workers: Vec<Worker>,
    pub owners: Vec<Owner>,
    /// Whether a league that builds trust first has begun to lie.
    pub struck: bool,
}

impl People {
    /// The people of a world, who join within the first rounds.
    pub fn new(setting: &Setting, workers: usize, joining_rounds: u64, chance: &mut Chance) -> Self {
        let mut people = Self { workers: Vec::new(), owners: Vec::new(), struck: !(setting.league && setting.patient) };
        let liars = workers * setting.liars as usize / 1000;
        let lazy = setting.lazy.map_or(0, |lazy| workers * lazy.share as usize / 1000);
        let split = setting.sybils as usize;
        for (role, count) in [(Role::Liar, liars), (Role::Lazy, lazy), (Role::Honest, workers - liars - lazy)] {
            let until = people.workers.len() + count;
            while people.workers.len() < until {
                let left = (until - people.workers.len()) as u64;
                // Who splits a stake pretends that each part is somebody else's.
                let size = if role == Role::Liar && split > 1 { 1 } else { chance.between(1, WORKERS_MAX).min(left) };
                let (from, exposure) = (chance.below(joining_rounds.max(1)), Amount::ZERO);
                people.owners.push(Owner { workers: Vec::new(), role, from, wrong: 0, wrong_in: None, exposure });
                (0..size).for_each(|_| people.add(setting, chance));
            }
        }
        for owner in 0..people.owners.len() {
            people.renew(owner, setting, chance);
        }
        people
    }

    fn add(&mut self, setting: &Setting, chance: &mut Chance) {
        let (at, owner) = (self.workers.len(), self.owners.len() - 1);
        self.owners[owner].workers.push(at);
        self.workers.push(Worker {
            owner,
            role: self.owners[owner].role,
            class: super::noise::class(chance.below(1000)),
            key: WorkerKey([0; 32]),
            price: Amount(chance.log_uniform(PRICE / 2, PRICE * 2) * u64::from(setting.minutes)),
            stake: Amount::ZERO,
            record: Record::default(),
            rate: 0,
            delivered: 0,
        });
    }

    /// Somebody comes, or comes back as somebody else: with a new stake, and nothing known of it.
    pub fn renew(&mut self, owner: usize, setting: &Setting, chance: &mut Chance) {
        (self.owners[owner].wrong, self.owners[owner].wrong_in) = (0, None);
        for at in self.owners[owner].workers.clone() {
            let worker = &mut self.workers[at];
            let parts = if worker.role == Role::Liar { u64::from(setting.sybils.max(1)) } else { 1 };
            // So much must stand behind every worker.
            worker.stake = Amount::gln((chance.log_uniform(STAKE_MIN, STAKE_MAX) / parts).max(STAKE_MIN));
            worker.key = WorkerKey(Hash::of(&chance.next().to_le_bytes()).0);
            worker.record = Record::default();
            worker.delivered = 0;
        }
    }

    /// What is known of a worker: its own record, and how often its owner's workers were wrong.
    pub fn record(&self, at: usize) -> Record {
        let worker = &self.workers[at];
        Record { bad: worker.record.bad.max(self.owners[worker.owner].wrong), ..worker.record }
    }

    /// Whether a worker is audited as rarely as it ever will be.
    fn is_trusted(&self, at: usize, policy: &Policy) -> bool {
        rate(&self.record(at), policy) <= floor(&self.record(at), policy)
    }

    /// A league begins to lie once all of it is trusted, so that as many as possible vouch for each other.
    pub fn look_around(&mut self, policy: &Policy) {
        let waits = |at: usize| self.workers[at].role == Role::Liar && !self.is_trusted(at, policy);
        self.struck |= !(0..self.workers.len()).any(waits);
    }

    /// What a worker answers to a paid task.
    pub fn claim(&self, at: usize, task: u64, setting: &Setting, policy: &Policy) -> Answer {
        match self.workers[at].role {
            Role::Honest => Answer::Right,
            Role::Liar => self.liar(at, task, setting, policy),
            Role::Lazy => self.lazy(at, task, setting, None),
        }
    }

    /// What it answers when the task is an audit of somebody's claim; nothing, if it gives it up.
    pub fn audit(
        &self,
        at: usize,
        task: u64,
        claim: (usize, Answer),
        setting: &Setting,
        policy: &Policy,
    ) -> Option<Answer> {
        let (claimant, claimed) = claim;
        match self.workers[at].role {
            Role::Honest => {
                let gives_up = mix_two(task, at as u64) % 1000 < u64::from(GIVES_UP_PER_MILLE);
                (!gives_up).then_some(Answer::Right)
            }
            // A league has noticed that one of its own was given the same task.
            Role::Liar if setting.league && self.workers[claimant].role == Role::Liar => Some(claimed),
            Role::Liar if setting.sees_audits => Some(Answer::Right),
            Role::Liar => {
                let answer = self.liar(at, task, setting, policy);
                (answer == Answer::Right || !setting.drops).then_some(answer)
            }
            Role::Lazy => Some(self.lazy(at, task, setting, Some(claimed))),
        }
    }

    fn liar(&self, at: usize, task: u64, setting: &Setting, policy: &Policy) -> Answer {
        let waits = setting.patient && (!self.struck || !self.is_trusted(at, policy));
        // A league lies about the same tasks, so that whoever of it is asked gives the same answer.
        let whose = if setting.league { u64::MAX } else { at as u64 };
        let lies = !waits && mix_two(mix_two(setting.seed, task), whose).is_multiple_of(u64::from(setting.one_in));
        match (lies, setting.league) {
            (false, _) => Answer::Right,
            (true, true) => Answer::Agreed,
            (true, false) => Answer::Own(at),
        }
    }

    fn lazy(&self, at: usize, task: u64, setting: &Setting, claimed: Option<Answer>) -> Answer {
        let sees = setting.lazy.is_some_and(|lazy| lazy.sees);
        match (sees, claimed) {
            (true, Some(claimed)) => claimed,
            (true, None) => Answer::Right,
            (false, _) if mix_two(task, at as u64).is_multiple_of(GUESS_ONE_IN) => Answer::Own(at),
            (false, _) => Answer::Right,
        }
    }
}
