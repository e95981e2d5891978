//! The keeper's loop: take in, commit, apply, perform, answer.
use super::Backlog;
use super::announce::Announcer;
use super::batch::Answers;
use super::command::{Command, Inbox, Question};
use super::outbox::Outboxes;
use crate::attempts::{End, Notes};
use crate::clock::Clock;
use crate::figures::Endings;
use crate::journal::{self, Batch, Journal, Recovered};
use crate::live::Live;
use crate::lock::FolderLock;
use crate::logs::LogWriter;
use crate::managed::DemandBell;
use crate::metrics::Metrics;
use crate::money::Bell;
use crate::proof::Drawer;
use crate::screen::Screener;
use crate::status::Status;
use crate::traces::Following;
use crate::webhooks;
use gleaner_core::{Core, Effect, Event, Session, Ticket};
use gleaner_wire::api::Submitted;
use gleaner_wire::{Amount, AttemptId, AuctionId, JobId, Millis, Outcome, WorkerId};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// Commands that share a commit.
const COMMANDS_PER_TURN_MAX: usize = 256;
/// Questions answered in one turn, so that they do not hold up commits.
const QUESTIONS_PER_TURN_MAX: usize = 32;
/// How long a batch that found no room on disk waits before it is tried again.
const RETRY_MS: u64 = 250;
/// The least time between two looks at deadlines.
const TIMER_MS_MIN: u64 = 5;
/// The longest time without a look at deadlines.
const TIMER_MS_MAX: u64 = 60_000;

/// Whether and how the keeper is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It goes on.
    No,
    /// It ends after its turn and leaves a snapshot.
    Clean,
    /// It ends as if the process had been killed.
    Abrupt,
}

/// What a keeper is made of.
pub(crate) struct Parts {
    pub(crate) journal: Journal,
    pub(crate) recovered: Recovered,
    pub(crate) inbox: Inbox,
    pub(crate) credit: Amount,
    pub(crate) bell: Bell,
    pub(crate) demand: DemandBell,
    pub(crate) screener: Screener,
    pub(crate) drawer: Drawer,
    pub(crate) live: Live,
    pub(crate) logs: LogWriter,
    pub(crate) attempts: Notes,
    pub(crate) following: Following,
    pub(crate) endings: Endings,
    pub(crate) webhooks: webhooks::Bell,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) status: Arc<Status>,
    pub(crate) ending: watch::Receiver<Ending>,
    pub(crate) runtime: tokio::runtime::Handle,
    pub(crate) lock: FolderLock,
}

/// Connections that wait for their welcome: the way to them, who to tell, what they hold.
type Joins = HashMap<Session, (Backlog, oneshot::Sender<WorkerId>, Vec<AttemptId>)>;

/// The keeper.
pub(crate) struct Keeper {
    pub(super) core: Core,
    pub(super) inbox: Inbox,
    pub(super) outboxes: Outboxes,
    pub(super) joins: Joins,
    pub(super) gone: Vec<(WorkerId, Session)>,
    /// Auctions that wait for a lot to be drawn.
    pub(super) lots_due: Vec<AuctionId>,
    pub(super) submissions: HashMap<Ticket, oneshot::Sender<Result<Submitted, String>>>,
    pub(super) requesters: HashSet<String>,
    pub(super) credit: Amount,
    pub(super) bell: Bell,
    pub(super) demand: DemandBell,
    pub(super) screener: Screener,
    pub(super) drawer: Drawer,
    pub(super) effects: Vec<Effect>,
    pub(super) to_archive: VecDeque<JobId>,
    pub(super) announcer: Announcer,
    pub(super) logs: LogWriter,
    pub(super) attempts: Notes,
    pub(super) following: Following,
    pub(super) endings: Endings,
    pub(super) webhooks: webhooks::Bell,
    pub(super) timer: Timer,
    pub(super) journal: Journal,
    clock: Clock,
    questions: Vec<Question>,
    pub(super) metrics: Arc<Metrics>,
    status: Arc<Status>,
    ending: watch::Receiver<Ending>,
    runtime: tokio::runtime::Handle,
    _lock: FolderLock,
}

/// When the core's deadlines are looked at.
#[derive(Default)]
pub(super) struct Timer {
    last: Millis,
}

