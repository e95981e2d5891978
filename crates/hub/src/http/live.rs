//! Live state for pages: a WebSocket on which they say what they watch, or server-sent events.
//!
//! Both carry the same JSON. Nothing is kept for a listener while nothing happens, so that ten thousand of them fit.
use super::Shared;
use super::access::{Anyone, Asking, machines_of};
use super::parameters::Parameters;
use super::problem::Problem;
use crate::live::{Full, Mailbox, Next, TOPICS_MAX, Viewer};
use crate::token::Caller;
use axum::body::{Body, Bytes};
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use gleaner_accounts::Visit;
use gleaner_wire::live::{LiveEvent, Numbered, RefusedTopic, Topic, WatchRequest};
use serde::Deserialize;
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// The largest message of a listener: what it watches.
const HEARD_BYTES_MAX: usize = 4096;
/// How many messages a listener may send in a second, on average over ten.
const HEARD_PER_SECOND_MAX: u32 = 5;
/// How long an event may take to leave.
const SEND_TIME_MAX: Duration = Duration::from_secs(20);
/// How often a quiet line is tried for life.
const ALIVE_EVERY: Duration = Duration::from_secs(30);
/// Signs of life that may stay unanswered.
const PINGS_UNANSWERED_MAX: u32 = 2;
/// How often it is looked whether a listener is still signed in.
const VALID_EVERY: Duration = Duration::from_secs(10);
/// After how long a browser that lost its line comes back.
const RETRY_MS: u32 = 2000;
/// The header by which a browser says what it saw last.
const LAST_EVENT_ID: &str = "last-event-id";

/// What is watched from the beginning.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Watch {
    /// Topics with commas between them: `jobs`, `job:7`, `workers`, `worker:3`, `network`.
    watch: Option<String>,
    /// The `id` of the last event that was seen.
    after: Option<u64>,
}

/// `GET /api/v1/live`.
#[utoipa::path(
    get,
    path = "/api/v1/live",
    operation_id = "watch_live",
    tag = "live",
    summary = "A WebSocket of what happens to whatever is watched",
    description = "Text messages. The hub sends a `Numbered` event each; the listener sends a `WatchRequest` whenever it wants \
                   to watch something else. Strangers may watch `network`.",
    params(Watch),
    responses(
        (status = 101, description = "The hub says what is watched, and then what happens to it"),
        (status = 503, description = "`busy`: too many listen")
    ),
    security((), ("operator" = []))
)]
pub(super) async fn socket(
    State(shared): State<Arc<Shared>>,
    Parameters(watch): Parameters<Watch>,
    Extension(visit): Extension<Visit>,
    Anyone(asking): Anyone,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(Problem::no_web_socket)?;
    let mailbox = mailbox(&shared, &asking, visit).await?;
    if let Some(topics) = &watch.watch {
        let topics: Vec<String> = topics.split(',').map(str::to_owned).collect();
        set(&shared, &mailbox, &topics, watch.after);
    }
    let response = upgrade
        .read_buffer_size(1024)
        .write_buffer_size(0)
        .max_message_size(HEARD_BYTES_MAX)
        .max_frame_size(HEARD_BYTES_MAX)
        .on_upgrade(move |socket| async move {
            // A future as small as can be: there are ten thousand of them.
            let ended = ended(Arc::clone(&shared), asking);
            tokio::select! {
                () = Box::pin(converse(socket, mailbox, shared)) => {}
                () = Box::pin(ended) => {}
            }
        });
    Ok(response)
}

