//! One worker's connection: the handshake, then messages both ways, everything bounded.
//!
//! What a worker says is checked here and handed to the keeper; what the keeper has for it is sent from here.
use crate::http::{Asking, Problem, Shared, Via, unauthorized};
use crate::keeper::{Backlog, BacklogReceiver, Command, Join, Outgoing, Report};
use crate::proof::SignedClaims;
use crate::token;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use ed25519_dalek::{Signature, VerifyingKey};
use futures_util::stream::SplitSink;
use futures_util::{SinkExt, Stream, StreamExt};
use gleaner_accounts::token::Scope;
use gleaner_accounts::{AccountId, Role, Visit};
use gleaner_core::Session;
use gleaner_wire::machine::{HOURS_BYTES_MAX, MachineReport, REFUSAL_BYTES_MAX};
use gleaner_wire::{
    ATTEMPTS_HELD_MAX, Amount, BIDS_MAX, Cause, DETAIL_BYTES_MAX, Finished, HELD_MAX, LOG_BYTES_MAX, MESSAGE_BYTES_MAX,
    Offer, OfferError, Outcome, PROTOCOL, Signed, ToHub, ToWorker, WorkerId, WorkerKey, challenge_bytes, decode,
    encode, receipt,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::Instrument;
use tracing::field::{Empty, display};

/// How long a worker may take to prove its key, and the hub to let it in.
const HANDSHAKE_MS_MAX: u64 = 10_000;
/// How long a message may take to leave.
const SEND_MS_MAX: u64 = 20_000;
/// Read buffer of an idle connection; ten thousand of them are kept.
const READ_BUFFER_BYTES: usize = 4096;
/// Bytes that are collected before they are written.
const WRITE_BUFFER_BYTES: usize = 16 * 1024;
/// Messages of a worker that are read in a second, and at once after a pause.
const MESSAGES_PER_SECOND_MAX: u32 = 2000;
/// Bytes of a worker's messages that are read in a second, on average.
const BYTES_PER_SECOND_MAX: u64 = 32 * 1024 * 1024;
/// Bytes of a worker's messages that are read at once after a pause.
const BYTES_AT_ONCE_MAX: u64 = 64 * 1024 * 1024;
/// The most results in one message.
const RESULTS_PER_MESSAGE_MAX: usize = 2 * ATTEMPTS_HELD_MAX;
/// Queued messages that are handed to the socket together.
const SENT_TOGETHER_MAX: usize = 32;

type Sink = SplitSink<WebSocket, Message>;

/// Why a connection ends.
enum End {
    /// The connection broke, or is let go; the worker may come back at once.
    Gone,
    /// The worker did what no worker may, or has been replaced; it is told why.
    Refused(String),
}

impl End {
    fn refused(reason: impl Into<String>) -> Self {
        Self::Refused(reason.into())
    }
}

/// A worker that has proved its key.
struct Proved {
    key: WorkerKey,
    offer: Offer,
    owner_proof: Vec<u8>,
    resting: Vec<u16>,
    held: Vec<gleaner_wire::AttemptId>,
}

/// `GET /worker/v1`.
#[utoipa::path(
    get,
    path = "/worker/v1",
    operation_id = "join_as_worker",
    tag = "machines",
    summary = "A worker's WebSocket: postcard messages, after it has proved its key",
    responses(
        (status = 101, description = "The hub's challenge comes first"),
        (status = 400, description = "`bad-request`: this path speaks WebSocket")
    )
)]
pub(crate) async fn connect(
    State(shared): State<Arc<Shared>>,
    Extension(asking): Extension<Asking>,
    Extension(visit): Extension<Visit>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(Problem::no_web_socket)?;
    let claim = claim(&asking, &headers)?.map(|account| (account, visit));
    let response = upgrade
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_write_buffer_size(4 * MESSAGE_BYTES_MAX)
        .max_message_size(MESSAGE_BYTES_MAX)
        .max_frame_size(MESSAGE_BYTES_MAX)
        .on_upgrade(move |socket| serve(shared, socket, claim));
    Ok(response)
}

