//! One connection to a hub: the handshake, then both directions at once, so that neither waits for the other.
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use gleaner_client::{HubAddress, Token};
use gleaner_wire::api::Problem;
use gleaner_wire::machine::MachineReport;
use gleaner_wire::{
    Finished, HELD_MAX, MESSAGE_BYTES_MAX, Millis, Offer, Outcome, PROTOCOL, ToHub, ToWorker, WorkerId, WorkerKey,
    decode, encode,
};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::AUTHORIZATION;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_tls_with_config};

use crate::agent::Agent;
use crate::config::Report;
use crate::identity::Identity;
use crate::log::{PIECES_WAITING_MAX, Piece};
use crate::outbox::batches;
use crate::steering;

/// How long a hub may take to let a worker in.
const HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(20);
/// How long a message may take to leave, and a farewell altogether.
const SEND_TIME_MAX: Duration = Duration::from_secs(20);
const FAREWELL_TIME_MAX: Duration = Duration::from_secs(2);
/// The pause between two pieces of logs, so that they never hold up results and heartbeats.
const LOG_PAUSE: Duration = Duration::from_millis(5);
/// How often the hub is told what this machine holds of datasets and images, if that has changed.
const HOLDINGS_TIME: Duration = Duration::from_secs(5);
/// How often it is told how the machine does although nothing has changed, so that its owner sees that this is so.
const REPORT_TIME: Duration = Duration::from_secs(30);
const BUFFER_BYTES: usize = 8 * 1024;
/// Heartbeats that may go unanswered before the connection counts as dead.
const UNANSWERED_MAX: u32 = 3;
/// The heartbeats that a hub may ask for.
const HEARTBEAT_MIN: Duration = Duration::from_millis(10);
const HEARTBEAT_MAX: Duration = Duration::from_secs(60);

const NO_SENSE: &str = "the hub's handshake makes no sense";

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;
type Sink = SplitSink<Socket, Message>;

/// Why a session is over.
#[derive(Debug)]
pub enum Ended {
    /// The worker is to stop.
    Stopped,
    /// The hub does not want this worker.
    Refused(String),
    /// The connection is gone; another one may work.
    Lost {
        /// Why.
        why: String,
        /// Whether the worker was in.
        was_in: bool,
    },
}

/// What every session of a worker shares.
pub struct Sessions<'a> {
    /// The hub's address.
    pub hub: &'a HubAddress,
    /// Who the worker is.
    pub identity: &'a Identity,
    /// What it offers.
    pub offer: &'a Offer,
    /// Its provider's word that it is its own; empty if it names none.
    pub owner_proof: &'a [u8],
    /// The token of the account that it is counted as, until a hub does not take it.
    pub account_token: &'a watch::Sender<Option<Token>>,
    /// What it does.
    pub agent: &'a Arc<Agent>,
    /// Whom it tells.
    pub report: &'a (dyn Fn(Report) + Send + Sync),
}

/// What the hub said in its welcome.
struct Welcome {
    worker: WorkerId,
    heartbeat: Duration,
    token: String,
    hub: WorkerKey,
}

#[expect(clippy::needless_pass_by_value, reason = "errors are mapped with it, and those come by value")]
fn lost(why: impl ToString) -> Ended {
    Ended::Lost { why: why.to_string(), was_in: false }
}

