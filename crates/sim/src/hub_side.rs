//! What the hub's shell does in the world: hears workers, acts on effects, answers clients.
use gleaner_core::{Effect, Event, Session, Terms};
use gleaner_wire::{Amount, Hash, JobId, Millis, ToHub, ToWorker, WorkerId, WorkerKey};

use crate::chain::Chain;
use crate::chance::mix_two;
use crate::scenario::MILLISECOND;
use crate::testing::Test;
use crate::world::{Answer, What, World};

/// The longest that a draw takes.
const ROUND_MS_MAX: u64 = 3000;
/// How long the archive takes.
const ARCHIVE_TIME: u64 = 20 * MILLISECOND;
/// How long the hub has been able to hold a connection that was replaced.
const REPLACED_MS_MAX: u64 = 20_000;

impl World<'_> {
    /// A message reached the hub, if the hub still knows its connection.
    pub fn hub_hears(&mut self, worker: u32, session: u64, message: ToHub) -> Result<(), String> {
        if !self.hub_up {
            return Ok(());
        }
        if let ToHub::Hello { key, offer, resting, held, .. } = message {
            offer.check().map_err(|error| error.to_string())?;
            if let Some(provider) = offer.provider {
                self.see_stake(provider)?;
            }
            if !self.hub_up {
                return Ok(());
            }
            if let Some(old) = self.sessions[worker as usize].replace(session) {
                let seen = self.now + self.chance.below(REPLACED_MS_MAX) * MILLISECOND;
                self.agenda.note(seen, What::Ended { worker, session: old });
                self.agenda.note(seen, What::Cut { worker, session: old });
            }
            self.tell(Event::WorkerJoined { key, session: Session(session), offer, resting, held })?;
            return self.say_whose(key, session);
        }
        let (Some(id), true) = (self.numbers[worker as usize], self.sessions[worker as usize] == Some(session)) else {
            let seen = self.now + self.latency(worker);
            self.agenda.note(seen, What::Cut { worker, session });
            return Ok(());
        };
        match message {
            ToHub::Heartbeat { held } => self.tell(Event::LeasesRenewed { worker: id, held }),
            ToHub::Finished { batch, results, .. } => {
                self.tell(Event::AttemptsFinished { worker: id, batch, results })?;
                self.send_to_worker(worker, ToWorker::Acknowledge { batch, earned: Amount::ZERO });
                Ok(())
            }
            ToHub::Bids(bids) => self.tell(Event::BidsSealed { worker: id, bids }),
            ToHub::Reveals(bids) => self.tell(Event::BidsOpened { worker: id, bids }),
            ToHub::Holds(held) => self.tell(Event::Holds { worker: id, held }),
            ToHub::Resting(devices) => self.tell(Event::DevicesRest { worker: id, devices }),
            ToHub::Prices(prices) => self.tell(Event::Repriced { worker: id, prices }),
            ToHub::Saved { attempt, checkpoint } => self.tell(Event::Saved { worker: id, attempt, checkpoint }),
            ToHub::Leaving => {
                self.sessions[worker as usize] = None;
                self.tell(Event::WorkerLeft { worker: id, session: Session(session) })
            }
            ToHub::Log { .. } | ToHub::Hello { .. } | ToHub::Machine(_) | ToHub::Set { .. } => Ok(()),
        }
    }

    /// The operator says whose a worker is, and now and then when the platform's own help.
    fn say_whose(&mut self, key: WorkerKey, session: u64) -> Result<(), String> {
        // Drawn apart, so that worlds without such workers stay as they are.
        let drawn = mix_two(self.scenario.seed ^ 0x0a11, session);
        if !self.scenario.managing || !drawn.is_multiple_of(3) {
            return Ok(());
        }
        if self.hub_up {
            self.tell(Event::WorkerManaged { key, managed: drawn & 16 == 0 })?;
        }
        if self.hub_up && drawn & 32 == 0 {
            let (wait_ms, idle_ms) = (Millis(drawn >> 20 & 0xfff), Millis(drawn >> 32 & 0x3fff));
            let workers_max = (drawn >> 50 & 7) as u32;
            self.tell(Event::DemandTermsSet { terms: Terms { wait_ms, idle_ms, workers_max } })?;
        }
        Ok(())
    }

    /// Keeps the world's own tables, whether or not the hub lives to act on the effect.
    pub fn note_effect(&mut self, effect: &Effect) {
        match effect {
            Effect::WelcomeWorker { worker, session } => {
                let index = session.0 as u32;
                self.numbers[index as usize] = Some(*worker);
                if self.indices.len() <= worker.0 as usize {
                    self.indices.resize(worker.0 as usize + 1, u32::MAX);
                }
                self.indices[worker.0 as usize] = index;
            }
            Effect::AcceptJob { ticket, job, .. } => {
                let at = job.0 as usize;
                if self.plans.len() <= at {
                    self.plans.resize(at + 1, None);
                }
                self.plans[at] = Some(ticket.0 as usize);
            }
            Effect::ArchiveJob { job } => self.note_end(*job),
            Effect::StartAttempt { .. }
            | Effect::CancelAttempt { .. }
            | Effect::TellPaused { .. }
            | Effect::Screen { .. }
            | Effect::TellScreened { .. }
            | Effect::DisconnectWorker { .. }
            | Effect::RefuseWorker { .. }
            | Effect::LockOrder { .. }
            | Effect::RefuseJob { .. }
            | Effect::AnnounceJob { .. }
            | Effect::AnnounceWorker { .. }
            | Effect::AnnounceFailure { .. }
            | Effect::DrawRound { .. }
            | Effect::Accuse { .. }
            | Effect::InviteBid { .. }
            | Effect::AskReveal { .. }
            | Effect::DrawLot { .. }
            | Effect::AnnounceDemand
            | Effect::YieldAttempt { .. } => {}
        }
    }

    fn note_end(&mut self, job: JobId) {
        if self.ended.contains_key(&job) {
            return;
        }
        self.ended.insert(job, self.now);
        let Some(view) = self.hub.core.job_view(job) else { return };
        self.useful += view.workers.iter().map(|tally| tally.ran_micros).sum::<u64>();
        self.spent += view.summary.spent.0;
        self.costs.insert(job, view.summary.spent.0);
    }

    /// Acts on effects.
    pub fn perform(&mut self, effects: &[Effect]) {
        let mut at = 0;
        while let Some(effect) = effects.get(at) {
            at += 1;
            match effect {
                Effect::WelcomeWorker { worker, session } => {
                    let (token, hub) = (String::new(), key(u32::MAX));
                    let message = ToWorker::Welcome { worker: *worker, heartbeat_ms: Millis(0), token, hub };
                    self.send_to_worker(session.0 as u32, message);
                }
                Effect::StartAttempt { worker, attempt } => {
                    let mut starts: Vec<_> = self.hub.core.start_message(*attempt).into_iter().collect();
                    // What follows for the same worker goes into the same message.
                    while let Some(Effect::StartAttempt { worker: other, attempt }) = effects.get(at) {
                        if other != worker {
                            break;
                        }
                        starts.extend(self.hub.core.start_message(*attempt));
                        at += 1;
                    }
                    self.send_to_worker(self.indices[worker.0 as usize], ToWorker::Start(starts));
                }
                Effect::CancelAttempt { worker, attempt } => {
                    self.send_to_worker(self.indices[worker.0 as usize], ToWorker::Cancel(vec![*attempt]));
                }
                Effect::YieldAttempt { worker, attempt, by_ms } => {
                    let told = ToWorker::Yield { attempt: *attempt, by_ms: *by_ms };
                    self.send_to_worker(self.indices[worker.0 as usize], told);
                }
                Effect::TellPaused { worker, paused } => {
                    self.send_to_worker(self.indices[worker.0 as usize], ToWorker::Paused(*paused));
                }
                Effect::Screen { worker, session, device, runtime } => {
                    self.test(Test { worker: *worker, session: *session, device: *device, runtime: *runtime });
                }
                Effect::TellScreened { worker, device, runtime, verdict } => {
                    let (device, runtime, verdict) = (*device, *runtime, verdict.clone());
                    let told = ToWorker::Screened { device, runtime, verdict };
                    self.send_to_worker(self.indices[worker.0 as usize], told);
                }
                Effect::InviteBid { worker, auction, device } => {
                    if let Some(invitation) = self.hub.core.invitation(*worker, *auction, *device) {
                        self.send_to_worker(self.indices[worker.0 as usize], ToWorker::Invite(vec![invitation]));
                    }
                }
                Effect::AskReveal { worker, auction, device } => {
                    let asked = ToWorker::Reveal(vec![(*auction, *device)]);
                    self.send_to_worker(self.indices[worker.0 as usize], asked);
                }
                Effect::DrawLot { auction } => self.draw_lot(*auction),
                Effect::DisconnectWorker { worker, .. } => self.hang_up(*worker),
                Effect::RefuseWorker { session, .. } => self.refuse_worker(*session),
                Effect::LockOrder { job } => self.send_lock(*job),
                Effect::AcceptJob { ticket, job, .. } => {
                    self.answers[ticket.0 as usize] = Answer::Accepted(*job);
                }
                Effect::RefuseJob { ticket, .. } => {
                    let before = std::mem::replace(&mut self.answers[ticket.0 as usize], Answer::Refused);
                    self.open_jobs -= usize::from(before == Answer::None);
                }
                Effect::ArchiveJob { job } => {
                    // A slow archive gives a late lock time to meet the ended job.
                    let takes = self.chain.as_mut().map_or(ARCHIVE_TIME, Chain::delay);
                    self.agenda.note(self.now + takes, What::Archived(*job));
                }
                Effect::DrawRound { round } => {
                    let takes = self.chance.between(1, ROUND_MS_MAX) * MILLISECOND;
                    self.agenda.note(self.now + takes, What::Drawn { round: *round });
                }
                Effect::AnnounceJob { .. }
                | Effect::AnnounceWorker { .. }
                | Effect::AnnounceFailure { .. }
                | Effect::Accuse { .. }
                | Effect::AnnounceDemand => {}
            }
        }
    }

    /// Chance has come for a round.
    pub fn draw(&mut self, round: u64) -> Result<(), String> {
        if !self.hub_up {
            return Ok(());
        }
        self.see_locks()?;
        if !self.hub_up {
            return Ok(());
        }
        let mut seed = [0; 32];
        seed.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&self.chance.next().to_le_bytes()));
        self.tell(Event::RoundDrawn { round, seed: Hash(seed) })
    }

    fn hang_up(&mut self, worker: WorkerId) {
        let worker = self.indices[worker.0 as usize];
        self.chain.iter_mut().for_each(|chain| chain.seen.workers_sent_away += 1);
        if let Some(session) = self.sessions[worker as usize].take() {
            self.agenda.note(self.now, What::Ended { worker, session });
            let seen = self.now + self.latency(worker);
            self.agenda.note(seen, What::Cut { worker, session });
        }
    }

    /// Sends on the connection that the hub has with the worker, if it has one.
    pub fn send_to_worker(&mut self, worker: u32, message: ToWorker) {
        let Some(session) = self.sessions[worker as usize].filter(|_| self.hub_up) else { return };
        if self.is_lost() {
            return;
        }
        let at = self.now + self.latency(worker);
        self.agenda.note(at, What::ToWorker { worker, session, message: Box::new(message) });
    }

    /// Whether a message does not arrive.
    pub fn is_lost(&mut self) -> bool {
        !self.calm && self.scenario.faults.lost > 0 && self.chance.hits(self.scenario.faults.lost)
    }

    /// How long a message takes; different for each where messages are to overtake one another.
    pub fn latency(&mut self, worker: u32) -> u64 {
        let base = u64::from(self.scenario.workers[worker as usize].latency_ms) * MILLISECOND;
        match self.scenario.faults.late_ms {
            late if late > 0 && !self.calm => base + self.chance.below(late * MILLISECOND),
            _ => base,
        }
    }
}

/// The key of a worker.
pub(crate) fn key(worker: u32) -> WorkerKey {
    let mut bytes = [0x6b; 32];
    bytes[..4].copy_from_slice(&worker.to_be_bytes());
    WorkerKey(bytes)
}
