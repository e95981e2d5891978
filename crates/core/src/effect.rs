//! What the shell is asked to do. Effects carry ids, so performing one twice is harmless.
use alloc::string::String;
use gleaner_wire::{Amount, AttemptId, AuctionId, Cause, JobId, Millis, Runtime, WorkerId};

use crate::event::{Session, Ticket};

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Tell the worker on this connection that it is in.
    WelcomeWorker {
        /// Which.
        worker: WorkerId,
        /// On which connection.
        session: Session,
    },
    /// Send the attempt to its worker; `Core::start_message` has the words.
    StartAttempt {
        /// To whom.
        worker: WorkerId,
        /// Which.
        attempt: AttemptId,
    },
    /// Tell the worker to stop the attempt.
    CancelAttempt {
        /// Whom.
        worker: WorkerId,
        /// Which.
        attempt: AttemptId,
    },
    /// Tell the worker that it was paused through the hub, or given back.
    TellPaused {
        /// Whom.
        worker: WorkerId,
        /// Which of it.
        paused: bool,
    },
    /// Test a runtime of a device with a task whose result the hub knows and the worker does not, then say `Screened`,
    /// however it ended. Only a test whose connection is gone needs no answer.
    Screen {
        /// Whose.
        worker: WorkerId,
        /// On which connection; `Screened` says it again.
        session: Session,
        /// The position of the device in the offer.
        device: u16,
        /// The runtime.
        runtime: Runtime,
    },
    /// Tell the worker how a test went.
    TellScreened {
        /// Whom.
        worker: WorkerId,
        /// The position of the device in the offer.
        device: u16,
        /// The runtime.
        runtime: Runtime,
        /// The score by which it is chosen, or why it gets no work.
        verdict: Result<u32, String>,
    },
    /// Close the worker's connection.
    DisconnectWorker {
        /// Whose.
        worker: WorkerId,
        /// Why, in words for its owner.
        reason: String,
    },
    /// Tell the connection that the worker is not let in.
    RefuseWorker {
        /// Which connection.
        session: Session,
        /// Why, in words for its owner.
        reason: String,
    },
    /// Have the job's order locked on the chain; `Core::order` has it.
    LockOrder {
        /// Whose.
        job: JobId,
    },
    /// Answer a submission.
    AcceptJob {
        /// Which request.
        ticket: Ticket,
        /// The job.
        job: JobId,
        /// How many tasks.
        tasks: u64,
        /// What was reserved.
        reserved: Amount,
    },
    /// Refuse a submission.
    RefuseJob {
        /// Which request.
        ticket: Ticket,
        /// Why, in words for the requester.
        reason: String,
    },
    /// Tell whoever listens that the job moved on.
    AnnounceJob {
        /// Which.
        job: JobId,
    },
    /// Tell whoever listens that the worker changed its state.
    AnnounceWorker {
        /// Which.
        worker: WorkerId,
    },
    /// Tell whoever listens that an attempt failed; it is the last of the job's failures.
    AnnounceFailure {
        /// Which job.
        job: JobId,
        /// Which attempt; its result may have been taken before and been found wrong since.
        attempt: AttemptId,
        /// Why it failed.
        cause: Cause,
    },
    /// Fix the claims of this round where nobody can change them, then draw a seed that came later and say `RoundDrawn`;
    /// `Core::round_to_draw` has the claims.
    DrawRound {
        /// Which.
        round: u64,
    },
    /// Accuse those on the chain who gave wrong answers in this job; `Core::convictions` has them.
    Accuse {
        /// Which.
        job: JobId,
    },
    /// Store the ended job, then say `JobArchived`.
    ArchiveJob {
        /// Which.
        job: JobId,
    },
    /// Ask the worker for a sealed bid; `Core::invitation` has the words.
    InviteBid {
        /// Whom.
        worker: WorkerId,
        /// For which auction.
        auction: AuctionId,
        /// With which device, by its position in the offer.
        device: u16,
    },
    /// Ask the worker to open its bid.
    AskReveal {
        /// Whom.
        worker: WorkerId,
        /// In which auction.
        auction: AuctionId,
        /// For which device, by its position in the offer.
        device: u16,
    },
    /// Draw a lot, then say `LotDrawn`.
    DrawLot {
        /// For which auction.
        auction: AuctionId,
    },
    /// Tell whoever starts and stops managed workers that other numbers of them are wanted; `Core::demand` has them.
    AnnounceDemand,
    /// Tell the worker that somebody else pays more: it saves how far the attempt is and hands it back.
    YieldAttempt {
        /// Whom.
        worker: WorkerId,
        /// Which.
        attempt: AttemptId,
        /// Within how long.
        by_ms: Millis,
    },
}
