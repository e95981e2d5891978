//! Watches a running job until it has ended: its time, memory and disk, and what its owner orders.
//!
//! The same loop serves both back ends. It knows a job only as a [`Cage`] that can be told to end.

use crate::cgroup::{Group, Observed};
use crate::disk::{Disk, Sight, Verdict};
use crate::ending::{Doom, Exit, judge};
use crate::process_tree::{descendants, memory_bytes};
use crate::running::Order;
use crate::{Cause, Ending, Limits, Usage};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, timeout};

const TICK: Duration = Duration::from_millis(100);
/// A killed job that is still there after this time waits for a device or a network disk, and cannot be ended.
const END_TIME_MAX: Duration = Duration::from_secs(60);
/// How long a job may take to stand still, or to go on.
const TURN_TIME_MAX: Duration = Duration::from_secs(10);

/// A job as the supervisor sees it.
pub(crate) trait Cage: Send + Sync + 'static {
    /// Asks the program to end.
    fn terminate(&self) -> impl Future<Output = ()> + Send;
    /// Ends everything in the cage.
    fn kill(&self) -> impl Future<Output = ()> + Send;
    /// Stops everything where it is, or lets it go on, and says whether that is so now.
    fn freeze(&self, frozen: bool) -> impl Future<Output = bool> + Send;
    /// The process from which all in the cage descend, if this machine can see it.
    fn first_process(&self) -> Option<i32>;
}

/// What a supervisor needs.
#[derive(Debug)]
pub(crate) struct Watched<C> {
    pub(crate) cage: Arc<C>,
    pub(crate) group: Option<Group>,
    /// A group that is not ours, where there is no other.
    pub(crate) observed: Option<Observed>,
    pub(crate) disk: Disk,
    pub(crate) limits: Limits,
    /// Whether memory has to be measured here, because nothing else limits it.
    pub(crate) measure_memory: bool,
}

/// The running time, which stands still while the job is frozen.
#[derive(Debug)]
struct Clock {
    before: Duration,
    since: Option<Instant>,
}

impl Clock {
    fn new() -> Self {
        Self { before: Duration::ZERO, since: Some(Instant::now()) }
    }

    fn read(&self) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn run(&mut self, runs: bool) {
        self.before = self.read();
        self.since = runs.then(Instant::now);
    }
}

/// A change between running and standing still that is under way, beside everything else: an engine may take long over it.
struct Turn {
    frozen: bool,
    /// Who waits to hear of it.
    done: Option<oneshot::Sender<bool>>,
    work: JoinHandle<bool>,
}

struct Supervisor<C> {
    watched: Watched<C>,
    clock: Clock,
    turn: Option<Turn>,
    /// Whether it may stand still: it was told to, and has not been seen to go on since.
    still: bool,
    /// Whether it is to stand still.
    frozen: bool,
    /// Whether it is still to be asked to end, once it can hear it.
    unasked: bool,
    doom: Option<Doom>,
    /// The disk of the machine ran full; that is not the job's fault.
    machine_full: bool,
    kill_at: Option<Instant>,
    killed_at: Option<Instant>,
    look: Option<JoinHandle<(Sight, u64)>>,
    look_at: Instant,
    disk_peak_bytes: u64,
    memory_peak_bytes: u64,
}

/// Runs until the job has ended, and says how.
pub(crate) async fn supervise<C: Cage>(
    watched: Watched<C>,
    mut orders: mpsc::Receiver<Order>,
    mut exit: oneshot::Receiver<Exit>,
) -> Ending {
    let mut supervisor = Supervisor::new(watched);
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut listening = true;
    let exit = loop {
        tokio::select! {
            exit = &mut exit => break exit.unwrap_or_else(|_| lost()),
            order = orders.recv(), if listening => match order {
                Some(order) => supervisor.obey(order).await,
                None => {
                    listening = false;
                    supervisor.obey(Order::Stop { grace: Duration::ZERO }).await;
                }
            },
            turned = end_of(&mut supervisor.turn) => supervisor.turned(turned).await,
            _ = ticks.tick() => if let Some(exit) = supervisor.tick().await { break exit },
        }
    };
    supervisor.finish(exit).await
}

