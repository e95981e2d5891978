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

/// A job as the supervisor sees it.
pub(crate) trait Cage: Send + Sync {
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
    pub(crate) cage: C,
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

struct Supervisor<C> {
    watched: Watched<C>,
    clock: Clock,
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
            _ = ticks.tick() => if let Some(exit) = supervisor.tick().await { break exit },
        }
    };
    supervisor.finish(exit).await
}

fn lost() -> Exit {
    Exit::Fault { what: "nobody saw how the program ended".into(), remedy: "Report this: it should not happen".into() }
}

impl<C: Cage> Supervisor<C> {
    fn new(watched: Watched<C>) -> Self {
        Self {
            watched,
            clock: Clock::new(),
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
            Order::Freeze { frozen, done } if self.doom.is_none() => {
                self.clock.run(!frozen);
                let _ = done.send(self.watched.cage.freeze(frozen).await);
            }
            Order::Freeze { done, .. } => drop(done),
            Order::Stop { grace } if grace.is_zero() => self.end(Doom::Stopped).await,
            Order::Stop { grace } => {
                self.thaw().await;
                self.doom.get_or_insert(Doom::Stopped);
                // An earlier moment stays: asking again is no way to live longer.
                let kill_at = Instant::now() + grace;
                self.kill_at = Some(self.kill_at.map_or(kill_at, |earlier| earlier.min(kill_at)));
                // An engine that does not answer must not put off the kill.
                let _ = timeout(grace, self.watched.cage.terminate()).await;
            }
        }
    }

    /// A frozen process does not even die.
    async fn thaw(&mut self) {
        if self.clock.since.is_none() {
            self.clock.run(true);
            self.watched.cage.freeze(false).await;
        }
    }

    async fn end(&mut self, doom: Doom) {
        self.doom.get_or_insert(doom);
        self.thaw().await;
        self.killed_at.get_or_insert_with(Instant::now);
        self.watched.cage.kill().await;
    }

    async fn tick(&mut self) -> Option<Exit> {
        if let Some(observed) = &mut self.watched.observed {
            observed.look();
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
