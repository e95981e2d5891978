//! Receipts for what this machine has sent to others, on their way to the hub.
use std::sync::Arc;
use std::time::Duration;

use gleaner_data::net::Server;

use crate::hub_link::HubLink;

/// How often receipts are handed in: what a killed worker has not, it loses.
const EVERY: Duration = Duration::from_secs(2);
/// Receipts in one request, as many as a hub takes.
const CLAIMS_AT_ONCE: usize = 256;

/// Hands in receipts until it is dropped. What the hub has not acknowledged is handed in again: it counts once.
pub(super) async fn hand_in(hub: HubLink, server: Arc<Server>) {
    loop {
        let claims = server.take_claims(CLAIMS_AT_ONCE);
        if claims.is_empty() {
            tokio::time::sleep(EVERY).await;
            continue;
        }
        let claimed = &claims;
        match hub.with(|hub| async move { hub.hand_in(claimed).await }).await {
            Ok(taken) if taken.refused > 0 => tracing::warn!(?taken, "the hub refuses receipts for what was sent"),
            Ok(taken) => tracing::debug!(?taken, "receipts handed in"),
            Err(failure) => {
                tracing::warn!(%failure, "receipts could not be handed in; they are tried again");
                server.give_back(claims);
                tokio::time::sleep(EVERY).await;
            }
        }
    }
}