/// Says what happens and hears what is watched, until either side has enough.
async fn converse(mut socket: WebSocket, mailbox: Mailbox, shared: Arc<Shared>) {
    let mut stopping = shared.stopping.clone();
    let (mut patience, mut unanswered) = (Patience::new(), 0);
    loop {
        let heard = tokio::select! {
            next = mailbox.next() => Heard::Say(Message::Text(json(next))),
            _ = stopping.changed() => Heard::End,
            heard = timeout(ALIVE_EVERY, socket.recv()) => match heard {
                Err(_) if unanswered == PINGS_UNANSWERED_MAX => Heard::End,
                Err(_) => {
                    unanswered += 1;
                    Heard::Say(Message::Ping(Bytes::new()))
                }
                Ok(Some(Ok(message))) => {
                    unanswered = 0;
                    hear(&shared, &mailbox, &mut patience, &message)
                }
                Ok(Some(Err(_)) | None) => Heard::End,
            },
        };
        let message = match heard {
            Heard::Say(message) => message,
            Heard::Nothing => continue,
            Heard::End => return,
        };
        let sent = timeout(SEND_TIME_MAX, socket.send(message)).await;
        if !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
}

/// What follows from what was heard.
enum Heard {
    Say(Message),
    Nothing,
    End,
}

/// Takes what a listener says: what it wants to watch.
fn hear(shared: &Shared, mailbox: &Mailbox, patience: &mut Patience, message: &Message) -> Heard {
    match message {
        Message::Text(text) if patience.is_left() => match serde_json::from_str::<WatchRequest>(text) {
            Ok(request) => {
                // The answer waits in the mailbox.
                set(shared, mailbox, &request.watch, request.after);
                Heard::Nothing
            }
            Err(error) => Heard::Say(Message::Text(nonsense(&error))),
        },
        Message::Binary(_) | Message::Ping(_) | Message::Pong(_) => Heard::Nothing,
        Message::Text(_) | Message::Close(_) => Heard::End,
    }
}

fn nonsense(error: &serde_json::Error) -> Utf8Bytes {
    let reason = format!("a listener says {{\"watch\": [\"jobs\", \"job:7\"]}}: {error}");
    let refused = vec![RefusedTopic { topic: String::new(), code: "bad-request".to_owned(), reason }];
    numbered(0, LiveEvent::Watching { topics: Vec::new(), refused })
}

/// How much more a listener may say.
struct Patience {
    since: tokio::time::Instant,
    heard: u32,
}

impl Patience {
    fn new() -> Self {
        Self { since: tokio::time::Instant::now(), heard: 0 }
    }

    fn is_left(&mut self) -> bool {
        if self.since.elapsed() > Duration::from_secs(10) {
            *self = Self::new();
        }
        self.heard += 1;
        self.heard <= 10 * HEARD_PER_SECOND_MAX
    }
}

/// `GET /api/v1/live/events`.
#[utoipa::path(
    get,
    path = "/api/v1/live/events",
    operation_id = "watch_live_events",
    tag = "live",
    summary = "The same as server-sent events",
    description = "Each event has its kind in `event`, its number in `id` and a `Numbered` as JSON in `data`.",
    params(
        Watch,
        ("last-event-id" = Option<u64>, Header, description = "The number of the last event that was seen: what came after it is told first, or that something was missed")
    ),
    responses(
        (status = 200, description = "Events until the listener leaves", body = String, content_type = "text/event-stream"),
        (status = 401, description = "`unauthorized`: the topic is not for strangers"),
        (status = 403, description = "`forbidden`: the token is not good for this topic"),
        (status = 503, description = "`busy`: too many listen")
    ),
    security((), ("operator" = []))
)]
pub(super) async fn events(
    State(shared): State<Arc<Shared>>,
    Parameters(watch): Parameters<Watch>,
    Extension(visit): Extension<Visit>,
    Anyone(asking): Anyone,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let mailbox = mailbox(&shared, &asking, visit).await?;
    let detail = "say what is watched: ?watch=jobs,job:7";
    let watched = watch.watch.as_deref().ok_or_else(|| Problem::bad_parameter("watch", detail))?;
    let topics: Vec<String> = watched.split(',').map(str::to_owned).collect();
    if let Some(refused) = read(&mailbox, &topics).1.into_iter().next() {
        return Err(refusal(refused));
    }
    let seen = headers.get(LAST_EVENT_ID).map(|value| value.to_str().ok().and_then(|text| text.parse().ok()));
    // A number that makes no sense is as old as can be.
    let after = seen.map(|seen| seen.unwrap_or(0)).or(watch.after);
    set(&shared, &mailbox, &topics, after);
    let (stopping, ended) = (shared.stopping.clone(), ended(shared, asking));
    let stream = stream::unfold((mailbox, stopping, true), |(mailbox, mut stopping, first)| async move {
        let piece = if first { format!("retry: {RETRY_MS}\n\n") } else { piece(&mailbox, &mut stopping).await? };
        Some((Ok::<_, Infallible>(Bytes::from(piece)), (mailbox, stopping, false)))
    });
    let stream = stream.take_until(Box::pin(ended));
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, [("x-accel-buffering", "no")], Body::from_stream(stream)).into_response())
}