/// Whose worker it is to be, if it came with a token of an account.
fn claim(asking: &Asking, headers: &HeaderMap) -> Result<Option<AccountId>, Problem> {
    let Some(person) = asking.person() else {
        // A token that is shown and not good for anything is better known at once.
        return if headers.contains_key(header::AUTHORIZATION) { Err(unauthorized()) } else { Ok(None) };
    };
    let provides = match &person.via {
        Via::Token(token) => token.scopes.has(Scope::Provide),
        Via::Session(..) => false,
    };
    if provides && person.account.roles.has(Role::Provider) {
        return Ok(Some(person.account.id));
    }
    let detail = "a worker comes with a token that has the scope `provide`, of an account with the role `provider`";
    Err(Problem::new(StatusCode::FORBIDDEN, "scope", "the token is not good for this", detail))
}

/// Serves a connection; what is logged on the way says whose it is, once that is known.
async fn serve(shared: Arc<Shared>, socket: WebSocket, claim: Option<(AccountId, Visit)>) {
    let line = tracing::error_span!("connection", worker = Empty, key = Empty);
    serve_all(shared, socket, claim).instrument(line).await;
}

async fn serve_all(shared: Arc<Shared>, socket: WebSocket, claim: Option<(AccountId, Visit)>) {
    let (mut sink, mut stream) = socket.split();
    let end = converse(&shared, &mut sink, &mut stream, claim).await.err();
    // Best effort from here on: the worker may be gone or not listen.
    let farewell = async {
        if let Some(End::Refused(reason)) = end {
            shared.metrics.refused.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(reason, "a worker's connection is closed");
            send(&mut sink, &ToWorker::Refused { reason }).await?;
        }
        sink.send(Message::Close(None)).await.map_err(|_| End::Gone)
    };
    let _ = timeout(Duration::from_millis(SEND_MS_MAX), farewell).await;
}

/// The whole life of a connection.
async fn converse(
    shared: &Arc<Shared>,
    sink: &mut Sink,
    stream: &mut (impl Stream<Item = Result<Message, axum::Error>> + Unpin),
    claim: Option<(AccountId, Visit)>,
) -> Result<(), End> {
    let limit = Duration::from_millis(HANDSHAKE_MS_MAX);
    let proved = timeout(limit, handshake(sink, stream)).await;
    let proved = proved.unwrap_or(Err(End::Gone))?;
    take_owner(shared, &proved).await?;
    let session = shared.keeper.session();
    let (backlog, mut queue) = Backlog::new();
    let key = proved.key;
    tracing::Span::current().record("key", display(key));
    if let Some((account, visit)) = claim {
        let claimed = shared.people.ask(move |accounts| accounts.claim_worker(visit, account, key)).await;
        claimed.map_err(|_| End::refused("the worker could not be made its account's"))?;
    }
    let worker = join(shared, proved, session, backlog, &mut queue).await?;
    tracing::Span::current().record("worker", display(worker));
    tracing::info!("a worker has joined");
    let _here = shared.machines.enter(worker, session);
    let result = converse_as(shared, (worker, key), session, sink, stream, queue).await;
    tracing::info!("a worker has left");
    // A keeper that has stopped knows that every connection ends.
    let _ = shared.keeper.send(Command::Worker { worker, session, report: Report::Left }).await;
    result
}