fn lost() -> Exit {
    Exit::Fault { what: "nobody saw how the program ended".into(), remedy: "Report this: it should not happen".into() }
}

/// The end of a turn, if one is under way.
async fn end_of(turn: &mut Option<Turn>) -> bool {
    match turn {
        Some(turn) => (&mut turn.work).await.unwrap_or(false),
        None => std::future::pending().await,
    }
}

impl<C: Cage> Supervisor<C> {
    fn new(watched: Watched<C>) -> Self {
        Self {
            watched,
            clock: Clock::new(),
            turn: None,
            still: false,
            frozen: false,
            unasked: false,
            doom: None,
            machine_full: false,
            kill_at: None,
            killed_at: None,
            look: None,
            look_at: Instant::now(),
            disk_peak_bytes: 0,
            memory_peak_bytes: 0,
        }
    }

    async fn obey(&mut self, order: Order) {
        match order {
            Order::Freeze { frozen, done } if self.doom.is_none() => self.begin_turn(frozen, Some(done)),
            Order::Freeze { done, .. } => drop(done),
            Order::Stop { grace } if grace.is_zero() => self.end(Doom::Stopped).await,
            Order::Stop { grace } => {
                self.doom.get_or_insert(Doom::Stopped);
                // An earlier moment stays: asking again is no way to live longer.
                let kill_at = Instant::now() + grace;
                self.kill_at = Some(self.kill_at.map_or(kill_at, |earlier| earlier.min(kill_at)));
                self.unasked = true;
                if self.still {
                    self.begin_turn(false, None);
                } else {
                    self.ask().await;
                }
            }
        }
    }

