//! What other tasks ask of the keeper, through bounded channels.
use crate::status::Status;
use gleaner_core::plan::Graph;
use gleaner_core::{Core, Event, Session, Ticket};
use gleaner_wire::api::Submitted;
use gleaner_wire::{
    Amount, AttemptId, Finished, Offer, OpenedBid, Output, SealedBid, SignedOrder, ToWorker, WorkerId, WorkerKey,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::{mpsc, oneshot};

use super::Backlog;
use crate::proof::SignedClaims;

/// Commands that wait for the keeper; whoever has one more waits, and so does the connection it came from.
const COMMANDS_MAX: usize = 256;
/// Questions that wait for the keeper.
const QUESTIONS_MAX: usize = 256;
/// How long a request waits for its answer.
const ANSWER_MS_MAX: u64 = 30_000;

/// Something to journal and apply.
pub(crate) enum Command {
    /// A worker has proved its key.
    Join(Box<Join>),
    /// A worker said something.
    Worker {
        /// Who.
        worker: WorkerId,
        /// On which connection.
        session: Session,
        /// What.
        report: Report,
    },
    /// Say this to a worker, if it is still connected.
    Say {
        /// To whom.
        worker: WorkerId,
        /// What, in order.
        messages: Vec<ToWorker>,
    },
    /// A requester sends a job.
    Submit(Box<Submission>),
    /// An operator or requester did something.
    Happened {
        /// What.
        event: Box<Event>,
        /// Answered once it is applied.
        applied: oneshot::Sender<()>,
    },
}

/// A worker that wants in.
pub(crate) struct Join {
    /// Its key, proved.
    pub(crate) key: WorkerKey,
    /// Its connection.
    pub(crate) session: Session,
    /// What it offers, checked.
    pub(crate) offer: Offer,
    /// The devices that their owner needs now.
    pub(crate) resting: Vec<u16>,
    /// What it still holds.
    pub(crate) held: Vec<AttemptId>,
    /// The way to its connection.
    pub(crate) outgoing: Backlog,
    /// Answered with its number.
    pub(crate) welcome: oneshot::Sender<WorkerId>,
}

/// What a connection sends to its worker.
pub(crate) enum Outgoing {
    /// An encoded message.
    Message(bytes::Bytes),
    /// The end, with a reason for the worker's owner.
    Close(String),
}

/// What a worker said.
pub(crate) enum Report {
    /// Its connection ended.
    Left,
    /// Its owner needs these devices, and no others.
    Resting(Vec<u16>),
    /// What it asks for a second of each device.
    Prices(Vec<Amount>),
    /// An attempt has saved how far it is.
    Saved {
        /// The attempt.
        attempt: AttemptId,
        /// What it saved.
        checkpoint: Output,
    },
    /// It holds these attempts.
    Held(Vec<AttemptId>),
    /// It holds this much of these datasets.
    Data(Vec<gleaner_wire::Held>),
    /// These attempts ended; to be acknowledged by their batch number.
    Finished {
        /// The number.
        batch: u64,
        /// The ends.
        results: Vec<Finished>,
        /// The worker's word for what they claim, where results are checked.
        signed: Option<SignedClaims>,
    },
    /// A piece of an attempt's log.
    Log {
        /// The attempt.
        attempt: AttemptId,
        /// The text.
        text: String,
    },
    /// Sealed bids.
    Bids(Vec<SealedBid>),
    /// What opens bids.
    Reveals(Vec<OpenedBid>),
}

/// A planned job.
pub(crate) struct Submission {
    /// The client's own number of it.
    pub(crate) submission: u128,
    /// Who pays.
    pub(crate) requester: String,
    /// The job.
    pub(crate) graph: Graph,
    /// What the requester signed for it.
    pub(crate) order: Option<SignedOrder>,
    /// Answered with the job, or with why not.
    pub(crate) answer: oneshot::Sender<Result<Submitted, String>>,
}

/// A question about the state.
pub(super) type Question = Box<dyn FnOnce(&Core) + Send>;

/// The keeper did not answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unavailable {
    /// It refuses, and says why.
    #[error("{0}")]
    Refusing(String),
    /// It is busy.
    #[error(
        "the hub is too busy to answer within 30 seconds; try again, and send a job again with the same idempotency key"
    )]
    Busy,
    /// It has stopped.
    #[error("the hub is stopping; try again once it runs")]
    Stopped,
}

