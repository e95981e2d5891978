//! Rounds: everybody delivers as much as what it could lose speaks for, lots are drawn, claims are checked and paid.
use gleaner_core::proof::{Mark, Policy, RateView, WHOLE, is_selected, rate};
use gleaner_wire::{Amount, Hash};

use super::audit::Claim;
use super::noise::Noise;
use super::people::{Answer, People, Role, VERDICT_TAKES};
use super::setting::Setting;
use super::tally::{Outcome, Tally};
use crate::chance::Chance;

/// Workers of a world.
const WORKERS: usize = 100;
/// Everybody joins within the first rounds. A round takes a minute: an anchor, the block after it and two more.
const JOINING_ROUNDS: u64 = 400;
/// An honest worker stays for so many rounds on average: a week of work. Then a new one comes.
const STAY_ROUNDS: u64 = 10_000;
/// An order lasts for so many rounds, then the next one locks stakes anew.
const ORDER_ROUNDS: u64 = 360;
/// Who was thrown out is back two days later, under a new name and with a new stake.
const AWAY_ROUNDS: u64 = 2880;
/// The steady state begins when this share of all tasks is delivered, in percent.
pub const STEADY_AFTER_PERCENT: u64 = 15;

/// A world while it runs.
pub(super) struct World<'a> {
    pub setting: &'a Setting,
    pub policy: Policy,
    pub people: People,
    pub noise: Noise,
    pub tally: Tally,
    pub round: u64,
    chance: Chance,
    tasks: u64,
}

/// Runs a world to its end.
pub(super) fn run(setting: &Setting, policy: &Policy) -> Outcome {
    let mut chance = Chance::new(setting.seed);
    let people = People::new(setting, WORKERS, JOINING_ROUNDS, &mut chance);
    let (noise, tally, policy) = (Noise::new(setting.devices), Tally::default(), policy.clone());
    let mut world = World { setting, policy, people, noise, tally, round: 0, chance, tasks: 0 };
    while world.tasks < setting.jobs {
        world.come_and_go();
        world.people.look_around(&world.policy);
        let claims = world.deliver();
        world.settle(&claims);
        world.round += 1;
    }
    world.tally.outcome()
}

impl World<'_> {
    /// The first task of the steady state.
    fn warm_up(&self) -> u64 {
        self.setting.jobs * STEADY_AFTER_PERCENT / 100
    }

    fn come_and_go(&mut self) {
        for owner in 0..self.people.owners.len() {
            let here = self.people.owners[owner].from <= self.round;
            let honest = self.people.owners[owner].role == Role::Honest;
            if here && honest && self.chance.below(STAY_ROUNDS) == 0 {
                self.people.renew(owner, self.setting, &mut self.chance);
            }
        }
    }

    /// Everybody who is here takes on tasks and delivers.
    fn deliver(&mut self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for worker in 0..self.people.workers.len() {
            if self.people.owners[self.people.workers[worker].owner].from > self.round {
                continue;
            }
            // A worker delivers one task in a round, if what its owner could lose speaks for it.
            if self.figures(worker).may_take(self.people.workers[worker].price) {
                claims.push(self.claim(worker));
            }
        }
        for worker in 0..self.people.workers.len() {
            let figures = self.figures(worker);
            assert!(figures.deters(&self.policy), "{figures:?}");
            self.people.workers[worker].rate = figures.rate;
        }
        claims
    }

    /// What a worker's rate is now and why. What a verdict takes is gone once it was taken, until the next order.
    fn figures(&self, worker: usize) -> RateView {
        let owner = &self.people.owners[self.people.workers[worker].owner];
        let taken = owner.wrong_in == Some(self.order());
        let loses = if taken { Amount::ZERO } else { VERDICT_TAKES };
        RateView::of(&self.policy, &self.people.record(worker), loses, owner.exposure)
    }

    /// The order that everybody works for now.
    pub fn order(&self) -> u64 {
        self.round / ORDER_ROUNDS
    }

    fn claim(&mut self, worker: usize) -> Claim {
        let task = self.tasks;
        self.tasks += 1;
        let answer = self.people.claim(worker, task, self.setting, &self.policy);
        let steady = task >= self.warm_up();
        let at = &mut self.people.workers[worker];
        let exposure = &mut self.people.owners[at.owner].exposure;
        *exposure = Amount(exposure.0 + at.price.0);
        at.delivered += 1;
        self.tally.claims += u64::from(steady);
        self.tally.cheats_claims += u64::from(at.role != Role::Honest);
        let hash = Hash::of(&[&task.to_le_bytes()[..], &at.key.0[..8], &[u8::from(answer != Answer::Right)]].concat());
        Claim { worker, task, answer, hash }
    }

    /// Draws the round by a seed that comes after all claims, checks what the lots fall on, and pays.
    fn settle(&mut self, claims: &[Claim]) {
        let seed = Hash::of(&self.chance.next().to_le_bytes());
        for claim in claims {
            let selected = is_selected(&seed, &claim.hash, self.people.workers[claim.worker].rate.min(WHOLE));
            if !selected || self.check(claim, &seed) {
                self.pay(claim);
            } else {
                // Somebody does the task again.
                self.count_work(1);
            }
        }
        self.people.owners.iter_mut().for_each(|owner| owner.exposure = Amount::ZERO);
    }

    fn pay(&mut self, claim: &Claim) {
        let wrong = claim.answer != Answer::Right;
        if wrong {
            self.tally.cheat_paid();
        }
        if claim.task >= self.warm_up() {
            self.tally.paid += 1;
            self.tally.paid_wrong += u64::from(wrong);
        }
    }

    /// Counts work beside what is paid.
    pub fn count_work(&mut self, tasks: u64) {
        if self.tasks >= self.warm_up() {
            self.tally.audit_work += tasks;
        }
    }

    /// Takes a verdict into a worker's record, unless it is somebody else by now.
    pub fn note(&mut self, worker: usize, mark: Mark) {
        let at = &mut self.people.workers[worker];
        if self.people.owners[at.owner].from <= self.round {
            at.record.note(mark);
        }
    }

    /// Whether a worker's results are taken to be honest when something is learned from them.
    pub fn is_trusted(&self, worker: usize) -> bool {
        rate(&self.people.record(worker), &self.policy) <= self.policy.trusted
    }

    /// An owner is out. It will be back, and nobody will know it.
    pub fn send_away(&mut self, owner: usize) {
        let liar = self.people.owners[owner].role == Role::Liar;
        let away = if self.setting.besieged && liar { 1 } else { AWAY_ROUNDS };
        self.people.owners[owner].from = self.round + away;
        self.people.renew(owner, self.setting, &mut self.chance);
    }
}
