//! What can go wrong with a requester's money, in words for the person whose money it is.
use std::io;
use std::path::{Path, PathBuf};

use gleaner_chain::primitives::Address;
use gleaner_chain::{market, remote, sender, wallet};
use gleaner_wire::{Amount, JobId};

use crate::Wrong;

/// Why something was not paid, deposited or approved.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The hub did not answer, or said no.
    #[error(transparent)]
    Hub(#[from] gleaner_client::Error),
    /// The chain could not be read.
    #[error(transparent)]
    Read(#[from] market::ReadError),
    /// A transaction did not come to count.
    #[error(transparent)]
    Send(#[from] sender::Failure),
    /// The hub names a node that cannot be one.
    #[error(transparent)]
    Address(#[from] remote::AddressError),
    /// The wallet could not be made or opened.
    #[error(transparent)]
    Wallet(#[from] wallet::Error),
    /// The wallet's password is kept nowhere that is known here.
    #[error("the wallet {} needs its password", .0.display())]
    Locked(PathBuf),
    /// Somebody else spends from the wallet, and does not end.
    #[error("another command has used the wallet {} for ten minutes", .0.display())]
    Busy(PathBuf),
    /// A file could not be read or written.
    #[error("cannot {doing} {}", path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// There is not enough money.
    #[error("{wanted} GLN are needed, and {address} has {deposited} GLN deposited and {held} GLN in the wallet")]
    TooPoor {
        /// What is needed.
        wanted: Amount,
        /// Whose money it is.
        address: Address,
        /// What of it is free in Escrow.
        deposited: Amount,
        /// What is in the wallet.
        held: Amount,
    },
    /// No amount is as large.
    #[error("cap and bond are more than there can be")]
    TooMuch,
    /// The receipts add up to more than there can be.
    #[error("the receipts add up to more than there can be")]
    Overflow,
    /// This machine's clock is wrong.
    #[error("the clock stands before 1970")]
    Clock,
    /// The hub wants to be paid for something else than it delivered.
    #[error("the settlement of job {job} is not approved: {reason}")]
    NotApproved {
        /// The job.
        job: JobId,
        /// What is wrong with its settlement.
        reason: Wrong,
        /// How long it can be disputed once the hub has proposed it, in seconds.
        window: u64,
    },
    /// The chain takes its time.
    #[error("the settlement of job {0} is approved and not on the chain yet; the hub goes on trying")]
    NotSettled(JobId),
}

impl Error {
    pub(crate) fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { doing, path, source }
    }
}
