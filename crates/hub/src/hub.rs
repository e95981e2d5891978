//! A running hub: what starts it, what stops it, and nothing in between.
use crate::answers::Answers;
use crate::data::{self, Data};
use crate::doors::{self, Doors};
use crate::extra::Place;
use crate::http::{Origin, Prices, Shared, router};
use crate::inbox::{self, Inbox, Limits, Sftp};
use crate::journal::{Archive, Journal};
use crate::keeper::{Ending, Keeper, Parts, channel};
use crate::live::{Live, Postman};
use crate::lock::FolderLock;
use crate::managed::{self, DemandBell};
use crate::metrics::Metrics;
use crate::money::{self, Bell};
use crate::people::People;
use crate::proof::{Drawer, Drawing, Rounds};
use crate::screen::Screener;
use crate::status::Status;
use crate::token::Tokens;
use crate::traces::{Following, Traces};
use crate::{Config, Error, attempts, figures, logs, webhooks};
use gleaner_chain::embedded;
use gleaner_chain::rpc::Server;
use gleaner_core::Params;
use gleaner_data::net::relay::Relay;
use gleaner_data::store;
use gleaner_wire::WorkerKey;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// Numbers of live events that a hub may use up for each millisecond of its life.
const LIVE_NUMBERS_PER_MS: u64 = 1000;
/// How long a hub that stops waits for its store and its chain to be let go of, and how often it looks. `gleaner up` kills a hub
/// that takes much longer.
const LET_GO_TIME_MAX: Duration = Duration::from_secs(8);
const LET_GO_PAUSE: Duration = Duration::from_millis(5);

/// A running hub. Dropped without [`Hub::stop`], it ends as if its process had been killed.
pub struct Hub {
    address: SocketAddr,
    url: String,
    own_url: String,
    token_file: PathBuf,
    /// Where its store lies.
    chunks: PathBuf,
    /// Where its chain lies, if it has one inside.
    chain: PathBuf,
    ending: watch::Sender<Ending>,
    stopping: watch::Sender<bool>,
    keeper: Option<JoinHandle<()>>,
    serving: Option<tokio::task::JoinHandle<()>>,
    ended: oneshot::Receiver<Result<(), Error>>,
    /// The embedded chain's server, which ends with the hub.
    rpc: Option<Server>,
    /// The relay, too. It knows who may use it from the store's catalog.
    relay: Option<Relay>,
    sftp: Option<Sftp>,
    traces: Traces,
}

