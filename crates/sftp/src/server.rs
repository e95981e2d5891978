//! Accepting connections, and ending them.

use std::borrow::Cow;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use russh::keys::Algorithm;
use russh::server::run_stream;
use russh::{Disconnect, MethodKind, MethodSet, Preferred, SshId, cipher};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat};
use rustix::io::Errno;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};

use crate::change::Changes;
use crate::config::Config;
use crate::connection::{Connection, Hall};
use crate::door::{Door, Visit};
use crate::folder::beneath;
use crate::quota::Quota;

/// Whoever has not logged in by then is disconnected. Long enough to type a password, and for slowed down tries.
const LOGIN_TIME_MAX: Duration = Duration::from_secs(90);
/// The most refused tries of logging in on one connection; an agent may offer a handful of keys first.
const TRIES_MAX: usize = 10;
/// A refused try takes at least this long.
const REFUSAL_TIME: Duration = Duration::from_millis(200);
/// A client that says nothing is asked for a sign of life this often, and given up after three.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// How long connections may take to end when the server stops.
const FAREWELL_TIME_MAX: Duration = Duration::from_secs(2);
/// How long to wait when no connection can be accepted, such as for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// What a client may send before it is told that it was read.
const WINDOW_BYTES: u32 = 2 * 1024 * 1024;
/// Messages between a connection and its channels: about a MiB each way.
const MESSAGES_MAX: usize = 32;

/// Strong, and by the processor's own instructions wherever it has them. The client's order decides.
const CIPHERS: &[cipher::Name] =
    &[cipher::AES_256_GCM, cipher::AES_128_GCM, cipher::CHACHA20_POLY1305, cipher::AES_256_CTR, cipher::AES_128_CTR];

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("could not listen for SFTP on {address}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The folder of the users' folders cannot be used.
    #[error("could not use {} for SFTP uploads", path.display())]
    Root {
        /// The folder asked for.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The system cannot keep users inside their folders.
    #[error("SFTP needs the system call openat2 (Linux 5.8 or newer, and a container that allows it)")]
    Kernel(#[source] io::Error),
}

/// A running server. Dropping it ends it too, without waiting.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    quota: Arc<Quota>,
    changes: Arc<Changes>,
    stop: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Starts listening, once what the folders hold has been counted.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let failed = |source| StartError::Listen { address: config.listen, source };
        let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (root, bytes_max) = (config.root.clone(), config.bytes_max);
        let opened = spawn_blocking(move || open_root(&root, bytes_max)).await;
        let (all, quota) =
            opened.map_err(|join| StartError::Root { path: config.root.clone(), source: join.into() })??;
        let (quota, changes) = (Arc::new(quota), Arc::new(Changes::default()));
        let hall =
            Hall { users: Arc::clone(&config.users), all, quota: Arc::clone(&quota), changes: Arc::clone(&changes) };
        let (stop, stopped) = watch::channel(false);
        let accepting = tokio::spawn(accept(listener, Arc::new(ssh(&config)), Arc::new(hall), stopped));
        Ok(Self { address, quota, changes, stop, accepting })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What was uploaded and is ready to be taken.
    pub fn changes(&self) -> Arc<Changes> {
        Arc::clone(&self.changes)
    }

    /// Counts a user's folder again, after files were taken from it by other means than SFTP.
    pub async fn recount(&self, folder: &str) -> io::Result<()> {
        let (quota, folder) = (Arc::clone(&self.quota), folder.to_string());
        spawn_blocking(move || quota.recount_folder(&folder)).await?.map_err(Into::into)
    }

    /// Ends all connections and stops listening.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if let Err(error) = self.accepting.await {
            tracing::warn!(%error, "the SFTP server did not end by itself");
        }
    }
}

