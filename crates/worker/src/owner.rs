//! The owner comes first: watches the machine and its devices, and hands them back when they are wanted.
//!
//! A thread looks twice a second. What it sees goes to the governor of each device, which decides; what it decides is done
//! here: attempts are stopped, the hub is told, the owner's own idle command is started and ended.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use gleaner_machine::energy::{self, Meter, Millijoules, Milliwatts, TariffError};
use gleaner_machine::governor::{Effect, Governor, Hold, Ours, Reading, Reason, State, Usage, Verdict};
use gleaner_machine::idle::{self, GIVE_WAY_EVERY, Place, Runner, all_free};
use gleaner_machine::probe::Tree;
use gleaner_machine::watch::processor::{Load, Processor};
use gleaner_machine::watch::simulated::{FILE_NAME, Simulated};
use gleaner_machine::watch::{Look, Session, Watcher};
use gleaner_machine::{Device, Preferences};
use gleaner_sandbox::RunningContainers;
use gleaner_wire::machine::DeviceReading;
use gleaner_wire::{Amount, ByteSize, DeviceKind, DeviceOffer, Micros, Millis, Offer};
use tokio::sync::watch::Receiver;

use crate::agent::Agent;
use crate::config::Report;
use crate::energy_used;
use crate::price::{floor, is_news, price};
use crate::steering::Readings;

/// How often it is looked.
const EVERY: Duration = Duration::from_millis(500);
/// How often it is told what was earned, at most.
const TELL_EVERY: Duration = Duration::from_secs(10);
/// How often prices are reckoned anew.
const PRICE_EVERY: Duration = Duration::from_secs(10);
/// How often it is told how the devices do, at most.
const READ_EVERY: Duration = Duration::from_secs(10);
/// A file of this name in the worker's folder pauses it.
const PAUSED: &str = "paused";

const HOUR: Micros = Micros(3_600_000_000);

/// The owner's idle command, if there is one; tasks wait until it is gone.
#[derive(Default)]
pub struct IdleGate(Mutex<Option<(Runner, Preferences)>>);

impl IdleGate {
    fn lock(&self) -> MutexGuard<'_, Option<(Runner, Preferences)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the idle command, and returns when nothing of it is left. The gate is open to others while it waits: the owner's
    /// thread looks at the command as well, and has to go on looking.
    ///
    /// # Errors
    /// If it is still there although it was ended: nothing may start beside it.
    pub fn make_room(&self) -> Result<(), idle::Error> {
        let begun = Instant::now();
        loop {
            match &mut *self.lock() {
                Some((runner, preferences)) if runner.is_there() => {
                    if runner.give_way(now(), begun.elapsed(), preferences)? {
                        return Ok(());
                    }
                }
                Some(_) | None => return Ok(()),
            }
            std::thread::sleep(GIVE_WAY_EVERY);
        }
    }
}

/// What the owner's thread needs.
pub struct Ask {
    /// What the owner wrote.
    pub preferences: Preferences,
    /// The worker's folder.
    pub dir: PathBuf,
    /// The cards of each offered device, in the order of the offer.
    pub devices: Vec<Vec<Device>>,
    /// What is offered of each, in the same order.
    pub offers: Vec<DeviceOffer>,
    /// Whom it tells.
    pub report: Arc<dyn Fn(Report) + Send + Sync>,
}

/// The thread that watches for the owner. It ends when this is dropped.
pub struct Watching {
    stop: Arc<std::sync::atomic::AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.stop.store(true, std::sync::atomic::Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // There is nothing to learn from a panic at the end.
            let _ = thread.join();
        }
    }
}

/// Whether a worker in this folder is paused by its owner on this machine.
pub fn is_paused(dir: &Path) -> bool {
    dir.join(PAUSED).exists()
}

/// Pauses the worker in this folder, or gives it back.
pub fn set_paused(dir: &Path, paused: bool) -> std::io::Result<()> {
    let path = dir.join(PAUSED);
    match (paused, path.exists()) {
        (true, false) => std::fs::write(path, ""),
        (false, true) => std::fs::remove_file(path),
        (true, true) | (false, false) => Ok(()),
    }
}