impl Timer {
    /// Whether a deadline has passed; not more often than every [`TIMER_MS_MIN`].
    pub(super) fn due(&mut self, deadline: Option<Millis>, now: Millis) -> bool {
        let due = deadline.is_some_and(|deadline| deadline <= now) && now.since(self.last).0 >= TIMER_MS_MIN;
        if due {
            self.last = now;
        }
        due
    }

    fn wait(deadline: Option<Millis>, now: Millis) -> Duration {
        let span = deadline.map_or(TIMER_MS_MAX, |deadline| deadline.since(now).0);
        Duration::from_millis(span.clamp(TIMER_MS_MIN, TIMER_MS_MAX))
    }
}

impl Keeper {
    /// The way to whoever runs the demand hook.
    pub(crate) fn demand_bell(&self) -> DemandBell {
        self.demand.clone()
    }

    /// The way to the clerk of the money.
    pub(crate) fn bell(&self) -> Bell {
        self.bell.clone()
    }

    pub(crate) fn new(parts: Parts) -> Self {
        let Recovered { core, at, requesters, .. } = parts.recovered;
        Self {
            core,
            inbox: parts.inbox,
            outboxes: Outboxes::default(),
            joins: HashMap::new(),
            gone: Vec::new(),
            lots_due: Vec::new(),
            submissions: HashMap::new(),
            requesters,
            credit: parts.credit,
            bell: parts.bell,
            demand: parts.demand,
            screener: parts.screener,
            drawer: parts.drawer,
            effects: Vec::new(),
            to_archive: VecDeque::new(),
            announcer: Announcer::new(parts.live),
            logs: parts.logs,
            attempts: parts.attempts,
            following: parts.following,
            endings: parts.endings,
            webhooks: parts.webhooks,
            timer: Timer::default(),
            journal: parts.journal,
            clock: Clock::starting_at(at),
            questions: Vec::new(),
            metrics: parts.metrics,
            status: parts.status,
            ending: parts.ending,
            runtime: parts.runtime,
            _lock: parts.lock,
        }
    }

    /// Runs until told to end, or until the journal cannot go on.
    pub(crate) fn run(mut self) -> Result<(), journal::Error> {
        let result = self.run_turns();
        if let Err(error) = &result {
            tracing::error!(%error, "the hub stops: its journal cannot go on");
            self.status.refuse(format!("the hub has stopped: {error}"));
            return result;
        }
        if *self.ending.borrow() == Ending::Clean && self.journal.has_news() {
            let now = self.clock.now();
            if let Err(error) = self.journal.snapshot(now, &self.core) {
                tracing::warn!(%error, "no snapshot at the end; the next start replays the journal instead");
            }
        }
        result
    }

    fn run_turns(&mut self) -> Result<(), journal::Error> {
        let at = self.clock.now();
        let started = Batch { events: vec![Event::HubStarted], ..Batch::at(at) };
        self.commit_and_apply(started, Answers::default())?;
        // What has ended is on disk; what goes on is known here alone.
        self.core.all_placed().into_iter().for_each(|placed| self.attempts.started(placed, None));
        self.attempts.flush();
        let mut live_due = None;
        while *self.ending.borrow() == Ending::No {
            let commands = self.wait(live_due);
            let now = self.clock.now();
            let (batch, answers) = self.take_in(commands, now);
            if batch.events.is_empty() && answers.acknowledge.is_empty() {
                // What is only said needs no commit.
                self.outboxes.flush(&self.core);
            } else {
                self.commit_and_apply(batch, answers)?;
            }
            self.answer_questions();
            live_due = self.announcer.flush(&self.core);
            if self.journal.snapshot_due() {
                self.snapshot();
            }
        }
        Ok(())
    }

