//! What goes to each connected worker in a turn: collected, then sent as few messages.
use super::Outgoing;
use bytes::Bytes;
use gleaner_core::{Core, Session};
use gleaner_wire::{
    Amount, AttemptId, AuctionId, BIDS_MAX, Invitation, JobId, MESSAGE_BYTES_MAX, StartAttempt, ToWorker, WorkerId,
    encode,
};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;

/// Messages that wait for a slow connection; one more ends it.
const OUTGOING_MESSAGES_MAX: usize = 1024;
/// Bytes that wait for a slow connection; more end it.
const OUTGOING_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Upper bounds of the encoded size of a start and of an output in it.
const START_BYTES: usize = 48;
const OUTPUT_BYTES: usize = 48;
/// Room for what surrounds the entries of a message.
const MESSAGE_ROOM: usize = MESSAGE_BYTES_MAX - 64;
/// Attempts to stop that share a message.
const CANCELS_PER_MESSAGE: usize = 8192;

/// The bounded way to one connection.
pub(crate) struct Backlog {
    sender: mpsc::Sender<Outgoing>,
    bytes: Arc<AtomicUsize>,
}

/// The connection's end of it.
pub(crate) struct BacklogReceiver {
    /// What to send.
    pub(crate) receiver: mpsc::Receiver<Outgoing>,
    bytes: Arc<AtomicUsize>,
}

impl Backlog {
    /// Both ends.
    pub(crate) fn new() -> (Self, BacklogReceiver) {
        let (sender, receiver) = mpsc::channel(OUTGOING_MESSAGES_MAX);
        let bytes = Arc::new(AtomicUsize::new(0));
        (Self { sender, bytes: Arc::clone(&bytes) }, BacklogReceiver { receiver, bytes })
    }

    /// Queues a message; `false` if the connection is too far behind.
    fn push(&self, message: &ToWorker) -> bool {
        let message = Bytes::from(encode(message));
        let waiting = self.bytes.fetch_add(message.len(), Ordering::Relaxed);
        waiting < OUTGOING_BYTES_MAX && self.sender.try_send(Outgoing::Message(message)).is_ok()
    }

    /// Ends the connection with a reason.
    pub(super) fn close(&self, reason: String) {
        // A full queue is closed as well: the connection ends when its sender is dropped.
        let _ = self.sender.try_send(Outgoing::Close(reason));
    }
}

impl BacklogReceiver {
    /// Why the connection is refused, if that is the first thing said to it.
    pub(crate) fn refusal(&mut self) -> Option<String> {
        match self.receiver.try_recv() {
            Ok(Outgoing::Close(reason)) => Some(reason),
            Ok(Outgoing::Message(_)) | Err(_) => None,
        }
    }

