//! The control protocol between hub and worker: postcard messages, one per WebSocket frame.
//!
//! A worker dials in and gets [`ToWorker::Challenge`]; it answers with [`ToHub::Hello`], signed; the hub says
//! [`ToWorker::Welcome`] or [`ToWorker::Refused`]. Afterwards either side sends what it has, in batches.
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::machine::{MachineReport, MachineSettings};
use crate::{
    Amount, AttemptId, AuctionId, Cause, Hash, Invitation, JobId, MESSAGE_BYTES_MAX, Micros, Millis, Offer, OpenedBid,
    Output, Runtime, SealedBid, TaskId, TaskSpec, WorkerId, WorkerKey,
};

/// One attempt to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartAttempt {
    /// The attempt.
    pub attempt: AttemptId,
    /// The job and group whose specification was sent before.
    pub job: JobId,
    /// The group within the job.
    pub group: u16,
    /// The element.
    pub index: u32,
    /// The position of the device in the worker's offer: the one that was chosen, and whose price was agreed.
    pub device: u16,
    /// Running time that is paid for; the worker stops the attempt there.
    pub time_ms: Millis,
    /// The outputs of other tasks that this element alone reads, in the order of its inputs.
    pub outputs: Vec<Output>,
    /// What an earlier attempt has saved, to go on from there.
    pub checkpoint: Option<Output>,
    /// Two results of this element to be compared by the task's check, instead of making one. What comes out is a
    /// [`crate::check::Compared`], not sealed.
    pub compare: Option<[Output; 2]>,
}

/// How an attempt ended on its worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It delivered.
    Done(Output),
    /// It failed.
    Failed {
        /// Why.
        cause: Cause,
        /// In words, for the requester.
        detail: String,
    },
    /// The hub had it cancelled.
    Cancelled,
}

/// The end of one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// The attempt.
    pub attempt: AttemptId,
    /// How long it ran on the device.
    pub ran: Micros,
    /// How it ended.
    pub outcome: Outcome,
}

/// A worker's signature under the claims of a batch of results; see [`crate::receipt::claims`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    /// The task of each claim, in order.
    pub tasks: Vec<TaskId>,
    /// The signature, 64 bytes.
    pub signature: Vec<u8>,
}

/// How much of a dataset a worker holds. An image of a registry counts as one: its root is the image's digest, and whoever
/// has it holds [`crate::IMAGE_BYTES_GUESS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The dataset's root.
    pub root: Hash,
    /// The bytes that need not be moved to it.
    pub bytes: u64,
}

/// From hub to worker.
#[expect(clippy::large_enum_variant, reason = "messages live for the time of one encoding")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToWorker {
    /// The first message: prove who you are.
    Challenge {
        /// The hub's protocol.
        protocol: u16,
        /// What to sign.
        nonce: [u8; 32],
    },
    /// The worker is in.
    Welcome {
        /// Its number on this hub.
        worker: WorkerId,
        /// How often to send a heartbeat.
        heartbeat_ms: Millis,
        /// The bearer token for the hub's data, for as long as this connection lasts.
        token: String,
        /// The hub's own key, which results are signed for.
        hub: WorkerKey,
    },
    /// The worker is not let in.
    Refused {
        /// Why, and what to do.
        reason: String,
    },
    /// What the elements of a group are; sent before the first of them starts.
    Spec {
        /// The job.
        job: JobId,
        /// The group.
        group: u16,
        /// The specification.
        spec: TaskSpec,
    },
    /// Start these, in order.
    Start(Vec<StartAttempt>),
    /// Stop these; they are not wanted any more.
    Cancel(Vec<AttemptId>),
    /// Everything up to this batch of results is on disk; the worker may forget it.
    Acknowledge {
        /// The number of the batch.
        batch: u64,
        /// What the worker has earned on this hub, ever.
        earned: Amount,
    },
    /// The job has ended; its specifications may be forgotten.
    Forget(JobId),
    /// An operator or the owner has paused the worker through the hub, or given it back.
    Paused(bool),
    /// How one of the worker's runtimes did in a test.
    Screened {
        /// The position of the device in the offer.
        device: u16,
        /// The runtime.
        runtime: Runtime,
        /// The score by which it is chosen from now on, or why it gets no work.
        verdict: Result<u32, String>,
    },
    /// Bid for these, if the owner wants to; at most [`crate::BIDS_MAX`] of them.
    Invite(Vec<Invitation>),
    /// Open the bids of these devices in these auctions: all bids are in.
    Reveal(Vec<(AuctionId, u16)>),
    /// Somebody pays more for the place of this attempt: save how far it is and hand it back as cancelled.
    Yield {
        /// Which.
        attempt: AttemptId,
        /// Within how long; then it is taken away.
        by_ms: Millis,
    },
    /// What the worker has earned on this hub, ever: results are paid when they were checked, which may be long after they
    /// were acknowledged.
    Earned(Amount),
    /// What its owner wants set, through an account of the hub; answered by [`ToHub::Set`].
    Set {
        /// The number of the request.
        number: u64,
        /// What is to be set.
        settings: MachineSettings,
    },
}