async fn handshake(
    sink: &mut Sink,
    stream: &mut (impl Stream<Item = Result<Message, axum::Error>> + Unpin),
) -> Result<Proved, End> {
    let nonce = token::random_bytes().map_err(|_| End::Gone)?;
    send(sink, &ToWorker::Challenge { protocol: PROTOCOL, nonce }).await?;
    let message = loop {
        if let Some((message, _)) = next_message(stream).await? {
            break message;
        }
    };
    let ToHub::Hello { protocol, key, signature, offer, owner_proof, resting, held } = message else {
        return Err(End::refused("the first message must be a hello"));
    };
    if protocol != PROTOCOL {
        let newer = if protocol < PROTOCOL { "worker" } else { "hub" };
        return Err(End::Refused(format!(
            "the hub speaks protocol {PROTOCOL} and the worker {protocol}: update the {newer}"
        )));
    }
    let proof = Signature::from_slice(&signature);
    let owner = VerifyingKey::from_bytes(&key.0);
    let proves = proof.and_then(|proof| owner?.verify_strict(&challenge_bytes(&nonce, &key), &proof));
    proves.map_err(|_| End::refused("the signature of the challenge does not match the key"))?;
    offer.check().map_err(|error| End::refused(error.to_string()))?;
    check_held(&held)?;
    check_resting(&resting)?;
    Ok(Proved { key, offer, owner_proof, resting, held })
}

/// Refuses a worker that names an account it is not known to belong to.
async fn take_owner(shared: &Shared, proved: &Proved) -> Result<(), End> {
    let Some(provider) = proved.offer.provider else { return Ok(()) };
    match &shared.money {
        Some(money) => {
            let taken = money.take_owner(proved.key, provider, proved.owner_proof.clone()).await;
            taken.map_err(End::Refused)
        }
        None => Err(End::Refused(format!(
            "this hub's money is on no chain, so it cannot tell that the worker belongs to {provider}: start it again, \
             and it will name no account"
        ))),
    }
}

async fn join(
    shared: &Arc<Shared>,
    proved: Proved,
    session: Session,
    outgoing: Backlog,
    queue: &mut BacklogReceiver,
) -> Result<WorkerId, End> {
    let Proved { key, offer, resting, held, owner_proof: _ } = proved;
    if let (Some(money), Some(provider)) = (&shared.money, offer.provider) {
        let seen = money.see_stake(&shared.keeper, provider).await;
        seen.map_err(|trouble| End::Refused(format!("the stake of {provider} cannot be looked at: {trouble}")))?;
    }
    let (welcome, welcomed) = oneshot::channel();
    let join = Join { key, session, offer, resting, held, outgoing, welcome };
    shared.keeper.send(Command::Join(Box::new(join))).await.map_err(|_| End::Gone)?;
    // A worker that is not let in is told why.
    welcomed.await.map_err(|_| queue.refusal().map_or(End::Gone, End::Refused))
}

/// Both directions at once, so that neither waits for the other.
async fn converse_as(
    shared: &Arc<Shared>,
    (worker, key): (WorkerId, WorkerKey),
    session: Session,
    sink: &mut Sink,
    stream: &mut (impl Stream<Item = Result<Message, axum::Error>> + Unpin),
    queue: BacklogReceiver,
) -> Result<(), End> {
    let token = shared.tokens.issue(worker, key).map_err(|_| End::Gone)?;
    let heartbeat_ms = shared.heartbeat_ms;
    let hub = WorkerKey(shared.data.signer.verifying_key().to_bytes());
    send(sink, &ToWorker::Welcome { worker, heartbeat_ms, token: token.text().to_owned(), hub }).await?;
    tokio::select! {
        end = listen(shared, (worker, key), session, stream) => end,
        end = speak(sink, queue) => end,
    }
}

/// Sends what the keeper queues.
async fn speak(sink: &mut Sink, mut queue: BacklogReceiver) -> Result<(), End> {
    let mut together = Vec::new();
    loop {
        if queue.receiver.recv_many(&mut together, SENT_TOGETHER_MAX).await == 0 {
            // The hub stops, or this connection was too slow for its work.
            return Err(End::Gone);
        }
        for outgoing in together.drain(..) {
            match outgoing {
                Outgoing::Message(bytes) => {
                    queue.sent(bytes.len());
                    in_time(sink.feed(Message::Binary(bytes))).await?;
                }
                Outgoing::Close(reason) => return Err(End::Refused(reason)),
            }
        }
        in_time(sink.flush()).await?;
        if together.capacity() > 1 {
            // An idle connection keeps no room for a burst.
            together = Vec::new();
        }
    }
}