/// The next event as it is sent, or a sign of life; none when the hub stops.
async fn piece(mailbox: &Mailbox, stopping: &mut watch::Receiver<bool>) -> Option<String> {
    let next = tokio::select! {
        next = timeout(ALIVE_EVERY, mailbox.next()) => next,
        _ = stopping.changed() => return None,
    };
    let Ok(next) = next else { return Some(": alive\n\n".to_owned()) };
    let (id, kind) = match &next {
        Next::Event(event) => (event.id, event.kind),
        Next::Missed { id, .. } => (*id, "missed"),
    };
    let mut text = String::new();
    write!(text, "id: {id}\nevent: {kind}\ndata: {}\n\n", json(next)).expect("writing to a string does not fail");
    Some(text)
}

fn json(next: Next) -> Utf8Bytes {
    match next {
        Next::Event(event) => event.json.clone(),
        Next::Missed { count, id } => numbered(id, LiveEvent::Missed { count }),
    }
}

fn numbered(id: u64, event: LiveEvent) -> Utf8Bytes {
    serde_json::to_string(&Numbered { seq: id, event }).expect("an event is plain data").into()
}

/// Returns when an account's session or token is not valid any more: what was signed out hears nothing.
pub(super) async fn ended(shared: Arc<Shared>, asking: Asking) {
    let Some(person) = asking.person() else { return std::future::pending().await };
    loop {
        tokio::time::sleep(VALID_EVERY).await;
        if !shared.people.is_valid(person).await {
            return;
        }
    }
}

/// Who listens, and what they may see.
async fn viewer(shared: &Shared, asking: &Asking) -> Result<Viewer, Problem> {
    let account = match asking.caller() {
        Some(Caller::Operator) => return Ok(Viewer::Operator),
        // What everybody may use shows holders of such a token what everybody sees.
        Some(Caller::Account(_)) if !asking.person().is_some_and(|person| person.reads()) => return Ok(Viewer::Public),
        Some(Caller::Worker(..)) | None => return Ok(Viewer::Public),
        Some(Caller::Account(account)) => account,
    };
    let requesters = shared.people.payers(account).await?;
    let workers = machines_of(shared, account).await?.into_iter().collect();
    Ok(Viewer::Account { requesters: requesters.into_iter().collect(), workers })
}

/// A mailbox for whoever asks.
async fn mailbox(shared: &Shared, asking: &Asking, visit: Visit) -> Result<Mailbox, Problem> {
    let viewer = viewer(shared, asking).await?;
    let busy = |full| {
        let detail = match full {
            Full::Everywhere => "try again in a minute",
            Full::Address => "as many pages listen from your address as may: close some of them",
        };
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many listen", detail)
    };
    shared.live.mailbox(viewer, visit.address).map_err(busy)
}

/// The topics that are named, and those that cannot be watched.
fn read(mailbox: &Mailbox, names: &[String]) -> (Vec<Topic>, Vec<RefusedTopic>) {
    let (mut topics, mut refused) = (Vec::new(), Vec::new());
    let mut refuse = |topic: &str, code: &str, reason: String| {
        let topic = topic.chars().take(64).collect();
        refused.push(RefusedTopic { topic, code: code.to_owned(), reason });
    };
    for name in names {
        if topics.len() == TOPICS_MAX {
            refuse(name, "too-many", format!("at most {TOPICS_MAX} topics can be watched at a time"));
            break;
        }
        match name.parse::<Topic>() {
            Ok(topic) if mailbox.viewer().may_watch(topic) => topics.push(topic),
            Ok(_) => {
                let code = if *mailbox.viewer() == Viewer::Public { "unauthorized" } else { "forbidden" };
                refuse(name, code, format!("{name} is not for you to watch"));
            }
            Err(error) => refuse(name, "bad-request", error.to_string()),
        }
    }
    topics.dedup();
    (topics, refused)
}

/// Watches what is named, as far as it can be.
fn set(shared: &Shared, mailbox: &Mailbox, names: &[String], after: Option<u64>) {
    let (topics, refused) = read(mailbox, names);
    shared.live.watch(mailbox, topics, refused, after);
}

fn refusal(RefusedTopic { code, reason, .. }: RefusedTopic) -> Problem {
    let (status, title) = match code.as_str() {
        "unauthorized" => (StatusCode::UNAUTHORIZED, "no valid token"),
        "forbidden" => (StatusCode::FORBIDDEN, "not for you"),
        _ => return Problem::bad_parameter("watch", reason),
    };
    Problem::new(status, &code, title, reason).at("watch", None)
}
