//! What machines tell of themselves for their owners, and what owners set of them. All of it is in memory: a machine says it
//! again when it connects, and nothing here decides where work goes.
mod penalty;

pub(crate) use penalty::penalty;

use crate::clock::wall_ms;
use gleaner_core::Session;
use gleaner_wire::machine::MachineReport;
use gleaner_wire::{Millis, WorkerId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Machines that are not connected whose last words are remembered: what they ask for, and what their work costs.
const GONE_MAX: usize = 10_000;
/// Settings that wait for the answer of one machine.
const ASKED_MAX: usize = 4;

/// What a machine answered to settings: what is in force, or why it does not take them.
pub(crate) type Answer = Result<MachineReport, String>;

/// What is known of a machine.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// What it said last; of one that is gone, without what was measured.
    pub(crate) report: MachineReport,
    /// When it said so.
    pub(crate) at: Millis,
}

struct Machine {
    /// The connection it is here by, if it is.
    session: Option<Session>,
    known: Option<Known>,
    asked: Vec<(u64, oneshot::Sender<Answer>)>,
}

/// Why a machine is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAsked {
    /// It is not connected.
    Gone,
    /// It has not answered what it was asked before.
    Busy,
}

/// All machines that have said something since the hub started.
#[derive(Default)]
pub(crate) struct Machines {
    all: Mutex<HashMap<WorkerId, Machine>>,
    next: AtomicU64,
}

/// A machine's connection; it is gone when this is dropped.
pub(crate) struct Here {
    machines: Arc<Machines>,
    worker: WorkerId,
    session: Session,
}

impl Drop for Here {
    fn drop(&mut self) {
        self.machines.left(self.worker, self.session);
    }
}

impl Machines {
    fn all(&self) -> MutexGuard<'_, HashMap<WorkerId, Machine>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A machine is connected. A connection that it had before counts no more.
    pub(crate) fn enter(self: &Arc<Self>, worker: WorkerId, session: Session) -> Here {
        let mut all = self.all();
        let known = all.remove(&worker).and_then(|before| before.known);
        all.insert(worker, Machine { session: Some(session), known, asked: Vec::new() });
        drop(all);
        Here { machines: Arc::clone(self), worker, session }
    }

    fn left(&self, worker: WorkerId, session: Session) {
        let mut all = self.all();
        let Some(machine) = all.get_mut(&worker).filter(|machine| machine.session == Some(session)) else { return };
        machine.session = None;
        machine.asked.clear();
        if let Some(known) = &mut machine.known {
            known.report.devices.iter_mut().for_each(|device| {
                let energy_per_hour = device.energy_per_hour;
                *device = gleaner_wire::machine::DeviceReading { energy_per_hour, ..Default::default() };
            });
        }
        let forgotten = machine.known.is_none() || all.len() > GONE_MAX;
        if forgotten {
            all.remove(&worker);
        }
    }

    /// A machine tells of itself.
    pub(crate) fn tell(&self, worker: WorkerId, session: Session, report: MachineReport) {
        if let Some(machine) = self.all().get_mut(&worker).filter(|machine| machine.session == Some(session)) {
            machine.known = Some(Known { report, at: Millis(wall_ms()) });
        }
    }

    /// What is known of a machine, and whether it is here.
    pub(crate) fn known(&self, worker: WorkerId) -> (Option<Known>, bool) {
        let all = self.all();
        let machine = all.get(&worker);
        (machine.and_then(|machine| machine.known.clone()), machine.is_some_and(|machine| machine.session.is_some()))
    }

    /// A number to ask a machine under, and where its answer comes; nothing comes if it leaves.
    pub(crate) fn ask(&self, worker: WorkerId) -> Result<(u64, oneshot::Receiver<Answer>), NotAsked> {
        let mut all = self.all();
        let machine = all.get_mut(&worker).filter(|machine| machine.session.is_some()).ok_or(NotAsked::Gone)?;
        machine.asked.retain(|(_, sender)| !sender.is_closed());
        if machine.asked.len() >= ASKED_MAX {
            return Err(NotAsked::Busy);
        }
        let (sender, receiver) = oneshot::channel();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        machine.asked.push((number, sender));
        Ok((number, receiver))
    }

    /// A machine answers.
    pub(crate) fn answer(&self, worker: WorkerId, session: Session, number: u64, answer: Answer) {
        if let Ok(report) = &answer {
            self.tell(worker, session, report.clone());
        }
        let mut all = self.all();
        let Some(machine) = all.get_mut(&worker).filter(|machine| machine.session == Some(session)) else { return };
        if let Some(position) = machine.asked.iter().position(|(asked, _)| *asked == number) {
            // Whoever asked may have gone.
            let _ = machine.asked.swap_remove(position).1.send(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::Amount;
    use gleaner_wire::machine::{DeviceReading, PricePolicy};

    fn report() -> MachineReport {
        let device =
            DeviceReading { load_percent: Some(70), energy_per_hour: Some(Amount(5)), ..DeviceReading::default() };
        let (price, hours) = (PricePolicy::Market, String::new());
        MachineReport { devices: vec![device], price, hours, energy: None, paired: true }
    }

    #[test]
    fn what_was_measured_goes_with_the_connection_and_the_rest_stays() {
        let machines = Arc::new(Machines::default());
        let worker = WorkerId(1);
        let here = machines.enter(worker, Session(1));
        machines.tell(worker, Session(1), report());
        assert_eq!(machines.known(worker).0.map(|known| known.report), Some(report()));
        drop(here);
        let (known, connected) = machines.known(worker);
        let device = known.expect("remembered").report.devices[0];
        assert_eq!((connected, device.load_percent, device.energy_per_hour), (false, None, Some(Amount(5))));
        assert_eq!(machines.ask(worker).err(), Some(NotAsked::Gone));
    }

    #[test]
    fn an_older_connection_says_nothing_of_a_newer_one() {
        let machines = Arc::new(Machines::default());
        let worker = WorkerId(1);
        let old = machines.enter(worker, Session(1));
        let _new = machines.enter(worker, Session(2));
        machines.tell(worker, Session(1), report());
        assert!(machines.known(worker).0.is_none());
        drop(old);
        assert!(machines.ask(worker).is_ok(), "it is still here");
    }

    #[test]
    fn an_answer_finds_who_asked_and_too_many_are_not_asked() {
        let machines = Arc::new(Machines::default());
        let worker = WorkerId(1);
        let here = machines.enter(worker, Session(1));
        let asked: Vec<_> = (0..ASKED_MAX).map(|_| machines.ask(worker).expect("asked")).collect();
        assert_eq!(machines.ask(worker).err(), Some(NotAsked::Busy));
        let mut asked = asked.into_iter();
        let (number, mut first) = asked.next().expect("asked");
        machines.answer(worker, Session(1), number, Err("no".to_owned()));
        assert_eq!(first.try_recv(), Ok(Err("no".to_owned())));
        let (_, mut second) = asked.next().expect("asked");
        drop(here);
        assert!(second.try_recv().is_err(), "whoever left does not answer");
    }
}