    /// Asks the program to end. An engine that does not answer must not put off the kill.
    async fn ask(&mut self) {
        self.unasked = false;
        let left = self.kill_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()));
        let _ = timeout(left, self.watched.cage.terminate()).await;
    }

    /// Has the job stand still, or go on. One turn comes after the other, and none is waited for here.
    fn begin_turn(&mut self, frozen: bool, done: Option<oneshot::Sender<bool>>) {
        if !frozen && self.clock.since.is_none() {
            self.clock.run(true);
        }
        (self.still, self.frozen) = (self.still || frozen, frozen);
        // Whoever waited for the turn before hears that it did not come about.
        let (cage, before) = (self.watched.cage.clone(), self.turn.take().map(|turn| turn.work));
        let work = tokio::spawn(async move {
            if let Some(before) = before {
                let _ = before.await;
            }
            timeout(TURN_TIME_MAX, cage.freeze(frozen)).await.unwrap_or(false)
        });
        self.turn = Some(Turn { frozen, done, work });
    }

    /// A turn has ended; `as_wanted` says whether the job stands still, or goes on, as it was told. Only from now on does the
    /// clock stand still as well.
    async fn turned(&mut self, as_wanted: bool) {
        let Some(turn) = self.turn.take() else { return };
        match (turn.frozen, as_wanted) {
            (true, true) if self.doom.is_none() => self.clock.run(false),
            // Half of it may stand still, or somebody wants it to end by now.
            (true, _) => self.begin_turn(false, None),
            (false, true) => self.still = false,
            // It is tried again with the next tick.
            (false, false) => {}
        }
        if let Some(done) = turn.done {
            let _ = done.send(as_wanted);
        }
        if !self.still && self.killed_at.is_some() {
            // Some engines kill nothing that stands still.
            self.kill().await;
        } else if !self.still && self.unasked {
            self.ask().await;
        }
    }

    async fn end(&mut self, doom: Doom) {
        self.doom.get_or_insert(doom);
        self.killed_at.get_or_insert_with(Instant::now);
        self.kill().await;
        // A process that stands still does not even die.
        if self.still {
            self.begin_turn(false, None);
        }
    }

    async fn kill(&self) {
        let _ = timeout(TURN_TIME_MAX, self.watched.cage.kill()).await;
    }

    async fn tick(&mut self) -> Option<Exit> {
        if let Some(observed) = &mut self.watched.observed {
            observed.look();
        }
        if self.still && !self.frozen && self.turn.is_none() {
            self.begin_turn(false, None);
        }
        if let Some(killed_at) = self.killed_at {
            return (killed_at.elapsed() > END_TIME_MAX).then(stuck);
        }
        if self.kill_at.is_some_and(|at| Instant::now() >= at) {
            self.end(Doom::Stopped).await;
        } else if self.clock.read() >= self.watched.limits.time {
            self.end(Doom::TimeUp).await;
        } else if self.watched.group.as_ref().is_some_and(Group::out_of_memory) {
            self.end(Doom::OutOfMemory).await;
        } else if let Some(doom) = self.looked().await {
            self.end(doom).await;
        }
        None
    }

    /// Begins a look at disk and memory when one is due, and takes up what the last one saw.
    async fn looked(&mut self) -> Option<Doom> {
        if self.look.as_ref().is_some_and(JoinHandle::is_finished) {
            let (sight, memory) = self.look.take()?.await.ok()?;
            self.look_at = Instant::now() + sight.pause;
            return self.weigh(sight, memory);
        }
        if self.look.is_none() && Instant::now() >= self.look_at {
            let disk = self.watched.disk.clone();
            let first = self.watched.cage.first_process();
            self.look = Some(spawn_blocking(move || look(&disk, first)));
        }
        None
    }

    fn weigh(&mut self, sight: Sight, memory: u64) -> Option<Doom> {
        self.disk_peak_bytes = self.disk_peak_bytes.max(sight.bytes);
        self.memory_peak_bytes = self.memory_peak_bytes.max(memory);
        match sight.verdict {
            Verdict::Over => return Some(Doom::DiskFull),
            Verdict::MachineFull => {
                self.machine_full = true;
                return Some(Doom::Stopped);
            }
            Verdict::Fine => {}
        }
        let over = self.watched.measure_memory && memory > self.watched.limits.memory_bytes;
        over.then_some(Doom::OutOfMemory)
    }

    async fn finish(mut self, exit: Exit) -> Ending {
        let time = self.clock.read();
        // What it wrote in its last moments counts as well.
        let disk = self.watched.disk.clone();
        if let Ok(sight) = spawn_blocking(move || disk.look(&[])).await
            && let Some(doom) = self.weigh(sight, 0)
        {
            self.doom.get_or_insert(doom);
        }
        let group = self.watched.group.take().map(Arc::new);
        let measured = (self.memory_peak_bytes > 0).then_some(self.memory_peak_bytes);
        let observed = self.watched.observed.take();
        let seen = observed.as_ref();
        let usage = Usage {
            time,
            cpu: group.as_ref().and_then(|group| group.cpu()).or(seen.and_then(|seen| seen.cpu)),
            memory_peak_bytes: group
                .as_ref()
                .and_then(|group| group.memory_peak_bytes())
                .or(seen.and_then(|seen| seen.memory_peak_bytes))
                .or(measured),
            disk_peak_bytes: self.disk_peak_bytes,
        };
        let out_of_memory =
            group.as_ref().is_some_and(|group| group.out_of_memory()) || seen.is_some_and(|seen| seen.out_of_memory);
        let _ = spawn_blocking(move || drop(group)).await;
        let cause = if self.machine_full { machine_full() } else { judge(self.doom, out_of_memory, exit) };
        Ending { cause, usage }
    }
}

fn look(disk: &Disk, first: Option<i32>) -> (Sight, u64) {
    let mut processes = first.map(descendants).unwrap_or_default();
    processes.extend(first);
    (disk.look(&processes), memory_bytes(&processes))
}

fn stuck() -> Exit {
    Exit::Fault {
        what: format!("the program was killed and is still there after {} s", END_TIME_MAX.as_secs()),
        remedy: "A device or a network disk does not answer; look at `dmesg`, and restart the machine if it stays"
            .into(),
    }
}