/// Starts a hub: takes its folder, replays its journal, listens.
pub async fn start(mut config: Config) -> Result<Hub, Error> {
    doors::check(&config)?;
    // First of all, so that a second hub hears of the first one and not of a taken port.
    let dir = &config.dir;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|source| Error::Folder { path: dir.clone(), source })?;
    let lock = FolderLock::take(dir)?;
    let doors = Doors::open(&config).await?;
    config.url = doors.site().cloned();
    let runtime = tokio::runtime::Handle::current();
    let (ending, ending_seen) = watch::channel(Ending::No);
    let (stopping, stopping_seen) = watch::channel(false);
    // A long journal takes a while to replay, and the disk may be slow.
    let (chain, fiat, dir) = (config.chain.clone(), config.fiat.clone(), config.dir.clone());
    let (relay_at, sftp_at, confirmations) = (config.relay, config.sftp, config.anchor_confirmations);
    let (managed, extra) = (config.managed.clone(), config.extra.clone());
    let pages = config.rpc_origins.iter().map(|site| site.origin().to_owned()).collect();
    let metrics = Arc::new(Metrics::new(doors.certificate_ends()));
    let opening =
        tokio::task::spawn_blocking(move || open(&config, lock, metrics, runtime, ending_seen, stopping_seen));
    let Opened { keeper, mut shared, drawing, postman, ended_jobs, courier, token_file, journal_path } =
        opening.await.map_err(|_| Error::Defect)??;
    let (bell, demand) = (keeper.bell(), keeper.demand_bell());
    let archive = shared.archive.clone();
    let opened =
        money::open(&chain, pages, fiat.as_ref(), confirmations, &dir, archive, bell).await.map_err(Box::new)?;
    let rpc = opened.map(|opened| {
        shared.money = Some(Arc::new(opened.money));
        opened.server
    });
    let relay = match relay_at {
        Some(address) => Some(relay(address, &shared).await?),
        None => None,
    };
    shared.relay_port = relay.as_ref().map(|relay| relay.address().port());
    shared.discovery_port = relay.as_ref().map(|relay| relay.discovery().port);
    let sftp = match sftp_at {
        Some(address) => Some(sftp(address, &dir, &shared, stopping.subscribe()).await?),
        None => None,
    };
    let shared = Arc::new(shared);
    let (ended_sender, ended) = oneshot::channel();
    let keeper = std::thread::Builder::new().name("hub-keeper".to_owned()).spawn(move || {
        let result = keeper.run().map_err(|source| Error::Journal { path: journal_path, source });
        // Whoever waits for the end may have gone away.
        let _ = ended_sender.send(result);
    });
    let keeper = keeper.map_err(|source| Error::Folder { path: token_file.clone(), source })?;
    if let Some(money) = &shared.money {
        let traces = shared.traces.clone();
        money.start(shared.keeper.clone(), shared.receipts(), traces, stopping.subscribe());
    }
    tokio::spawn(postman.run(stopping.subscribe()));
    tokio::spawn(courier.run(shared.keeper.clone(), shared.archive.clone(), stopping.subscribe()));
    tokio::spawn(Arc::clone(&shared.figures).attend(ended_jobs, stopping.subscribe()));
    tokio::spawn(drawing.run(shared.keeper.clone(), shared.money.clone(), stopping.subscribe()));
    let beside = match &extra {
        Some(extra) => {
            Some(extra.open(&Place { url: doors.own_url(), token_file: token_file.clone(), dir: dir.clone() })?)
        }
        None => None,
    };
    let place = managed::Place { url: doors.url(), token_file: token_file.clone() };
    tokio::spawn(managed::attend(managed, place, shared.keeper.clone(), demand, stopping.subscribe()));
    tokio::spawn(data::sweep(Arc::clone(&shared.data), shared.keeper.clone(), stopping.subscribe()));
    tokio::spawn(inbox::attend(Arc::clone(&shared.inbox), Arc::clone(&shared.data), stopping.subscribe()));
    let (address, url, own_url) = (doors.address(), doors.url(), doors.own_url());
    let serving = doors.serve(router(&shared, beside), Arc::clone(&shared.metrics), stopping.subscribe());
    let serving = tokio::spawn(serving);
    tracing::info!(url, "the hub listens");
    Ok(Hub {
        address,
        url,
        own_url,
        token_file,
        chunks: dir.join("chunks"),
        chain: dir.join("chain"),
        ending,
        stopping,
        keeper: Some(keeper),
        serving: Some(serving),
        ended,
        rpc: rpc.flatten(),
        relay,
        sftp,
        traces: shared.traces.clone(),
    })
}

/// The relay of this hub's network: for connected workers, and for requesters' machines that have asked.
async fn relay(address: SocketAddr, shared: &Shared) -> Result<Relay, Error> {
    let (tokens, data) = (Arc::clone(&shared.tokens), Arc::clone(&shared.data));
    let admits = move |key: &WorkerKey| tokens.is_connected(key) || data.is_guest(key);
    Relay::start(address, &shared.data.signer, admits).await.map_err(Error::Relay)
}

/// The door for people who bring data by SFTP.
#[cfg(target_os = "linux")]
async fn sftp(
    address: SocketAddr,
    dir: &Path,
    shared: &Shared,
    stopping: watch::Receiver<bool>,
) -> Result<Sftp, Error> {
    inbox::open_sftp(address, dir, Arc::clone(&shared.inbox), Arc::clone(&shared.tokens), stopping).await
}

