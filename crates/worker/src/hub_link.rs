//! The way to the hub's blob store. Tokens live as long as a connection, so whoever needs the store waits here for
//! the current one and tries again when it changes.
use std::time::Duration;

use gleaner_client::blobs::BlobClient;
use gleaner_client::{Error, Token};
use gleaner_wire::Cause;
use tokio::sync::watch;

use crate::failure::Failure;

/// How often something is tried before the hub is blamed; with the waits that is several minutes.
const TRIES_MAX: u32 = 120;
const WAIT: Duration = Duration::from_secs(2);

/// The blob store of the connected hub. Clones see the same connection.
#[derive(Clone, Debug)]
pub struct HubLink {
    client: BlobClient,
    current: watch::Sender<Link>,
}

#[derive(Clone, Debug)]
enum Link {
    Waiting,
    Connected(BlobClient),
    Closed,
}

impl HubLink {
    /// A link to the hub at this address, not connected yet.
    pub fn new(url: &str) -> Result<Self, Error> {
        Ok(Self { client: BlobClient::new(url, Token::new(""))?, current: watch::Sender::new(Link::Waiting) })
    }

    /// A connection stands, with this token.
    pub fn connected(&self, token: String) {
        self.current.send_replace(Link::Connected(self.client.with_token(Token::new(token))));
    }

    /// The connection is gone.
    pub fn disconnected(&self) {
        self.current.send_replace(Link::Waiting);
    }

    /// The worker ends: whoever waits for the store fails.
    pub fn close(&self) {
        self.current.send_replace(Link::Closed);
    }

    /// Does something with the store, through reconnections.
    pub async fn with<T, F: Future<Output = Result<T, Error>>>(
        &self,
        work: impl Fn(BlobClient) -> F,
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
            tracing::debug!(%error, tried, "trying the blob store again");
            // A new connection is worth a try at once.
            let _ = tokio::time::timeout(WAIT, current.changed()).await;
        }
    }
}

/// Whether the error goes away by itself: nobody answers, the token is of an older connection, or there is no room.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } => true,
        Error::Refused(problem) => matches!(problem.status, 401 | 403 | 429 | 503 | 507),
        Error::Address { .. }
        | Error::JobFile { .. }
        | Error::Answer { .. }
        | Error::Corrupt(_)
        | Error::File { .. }
        | Error::UnsafeName(_) => false,
    }
}

fn blame(error: &Error) -> Failure {
    let cause = match error {
        Error::File { .. } => Cause::DeviceFault,
        Error::Unreachable { .. }
        | Error::Refused(_)
        | Error::Address { .. }
        | Error::JobFile { .. }
        | Error::Answer { .. }
        | Error::Corrupt(_)
        | Error::UnsafeName(_) => Cause::HubFault,
    };
    let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    Failure::new(cause, format!("{error}{source}"))
}