    /// Waits for commands, a question, a deadline or the end.
    fn wait(&mut self, live_due: Option<Instant>) -> Vec<Command> {
        let mut commands = Vec::new();
        let now = self.clock.now();
        let span = Timer::wait(self.core.next_deadline(), now);
        let span = live_due.map_or(span, |due| span.min(due.saturating_duration_since(Instant::now())));
        let at_once = !self.to_archive.is_empty() || !self.gone.is_empty() || !self.lots_due.is_empty();
        let span = if at_once { Duration::ZERO } else { span };
        let Self { inbox, ending, runtime, questions, .. } = self;
        runtime.block_on(async {
            tokio::select! {
                biased;
                _ = ending.changed() => {}
                _ = inbox.commands.recv_many(&mut commands, COMMANDS_PER_TURN_MAX) => {}
                Some(question) = inbox.questions.recv() => questions.push(question),
                () = tokio::time::sleep(span) => {}
            }
        });
        commands
    }

    fn commit_and_apply(&mut self, batch: Batch, answers: Answers) -> Result<(), journal::Error> {
        if !batch.events.is_empty() && !self.commit(&batch)? {
            return Ok(());
        }
        self.attempts.is_now(batch.at);
        self.following.is_now(batch.at);
        for event in batch.events {
            self.note_delivered(&event);
            self.following.see(&event, &self.core);
            self.core.apply(batch.at, event, &mut self.effects);
        }
        self.perform();
        // Before anybody is told, so that whoever looks then finds it.
        self.attempts.flush();
        for (worker, number) in answers.acknowledge {
            self.outboxes.acknowledge(worker, number);
        }
        self.outboxes.flush(&self.core);
        for applied in answers.applied {
            // Whoever asked may have gone away.
            let _ = applied.send(());
        }
        self.metrics.connected_workers(self.outboxes.connected());
        Ok(())
    }

    /// Notes the attempts that an event says are done. All others that end show in the effects.
    fn note_delivered(&mut self, event: &Event) {
        let Event::AttemptsFinished { worker, results, .. } = event else { return };
        let done = results.iter().filter(|result| matches!(result.outcome, Outcome::Done(_)));
        for result in done.filter(|result| self.core.holder(result.attempt) == Some(*worker)) {
            self.attempts.ended(result.attempt, End::Done);
        }
    }

    /// Puts a batch on disk, however long that takes; meanwhile nothing new is taken, but questions are answered.
    /// `false` if the hub ended first: then nobody was told of the batch, and it never happened.
    fn commit(&mut self, batch: &Batch) -> Result<bool, journal::Error> {
        let mut stalled = None;
        loop {
            let started = Instant::now();
            match self.journal.append(batch) {
                Ok(bytes) => {
                    self.metrics.committed(started.elapsed(), batch.events.len(), bytes);
                    if let Some(since) = stalled {
                        tracing::info!("the journal takes writes again");
                        self.clock.stood_still(Instant::now().saturating_duration_since(since));
                        self.status.accept();
                    }
                    return Ok(true);
                }
                Err(error) if error.may_pass() => {
                    if stalled.is_none() {
                        tracing::error!(%error, "the journal takes no writes; nothing is lost, nothing new is taken");
                    }
                    stalled = stalled.or(Some(started));
                    self.metrics.commit_failed();
                    self.status.refuse(error.to_string());
                    if self.answer_for(Duration::from_millis(RETRY_MS)) {
                        return Ok(false);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Answers questions for a while. Returns whether the hub is to end.
    fn answer_for(&mut self, span: Duration) -> bool {
        let deadline = tokio::time::Instant::now() + span;
        loop {
            let Self { inbox, ending, runtime, .. } = self;
            let question = runtime.block_on(async {
                tokio::select! {
                    biased;
                    _ = ending.changed() => None,
                    question = inbox.questions.recv() => question,
                    () = tokio::time::sleep_until(deadline) => None,
                }
            });
            match question {
                Some(question) => question(&self.core),
                None => return *self.ending.borrow() != Ending::No,
            }
        }
    }

    fn answer_questions(&mut self) {
        for question in self.questions.drain(..) {
            question(&self.core);
        }
        for _ in 0..QUESTIONS_PER_TURN_MAX {
            let Ok(question) = self.inbox.questions.try_recv() else { return };
            question(&self.core);
        }
    }

    fn snapshot(&mut self) {
        let (now, started) = (self.clock.now(), Instant::now());
        match self.journal.snapshot(now, &self.core) {
            Ok(()) => self.metrics.snapshot_taken(started.elapsed()),
            Err(error) => tracing::warn!(%error, "no snapshot; the journal grows until the next one succeeds"),
        }
    }
}