/// Only Linux keeps users inside their folders, whatever happens to the folders meanwhile.
#[cfg(not(target_os = "linux"))]
async fn sftp(_: SocketAddr, _: &Path, _: &Shared, _: watch::Receiver<bool>) -> Result<Sftp, Error> {
    Err(Error::Sftp("it needs Linux".into()))
}

struct Opened {
    keeper: Keeper,
    shared: Shared,
    drawing: Drawing,
    postman: Postman,
    ended_jobs: figures::Ended,
    courier: webhooks::Courier,
    token_file: PathBuf,
    journal_path: PathBuf,
}

fn open(
    config: &Config,
    lock: FolderLock,
    metrics: Arc<Metrics>,
    runtime: tokio::runtime::Handle,
    ending: watch::Receiver<Ending>,
    stopping: watch::Receiver<bool>,
) -> Result<Opened, Error> {
    let dir = &config.dir;
    let folder = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Folder { path, source }
    };
    let token_file = dir.join("api.token");
    let tokens = Tokens::open(&token_file)?;
    let people = Arc::new(People::open(dir, config.sign_up)?);
    let place = config.bucket.clone().map_or(store::Place::Disk, store::Place::S3);
    let account_max = config.data_account_bytes_max.map(|max| max.0);
    let data = Arc::new(Data::open(dir, config.data_bytes_max.0, account_max, place)?);
    let limits = Limits { user_bytes_max: config.inbox_user_bytes_max.0, all_bytes_max: config.inbox_bytes_max.0 };
    let uploads = Arc::new(Inbox::open(dir, limits)?);
    let journal_path = dir.join("hub.db");
    let wrong = |source| Error::Journal { path: journal_path.clone(), source };
    let params = Params { orders: config.chain.is_some(), ..config.params.clone() };
    let (journal, recovered) = Journal::open(&journal_path, &params).map_err(wrong)?;
    if recovered.core.params().orders != params.orders {
        return Err(Error::OtherMoney { path: dir.clone(), on_chain: !params.orders });
    }
    let checks = recovered.core.params().checks;
    let (heartbeat_ms, lease_ms) = (recovered.core.params().heartbeat_ms, recovered.core.params().lease_ms);
    let archive = Archive::open(&journal_path).map_err(wrong)?;
    let hub = WorkerKey(data.signer.verifying_key().to_bytes());
    let entered = runtime.enter();
    let traces = Traces::open(config.traces.as_ref(), hub)?;
    drop(entered);
    let logs_dir = dir.join("logs");
    let (log_writer, log_reader) = logs::open(&logs_dir, Arc::clone(&metrics)).map_err(folder(&logs_dir))?;
    // Numbers of events grow over restarts, and fit into the numbers of JSON.
    let (live, postman) = Live::new(crate::clock::wall_ms().saturating_mul(LIVE_NUMBERS_PER_MS));
    let attempts_path = dir.join("attempts.db");
    let (attempt_notes, attempts) = attempts::open(&attempts_path, Arc::clone(&metrics), live.clone(), traces.clone())
        .map_err(|source| Error::Records { path: attempts_path, source })?;
    let status = Arc::new(Status::default());
    let (handle, inbox) = channel(Arc::clone(&status));
    let answers_path = dir.join("answers.db");
    let answers = Answers::open(&answers_path).map_err(|source| Error::Records { path: answers_path, source })?;
    let hooks_path = dir.join("webhooks.db");
    let (webhooks, webhook_bell, courier) =
        webhooks::open(&hooks_path, config.webhooks_private, Arc::clone(&metrics), Arc::clone(&people))
            .map_err(|source| Error::Records { path: hooks_path, source })?;
    let figures_path = dir.join("figures.db");
    let (figures, endings, ended_jobs) = figures::open(&figures_path, handle.clone(), archive.clone(), live.clone())
        .map_err(|source| Error::Records { path: figures_path, source })?;
    let (of_tests, tested) = ((Arc::clone(&metrics), traces.clone()), Arc::clone(&data));
    let screener = Screener::open(dir, tested, handle.clone(), of_tests, runtime.clone(), stopping.clone())?;
    let rounds_path = dir.join("rounds.db");
    let rounds = Rounds::open(&rounds_path);
    let rounds = rounds.map_err(|source| Error::Rounds { path: rounds_path, source })?;
    let (drawer, drawing) = Drawer::new(rounds.clone());
    let keeper = Keeper::new(Parts {
        journal,
        recovered,
        inbox,
        credit: config.credit,
        bell: Bell::default(),
        demand: DemandBell::default(),
        screener: screener.clone(),
        drawer,
        live: live.clone(),
        logs: log_writer,
        attempts: attempt_notes,
        following: Following::new(traces.clone()),
        endings,
        webhooks: webhook_bell,
        metrics: Arc::clone(&metrics),
        status,
        ending,
        runtime,
        lock,
    });
    let shared = Shared {
        checks,
        rounds,
        keeper: handle,
        tokens,
        people,
        origin: Origin::new(config.url.clone(), config.tls.is_some()),
        behind_proxy: config.behind_proxy,
        data,
        screener,
        inbox: uploads,
        relay_port: None,
        discovery_port: None,
        archive,
        logs: log_reader,
        attempts,
        live,
        machines: Arc::default(),
        figures,
        answers,
        webhooks,
        money: None,
        metrics,
        traces,
        prices: Prices::default(),
        heartbeat_ms,
        lease_ms,
        stopping,
    };
    Ok(Opened { keeper, shared, drawing, postman, ended_jobs, courier, token_file, journal_path })
}