/// Takes in what the worker says.
async fn listen(
    shared: &Arc<Shared>,
    (worker, key): (WorkerId, WorkerKey),
    session: Session,
    stream: &mut (impl Stream<Item = Result<Message, axum::Error>> + Unpin),
) -> Result<(), End> {
    let idle = Duration::from_millis(shared.lease_ms.0);
    let mut pace = Pace::new();
    loop {
        if let Some(rest) = pace.rest_before_next(Instant::now()) {
            tokio::time::sleep(rest).await;
        }
        let message = timeout(idle, next_message(stream)).await;
        let message = message.unwrap_or(Err(End::Gone))?;
        let Some((message, bytes)) = message else { continue };
        pace.took(bytes, Instant::now());
        let report = match message {
            ToHub::Hello { .. } => return Err(End::refused("a second hello on one connection")),
            ToHub::Heartbeat { held } => {
                check_held(&held)?;
                Report::Held(held)
            }
            ToHub::Finished { batch, results, signed } => {
                let signed = check_signature(shared, &key, &results, signed)?;
                let results = check_results(shared, results).await?;
                // Ends of tests go to who runs them; the batch is acknowledged in any case.
                let results = shared.screener.take(worker, results);
                Report::Finished { batch, results, signed }
            }
            ToHub::Log { attempt, text } => {
                if text.len() > LOG_BYTES_MAX {
                    return Err(End::refused(format!("a piece of a log may have at most {LOG_BYTES_MAX} bytes")));
                }
                Report::Log { attempt, text }
            }
            ToHub::Holds(held) => {
                if held.len() > HELD_MAX {
                    return Err(End::refused(format!("a worker names at most {HELD_MAX} datasets that it holds")));
                }
                Report::Data(held)
            }
            ToHub::Resting(devices) => {
                check_resting(&devices)?;
                Report::Resting(devices)
            }
            ToHub::Prices(prices) => {
                check_prices(&prices)?;
                Report::Prices(prices)
            }
            ToHub::Saved { attempt, checkpoint } => {
                let data = Arc::clone(&shared.data);
                let held = tokio::task::spawn_blocking(move || data.holds_output(&checkpoint)).await;
                if !held.unwrap_or(false) {
                    // Whoever tries the task next starts from the one before.
                    continue;
                }
                Report::Saved { attempt, checkpoint }
            }
            ToHub::Machine(report) => {
                check_machine(&report)?;
                shared.machines.tell(worker, session, report);
                continue;
            }
            ToHub::Set { number, answer } => {
                match &answer {
                    Ok(report) => check_machine(report)?,
                    Err(reason) if reason.len() <= REFUSAL_BYTES_MAX => {}
                    Err(_) => return Err(End::refused(format!("a reason has at most {REFUSAL_BYTES_MAX} bytes"))),
                }
                shared.machines.answer(worker, session, number, answer);
                continue;
            }
            ToHub::Bids(bids) => {
                check_bids(bids.len())?;
                Report::Bids(bids)
            }
            ToHub::Reveals(bids) => {
                check_bids(bids.len())?;
                Report::Reveals(bids)
            }
            ToHub::Leaving => return Ok(()),
        };
        shared.keeper.send(Command::Worker { worker, session, report }).await.map_err(|_| End::Gone)?;
    }
}

