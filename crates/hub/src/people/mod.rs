//! The people of this hub: the room of accounts, asked without letting the hub's threads wait, and how often it is asked.
mod limits;

pub(crate) use limits::{Kind, Limits, network};

use crate::clock::wall_ms;
use crate::http::{Person, Via};
use crate::{Error, SignUp};
use gleaner_accounts::wallet::Newcomers;
use gleaner_accounts::{AccountId, Accounts, Settings, Visit};
use gleaner_wire::Millis;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Passphrases that are hashed at a time: each takes 19 MiB.
const HASHES_AT_ONCE_MAX: usize = 4;
/// How long somebody waits for a turn before the hub says that it is busy.
const TURN_MS_MAX: u64 = 10_000;

/// Why the people could not be asked.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The answer is no, or the machine is at fault.
    Accounts(gleaner_accounts::Error),
    /// Too many others are signing in.
    Busy,
    /// A thread ended by a defect.
    Defect,
}

/// The people of this hub.
pub(crate) struct People {
    accounts: Arc<Accounts>,
    hashing: Semaphore,
    pub(crate) limits: Limits,
    pub(crate) sign_up: SignUp,
}

impl People {
    /// Opens the accounts in the hub's folder.
    pub(crate) fn open(dir: &Path, sign_up: SignUp) -> Result<Self, Error> {
        let accounts = Accounts::open(dir, Settings::default()).map_err(Error::Accounts)?;
        let hashing = Semaphore::new(HASHES_AT_ONCE_MAX);
        Ok(Self { accounts: Arc::new(accounts), hashing, limits: Limits::new(), sign_up })
    }

    /// What becomes of wallets that no account has.
    pub(crate) fn newcomers(&self) -> Newcomers {
        match self.sign_up {
            SignUp::Open => Newcomers::Welcome,
            SignUp::Closed => Newcomers::Refused,
        }
    }

    /// Asks for what is remembered, if it is: that waits for nothing, and needs no thread of its own.
    pub(crate) fn recall<T>(&self, question: impl FnOnce(&Accounts) -> Option<T>) -> Option<T> {
        question(&self.accounts)
    }

    /// The requesters that an account pays as.
    pub(crate) async fn payers(&self, account: AccountId) -> Result<Vec<String>, Trouble> {
        match self.recall(|accounts| accounts.recall_payers(account)) {
            Some(payers) => Ok(payers),
            None => self.ask(move |accounts| accounts.payers(account)).await,
        }
    }

    /// Whether this is what proves that a session's own page has sent a request.
    pub(crate) fn is_csrf(&self, token: &str, given: &str) -> bool {
        self.accounts.is_csrf(token, given)
    }

    /// Asks what takes no longer than the disk.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Accounts) -> Result<T, gleaner_accounts::Error> + Send + 'static,
    ) -> Result<T, Trouble> {
        let accounts = Arc::clone(&self.accounts);
        let asked = tokio::task::spawn_blocking(move || question(&accounts)).await;
        asked.map_err(|_| Trouble::Defect)?.map_err(Trouble::Accounts)
    }

    /// Whether a session or a token is still good.
    pub(crate) async fn is_valid(&self, person: &Person) -> bool {
        let now = visit(None);
        let (id, via) = (person.account.id, person.via.clone());
        let valid = self.ask(move |accounts| match &via {
            Via::Session(session, _) => Ok(accounts.sessions(now.now, id)?.iter().any(|open| open.id == session.id)),
            Via::Token(token) => {
                let suspended = accounts.account(id)?.is_none_or(|account| account.suspended);
                let open = accounts.tokens(id)?.iter().any(|open| open.id == token.id);
                Ok(open && !suspended && token.ends_at > now.now)
            }
        });
        // What cannot be looked at now is looked at again.
        valid.await.unwrap_or(true)
    }

    /// Asks what hashes a passphrase, a few at a time.
    pub(crate) async fn hash<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Accounts) -> Result<T, gleaner_accounts::Error> + Send + 'static,
    ) -> Result<T, Trouble> {
        let turn = tokio::time::timeout(Duration::from_millis(TURN_MS_MAX), self.hashing.acquire()).await;
        let _turn = turn.map_err(|_| Trouble::Busy)?.map_err(|_| Trouble::Busy)?;
        self.ask(question).await
    }
}

/// A visit, now.
pub(crate) fn visit(address: Option<IpAddr>) -> Visit {
    Visit { now: Millis(wall_ms()), address }
}
