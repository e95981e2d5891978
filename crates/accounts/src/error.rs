//! What goes wrong: refusals, which the person who asks is told, and faults of the machine, which the operator is told.
use crate::{account, challenge, passkey, passphrase, token, wallet};
use gleaner_wire::{Amount, Millis};
use std::io;
use std::path::PathBuf;

/// Why a call did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The answer is no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A file cannot be used.
    #[error("could not use {path}: check that it exists and that only you may read and write it")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The key is of other accounts.
    #[error("{path} is not the key that the accounts beside it were sealed with: restore it from a backup")]
    OtherKey {
        /// The key file.
        path: PathBuf,
    },
    /// Written by a version of Gleaner that this one does not know.
    #[error(
        "the format of the accounts is {found}, and this version of gleaner reads format {known}: \
         use the version that wrote them"
    )]
    Format {
        /// The format found.
        found: i64,
        /// The format this version reads.
        known: i64,
    },
    /// The database does not work.
    #[error("the accounts cannot be read or written: {0}")]
    Database(#[from] rusqlite::Error),
    /// A row is not what was written.
    #[error("{0} among the accounts was altered: restore them from a backup")]
    Altered(&'static str),
    /// No random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(getrandom::Error),
    /// No hash could be made.
    #[error("a passphrase could not be hashed: {0}")]
    Hash(String),
}

/// Why the answer is no, in words for whoever asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not a name.
    #[error(transparent)]
    Name(#[from] account::NameError),
    /// Somebody has it.
    #[error("there is an account with this name: choose another name")]
    NameTaken,
    /// Easy to guess.
    #[error(transparent)]
    Passphrase(#[from] passphrase::Weak),
    /// No such account, or another passphrase: it is not said which.
    #[error("the name or the passphrase is wrong")]
    WrongCredentials,
    /// The passphrase is right; now the code.
    #[error("this account has a second factor: give the code of your app, or a recovery code")]
    SecondFactorNeeded,
    /// Not the code of now, or used before.
    #[error("the code is wrong or was used before: wait for the next one")]
    WrongCode,
    /// Too many wrong ones.
    #[error("too many wrong tries: wait until they are forgotten, or sign in with a passkey or a wallet")]
    LockedOut {
        /// When the next try is allowed.
        until: Millis,
    },
    /// The operator has stopped it.
    #[error("this account is suspended: ask the hub's operator")]
    Suspended,
    /// What was signed is not what was to be signed.
    #[error(transparent)]
    Challenge(#[from] challenge::Fault),
    /// The message of a wallet, or its signature.
    #[error(transparent)]
    Wallet(#[from] wallet::Fault),
    /// The operator makes accounts.
    #[error("no account has this wallet, and this hub's operator makes its accounts: ask for one")]
    NoNewcomers,
    /// The wallet is another account's.
    #[error("this wallet belongs to another account")]
    WalletTaken,
    /// What a passkey said.
    #[error(transparent)]
    Passkey(#[from] passkey::Fault),
    /// Not there, or not the caller's.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// Nobody could sign in any more.
    #[error("this is the last way to sign in to the account: add another one first")]
    LastWay,
    /// The second factor is on already.
    #[error("the second factor is on already: turn it off first")]
    TotpOn,
    /// There is none.
    #[error("the second factor is not on")]
    TotpOff,
    /// A limit.
    #[error("there are at most {max} {what}: remove one first")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        max: u64,
    },
    /// What is said of a token cannot be.
    #[error(transparent)]
    Token(#[from] token::Fault),
    /// The token may not spend so much.
    #[error("the token may spend {left} GLN more, and this needs {needed} GLN")]
    OverLimit {
        /// What is left.
        left: Amount,
        /// What is asked for.
        needed: Amount,
    },
    /// Owned by somebody else.
    #[error("{0} belongs to another account")]
    Owned(&'static str),
    /// Signed in too long ago for this.
    #[error("this changes how you sign in, and you signed in more than ten minutes ago: sign in again, and do it then")]
    NotFresh,
    /// Not an address that passkeys can be bound to.
    #[error("passkeys need a name such as localhost or hub.example in the address of the page, not a number")]
    NoPasskeyDomain,
}

impl Refusal {
    /// A word for programs that stays the same.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Name(_) => "name",
            Self::NameTaken => "name-taken",
            Self::Passphrase(_) => "weak-passphrase",
            Self::WrongCredentials => "wrong-credentials",
            Self::SecondFactorNeeded => "second-factor-needed",
            Self::WrongCode => "wrong-code",
            Self::LockedOut { .. } => "locked-out",
            Self::Suspended => "suspended",
            Self::Challenge(_) => "challenge",
            Self::Wallet(_) => "wallet",
            Self::NoNewcomers => "sign-up-closed",
            Self::WalletTaken => "wallet-taken",
            Self::Passkey(_) => "passkey",
            Self::NotFound(_) => "not-found",
            Self::LastWay => "last-way",
            Self::TotpOn => "totp-on",
            Self::TotpOff => "totp-off",
            Self::TooMany { .. } => "too-many",
            Self::Token(_) => "token",
            Self::OverLimit { .. } => "over-limit",
            Self::Owned(_) => "owned",
            Self::NotFresh => "fresh-sign-in",
            Self::NoPasskeyDomain => "no-passkey-domain",
        }
    }
}
