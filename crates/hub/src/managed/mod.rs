//! The platform's own workers, as far as the shell is concerned: what the operator says of them goes into the journal, and
//! whoever starts and stops machines is told when other numbers of them are wanted.
mod hook;

use crate::keeper::{Handle, Unavailable};
use gleaner_core::{Event, Terms};
use gleaner_wire::WorkerKey;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{Notify, watch};

use hook::Hook;

/// What the operator says about managed workers.
#[derive(Clone, Debug, Default)]
pub struct ManagedConfig {
    /// Workers that the platform owns, beside those that the hub knows already.
    pub keys: Vec<WorkerKey>,
    /// When they help, and how many may be wanted.
    pub terms: Terms,
    /// The command that is run, by `sh`, when other numbers of them are wanted.
    pub hook: Option<String>,
}

/// The keeper's way to whoever runs the hook. It never waits.
#[derive(Clone, Default)]
pub(crate) struct DemandBell(Arc<Notify>);

impl DemandBell {
    /// Other numbers are wanted.
    pub(crate) fn ring(&self) {
        self.0.notify_one();
    }
}

/// Where the hook finds the hub.
pub(crate) struct Place {
    pub(crate) url: String,
    pub(crate) token_file: PathBuf,
}

/// Tells the core what the operator said, then runs the hook whenever something else is wanted, until the hub stops.
pub(crate) async fn attend(
    config: ManagedConfig,
    place: Place,
    keeper: Handle,
    bell: DemandBell,
    mut stopping: watch::Receiver<bool>,
) {
    if let Err(error) = tell(&config, &keeper).await {
        tracing::warn!(%error, "what was said about managed workers did not reach the journal");
    }
    let Some(command) = config.hook else { return };
    let mut hook = Hook::new(command, place);
    loop {
        let attended = async {
            match keeper.ask(|core| core.demand()).await {
                Ok(demand) => hook.follow(&demand).await,
                Err(error) => tracing::warn!(%error, "what is wanted of managed workers is not known"),
            }
            match hook.retry_in() {
                Some(wait) => _ = tokio::time::timeout(wait, bell.0.notified()).await,
                None => bell.0.notified().await,
            }
        };
        tokio::select! {
            () = attended => {}
            _ = stopping.changed() => return,
        }
    }
}

async fn tell(config: &ManagedConfig, keeper: &Handle) -> Result<(), Unavailable> {
    let terms = config.terms;
    if keeper.ask(|core| core.demand_terms()).await? != terms {
        keeper.tell(Event::DemandTermsSet { terms }).await?;
    }
    for key in config.keys.iter().copied() {
        if !keeper.ask(move |core| core.is_managed_key(&key)).await? {
            keeper.tell(Event::WorkerManaged { key, managed: true }).await?;
        }
    }
    Ok(())
}