/// From worker to hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToHub {
    /// The answer to the challenge.
    Hello {
        /// The worker's protocol.
        protocol: u16,
        /// Who it is.
        key: WorkerKey,
        /// The signature of [`challenge_bytes`], 64 bytes.
        signature: Vec<u8>,
        /// What it offers.
        offer: Offer,
        /// The word of the provider whom the offer names that this worker is its own on this hub, signed by its wallet;
        /// empty where none is named. What is signed depends on the chain, so here these are bytes.
        owner_proof: Vec<u8>,
        /// The devices that their owner needs now.
        resting: Vec<u16>,
        /// Attempts it still holds from an earlier connection, finished but unacknowledged ones included.
        held: Vec<AttemptId>,
    },
    /// It is alive and holds these attempts.
    Heartbeat {
        /// The attempts.
        held: Vec<AttemptId>,
    },
    /// These ended. Sent again after a reconnection until acknowledged.
    Finished {
        /// The number of this batch, counted up by the worker.
        batch: u64,
        /// The ends.
        results: Vec<Finished>,
        /// The worker's word for those of them that say something of a program.
        signed: Signed,
    },
    /// A piece of an attempt's log.
    Log {
        /// The attempt.
        attempt: AttemptId,
        /// The text, at most [`crate::LOG_BYTES_MAX`].
        text: String,
    },
    /// The owner needs these devices now, and no others: no new work for them.
    Resting(Vec<u16>),
    /// An attempt has saved how far it is: another one can go on from there.
    Saved {
        /// The attempt.
        attempt: AttemptId,
        /// What it saved, sealed like an output.
        checkpoint: Output,
    },
    /// The worker is about to go; what it holds should go elsewhere at once.
    Leaving,
    /// It holds this much of these datasets, and of no others that are worth mentioning; at most
    /// [`crate::HELD_MAX`] of them.
    Holds(Vec<Held>),
    /// Sealed bids; at most [`crate::BIDS_MAX`] of them.
    Bids(Vec<SealedBid>),
    /// What opens bids; at most [`crate::BIDS_MAX`] of them.
    Reveals(Vec<OpenedBid>),
    /// What a second of each device costs from now on, in the order of the offer. What runs keeps its price.
    Prices(Vec<Amount>),
    /// How the machine does, for its owner; when that has changed, and no more often than every few seconds.
    Machine(MachineReport),
    /// The answer to [`ToWorker::Set`].
    Set {
        /// The number of the request.
        number: u64,
        /// What is in force now, or why nothing was changed, in at most [`crate::machine::REFUSAL_BYTES_MAX`] bytes.
        answer: Result<MachineReport, String>,
    },
}

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Over the limit.
    #[error("a message of {0} bytes is over the limit of {MESSAGE_BYTES_MAX}")]
    TooLarge(usize),
    /// Not a message of this protocol.
    #[error("the bytes are not a message of this protocol")]
    Malformed,
    /// Something follows the message.
    #[error("{0} bytes follow the message")]
    Trailing(usize),
}

/// The bytes that a worker signs: bound to this protocol, this hub's nonce and the worker's own key.
pub fn challenge_bytes(nonce: &[u8; 32], key: &WorkerKey) -> Vec<u8> {
    [b"gleaner worker hello 1".as_slice(), nonce, &key.0].concat()
}

/// Encodes a message.
pub fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    postcard::to_allocvec(message).expect("our messages hold nothing that postcard cannot encode")
}

/// Decodes a message from outside.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    if bytes.len() > MESSAGE_BYTES_MAX {
        return Err(DecodeError::TooLarge(bytes.len()));
    }
    let (message, rest) = postcard::take_from_bytes(bytes).map_err(|_| DecodeError::Malformed)?;
    if rest.is_empty() { Ok(message) } else { Err(DecodeError::Trailing(rest.len())) }
}