/// Starts to watch. All devices rest until they were first looked at.
pub fn watch(agent: &Arc<Agent>, ask: Ask) -> std::io::Result<Watching> {
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let stopped = stop.clone();
    if ask.preferences.idle_command.is_some() {
        let place = Place { dir: ask.dir.clone(), mark: ask.dir.display().to_string() };
        *agent.idle.lock() = Some((Runner::new(place), ask.preferences.clone()));
    }
    let mut owner = Owner::new(agent.clone(), ask);
    // Before the first connection, so that no work comes to a device that is in use.
    owner.look();
    let thread = std::thread::Builder::new().name("owner".to_owned()).spawn(move || {
        while !stopped.load(std::sync::atomic::Ordering::Acquire) {
            std::thread::park_timeout(EVERY);
            owner.look();
        }
    })?;
    Ok(Watching { stop, thread: Some(thread) })
}

/// A card, which may be one of several that are offered as one device.
struct Card {
    /// The position of its device in the offer.
    device: u16,
    machine: Device,
    governor: Governor,
    /// What it has drawn while it worked.
    meter: Meter,
    /// How it was used when it was last looked at.
    usage: Usage,
}

struct Owner {
    agent: Arc<Agent>,
    ask: Ask,
    watcher: Watcher,
    cards: Vec<Card>,
    /// Since when a device is being handed back.
    yielding: Vec<Option<Instant>>,
    /// Why a device rests, as it was last told.
    told_why: Vec<Option<String>>,
    /// What was used before this start.
    used_before: u64,
    /// What was earned when it was last told, and when that was.
    told: (Amount, Instant),
    /// When prices were last reckoned.
    priced: Instant,
    /// What the owner wants, which may be set from afar.
    in_force: Receiver<Preferences>,
    /// The processor, and when it was last told how the devices do.
    processor: Processor,
    read: Option<Instant>,
}

impl Owner {
    fn new(agent: Arc<Agent>, ask: Ask) -> Self {
        let session = Session::of(
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        );
        let yielding = ask.devices.iter().map(|_| None).collect();
        for device in 0..ask.devices.len() as u16 {
            agent.rest(device, true);
        }
        let card = |device, machine: &Device| {
            let watts = energy::power(machine, ask.preferences.power(), None).0;
            let (machine, governor, meter) = (machine.clone(), Governor::new(), Meter::new(watts));
            Card { device, machine, governor, meter, usage: Usage::default() }
        };
        let devices = (0..).zip(&ask.devices);
        let cards = devices.flat_map(|(device, cards)| cards.iter().map(move |machine| (device, machine)));
        let cards = cards.map(|(device, machine)| card(device, machine)).collect();
        let used_before = energy_used::read(&ask.dir);
        let told_why = ask.devices.iter().map(|_| None).collect();
        let (watcher, priced) = (Watcher::new(Tree::at("/"), session), Instant::now());
        let told = (Amount::ZERO, priced);
        let in_force = agent.steering.in_force();
        let (processor, read) = (Processor::default(), None);
        Self { agent, watcher, cards, yielding, told_why, used_before, told, priced, in_force, processor, read, ask }
    }

    fn look(&mut self) {
        let is_set = self.in_force.has_changed().unwrap_or(false);
        if is_set {
            self.ask.preferences = self.in_force.borrow_and_update().clone();
        }
        let look = self.watcher.look();
        let simulated = Simulated::read(&self.ask.dir.join(FILE_NAME)).ok();
        let paused = *self.agent.paused.borrow() || is_paused(&self.ask.dir);
        let pids = self.our_pids();
        let mut verdicts: Vec<Vec<Verdict>> = self.ask.devices.iter().map(|_| Vec::new()).collect();
        for position in 0..self.cards.len() {
            let reading = self.reading(position, &look, simulated.as_ref(), paused, &pids);
            let card = &mut self.cards[position];
            let works = !self.agent.is_idle(card.device);
            card.meter.add(now(), reading.usage.power_mw.map(Milliwatts), works);
            let verdict = card.governor.step(now(), &reading, &self.ask.preferences);
            card.usage = reading.usage;
            verdicts[usize::from(card.device)].push(verdict);
        }
        // All devices are taken from their tasks before any of them is waited for.
        for (device, verdicts) in (0..).zip(&verdicts) {
            self.judge(device, verdicts);
        }
        for device in 0..self.ask.devices.len() as u16 {
            self.hand_back(device);
        }
        self.idle();
        self.tell_earnings();
        self.reprice(is_set);
        self.tell_readings();
    }