fn open_root(path: &Path, bytes_max: u64) -> Result<(std::os::fd::OwnedFd, Quota), StartError> {
    let failed = |source: io::Error| StartError::Root { path: path.to_path_buf(), source };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    let open = || openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let all = open().map_err(|error| failed(error.into()))?;
    match beneath(&all, b".", OFlags::PATH, Mode::empty(), ResolveFlags::empty()) {
        Ok(_) => {}
        Err(error @ (Errno::NOSYS | Errno::PERM)) => return Err(StartError::Kernel(error.into())),
        Err(error) => return Err(failed(error.into())),
    }
    let quota = Quota::open(open().map_err(|error| failed(error.into()))?, bytes_max);
    Ok((all, quota.map_err(|error| failed(error.into()))?))
}

fn ssh(config: &Config) -> russh::server::Config {
    russh::server::Config {
        server_id: SshId::Standard(Cow::Borrowed("SSH-2.0-gleaner")),
        methods: MethodSet::from(&[MethodKind::PublicKey, MethodKind::Password][..]),
        auth_rejection_time: REFUSAL_TIME,
        // Every client starts by asking what it may try.
        auth_rejection_time_initial: Some(Duration::ZERO),
        keys: vec![config.host_key.private()],
        window_size: WINDOW_BYTES,
        channel_buffer_size: MESSAGES_MAX,
        event_buffer_size: MESSAGES_MAX,
        preferred: Preferred {
            key: Cow::Borrowed(&[Algorithm::Ed25519]),
            cipher: Cow::Borrowed(CIPHERS),
            ..Preferred::DEFAULT
        },
        max_auth_attempts: TRIES_MAX,
        keepalive_interval: Some(SILENCE_MAX),
        nodelay: true,
        ..russh::server::Config::default()
    }
}

async fn accept(
    listener: TcpListener,
    ssh: Arc<russh::server::Config>,
    hall: Arc<Hall>,
    mut stopped: watch::Receiver<bool>,
) {
    let door = Arc::new(Door::default());
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = stopped.changed() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => {
                    // One too many finds the connection closed.
                    if let Some(visit) = door.knock(address.ip()) {
                        connections.spawn(serve(stream, Arc::clone(&ssh), Arc::clone(&hall), visit, stopped.clone()));
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "could not accept an SFTP connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    while connections.join_next().await.is_some() {}
}

/// Serves one connection until it ends, nobody logs in, or the server stops.
async fn serve(
    stream: TcpStream,
    ssh: Arc<russh::server::Config>,
    hall: Arc<Hall>,
    visit: Visit,
    mut stopped: watch::Receiver<bool>,
) {
    let is_inside = Arc::new(AtomicBool::new(false));
    let connection = Connection::new(hall, visit, Arc::clone(&is_inside));
    // The library owns the stream; a second handle is the only way to end it from here.
    let Ok((stream, socket)) = split(stream) else { return };
    let login_end = tokio::time::Instant::now() + LOGIN_TIME_MAX;
    let mut session = tokio::select! {
        session = tokio::time::timeout_at(login_end, run_stream(ssh, stream, connection)) => match session {
            Ok(Ok(session)) => session,
            Ok(Err(_)) | Err(_) => return,
        },
        _ = stopped.changed() => return,
    };
    tokio::select! {
        ended = &mut session => {
            if let Err(error) = ended {
                tracing::debug!(%error, "an SFTP connection broke");
            }
            return;
        }
        () = nobody_logs_in(login_end, &is_inside) => {}
        _ = stopped.changed() => {
            let words = "the hub is stopping".to_string();
            drop(session.handle().disconnect(Disconnect::ByApplication, words, "en".into()).await);
            drop(tokio::time::timeout(FAREWELL_TIME_MAX, &mut session).await);
        }
    }
    // It may be closed already.
    drop(socket.shutdown(Shutdown::Both));
}

/// Ends when the time to log in is over and nobody has; never if somebody has.
async fn nobody_logs_in(login_end: tokio::time::Instant, is_inside: &AtomicBool) {
    tokio::time::sleep_until(login_end).await;
    if is_inside.load(Ordering::Relaxed) {
        std::future::pending().await
    }
}

fn split(stream: TcpStream) -> io::Result<(TcpStream, std::net::TcpStream)> {
    stream.set_nodelay(true)?;
    let stream = stream.into_std()?;
    let second = stream.try_clone()?;
    Ok((TcpStream::from_std(stream)?, second))
}