/// What a worker claims by its signature, where results are checked before they are paid.
fn check_signature(
    shared: &Shared,
    key: &WorkerKey,
    results: &[Finished],
    signed: Signed,
) -> Result<Option<SignedClaims>, End> {
    if !shared.checks || !results.iter().any(|result| receipt::is_claim(&result.outcome)) {
        return Ok(None);
    }
    let hub = WorkerKey(shared.data.signer.verifying_key().to_bytes());
    let claims = SignedClaims::verified(key, results, signed, &hub);
    claims.map(Some).ok_or_else(|| End::refused("the signature of its results does not match them"))
}

fn check_held(held: &[gleaner_wire::AttemptId]) -> Result<(), End> {
    if held.len() > ATTEMPTS_HELD_MAX {
        return Err(End::refused(format!("a worker may hold at most {ATTEMPTS_HELD_MAX} attempts")));
    }
    Ok(())
}

fn check_bids(bids: usize) -> Result<(), End> {
    if bids > BIDS_MAX {
        return Err(End::refused(format!("a message may have at most {BIDS_MAX} bids")));
    }
    Ok(())
}

fn check_resting(devices: &[u16]) -> Result<(), End> {
    if devices.len() > Offer::DEVICES_MAX {
        return Err(End::refused(format!("a worker has at most {} devices", Offer::DEVICES_MAX)));
    }
    Ok(())
}

fn check_machine(report: &MachineReport) -> Result<(), End> {
    if report.devices.len() > Offer::DEVICES_MAX {
        return Err(End::refused(format!("a worker has at most {} devices", Offer::DEVICES_MAX)));
    }
    if report.hours.len() > HOURS_BYTES_MAX {
        return Err(End::refused(format!("hours have at most {HOURS_BYTES_MAX} bytes")));
    }
    Ok(())
}

fn check_prices(prices: &[Amount]) -> Result<(), End> {
    if prices.len() > Offer::DEVICES_MAX {
        return Err(End::refused(format!("a worker has at most {} devices", Offer::DEVICES_MAX)));
    }
    if prices.iter().any(|price| *price > Offer::PRICE_MAX) {
        return Err(End::refused(OfferError::Price.to_string()));
    }
    Ok(())
}

/// Cuts long texts, and turns results whose output never arrived into failures before the core hears of them.
async fn check_results(shared: &Arc<Shared>, mut results: Vec<Finished>) -> Result<Vec<Finished>, End> {
    if results.len() > RESULTS_PER_MESSAGE_MAX {
        return Err(End::refused(format!("a message may have at most {RESULTS_PER_MESSAGE_MAX} results")));
    }
    let mut refers = false;
    for result in &mut results {
        match &mut result.outcome {
            Outcome::Done(output) => refers |= output.root().is_some(),
            Outcome::Failed { detail, .. } => cut(detail),
            Outcome::Cancelled => {}
        }
    }
    if !refers {
        return Ok(results);
    }
    let data = Arc::clone(&shared.data);
    let checked = tokio::task::spawn_blocking(move || {
        for result in &mut results {
            if matches!(&result.outcome, Outcome::Done(output) if !data.holds_output(output)) {
                let detail = "the output was not delivered".to_owned();
                result.outcome = Outcome::Failed { cause: Cause::DeviceFault, detail };
            }
        }
        results
    });
    checked.await.map_err(|_| End::Gone)
}

fn cut(text: &mut String) {
    if text.len() > DETAIL_BYTES_MAX {
        text.truncate(text.floor_char_boundary(DETAIL_BYTES_MAX));
    }
}

/// The next message and its size in bytes; `None` for a frame that carries none.
async fn next_message(
    stream: &mut (impl Stream<Item = Result<Message, axum::Error>> + Unpin),
) -> Result<Option<(ToHub, usize)>, End> {
    match stream.next().await {
        Some(Ok(Message::Binary(bytes))) => match decode(&bytes) {
            Ok(message) => Ok(Some((message, bytes.len()))),
            Err(error) => Err(End::refused(error.to_string())),
        },
        Some(Ok(Message::Text(_))) => Err(End::refused("messages are binary; this was text")),
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(None),
        Some(Ok(Message::Close(_))) | None => Err(End::Gone),
        Some(Err(error)) => Err(broken(&error)),
    }
}

