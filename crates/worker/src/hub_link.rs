//! The way to the hub's data. Tokens live as long as a connection, so whoever needs the hub waits here for the current
//! one and tries again when it changes.
use std::time::Duration;

use gleaner_client::data::HubData;
use gleaner_client::{Error, HubAddress, Token};
use gleaner_wire::Cause;
use tokio::sync::watch;

use crate::failure::Failure;

/// How often something is tried before the hub is blamed; with the waits that is several minutes.
const TRIES_MAX: u32 = 120;
const WAIT: Duration = Duration::from_secs(2);

/// The data of the connected hub. Clones see the same connection.
#[derive(Clone, Debug)]
pub struct HubLink {
    client: HubData,
    current: watch::Sender<Link>,
}

#[derive(Clone, Debug)]
enum Link {
    Waiting,
    Connected(HubData),
    Closed,
}

impl HubLink {
    /// A link to the hub at this address, not connected yet.
    pub fn new(hub: &HubAddress) -> Result<Self, Error> {
        Ok(Self { client: HubData::new(hub, Token::new(""))?, current: watch::Sender::new(Link::Waiting) })
    }

    /// A connection stands, with this token.
    pub fn connect(&self, token: String) {
        self.current.send_replace(Link::Connected(self.client.with_token(Token::new(token))));
    }

    /// The connection is gone.
    pub fn disconnected(&self) {
        self.current.send_replace(Link::Waiting);
    }

    /// The hub, once a connection stands.
    pub async fn connected(&self) -> Result<HubData, Failure> {
        let mut current = self.current.subscribe();
        loop {
            match current.borrow_and_update().clone() {
                Link::Connected(client) => return Ok(client),
                Link::Closed => return Err(Failure::new(Cause::WorkerLeft, "the worker ends")),
                Link::Waiting => {}
            }
            // The sender is part of this link, so it outlives the wait.
            let _ = current.changed().await;
        }
    }

    /// The worker ends: whoever waits for the hub fails.
    pub fn close(&self) {
        self.current.send_replace(Link::Closed);
    }

    /// Does something with the hub, through reconnections.
    pub async fn with<T, F: Future<Output = Result<T, Error>>>(
        &self,
        work: impl Fn(HubData) -> F,
    ) -> Result<T, Failure> {
        let mut current = self.current.subscribe();
        let mut tried = 0;
        loop {
            let link = current.borrow_and_update().clone();
            let client = match link {
                Link::Connected(client) => client,
                Link::Closed => return Err(Failure::new(Cause::WorkerLeft, "the worker ends")),
                Link::Waiting => {
                    // The sender is part of this link, so it outlives the wait.
                    let _ = current.changed().await;
                    continue;
                }
            };
            let error = match work(client).await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            tried += 1;
            if tried >= TRIES_MAX || !may_pass(&error) {
                return Err(blame(&error));
            }
            tracing::debug!(%error, tried, "trying the hub's data again");
            // A new connection is worth a try at once.
            let _ = tokio::time::timeout(WAIT, current.changed()).await;
        }
    }
}

/// Whether the error goes away by itself: nobody answers, the token is of an older connection, or there is no room.
fn may_pass(error: &Error) -> bool {
    match error {
        // A certificate that has run out is renewed some day.
        Error::Unreachable { .. } | Error::Untrusted { .. } | Error::Fetch { .. } => true,
        Error::Refused(problem) => matches!(problem.status, 401 | 403 | 429 | 503 | 507),
        Error::Address { .. }
        | Error::Authorities { .. }
        | Error::NoTls(_)
        | Error::JobFile { .. }
        | Error::Answer { .. }
        | Error::Pack { .. }
        | Error::Unpack { .. }
        | Error::NoKeys(_)
        | Error::NoAccount
        | Error::File { .. }
        | Error::UnsafeName(_) => false,
    }
}

fn blame(error: &Error) -> Failure {
    let cause = match error {
        Error::File { .. } | Error::Pack { .. } | Error::Unpack { .. } => Cause::DeviceFault,
        Error::Unreachable { .. }
        | Error::Untrusted { .. }
        | Error::NoTls(_)
        | Error::Authorities { .. }
        | Error::Refused(_)
        | Error::Address { .. }
        | Error::JobFile { .. }
        | Error::Answer { .. }
        | Error::Fetch { .. }
        | Error::NoKeys(_)
        | Error::NoAccount
        | Error::UnsafeName(_) => Cause::HubFault,
    };
    let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    Failure::new(cause, format!("{error}{source}"))
}
