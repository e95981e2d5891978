//! What can go wrong between two machines, and whose fault it is.
use super::grant;
use super::protocol::Code;
use crate::store;
use gleaner_wire::{Hash, WorkerKey};
use iroh::endpoint::{ConnectionError, ReadError, ReadExactError, VarInt, WriteError};

/// Why chunks did not move.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No endpoint could be opened.
    #[error("the network could not be opened on {address}: {why}. Is the address taken, or not of this machine?")]
    Bind {
        /// Where.
        address: String,
        /// Why.
        why: String,
    },
    /// Not reached, or lost again.
    #[error("{peer} cannot be reached: {why}. It is tried again by itself")]
    Lost {
        /// Who.
        peer: String,
        /// Why.
        why: String,
    },
    /// It said no.
    #[error("the other side refused: {}", reason(*.0))]
    Refused(Code),
    /// We said no.
    #[error(transparent)]
    Grant(#[from] grant::Refused),
    /// A receipt was not taken.
    #[error(transparent)]
    Receipt(#[from] super::receipt::Refused),
    /// The bytes are not what was asked for.
    #[error("the bytes that were sent as chunk {0} are something else: this source is not used any more")]
    Lied(Hash),
    /// More than allowed.
    #[error("{what} may have at most {max}, and more came: this side is not talked to any more")]
    TooMuch {
        /// What.
        what: &'static str,
        /// How many, or how many bytes.
        max: u64,
    },
    /// Not understood.
    #[error("{0} could not be read: the other side may run another version of gleaner")]
    Malformed(&'static str),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// Nobody has what is missing.
    #[error(
        "{chunks} chunks are missing and nobody who can be reached has them: try again when more machines are there"
    )]
    NoSource {
        /// How many.
        chunks: usize,
    },
    /// Told to stop.
    #[error("stopped; what has arrived is kept, and the next run goes on from there")]
    Stopped,
    /// The relay cannot run.
    #[error("the relay could not be started on {address}: {why}")]
    Relay {
        /// Where.
        address: String,
        /// Why.
        why: String,
    },
}

impl Error {
    /// Whether the other side has done what nobody does by accident; it is not worth another try.
    pub fn is_fault(&self) -> bool {
        match self {
            Self::Lied(_) | Self::TooMuch { .. } | Self::Malformed(_) => true,
            Self::Refused(code) => match code {
                Code::NotGranted | Code::TooMuch | Code::Unpaid | Code::Malformed => true,
                Code::Done | Code::Storage | Code::Busy => false,
            },
            Self::Bind { .. }
            | Self::Lost { .. }
            | Self::Grant(_)
            | Self::Receipt(_)
            | Self::Store(_)
            | Self::NoSource { .. }
            | Self::Stopped
            | Self::Relay { .. } => false,
        }
    }

    pub(super) fn lost(peer: &WorkerKey, why: impl std::fmt::Display) -> Self {
        Self::Lost { peer: peer.to_string(), why: why.to_string() }
    }

    fn gone(why: impl std::fmt::Display) -> Self {
        Self::Lost { peer: "the other side".to_owned(), why: why.to_string() }
    }

    fn reset(code: VarInt) -> Self {
        Code::from_number(code).map_or(Self::Malformed("the reason of a refusal"), Self::Refused)
    }

    pub(super) fn connection(error: ConnectionError) -> Self {
        match error {
            ConnectionError::ApplicationClosed(close) => Self::reset(close.error_code),
            other => Self::gone(other),
        }
    }

    pub(super) fn read(error: ReadError) -> Self {
        match error {
            ReadError::Reset(code) => Self::reset(code),
            ReadError::ConnectionLost(error) => Self::connection(error),
            other => Self::gone(other),
        }
    }

    pub(super) fn read_exact(error: ReadExactError) -> Self {
        match error {
            ReadExactError::FinishedEarly(_) => Self::Malformed("an answer that ended early"),
            ReadExactError::ReadError(error) => Self::read(error),
        }
    }

    pub(super) fn write(error: WriteError) -> Self {
        match error {
            WriteError::Stopped(code) => Self::reset(code),
            WriteError::ConnectionLost(error) => Self::connection(error),
            other => Self::gone(other),
        }
    }
}

fn reason(code: Code) -> &'static str {
    match code {
        Code::Done => "it needs nothing more",
        Code::NotGranted => "the hub's grant does not hold there. Ask the hub for a new one",
        Code::TooMuch => "a limit was passed",
        Code::Unpaid => "it waits for receipts of what it has sent",
        Code::Malformed => "it did not understand. It may run another version of gleaner",
        Code::Storage => "its disk is full or broken. Try again later",
        Code::Busy => "it serves too many at the moment. Try again later",
    }
}