impl Sessions<'_> {
    /// Connects and stays connected until something ends it.
    pub async fn run(&self, logs: &mut mpsc::Receiver<Piece>, stop: &mut watch::Receiver<bool>) -> Ended {
        let handshake = timeout(HANDSHAKE_TIME_MAX, self.handshake());
        let welcomed = tokio::select! {
            welcomed = handshake => welcomed.unwrap_or_else(|_| Err(lost("the hub did not let the worker in in time"))),
            () = stopped(stop) => return Ended::Stopped,
        };
        let (sink, stream, welcome) = match welcomed {
            Ok(welcomed) => welcomed,
            Err(ended) => return ended,
        };
        (self.report)(Report::Connected { worker: welcome.worker });
        self.agent.trails().at(welcome.hub, welcome.worker);
        self.agent.hub.connect(welcome.token);
        let silence_max = welcome.heartbeat * (UNANSWERED_MAX + 1);
        let ended = tokio::select! {
            ended = self.read(stream, silence_max) => ended,
            ended = self.write(sink, logs, stop, (welcome.heartbeat, welcome.hub)) => ended.map_or_else(|ended| ended, |never| match never {}),
        };
        self.agent.hub.disconnected();
        match ended {
            Ended::Lost { why, .. } => Ended::Lost { why, was_in: true },
            ended => ended,
        }
    }

    async fn handshake(&self) -> Result<(Sink, SplitStream<Socket>, Welcome), Ended> {
        let mut config = WebSocketConfig::default();
        config.read_buffer_size = BUFFER_BYTES;
        config.write_buffer_size = BUFFER_BYTES;
        config.max_write_buffer_size = 4 * MESSAGE_BYTES_MAX;
        config.max_message_size = Some(MESSAGE_BYTES_MAX);
        config.max_frame_size = Some(MESSAGE_BYTES_MAX);
        let mut request = self.hub.socket_url("/worker/v1").into_client_request().map_err(lost)?;
        let token = self.account_token.borrow().as_ref().map(|token| token.bearer().parse::<HeaderValue>());
        if let Some(token) = token.transpose().map_err(lost)? {
            request.headers_mut().insert(AUTHORIZATION, token);
        }
        let connected = connect_async_tls_with_config(request, Some(config), true, Some(self.hub.connector())).await;
        let (socket, _) = connected.map_err(|error| self.not_connected(&error))?;
        let (mut sink, mut stream) = socket.split();
        let nonce = match next_message(&mut stream).await? {
            ToWorker::Challenge { protocol: PROTOCOL, nonce } => nonce,
            ToWorker::Challenge { protocol, .. } => {
                let older = if protocol > PROTOCOL { "worker" } else { "hub" };
                let text = format!("the hub speaks protocol {protocol}, this worker {PROTOCOL}: update the {older}");
                return Err(Ended::Refused(text));
            }
            ToWorker::Refused { reason } => return Err(Ended::Refused(reason)),
            ToWorker::Welcome { .. }
            | ToWorker::Spec { .. }
            | ToWorker::Start(_)
            | ToWorker::Cancel(_)
            | ToWorker::Acknowledge { .. }
            | ToWorker::Forget(_)
            | ToWorker::Paused(_)
            | ToWorker::Screened { .. }
            | ToWorker::Invite(_)
            | ToWorker::Reveal(_)
            | ToWorker::Yield { .. }
            | ToWorker::Earned(_)
            | ToWorker::Set { .. } => return Err(lost(NO_SENSE)),
        };
        let hello = ToHub::Hello {
            protocol: PROTOCOL,
            key: self.identity.public(),
            signature: self.identity.sign(&nonce),
            offer: self.offer_now(),
            owner_proof: self.owner_proof.to_vec(),
            resting: self.agent.resting.borrow().clone(),
            held: self.agent.holdings().list(),
        };
        send(&mut sink, &hello).await?;
        match next_message(&mut stream).await? {
            ToWorker::Welcome { worker, heartbeat_ms: Millis(heartbeat), token, hub } => {
                let heartbeat = Duration::from_millis(heartbeat).clamp(HEARTBEAT_MIN, HEARTBEAT_MAX);
                Ok((sink, stream, Welcome { worker, heartbeat, token, hub }))
            }
            ToWorker::Refused { reason } => Err(Ended::Refused(reason)),
            ToWorker::Challenge { .. }
            | ToWorker::Spec { .. }
            | ToWorker::Start(_)
            | ToWorker::Cancel(_)
            | ToWorker::Acknowledge { .. }
            | ToWorker::Forget(_)
            | ToWorker::Paused(_)
            | ToWorker::Screened { .. }
            | ToWorker::Invite(_)
            | ToWorker::Reveal(_)
            | ToWorker::Yield { .. }
            | ToWorker::Earned(_)
            | ToWorker::Set { .. } => Err(lost(NO_SENSE)),
        }
    }

    /// Why there is no connection. An account's token that is not taken is not shown again: the work goes on without it.
    fn not_connected(&self, error: &tungstenite::Error) -> Ended {
        let tungstenite::Error::Http(response) = error else { return lost(error) };
        if matches!(response.status().as_u16(), 401 | 403) && self.account_token.send_replace(None).is_some() {
            let problem = response.body().as_deref().and_then(|body| serde_json::from_slice::<Problem>(body).ok());
            let why = problem.map_or_else(|| response.status().to_string(), |problem| problem.detail);
            self.agent.steering.unpair();
            (self.report)(Report::Unpaired { why });
        }
        lost(error)
    }

    /// The offer at the prices of the moment.
    fn offer_now(&self) -> Offer {
        let mut offer = self.offer.clone();
        for (device, price) in offer.devices.iter_mut().zip(&*self.agent.prices.borrow()) {
            device.price_per_second = *price;
        }
        offer
    }

    /// Does what the hub says until the connection ends.
    async fn read(&self, mut stream: SplitStream<Socket>, silence_max: Duration) -> Ended {
        loop {
            let message = match timeout(silence_max, next_frame(&mut stream)).await {
                Err(_) => return lost("the hub does not answer"),
                Ok(Err(ended)) => return ended,
                Ok(Ok(None)) => continue,
                Ok(Ok(Some(message))) => message,
            };
            if let ToWorker::Screened { device, runtime, verdict } = &message {
                (self.report)(Report::Screened { device: *device, runtime: *runtime, verdict: verdict.clone() });
            }
            match self.agent.on_message(message) {
                Ok(None) => {}
                Ok(Some(reason)) => return Ended::Refused(reason),
                Err(breach) => return lost(breach),
            }
        }
    }

    /// Sends what there is until the connection ends.
    async fn write(
        &self,
        mut sink: Sink,
        logs: &mut mpsc::Receiver<Piece>,
        stop: &mut watch::Receiver<bool>,
        (heartbeat, hub): (Duration, WorkerKey),
    ) -> Result<Infallible, Ended> {
        let again = self.agent.holdings().unacknowledged();
        for (batch, results) in again {
            send(&mut sink, &self.signed(batch, results, &hub)).await?;
        }
        let mut log_at = Instant::now();
        let mut pieces = VecDeque::new();
        let mut beats = interval(heartbeat);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut holdings, mut told) = (interval(HOLDINGS_TIME), Vec::new());
        let mut reported: Option<(MachineReport, Instant)> = None;
        holdings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut resting = self.agent.resting.subscribe();
        let mut prices = self.agent.prices.subscribe();
        // What changed since the hello was said.
        resting.mark_changed();
        prices.mark_changed();
        loop {
            tokio::select! {
                results = self.agent.outbox.take() => {
                    for (attempt, checkpoint) in self.agent.outbox.take_saved() {
                        send(&mut sink, &ToHub::Saved { attempt, checkpoint }).await?;
                    }
                    send_last_words(&mut sink, logs, &mut pieces, &results).await?;
                    self.send_results(&mut sink, results, &hub).await?;
                }
                _ = beats.tick() => {
                    let held = self.agent.holdings().list();
                    send(&mut sink, &ToHub::Heartbeat { held }).await?;
                    // The answer shows that the hub is there, even if it has nothing to say.
                    in_time(sink.send(Message::Ping(Default::default()))).await?;
                }
                _ = holdings.tick() => {
                    let depot = Arc::clone(&self.agent.depot);
                    let mut held = self.agent.images();
                    held.extend(tokio::task::spawn_blocking(move || depot.held()).await.unwrap_or_default());
                    held.truncate(HELD_MAX);
                    if held != told {
                        told.clone_from(&held);
                        send(&mut sink, &ToHub::Holds(held)).await?;
                    }
                    let report = self.agent.steering.report();
                    let is_old =
                        |(before, at): &(MachineReport, Instant)| *before != report || at.elapsed() >= REPORT_TIME;
                    if reported.as_ref().is_none_or(is_old) {
                        send(&mut sink, &ToHub::Machine(report.clone())).await?;
                        reported = Some((report, Instant::now()));
                    }
                }
                Ok(()) = resting.changed() => {
                    let devices = resting.borrow_and_update().clone();
                    send(&mut sink, &ToHub::Resting(devices)).await?;
                }
                message = self.agent.bidding.next() => send(&mut sink, &message).await?,
                message = self.agent.steering.next() => {
                    if let ToHub::Set { answer: Ok(report), .. } = &message {
                        (self.report)(Report::Set { what: steering::in_words(report) });
                    }
                    send(&mut sink, &message).await?;
                }
                Ok(()) = prices.changed() => {
                    let prices = prices.borrow_and_update().clone();
                    send(&mut sink, &ToHub::Prices(prices)).await?;
                }
                Some((attempt, text)) = next_log(logs, &mut pieces, log_at) => {
                    log_at = Instant::now() + LOG_PAUSE;
                    send(&mut sink, &ToHub::Log { attempt, text }).await?;
                }
                () = stopped(stop) => {
                    let farewell = async {
                        self.send_results(&mut sink, self.agent.outbox.take_now(), &hub).await?;
                        send(&mut sink, &ToHub::Leaving).await?;
                        sink.close().await.map_err(lost)
                    };
                    // The hub learns it from the end of the connection otherwise.
                    let _ = timeout(FAREWELL_TIME_MAX, farewell).await;
                    return Err(Ended::Stopped);
                }
            }
        }
    }

    /// Results with this worker's word for what they claim.
    fn signed(&self, batch: u64, results: Vec<Finished>, hub: &WorkerKey) -> ToHub {
        let tasks = self.agent.holdings().tasks(&results);
        let signed = self.identity.sign_claims(&results, tasks, hub);
        ToHub::Finished { batch, results, signed }
    }

    async fn send_results(&self, sink: &mut Sink, results: Vec<Finished>, hub: &WorkerKey) -> Result<(), Ended> {
        if results.is_empty() {
            return Ok(());
        }
        let failed = results.iter().filter(|result| matches!(result.outcome, Outcome::Failed { .. })).count() as u64;
        let done = results.iter().filter(|result| matches!(result.outcome, Outcome::Done(_))).count() as u64;
        self.agent.trails().tell(&results);
        // All batches are numbered before the first is sent: what a lost connection leaves is sent again.
        let numbered = batches(results).into_iter().map(|results| {
            let batch = self.agent.holdings().finish(results.clone());
            self.signed(batch, results, hub)
        });
        for message in numbered.collect::<Vec<_>>() {
            send(sink, &message).await?;
        }
        (self.report)(Report::Finished { done, failed });
        Ok(())
    }
}