    /// Notes that a message has been handed to the socket.
    pub(crate) fn sent(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// One connected worker.
struct Connection {
    session: Session,
    backlog: Backlog,
    /// Groups whose specification it has.
    specs: Vec<(JobId, u16)>,
    new_specs: Vec<(JobId, u16)>,
    starts: Vec<StartAttempt>,
    cancels: Vec<AttemptId>,
    forgets: Vec<JobId>,
    says: Vec<ToWorker>,
    invitations: Vec<Invitation>,
    reveals: Vec<(AuctionId, u16)>,
    acknowledge: Option<u64>,
    /// What it was last told that it has earned.
    earned: Amount,
    close: Option<String>,
    touched: bool,
}

/// All connected workers, and what this turn has for them.
#[derive(Default)]
pub(super) struct Outboxes {
    connections: Vec<Option<Box<Connection>>>,
    touched: Vec<WorkerId>,
    /// The workers that know something of a job, to be told when it ends.
    informed: HashMap<JobId, BTreeSet<WorkerId>>,
    connected: usize,
}

impl Outboxes {
    /// How many workers are connected.
    pub(super) fn connected(&self) -> usize {
        self.connected
    }

    /// Whether this connection is the worker's current one.
    pub(super) fn is_current(&self, worker: WorkerId, session: Session) -> bool {
        self.connection(worker).is_some_and(|connection| connection.session == session)
    }

    /// Makes this the worker's connection; an earlier one is closed.
    pub(super) fn install(&mut self, worker: WorkerId, session: Session, backlog: Backlog) {
        let index = worker.0 as usize;
        if self.connections.len() <= index {
            self.connections.resize_with(index + 1, || None);
        }
        let connection = Connection {
            session,
            backlog,
            specs: Vec::new(),
            new_specs: Vec::new(),
            starts: Vec::new(),
            cancels: Vec::new(),
            forgets: Vec::new(),
            says: Vec::new(),
            invitations: Vec::new(),
            reveals: Vec::new(),
            acknowledge: None,
            earned: Amount::ZERO,
            close: None,
            touched: false,
        };
        match self.connections[index].replace(Box::new(connection)) {
            Some(earlier) => {
                earlier.backlog.close("another connection with the same key has taken over".to_owned());
            }
            None => self.connected += 1,
        }
    }

    /// Forgets a connection that has ended.
    pub(super) fn remove(&mut self, worker: WorkerId) {
        if let Some(slot) = self.connections.get_mut(worker.0 as usize)
            && slot.take().is_some()
        {
            self.connected -= 1;
        }
    }

    /// Notes that the worker knows of a job from an earlier connection.
    pub(super) fn knows(&mut self, worker: WorkerId, job: JobId) {
        self.informed.entry(job).or_default().insert(worker);
    }

    /// Sends an attempt, and its specification if the worker does not have it; says whether that was so.
    pub(super) fn start(&mut self, worker: WorkerId, start: StartAttempt) -> bool {
        let of = (start.job, start.group);
        let Some(connection) = self.touch(worker) else { return false };
        connection.starts.push(start);
        // Most attempts are of the group that came last.
        if connection.specs.last() == Some(&of) || connection.specs.contains(&of) {
            return false;
        }
        connection.specs.push(of);
        connection.new_specs.push(of);
        self.knows(worker, of.0);
        true
    }

    /// Says something that needs no collecting.
    pub(super) fn say(&mut self, worker: WorkerId, messages: impl IntoIterator<Item = ToWorker>) {
        if let Some(connection) = self.touch(worker) {
            connection.says.extend(messages);
        }
    }

    /// Invites to a bid.
    pub(super) fn invite(&mut self, worker: WorkerId, invitation: Invitation) {
        if let Some(connection) = self.touch(worker) {
            connection.invitations.push(invitation);
        }
    }

    /// Asks for a bid to be opened.
    pub(super) fn reveal(&mut self, worker: WorkerId, auction: AuctionId, device: u16) {
        if let Some(connection) = self.touch(worker) {
            connection.reveals.push((auction, device));
        }
    }

    /// Stops an attempt.
    pub(super) fn cancel(&mut self, worker: WorkerId, attempt: AttemptId) {
        if let Some(connection) = self.touch(worker) {
            connection.cancels.push(attempt);
        }
    }

    /// Acknowledges results up to a batch.
    pub(super) fn acknowledge(&mut self, worker: WorkerId, batch: u64) {
        if let Some(connection) = self.touch(worker) {
            connection.acknowledge = connection.acknowledge.max(Some(batch));
        }
    }

    /// Tells a worker what it has earned, if that is news.
    pub(super) fn tell_earned(&mut self, worker: WorkerId, earned: Amount) {
        if self.connection(worker).is_some_and(|connection| connection.earned != earned)
            && let Some(connection) = self.touch(worker)
        {
            connection.earned = earned;
            connection.says.push(ToWorker::Earned(earned));
        }
    }

    /// Tells every worker that knows of a job that it has ended.
    pub(super) fn forget(&mut self, job: JobId) {
        for worker in self.informed.remove(&job).unwrap_or_default() {
            if let Some(connection) = self.touch(worker) {
                connection.specs.retain(|(of, _)| *of != job);
                connection.forgets.push(job);
            }
        }
    }

    /// Closes a worker's connection.
    pub(super) fn close(&mut self, worker: WorkerId, reason: String) {
        if let Some(connection) = self.touch(worker) {
            connection.close = Some(reason);
        }
    }

    /// Sends what was collected. A connection that is too far behind is closed; its end is reported by its own task.
    pub(super) fn flush(&mut self, core: &Core) {
        let mut touched = std::mem::take(&mut self.touched);
        for worker in touched.drain(..) {
            let Some(Some(connection)) = self.connections.get_mut(worker.0 as usize) else { continue };
            connection.touched = false;
            let sent = connection.send_all(worker, core);
            let close = connection.close.take();
            if sent && close.is_none() {
                continue;
            }
            if let Some(reason) = close {
                connection.backlog.close(reason);
            }
            // Dropping the sender ends the connection's task, also when its queue is full.
            connection.backlog = Backlog::new().0;
        }
        self.touched = touched;
    }

    fn connection(&self, worker: WorkerId) -> Option<&Connection> {
        self.connections.get(worker.0 as usize)?.as_deref()
    }

    fn touch(&mut self, worker: WorkerId) -> Option<&mut Connection> {
        let connection = self.connections.get_mut(worker.0 as usize)?.as_deref_mut()?;
        if !connection.touched {
            connection.touched = true;
            self.touched.push(worker);
        }
        Some(connection)
    }
}

impl Connection {
    fn send_all(&mut self, worker: WorkerId, core: &Core) -> bool {
        let mut sent = true;
        // First, so that a worker whose table is full has room for what it is to start.
        if let Some(batch) = self.acknowledge.take() {
            self.earned = core.earned(worker);
            sent &= self.backlog.push(&ToWorker::Acknowledge { batch, earned: self.earned });
        }
        for (job, group) in self.new_specs.drain(..) {
            if let Some(spec) = core.spec(job, group) {
                sent &= self.backlog.push(&ToWorker::Spec { job, group, spec: spec.clone() });
            }
        }
        for message in self.says.drain(..) {
            sent &= self.backlog.push(&message);
        }
        sent &= self.send_starts();
        sent &= self.send_auctions();
        while !self.cancels.is_empty() {
            let rest = self.cancels.split_off(self.cancels.len().min(CANCELS_PER_MESSAGE));
            let cancels = std::mem::replace(&mut self.cancels, rest);
            sent &= self.backlog.push(&ToWorker::Cancel(cancels));
        }
        for job in self.forgets.drain(..) {
            sent &= self.backlog.push(&ToWorker::Forget(job));
        }
        sent
    }

    fn send_auctions(&mut self) -> bool {
        let invited = self.invitations.chunks(BIDS_MAX).map(|some| ToWorker::Invite(some.to_vec()));
        let revealed = self.reveals.chunks(BIDS_MAX).map(|some| ToWorker::Reveal(some.to_vec()));
        // The first that finds no room ends the connection.
        let sent = invited.chain(revealed).all(|message| self.backlog.push(&message));
        self.invitations.clear();
        self.reveals.clear();
        sent
    }

    fn send_starts(&mut self) -> bool {
        let mut sent = true;
        while !self.starts.is_empty() {
            let mut room = MESSAGE_ROOM;
            let fits = |start: &&StartAttempt| {
                let bytes =
                    START_BYTES + OUTPUT_BYTES * (start.outputs.len() + usize::from(start.checkpoint.is_some()));
                room.checked_sub(bytes).map(|rest| room = rest).is_some()
            };
            let count = self.starts.iter().take_while(fits).count().max(1);
            let rest = self.starts.split_off(count);
            let starts = std::mem::replace(&mut self.starts, rest);
            sent &= self.backlog.push(&ToWorker::Start(starts));
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_core::Params;
    use gleaner_wire::{Millis, Output, decode};

    fn connected() -> (Outboxes, BacklogReceiver) {
        let mut outboxes = Outboxes::default();
        let (backlog, receiver) = Backlog::new();
        outboxes.install(WorkerId(3), Session(1), backlog);
        (outboxes, receiver)
    }

    fn messages(receiver: &mut BacklogReceiver) -> Vec<ToWorker> {
        let mut messages = Vec::new();
        while let Ok(Outgoing::Message(bytes)) = receiver.receiver.try_recv() {
            assert!(bytes.len() <= MESSAGE_BYTES_MAX);
            receiver.sent(bytes.len());
            messages.push(decode(&bytes).expect("a message"));
        }
        messages
    }

    #[test]
    fn a_connection_that_takes_nothing_is_closed_before_it_costs_more() {
        let (mut outboxes, mut receiver) = connected();
        let core = Core::new(Params::default());
        for batch in 0..2 * OUTGOING_MESSAGES_MAX as u64 {
            outboxes.acknowledge(WorkerId(3), batch);
            outboxes.flush(&core);
        }
        assert_eq!(messages(&mut receiver).len(), OUTGOING_MESSAGES_MAX);
        assert!(receiver.receiver.is_closed(), "the connection's task ends");
    }

    #[test]
    fn what_one_turn_has_for_a_worker_leaves_in_few_messages_under_the_limit() {
        let (mut outboxes, mut receiver) = connected();
        let core = Core::new(Params::default());
        let output = Output::File(gleaner_wire::BlobRef::of(b"x"));
        for index in 0..2000 {
            let (attempt, job) = (AttemptId(u64::MAX - u64::from(index)), JobId(u64::MAX));
            let (group, device, time_ms) = (u16::MAX, u16::MAX, Millis(u64::MAX));
            let (outputs, checkpoint, compare) = (vec![output; 5], Some(output), None);
            let start = StartAttempt { attempt, job, group, index, device, time_ms, outputs, checkpoint, compare };
            outboxes.start(WorkerId(3), start);
        }
        outboxes.acknowledge(WorkerId(3), 4);
        outboxes.acknowledge(WorkerId(3), 2);
        outboxes.flush(&core);
        let messages = messages(&mut receiver);
        let counts =
            messages.iter().map(|message| if let ToWorker::Start(starts) = message { starts.len() } else { 0 });
        assert_eq!(counts.sum::<usize>(), 2000);
        assert!(messages.len() < 6, "{}", messages.len());
        let earned = Amount::ZERO;
        assert_eq!(messages[0], ToWorker::Acknowledge { batch: 4, earned }, "room is made before it is needed");
    }
}
