//! Live events over a WebSocket, as JSON.
use super::Shared;
use super::access::Anyone;
use super::live::ended;
use super::problem::Problem;
use crate::live::encode;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use gleaner_wire::api::Live;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::time::timeout;

/// The largest message of a listener; none has anything to say.
const HEARD_BYTES_MAX: usize = 1024;
/// How long an event may take to leave.
const SEND_MS_MAX: u64 = 20_000;

/// `GET /api/v1/events`.
#[utoipa::path(
    get,
    path = "/api/v1/events",
    operation_id = "watch_events",
    tag = "live",
    summary = "A WebSocket of live events",
    responses(
        (status = 101, description = "Text messages, each a `Live` as JSON"),
        (status = 400, description = "`bad-request`: this path speaks WebSocket")
    ),
    security(("operator" = []))
)]
pub(super) async fn events(
    State(shared): State<Arc<Shared>>,
    Anyone(asking): Anyone,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(Problem::no_web_socket)?;
    // Listening starts here, so that nothing is missed once the client sees the connection open.
    let events = shared.live.listen();
    let response = upgrade
        .read_buffer_size(HEARD_BYTES_MAX)
        .write_buffer_size(0)
        .max_message_size(HEARD_BYTES_MAX)
        .max_frame_size(HEARD_BYTES_MAX)
        .on_upgrade(move |socket| async move {
            let told = tell(socket, events, shared.stopping.clone());
            tokio::select! {
                () = told => {}
                // Whoever has signed out, or is no operator any more, hears nothing.
                () = ended(shared, asking) => {}
            }
        });
    Ok(response)
}

async fn tell(mut socket: WebSocket, mut events: Receiver<Utf8Bytes>, mut stopping: watch::Receiver<bool>) {
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            _ = stopping.changed() => return,
            heard = socket.recv() => match heard {
                Some(Ok(Message::Text(_) | Message::Binary(_) | Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
            },
        };
        let event = match event {
            Ok(event) => event,
            Err(RecvError::Lagged(count)) => encode(&Live::Missed { count }),
            Err(RecvError::Closed) => return,
        };
        let sent = timeout(Duration::from_millis(SEND_MS_MAX), socket.send(Message::Text(event))).await;
        if !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
}
