//! The machine of a dataset's owner: it has everything, fetches nothing, and is there for those who miss something.
use super::member::Swarm;
use super::serve::Holder;
use gleaner_wire::Hash;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How often it says that it is there.
const OFFER_TIME: Duration = Duration::from_secs(5);

/// A dataset that its owner offers, until this is dropped. The machine has to serve it on the swarm's network, see
/// [`super::Server`].
pub struct Offer {
    swarm: Swarm,
    root: Hash,
    task: JoinHandle<()>,
}

impl Offer {
    /// Offers what the holder has of a dataset.
    pub fn start<H: Holder>(swarm: Swarm, holder: Arc<H>, root: Hash) -> Self {
        let task = tokio::spawn(announce(swarm.clone(), holder, root));
        Self { swarm, root, task }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        self.task.abort();
        let (swarm, root) = (self.swarm.clone(), self.root);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // If that does not get through, the hub notices the silence.
            runtime.spawn(async move { swarm.leave(root, true).await });
        }
    }
}

async fn announce(swarm: Swarm, holder: Arc<dyn Holder>, root: Hash) {
    loop {
        if let Ok(Some(holds)) = holder.holdings(&root)
            && let Err(error) = swarm.say(root, &holds, true).await
        {
            tracing::debug!(%error, "the hub does not tell others of this machine");
        }
        tokio::time::sleep(OFFER_TIME).await;
    }
}