/// The way to the keeper.
#[derive(Clone)]
pub(crate) struct Handle {
    commands: mpsc::Sender<Command>,
    questions: mpsc::Sender<Question>,
    status: Arc<Status>,
    numbers: Arc<AtomicU64>,
}

/// The keeper's end of the channels.
pub(crate) struct Inbox {
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) questions: mpsc::Receiver<Question>,
    pub(super) numbers: Arc<AtomicU64>,
}

/// Both ends.
pub(crate) fn channel(status: Arc<Status>) -> (Handle, Inbox) {
    let (commands, command_inbox) = mpsc::channel(COMMANDS_MAX);
    let (questions, question_inbox) = mpsc::channel(QUESTIONS_MAX);
    // Numbers of connections and requests start at the time, so that those of an earlier process do not come back.
    let micros = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros());
    let numbers = Arc::new(AtomicU64::new(u64::try_from(micros).unwrap_or(0)));
    let handle = Handle { commands, questions, status, numbers: Arc::clone(&numbers) };
    (handle, Inbox { commands: command_inbox, questions: question_inbox, numbers })
}

impl Inbox {
    /// A number for a request that waits for its answer.
    pub(super) fn ticket(&self) -> Ticket {
        Ticket(self.numbers.fetch_add(1, Ordering::Relaxed))
    }
}

impl Handle {
    /// A number for a connection.
    pub(crate) fn session(&self) -> Session {
        Session(self.numbers.fetch_add(1, Ordering::Relaxed))
    }

    /// Commands and questions that wait.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        (COMMANDS_MAX - self.commands.capacity(), QUESTIONS_MAX - self.questions.capacity())
    }

    /// Why nothing new is taken, if so.
    pub(crate) fn refusing(&self) -> Option<String> {
        self.status.refusing()
    }

    /// Hands a command over; waits while the keeper has enough to do.
    pub(crate) async fn send(&self, command: Command) -> Result<(), Unavailable> {
        self.commands.send(command).await.map_err(|_| Unavailable::Stopped)
    }

    /// Asks about the state.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Core) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        let (sender, answer) = oneshot::channel();
        let question: Question = Box::new(move |core| {
            // A caller that has gone away needs no answer.
            let _ = sender.send(question(core));
        });
        let asked = async {
            self.questions.send(question).await.map_err(|_| Unavailable::Stopped)?;
            answer.await.map_err(|_| Unavailable::Stopped)
        };
        // A hub that has stopped says why, if it knows.
        in_time(asked).await.map_err(|reason| match (reason, self.refusing()) {
            (Unavailable::Stopped, Some(why)) => Unavailable::Refusing(why),
            (reason, _) => reason,
        })
    }

    /// Submits a planned job. The inner result is the core's word.
    pub(crate) async fn submit(
        &self,
        submission: u128,
        requester: String,
        graph: Graph,
        order: Option<SignedOrder>,
    ) -> Result<Result<Submitted, String>, Unavailable> {
        self.check()?;
        let (sender, answer) = oneshot::channel();
        let submission = Box::new(Submission { submission, requester, graph, order, answer: sender });
        let asked = async {
            self.send(Command::Submit(submission)).await?;
            answer.await.map_err(|_| Unavailable::Stopped)
        };
        in_time(asked).await
    }

    /// Has an event journaled and applied.
    pub(crate) async fn tell(&self, event: Event) -> Result<(), Unavailable> {
        self.check()?;
        let (applied, answer) = oneshot::channel();
        let event = Box::new(event);
        let asked = async {
            self.send(Command::Happened { event, applied }).await?;
            answer.await.map_err(|_| Unavailable::Stopped)
        };
        in_time(asked).await
    }

    fn check(&self) -> Result<(), Unavailable> {
        self.status.refusing().map_or(Ok(()), |reason| Err(Unavailable::Refusing(reason)))
    }
}

async fn in_time<T>(asked: impl Future<Output = Result<T, Unavailable>>) -> Result<T, Unavailable> {
    let limit = Duration::from_millis(ANSWER_MS_MAX);
    tokio::time::timeout(limit, asked).await.unwrap_or(Err(Unavailable::Busy))
}
