//! The hub's live events over a WebSocket that comes back by itself.
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use gleaner_wire::api::Live;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::connection::{SILENCE_MAX, TRIES_MAX};
use crate::{Client, Error, backoff};

/// The longest event that is read.
const EVENT_BYTES_MAX: usize = 1024 * 1024;
/// How often the connection is tried for life when nothing happens.
const PING_EVERY: Duration = Duration::from_secs(10);

/// What a listener hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Something happened.
    Live(Live),
    /// The connection is new: what happened before it was not heard, so look at the present state.
    Connected,
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A listener to live events.
pub struct Events {
    client: Client,
    socket: Option<Socket>,
    heard_at: Instant,
}

impl Client {
    /// A listener; it connects with its first `next`.
    pub fn events(&self) -> Events {
        Events { client: self.clone(), socket: None, heard_at: Instant::now() }
    }
}

impl Events {
    /// The next event. An error means that the hub stayed away for as long as a client is patient. Dropping the
    /// future loses nothing that was heard.
    pub async fn next(&mut self) -> Result<Heard, Error> {
        let mut tried = 0;
        loop {
            let heard = match &mut self.socket {
                Some(socket) => listen(socket, &mut self.heard_at).await,
                None => self.connect().await.map(|()| Some(Heard::Connected)),
            };
            match heard {
                Ok(Some(heard)) => return Ok(heard),
                Ok(None) => self.socket = None,
                Err(error) if error.is_transient() && tried + 1 < TRIES_MAX => {
                    self.socket = None;
                    tokio::time::sleep(backoff::delay(tried)).await;
                    tried += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn connect(&mut self) -> Result<(), Error> {
        let url = self.client.url();
        let hub = self.client.connection.hub();
        let address = hub.socket_url("/api/v1/events");
        let mut request = address.into_client_request().map_err(|error| Error::answer(url, error))?;
        let bearer = format!("Bearer {}", self.client.connection.token().reveal());
        let bearer = HeaderValue::from_str(&bearer);
        let mut bearer = bearer.map_err(|_| Error::answer(url, "the token holds characters that no header may"))?;
        bearer.set_sensitive(true);
        request.headers_mut().insert("authorization", bearer);
        let limits = WebSocketConfig::default().max_message_size(Some(EVENT_BYTES_MAX));
        let dialled =
            tokio_tungstenite::connect_async_tls_with_config(request, Some(limits), true, Some(hub.connector()));
        let dialled = tokio::time::timeout(SILENCE_MAX, dialled).await;
        let dialled = dialled.map_err(|silence| Error::unreachable(url, silence))?;
        let (socket, _) = dialled.map_err(|error| socket_error(url, error))?;
        (self.socket, self.heard_at) = (Some(socket), Instant::now());
        Ok(())
    }
}

fn socket_error(url: &str, error: tungstenite::Error) -> Error {
    match error {
        tungstenite::Error::Http(response) => {
            Error::answer(url, format!("live events are answered with status {}", response.status()))
        }
        other => Error::unreachable(url, other),
    }
}

/// The next event; `None` if the connection is lost.
async fn listen(socket: &mut Socket, heard_at: &mut Instant) -> Result<Option<Heard>, Error> {
    loop {
        let Ok(message) = timeout_at(Instant::now() + PING_EVERY, socket.next()).await else {
            let alive = heard_at.elapsed() < SILENCE_MAX;
            if alive && socket.send(Message::Ping(bytes::Bytes::new())).await.is_ok() {
                continue;
            }
            return Ok(None);
        };
        *heard_at = Instant::now();
        match message {
            Some(Ok(Message::Text(text))) => {
                let live = serde_json::from_str(&text).map_err(|error| Error::answer("the live events", error))?;
                return Ok(Some(Heard::Live(live)));
            }
            Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Ok(Message::Close(_)) | Err(_)) | None => return Ok(None),
        }
    }
}