    /// Tells now and then how the devices do, and what their work costs.
    fn tell_readings(&mut self) {
        if self.read.is_some_and(|read| read.elapsed() < READ_EVERY) {
            return;
        }
        self.read = Some(Instant::now());
        let processor = self.processor.look(&Tree::at("/"));
        let devices = (0..self.ask.devices.len() as u16).map(|device| self.device_reading(device, processor)).collect();
        let readings = Readings { devices, energy: self.energy() };
        self.agent.steering.readings.send_if_modified(|known| std::mem::replace(known, readings.clone()) != readings);
    }

    fn device_reading(&self, device: u16, processor: Load) -> DeviceReading {
        let cards: Vec<&Card> = self.cards.iter().filter(|card| card.device == device).collect();
        let sum = |of: fn(&Usage) -> Option<u64>| {
            let known = cards.iter().map(|card| of(&card.usage)).collect::<Option<Vec<u64>>>()?;
            Some(known.into_iter().fold(0, u64::saturating_add)).filter(|_| !cards.is_empty())
        };
        let busy = sum(|usage| usage.busy_percent.map(u64::from)).map(|busy| (busy / cards.len() as u64) as u8);
        let hottest = cards.iter().filter_map(|card| card.usage.celsius).max();
        let runs_on_processor =
            cards.iter().all(|card| matches!(card.machine.kind, DeviceKind::Cpu | DeviceKind::Software));
        let processor = if runs_on_processor { processor } else { Load::default() };
        DeviceReading {
            load_percent: busy.or(processor.busy_percent),
            celsius: hottest.or(processor.celsius),
            memory_used: sum(|usage| usage.memory_used.map(|bytes| bytes.0)).map(ByteSize),
            milliwatts: sum(|usage| usage.power_mw),
            energy_per_hour: self.energy_per_hour(&cards),
        }
    }

    /// What an hour of work on these cards costs in electricity.
    fn energy_per_hour(&self, cards: &[&Card]) -> Option<Amount> {
        let tariff = self.ask.preferences.tariff().ok().flatten()?;
        let power = |card: &&Card| {
            energy::power(&card.machine, self.ask.preferences.power(), card.meter.under_load()).0.over(HOUR)
        };
        let used = cards.iter().map(power).fold(0, |sum: u64, energy| sum.saturating_add(energy.0));
        Some(tariff.cost(Millijoules(used)))
    }

    /// What the electricity for everything that was done has cost, if the owner named a tariff.
    fn energy(&self) -> Option<Amount> {
        let tariff = self.ask.preferences.tariff().ok().flatten()?;
        Some(tariff.cost(Millijoules(self.used())))
    }

    /// What everything that was done has used, in millijoules.
    fn used(&self) -> u64 {
        self.cards.iter().fold(self.used_before, |sum, card| sum.saturating_add(card.meter.used().0))
    }

    /// Asks other prices when the owner has said so, the market has moved, or the draw of a card is known better.
    fn reprice(&mut self, is_set: bool) {
        if self.priced.elapsed() < PRICE_EVERY && !is_set {
            return;
        }
        self.priced = Instant::now();
        // The tariff was right at the start.
        let Ok((prices, floors)) = self.reckon() else { return };
        let dear = prices.iter().any(|price| *price > Offer::PRICE_MAX);
        let is_news =
            is_set && *self.agent.prices.borrow() != prices || is_news(&self.agent.prices.borrow(), &prices, &floors);
        if !dear && is_news {
            self.agent.prices.send_replace(prices.clone());
            (self.ask.report)(Report::Repriced { prices });
        }
        self.agent.bidding.set_floors(floors);
    }