impl Hub {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What others write to reach it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What programs on its own machine write: never encrypted, and for nobody else to reach.
    pub fn own_url(&self) -> &str {
        &self.own_url
    }

    /// Where people bring data by SFTP, if they can.
    pub fn sftp(&self) -> Option<&Sftp> {
        self.sftp.as_ref()
    }

    /// The file with the operator's token.
    pub fn token_file(&self) -> &Path {
        &self.token_file
    }

    /// Stops it cleanly: what has arrived is finished, a snapshot makes the next start quick.
    pub async fn stop(mut self) {
        self.end(Ending::Clean);
        if let Some(keeper) = self.keeper.take() {
            // The thread waits for nothing but the disk now.
            let _ = tokio::task::spawn_blocking(move || keeper.join()).await;
        }
        if let Some(serving) = self.serving.take() {
            // Its port is free afterwards.
            let _ = serving.await;
        }
        if let Some(rpc) = self.rpc.take() {
            // It would hold on to the chain, and so would whoever is connected to it.
            rpc.stop().await;
        }
        self.traces.finish().await;
        // It would hold on to the store.
        drop(self.relay.take());
        self.let_go_of_the_folder().await;
    }

    /// Requests under way, and an upload that is being sealed, use the store and the chain for a while longer.
    async fn let_go_of_the_folder(&self) {
        let begun = Instant::now();
        while store::is_open(&self.chunks) || embedded::is_open(&self.chain) {
            if begun.elapsed() > LET_GO_TIME_MAX {
                tracing::warn!("the hub ends while something still uses its folder");
                return;
            }
            tokio::time::sleep(LET_GO_PAUSE).await;
        }
    }

    /// Returns when the hub has stopped by itself, with the reason.
    pub async fn stopped(&mut self) -> Result<(), Error> {
        let result = (&mut self.ended).await.unwrap_or(Err(Error::Defect));
        self.end(Ending::Abrupt);
        result
    }

    fn end(&self, ending: Ending) {
        // Neither matters if nobody is left to hear it.
        self.ending.send_replace(ending);
        self.stopping.send_replace(true);
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.end(Ending::Abrupt);
        if let Some(keeper) = self.keeper.take() {
            // The folder's lock is free once the thread has ended, so a new hub can start right after this.
            let _ = keeper.join();
        }
    }
}
