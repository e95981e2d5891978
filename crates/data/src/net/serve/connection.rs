//! One connection: its questions, answered side by side, and its receipts.
use super::{Place, Shared, blocking, give, now, want};
use crate::net::protocol::{self, Ask, Code};
use crate::net::receipt::Session;
use crate::net::{Error, Right, SignedGrant};
use gleaner_wire::{Hash, WorkerKey};
use iroh::endpoint::{Connection, RecvStream, SendStream};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// How long a question may take to come in.
const QUESTION_TIME_MAX: Duration = Duration::from_secs(10);
/// Datasets that one connection may be about.
const DATASETS_MAX: usize = 64;

/// One connection.
pub(super) struct Link {
    pub shared: Arc<Shared>,
    pub peer: WorkerKey,
    sessions: Mutex<BTreeMap<Hash, Session>>,
    /// Told when a receipt came.
    pub receipted: Notify,
    /// The grant that was checked last; it comes with every question.
    checked: Mutex<Option<SignedGrant>>,
}

impl Link {
    /// What was sent and receipted of each dataset.
    pub fn sessions(&self) -> MutexGuard<'_, BTreeMap<Hash, Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, grant: &SignedGrant, right: Right) -> Result<(), Error> {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        let known = *checked == Some(*grant) && grant.grant.right == right && now() <= grant.grant.until;
        if !known {
            self.shared.authority.check(grant, &self.peer, right, now())?;
            *checked = Some(*grant);
        }
        Ok(())
    }

    fn open(&self, grant: SignedGrant) -> Result<(), Error> {
        let root = grant.grant.root;
        let meter = self.shared.meter.lock().unwrap_or_else(PoisonError::into_inner);
        if meter.is_owing(&root, &self.peer) {
            return Err(Error::Refused(Code::Unpaid));
        }
        let mut sessions = self.sessions();
        if !sessions.contains_key(&root) && sessions.len() >= DATASETS_MAX {
            return Err(Error::TooMuch { what: "a connection", max: DATASETS_MAX as u64 });
        }
        sessions.entry(root).or_default().granted(grant);
        Ok(())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let sessions = std::mem::take(self.sessions.get_mut().unwrap_or_else(PoisonError::into_inner));
        let mut meter = self.shared.meter.lock().unwrap_or_else(PoisonError::into_inner);
        for (root, mut session) in sessions {
            meter.close(root, self.peer, &mut session);
        }
    }
}

pub(super) async fn serve(connection: Connection, shared: Arc<Shared>) {
    let peer = WorkerKey(*connection.remote_id().as_bytes());
    let _place = Place::take(&shared, &connection);
    let link = Arc::new(Link {
        shared,
        peer,
        sessions: Mutex::default(),
        receipted: Notify::new(),
        checked: Mutex::default(),
    });
    // At most as many as the endpoint lets one connection open.
    let mut answers = JoinSet::new();
    while let Ok((send, receive)) = connection.accept_bi().await {
        let link = Arc::clone(&link);
        answers.spawn(answer(link, send, receive));
        while answers.try_join_next().is_some() {}
    }
}

async fn answer(link: Arc<Link>, mut send: SendStream, mut receive: RecvStream) {
    let answered = match tokio::time::timeout(QUESTION_TIME_MAX, protocol::read_ask(&mut receive)).await {
        Ok(Ok(ask)) => reply(&link, ask, &mut send, &mut receive).await,
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Error::Malformed("a question that took too long")),
    };
    match answered {
        Ok(()) => {
            // The other side may have gone meanwhile; it has what it wanted.
            let _ = send.finish();
        }
        Err(error) => {
            tracing::debug!(peer = %link.peer, %error, "a question was not answered");
            let code = code_of(&error).number();
            let _ = send.reset(code);
            let _ = receive.stop(code);
        }
    }
}

async fn reply(link: &Arc<Link>, ask: Ask, send: &mut SendStream, receive: &mut RecvStream) -> Result<(), Error> {
    match ask {
        Ask::Want { grant, ids } => want(link, grant, ids, Vec::new(), send).await,
        Ask::Rest { grant, ids, begun } => want(link, grant, ids, begun, send).await,
        Ask::Held { grant } => {
            link.check(&grant, Right::Fetch)?;
            let holder = Arc::clone(&link.shared.holder);
            let bits = blocking(move || holder.holdings(&grant.grant.root)).await?;
            protocol::write_bitmap(send, bits.as_ref()).await
        }
        Ask::Having { grant, ids } => {
            link.check(&grant, grant.grant.right)?;
            let holder = Arc::clone(&link.shared.holder);
            let bits = blocking(move || holder.having(&ids)).await?;
            protocol::write_bitmap(send, Some(&bits)).await
        }
        Ask::Give { grant } => {
            link.check(&grant, Right::Give)?;
            give::take(link, send, receive).await
        }
        Ask::Receipt(signed) => {
            let root = signed.receipt.root;
            let (taken, due) = match link.sessions().get_mut(&root) {
                Some(session) => (session.take(signed, &root, &link.shared.me, &link.peer), session.due()),
                None => (Ok(()), None),
            };
            if let Some(claim) = due {
                link.shared.meter.lock().unwrap_or_else(PoisonError::into_inner).report(claim);
            }
            link.receipted.notify_waiters();
            Ok(taken?)
        }
    }
}

async fn want(
    link: &Arc<Link>,
    grant: SignedGrant,
    ids: Vec<Hash>,
    begun: Vec<u32>,
    send: &mut SendStream,
) -> Result<(), Error> {
    link.check(&grant, Right::Fetch)?;
    let root = grant.grant.root;
    link.open(grant)?;
    want::send(link, want::Wanted { root, ids, begun }, send).await
}

fn code_of(error: &Error) -> Code {
    match error {
        Error::Grant(_) => Code::NotGranted,
        Error::TooMuch { .. } => Code::TooMuch,
        Error::Malformed(_) | Error::Lied(_) | Error::Receipt(_) => Code::Malformed,
        Error::Store(_) => Code::Storage,
        Error::Refused(code) => *code,
        Error::Bind { .. } | Error::Lost { .. } | Error::NoSource { .. } | Error::Stopped | Error::Relay { .. } => {
            Code::Done
        }
    }
}