    /// What each device should ask for a second, and what it must.
    fn reckon(&self) -> Result<(Vec<Amount>, Vec<Option<Amount>>), TariffError> {
        let (preferences, market) = (&self.ask.preferences, self.agent.market.borrow());
        let of = |(device, offer): (u16, &DeviceOffer)| {
            let cards = || {
                let cards = self.cards.iter().filter(move |card| card.device == device);
                cards.map(|card| (&card.machine, card.meter.under_load()))
            };
            Ok((price(preferences, &market, offer, cards())?, floor(preferences, cards())?))
        };
        (0..).zip(&self.ask.offers).map(of).collect()
    }

    /// Says what was earned, and what the electricity for it cost, now and then if it became more.
    fn tell_earnings(&mut self) {
        let earned = *self.agent.earned.borrow();
        if earned == self.told.0 || self.told.1.elapsed() < TELL_EVERY {
            return;
        }
        self.told = (earned, Instant::now());
        energy_used::write(&self.ask.dir, self.used());
        let energy = self.energy();
        (self.ask.report)(Report::Earned { earned, energy });
    }

    fn reading(
        &self,
        position: usize,
        look: &Look,
        simulated: Option<&Simulated>,
        paused: bool,
        pids: &BTreeSet<u32>,
    ) -> Reading {
        let card = &self.cards[position];
        let busy = !self.agent.is_idle(card.device)
            || self.agent.idle.lock().as_ref().is_some_and(|(runner, _)| runner.is_there());
        let ours = Ours { pids: pids.clone(), tasks: u32::from(busy) };
        let reading = look.reading(&card.machine, ours, paused);
        match simulated {
            Some(simulated) => Reading { usage: simulated.usage(), owner: simulated.owner(), ..reading },
            None => reading,
        }
    }

    /// Does what the governors of a device's cards have decided: it is handed back if one of them is wanted, and shared when
    /// none is.
    fn judge(&mut self, device: u16, verdicts: &[Verdict]) {
        let position = usize::from(device);
        let all_free = verdicts.iter().all(|verdict| verdict.state == State::Free);
        for effect in verdicts.iter().flat_map(|verdict| &verdict.effects) {
            match effect {
                Effect::StopTaking | Effect::HandOff | Effect::EndNow => {
                    if self.yielding[position].is_none() && !self.agent.resting.borrow().contains(&device) {
                        self.yielding[position] = Some(Instant::now());
                    }
                    self.agent.rest(device, true);
                }
                Effect::FreeBy { .. } => {}
                Effect::Resume if all_free => self.agent.rest(device, false),
                Effect::Resume => {}
            }
        }
        self.tell_why(device, verdicts, all_free);
    }

    /// Says why a device rests when that has changed, and when it works again.
    fn tell_why(&mut self, device: u16, verdicts: &[Verdict], all_free: bool) {
        let holds = verdicts.iter().flat_map(|verdict| &verdict.holds);
        let why = (!all_free).then(|| words(holds));
        let known = &mut self.told_why[usize::from(device)];
        // While its quiet time runs the reasons come and go; the first one stays.
        let is_news = match (&*known, &why) {
            (None, Some(why)) => !why.is_empty(),
            (Some(_), None) => true,
            (None, None) | (Some(_), Some(_)) => false,
        };
        if is_news {
            known.clone_from(&why);
            (self.ask.report)(Report::Rests { device, why });
        }
    }

    /// Waits until a device that is being handed back is free, within the time that the owner allows, and says how long that
    /// took.
    fn hand_back(&mut self, device: u16) {
        let Some(since) = self.yielding[usize::from(device)] else { return };
        let allowed = Duration::from_millis(self.ask.preferences.idle.free_within.0);
        let in_time = self.agent.wait_until_free(device, allowed.saturating_sub(since.elapsed()));
        self.yielding[usize::from(device)] = None;
        (self.ask.report)(Report::Freed { device, took: since.elapsed(), in_time });
        if !in_time {
            tracing::warn!(device, "a device was not free in time");
        }
    }

    /// The owner's own command runs while there is no work and everything is free.
    fn idle(&self) {
        let free = all_free(self.cards.iter().map(|card| card.governor.state()));
        if let Some((runner, preferences)) = &mut *self.agent.idle.lock() {
            // Looked at only now that nobody else has the gate: a task that begins later finds what is started here.
            let work = (0..self.ask.devices.len() as u16).any(|device| !self.agent.is_idle(device));
            if let Err(error) = runner.step(now(), work, free, preferences) {
                tracing::warn!(%error, "the idle command does not run");
            }
        }
    }

