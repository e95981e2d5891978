//! SFTP for people who live in FileZilla. A user is whoever knows the hub's token, by the name that jobs are submitted
//! under.
use super::tops::CALM;
use super::{Inbox, Sftp, Top, User};
use crate::Error;
use crate::token::{Caller, Tokens};
use gleaner_sftp::{Account, Changes, Config, HostKey, PublicKey, Quiet, Server, Users};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;

struct Door {
    tokens: Arc<Tokens>,
    bytes_max: u64,
}

impl Users for Door {
    fn password(&self, user: &str, password: &str) -> Option<Account> {
        let user = User::parse(user)?;
        match self.tokens.caller(password)? {
            Caller::Operator => Some(Account { folder: user.to_string(), bytes_max: self.bytes_max }),
            Caller::Worker(..) | Caller::Account(_) => None,
        }
    }

    fn public_key(&self, _: &str, _: &PublicKey) -> Option<Account> {
        None
    }
}

/// Opens the door.
pub(crate) async fn open(
    listen: SocketAddr,
    hub: &Path,
    inbox: Arc<Inbox>,
    tokens: Arc<Tokens>,
    stopping: watch::Receiver<bool>,
) -> Result<Sftp, Error> {
    let host_key = HostKey::load_or_make(&hub.join("sftp.key")).map_err(|error| Error::Sftp(Box::new(error)))?;
    let fingerprint = host_key.fingerprint();
    let limits = inbox.books.limits;
    let users = Arc::new(Door { tokens, bytes_max: limits.user_bytes_max });
    let config = Config { listen, host_key, root: inbox.dir.clone(), bytes_max: limits.all_bytes_max, users };
    let server = Server::start(config).await.map_err(|error| Error::Sftp(Box::new(error)))?;
    let (address, changes) = (server.address(), server.changes());
    inbox.ask_whether_arriving(move |top| changes.is_pending(top.user.as_str(), top.name.as_bytes()));
    tokio::spawn(attend(server, inbox, stopping));
    Ok(Sftp { address, fingerprint })
}

/// Hands over what becomes quiet, until the hub stops.
async fn attend(server: Server, inbox: Arc<Inbox>, mut stopping: watch::Receiver<bool>) {
    let changes = server.changes();
    loop {
        let quiet = tokio::select! {
            quiet = changes.next_quiet(CALM) => quiet,
            _ = stopping.changed() => break,
        };
        take(&inbox, &changes, quiet).await;
    }
    server.stop().await;
}

async fn take(inbox: &Arc<Inbox>, changes: &Changes, quiet: Quiet) {
    let tops = tops(inbox, &quiet).await;
    changes.heard(&quiet, || super::note(&inbox.tops, &tops));
}

async fn tops(inbox: &Arc<Inbox>, quiet: &Quiet) -> Vec<Top> {
    let Some(user) = User::parse(&quiet.folder) else { return Vec::new() };
    if !quiet.interrupted.is_empty() {
        // It is told again once they are whole or gone.
        tracing::info!(%user, files = quiet.interrupted.len(), "an upload broke off; it is sealed once it is whole");
        return Vec::new();
    }
    match &quiet.name {
        Some(name) => Top::new(user, name).into_iter().collect(),
        None => {
            let dir = inbox.dir.clone();
            let all = tokio::task::spawn_blocking(move || gleaner_uploads::scan(&dir)).await;
            all.ok().and_then(Result::ok).unwrap_or_default()
        }
    }
}