/// A connection that broke is gone; one that broke the rules is told which.
fn broken(error: &axum::Error) -> End {
    let text = error.to_string();
    if text.contains("too long") || text.contains("too big") {
        return End::refused(format!("a message may have at most {MESSAGE_BYTES_MAX} bytes"));
    }
    End::Gone
}

async fn send(sink: &mut Sink, message: &ToWorker) -> Result<(), End> {
    in_time(sink.send(Message::Binary(encode(message).into()))).await
}

async fn in_time(sending: impl Future<Output = Result<(), axum::Error>>) -> Result<(), End> {
    match timeout(Duration::from_millis(SEND_MS_MAX), sending).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(End::Gone),
    }
}

/// Reads no faster than the limits: a worker that sends more has to wait.
struct Pace {
    allowed: u32,
    since: Instant,
    /// When the bytes read so far would have come at the average limit.
    bytes_until: Instant,
}

impl Pace {
    fn new() -> Self {
        let now = Instant::now();
        Self { allowed: MESSAGES_PER_SECOND_MAX, since: now, bytes_until: now }
    }

    /// Notes that a message was read.
    fn took(&mut self, bytes: usize, now: Instant) {
        self.bytes_until = self.bytes_until.max(now) + time_of(bytes as u64);
    }

    /// How long to rest before the next message is read, if the second's messages or the bytes are used up.
    fn rest_before_next(&mut self, now: Instant) -> Option<Duration> {
        let ahead = self.bytes_until.saturating_duration_since(now);
        let mut rest = ahead.checked_sub(time_of(BYTES_AT_ONCE_MAX)).filter(|rest| !rest.is_zero());
        if self.allowed == 0 {
            rest = rest.max(Duration::from_secs(1).checked_sub(now.saturating_duration_since(self.since)));
            self.allowed = MESSAGES_PER_SECOND_MAX;
            self.since = now + rest.unwrap_or_default();
        }
        self.allowed -= 1;
        rest
    }
}

/// How long so many bytes take at the average limit.
fn time_of(bytes: u64) -> Duration {
    Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / BYTES_PER_SECOND_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_sends_too_much_waits_for_the_next_second() {
        let mut pace = Pace::new();
        let start = pace.since;
        for _ in 0..MESSAGES_PER_SECOND_MAX {
            assert_eq!(pace.rest_before_next(start), None);
        }
        let rest = pace.rest_before_next(start + Duration::from_millis(300));
        assert_eq!(rest, Some(Duration::from_millis(700)));
        assert_eq!(pace.rest_before_next(start + Duration::from_secs(1)), None);
    }

    #[test]
    fn a_worker_that_sends_large_messages_waits_once_its_burst_is_used_up() {
        let mut pace = Pace::new();
        let start = pace.since;
        let burst = BYTES_AT_ONCE_MAX / MESSAGE_BYTES_MAX as u64;
        for _ in 0..burst {
            assert_eq!(pace.rest_before_next(start), None);
            pace.took(MESSAGE_BYTES_MAX, start);
        }
        assert_eq!(pace.rest_before_next(start), None, "the burst itself is free");
        pace.took(MESSAGE_BYTES_MAX, start);
        assert_eq!(pace.rest_before_next(start), Some(time_of(MESSAGE_BYTES_MAX as u64)));
        assert_eq!(pace.rest_before_next(start + Duration::from_secs(1)), None);
        pace.took(BYTES_PER_SECOND_MAX as usize, start + Duration::from_secs(60));
        assert_eq!(pace.rest_before_next(start + Duration::from_secs(60)), None, "a pause fills the burst again");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let mut text = "é".repeat(DETAIL_BYTES_MAX);
        cut(&mut text);
        assert_eq!(text, "é".repeat(DETAIL_BYTES_MAX / 2));
    }
}