    /// This process and everything that it started, also in containers.
    fn our_pids(&self) -> BTreeSet<u32> {
        let ours = &self.agent.ours;
        let mut pids = processes_of(std::process::id(), |groups| ours.hold(groups));
        if let Some((runner, _)) = &*self.agent.idle.lock() {
            pids.extend(runner.pids());
        }
        pids
    }
}

/// By what processes that are no children of this one are known to be ours.
#[derive(Default)]
pub struct OurGroups {
    /// The name of the control groups of this worker's programs.
    pub name: String,
    /// The containers of an engine that puts them into groups of its own.
    pub containers: Option<RunningContainers>,
}

impl OurGroups {
    /// Whether the groups of a process, as `/proc/PID/cgroup` lists them, are ours.
    fn hold(&self, groups: &str) -> bool {
        let in_container = || self.containers.as_ref().is_some_and(|containers| containers.hold(groups));
        (!self.name.is_empty() && groups.contains(&self.name)) || in_container()
    }
}

/// The children of a process, theirs, and whatever is in groups that are ours.
fn processes_of(first: u32, is_ours: impl Fn(&str) -> bool) -> BTreeSet<u32> {
    let mut parents = Vec::new();
    let mut found = BTreeSet::from([first]);
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name may hold anything, brackets included; the parent is the second word after it.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        parents.extend(parent.map(|parent| (pid, parent)));
        let groups = std::fs::read_to_string(entry.path().join("cgroup")).unwrap_or_default();
        if is_ours(&groups) {
            found.insert(pid);
        }
    }
    loop {
        let more: Vec<u32> = parents
            .iter()
            .filter(|(pid, parent)| found.contains(parent) && !found.contains(pid))
            .map(|(pid, _)| *pid)
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

fn words<'a>(holds: impl Iterator<Item = &'a Hold>) -> String {
    let one = |hold: &Hold| match (hold.reason, hold.detail.as_str()) {
        (reason @ Reason::UnknownOwner, _) => format!("{reason}; `gleaner share --dedicated` shares it all the same"),
        (reason, "") => reason.to_string(),
        (reason, detail) => format!("{reason} ({detail})"),
    };
    // Cards of one device often rest for the same reason.
    let mut told: Vec<String> = Vec::new();
    for text in holds.map(one) {
        if !told.contains(&text) {
            told.push(text);
        }
    }
    told.join("; ")
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_children_are_ours() {
        let mut child = std::process::Command::new("/bin/sh").args(["-c", "sleep 60 & wait"]).spawn().expect("starts");
        let begun = Instant::now();
        let grown = loop {
            let ours = processes_of(std::process::id(), |_| false);
            if ours.contains(&child.id()) && ours.len() >= 3 || begun.elapsed() > Duration::from_secs(10) {
                break ours.len() >= 3;
            }
        };
        let theirs = processes_of(child.id(), |_| false);
        for pid in theirs {
            let pid = rustix::process::Pid::from_raw(pid as i32).expect("not zero");
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        child.wait().expect("ends");
        assert!(grown);
    }

    #[test]
    fn programs_of_this_worker_are_known_by_their_group_and_those_of_another_are_not() {
        let ours = OurGroups { name: "gleaner-w0123456789ab".to_owned(), containers: None };
        assert!(ours.hold("4:memory:/gleaner-w0123456789ab/a7\n"));
        assert!(!ours.hold("4:memory:/gleaner-wffffffffffff/a7\n") && !ours.hold("0::/user.slice\n"));
        assert!(!OurGroups::default().hold("0::/\n"), "a worker without groups of its own does not own everything");
    }

    #[test]
    fn a_worker_is_paused_by_a_file_and_given_back_without_it() {
        let dir = tempfile::tempdir().expect("a folder");
        assert!(!is_paused(dir.path()));
        set_paused(dir.path(), true).expect("pauses");
        set_paused(dir.path(), true).expect("pauses again");
        assert!(is_paused(dir.path()));
        set_paused(dir.path(), false).expect("resumes");
        assert!(!is_paused(dir.path()));
    }
}