/// Sends what attempts have logged before it is told that they have ended: the hub keeps no log of what does not run.
async fn send_last_words(
    sink: &mut Sink,
    logs: &mut mpsc::Receiver<Piece>,
    pieces: &mut VecDeque<Piece>,
    results: &[Finished],
) -> Result<(), Ended> {
    while pieces.len() < PIECES_WAITING_MAX
        && let Ok(piece) = logs.try_recv()
    {
        pieces.push_back(piece);
    }
    for (attempt, text) in std::mem::take(pieces) {
        if results.iter().any(|result| result.attempt == attempt) {
            send(sink, &ToHub::Log { attempt, text }).await?;
        } else {
            pieces.push_back((attempt, text));
        }
    }
    Ok(())
}

/// The next piece of a log, but not before this moment.
async fn next_log(logs: &mut mpsc::Receiver<Piece>, pieces: &mut VecDeque<Piece>, at: Instant) -> Option<Piece> {
    sleep_until(at).await;
    match pieces.pop_front() {
        Some(piece) => Some(piece),
        None => logs.recv().await,
    }
}

/// Waits until the worker is to stop.
pub async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone can never say stop, and then nobody wants the worker any more either.
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn in_time<T, E: ToString>(work: impl Future<Output = Result<T, E>>) -> Result<T, Ended> {
    timeout(SEND_TIME_MAX, work).await.map_err(|_| lost("the hub takes no messages"))?.map_err(lost)
}

async fn send(sink: &mut Sink, message: &ToHub) -> Result<(), Ended> {
    in_time(sink.send(Message::binary(encode(message)))).await
}

/// The next message; `None` for a frame that only keeps the connection alive.
async fn next_frame(stream: &mut SplitStream<Socket>) -> Result<Option<ToWorker>, Ended> {
    match stream.next().await {
        Some(Ok(Message::Binary(bytes))) => decode(&bytes).map(Some).map_err(lost),
        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Ok(None),
        Some(Ok(Message::Text(_))) => Err(lost("the hub sent text")),
        Some(Ok(Message::Close(_))) | None => Err(lost("the hub closed the connection")),
        Some(Err(error)) => Err(lost(error)),
    }
}

async fn next_message(stream: &mut SplitStream<Socket>) -> Result<ToWorker, Ended> {
    loop {
        if let Some(message) = next_frame(stream).await? {
            return Ok(message);
        }
    }
}