fn machine_full() -> Cause {
    Cause::SandboxFault {
        what: "the disk of this machine ran full while the job was within its own limit".into(),
        remedy: "Free some space on the disk of the worker's folder".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cage that does as it is told, or not; what it was told is written down.
    #[derive(Debug)]
    struct Told {
        /// Whether it stands still when it is told to; it never answers where that is unknown.
        freezes: Option<bool>,
        heard: std::sync::Mutex<Vec<&'static str>>,
        exit: std::sync::Mutex<Option<oneshot::Sender<Exit>>>,
    }

    impl Told {
        fn hear(&self, word: &'static str) {
            self.heard.lock().expect("nobody panicked").push(word);
        }
    }

    impl Cage for Told {
        async fn terminate(&self) {
            self.hear("terminate");
        }

        async fn kill(&self) {
            self.hear("kill");
            if let Some(exit) = self.exit.lock().expect("nobody panicked").take() {
                let _ = exit.send(Exit::Code(137));
            }
        }

        async fn freeze(&self, frozen: bool) -> bool {
            self.hear(if frozen { "freeze" } else { "thaw" });
            match self.freezes {
                Some(stands) => !frozen || stands,
                None if frozen => std::future::pending().await,
                None => true,
            }
        }

        fn first_process(&self) -> Option<i32> {
            None
        }
    }

    type Job = (Arc<Told>, crate::Controls, JoinHandle<Ending>, tempfile::TempDir);

    fn job(freezes: Option<bool>) -> Job {
        let home = tempfile::tempdir().expect("a temporary folder");
        let limits = Limits::default();
        let folder = crate::Folder::create(home.path().join("job")).expect("a folder");
        let (exit_sender, exit) = oneshot::channel();
        let exit_sender = std::sync::Mutex::new(Some(exit_sender));
        let cage = Arc::new(Told { freezes, heard: std::sync::Mutex::default(), exit: exit_sender });
        let (running, orders, _ending) = crate::Running::new();
        let disk = Disk::new(&folder, &limits).expect("a disk");
        let watched = Watched { cage: cage.clone(), group: None, observed: None, disk, limits, measure_memory: false };
        (cage, running.controls(), tokio::spawn(supervise(watched, orders, exit)), home)
    }

    #[tokio::test]
    async fn job_whose_freezing_never_ends_is_stopped_all_the_same() {
        let (cage, controls, ending, _home) = job(None);
        let freezing = tokio::spawn({
            let controls = controls.clone();
            async move { controls.freeze().await }
        });
        while cage.heard.lock().expect("nobody panicked").is_empty() {
            tokio::task::yield_now().await;
        }
        controls.stop(Duration::ZERO).await;
        let cause = ending.await.expect("it ends").cause;
        assert_eq!(cause, Cause::Stopped);
        assert_eq!(*cage.heard.lock().expect("nobody panicked"), ["freeze", "kill"]);
        assert!(!freezing.await.expect("it is answered"), "it does not stand still");
    }

    #[tokio::test]
    async fn job_that_does_not_stand_still_goes_on_and_its_time_with_it() {
        let (cage, controls, ending, _home) = job(Some(false));
        let begun = Instant::now();
        assert!(!controls.freeze().await);
        assert!(controls.thaw().await);
        std::thread::sleep(Duration::from_millis(20));
        controls.stop(Duration::ZERO).await;
        let ended = ending.await.expect("it ends");
        assert!(ended.usage.time >= Duration::from_millis(20) && ended.usage.time <= begun.elapsed());
        let heard = cage.heard.lock().expect("nobody panicked").clone();
        assert_eq!(heard[..2], ["freeze", "thaw"], "what may stand half still is let go");
    }

    #[tokio::test]
    async fn job_that_stands_still_goes_on_before_it_is_asked_to_end() {
        let (cage, controls, ending, _home) = job(Some(true));
        assert!(controls.freeze().await);
        controls.stop(Duration::from_millis(300)).await;
        assert_eq!(ending.await.expect("it ends").cause, Cause::Stopped);
        assert_eq!(*cage.heard.lock().expect("nobody panicked"), ["freeze", "thaw", "terminate", "kill"]);
    }

    #[test]
    fn clock_stands_still_while_the_job_is_frozen() {
        let mut clock = Clock::new();
        clock.run(false);
        let frozen = clock.read();
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(clock.read(), frozen);
        clock.run(true);
        std::thread::sleep(Duration::from_millis(5));
        assert!(clock.read() > frozen);
    }
}
