//! One SSH connection: who it is, and that it may do nothing but SFTP.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use russh::keys::PublicKey;
use russh::server::{Auth, ChannelOpenHandle, Handler, Msg, PublicKeyOffer, Session as Ssh, VerifiedPublicKey};
use russh::{Channel, ChannelId, ChannelOpenFailure, Disconnect, Pty};
use tokio::task::spawn_blocking;

use crate::change::Changes;
use crate::config::{Account, Users};
use crate::door::Visit;
use crate::files::Files;
use crate::folder::Folder;
use crate::handle::Count;
use crate::pump::{self, SUBSYSTEM};
use crate::quota::Quota;
use crate::session::Session;

/// The most channels of one connection: clients that share a connection open one for each window.
const CHANNELS_MAX: usize = 8;

/// What all connections of a server have in common.
pub(crate) struct Hall {
    pub(crate) users: Arc<dyn Users>,
    pub(crate) all: OwnedFd,
    pub(crate) quota: Arc<Quota>,
    pub(crate) changes: Arc<Changes>,
}

impl Hall {
    fn open(&self, account: Account, is_counted: bool, count: Count) -> Option<Session> {
        let folder = match Folder::open(&self.all, &account.folder) {
            Ok(folder) => folder,
            Err(error) => {
                tracing::warn!(folder = account.folder, %error, "could not open a user's folder");
                return None;
            }
        };
        if !is_counted && let Err(error) = self.quota.recount_folder(&account.folder) {
            tracing::warn!(folder = account.folder, %error, "could not count a user's folder");
            return None;
        }
        let (quota, changes) = (Arc::clone(&self.quota), Arc::clone(&self.changes));
        let files = Files { folder, name: account.folder, bytes_max: account.bytes_max, quota, changes };
        Some(Session::new(files, count))
    }
}

/// The state of one connection.
pub(crate) struct Connection {
    hall: Arc<Hall>,
    visit: Visit,
    account: Option<Account>,
    /// Set once somebody has logged in, for the clock that ends connections where nobody does.
    is_inside: Arc<AtomicBool>,
    started: BTreeSet<ChannelId>,
    /// The folder has been counted since the user was away.
    is_counted: bool,
    channels: Arc<AtomicUsize>,
    handles: Count,
}

impl Connection {
    pub(crate) fn new(hall: Arc<Hall>, visit: Visit, is_inside: Arc<AtomicBool>) -> Self {
        let (started, channels, handles) = (BTreeSet::new(), Arc::default(), Arc::default());
        Self { hall, visit, account: None, is_inside, started, is_counted: false, channels, handles }
    }

    fn let_in(&mut self, account: Account) -> Auth {
        if !account.is_plain() {
            tracing::warn!(folder = account.folder, "an account has a folder that is no plain name");
            return Auth::reject();
        }
        if !self.visit.enter(&account.folder) {
            tracing::info!(folder = account.folder, "a user has too many connections");
            return Auth::reject();
        }
        self.account = Some(account);
        self.is_counted = !self.visit.is_alone();
        self.is_inside.store(true, Ordering::Relaxed);
        Auth::Accept
    }

    async fn account_of_key(&self, user: &str, key: &PublicKey) -> Option<Account> {
        let (users, user, key) = (Arc::clone(&self.hall.users), user.to_string(), key.clone());
        spawn_blocking(move || users.public_key(&user, &key)).await.ok().flatten()
    }
}

impl Handler for Connection {
    type Error = russh::Error;

    async fn auth_password(&mut self, user: &str, password: &str) -> Result<Auth, Self::Error> {
        tokio::time::sleep(self.visit.wait()).await;
        let (users, user, password) = (Arc::clone(&self.hall.users), user.to_string(), password.to_string());
        let account = spawn_blocking(move || users.password(&user, &password)).await.ok().flatten();
        match account {
            Some(account) => Ok(self.let_in(account)),
            None => {
                self.visit.was_wrong();
                Ok(Auth::reject())
            }
        }
    }

    async fn auth_publickey_offered(&mut self, user: &str, offer: PublicKeyOffer<'_>) -> Result<Auth, Self::Error> {
        let account = self.account_of_key(user, offer.public_key).await;
        Ok(if account.is_some() { Auth::Accept } else { Auth::reject() })
    }

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, Self::Error> {
        match self.account_of_key(user, key.public_key).await {
            Some(account) => Ok(self.let_in(account)),
            None => Ok(Auth::reject()),
        }
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        ssh: &mut Ssh,
    ) -> Result<(), Self::Error> {
        let Some(account) = self.account.clone() else { return Ok(()) };
        if self.channels.fetch_add(1, Ordering::Relaxed) >= CHANNELS_MAX {
            self.channels.fetch_sub(1, Ordering::Relaxed);
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        }
        reply.accept().await;
        let (hall, handles, channels) = (Arc::clone(&self.hall), Arc::clone(&self.handles), Arc::clone(&self.channels));
        let (ssh, is_counted) = (ssh.handle(), std::mem::replace(&mut self.is_counted, true));
        tokio::spawn(async move {
            if let Err(end) = pump::run(channel, move || hall.open(account, is_counted, handles)).await {
                tracing::info!(%end, "an SFTP connection is ended");
                // It may have ended by itself.
                drop(ssh.disconnect(Disconnect::ByApplication, end.to_string(), "en".into()).await);
            }
            channels.fetch_sub(1, Ordering::Relaxed);
        });
        Ok(())
    }

    async fn subsystem_request(&mut self, id: ChannelId, name: &str, ssh: &mut Ssh) -> Result<(), Self::Error> {
        if name == SUBSYSTEM && self.started.insert(id) { ssh.channel_success(id) } else { ssh.channel_failure(id) }
    }

    async fn channel_close(&mut self, id: ChannelId, _ssh: &mut Ssh) -> Result<(), Self::Error> {
        self.started.remove(&id);
        Ok(())
    }

    async fn shell_request(&mut self, id: ChannelId, ssh: &mut Ssh) -> Result<(), Self::Error> {
        ssh.channel_failure(id)
    }

    async fn exec_request(&mut self, id: ChannelId, _command: &[u8], ssh: &mut Ssh) -> Result<(), Self::Error> {
        ssh.channel_failure(id)
    }

    async fn env_request(
        &mut self,
        id: ChannelId,
        _name: &str,
        _value: &str,
        ssh: &mut Ssh,
    ) -> Result<(), Self::Error> {
        ssh.channel_failure(id)
    }

    async fn pty_request(
        &mut self,
        id: ChannelId,
        _terminal: &str,
        _columns: u32,
        _rows: u32,
        _width: u32,
        _height: u32,
        _modes: &[(Pty, u32)],
        ssh: &mut Ssh,
    ) -> Result<(), Self::Error> {
        ssh.channel_failure(id)
    }

    async fn x11_request(
        &mut self,
        id: ChannelId,
        _is_single: bool,
        _protocol: &str,
        _cookie: &str,
        _screen: u32,
        ssh: &mut Ssh,
    ) -> Result<(), Self::Error> {
        ssh.channel_failure(id)
    }
}
