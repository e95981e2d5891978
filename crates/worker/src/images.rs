//! The images of containers: fetched before anything runs, with their progress in the log of the task that waits for
//! them, and told to the hub, which prefers machines that have them.
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gleaner_data::seal::DatasetKey;
use gleaner_sandbox::PullProgress;
use gleaner_wire::{AttemptId, Cause, Hash, Held, IMAGE_BYTES_GUESS, Image};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::cell::{Cells, ReadyImage};
use crate::depot::Depot;
use crate::failure::Failure;
use crate::log::Piece;

/// How long the engine may take to list what it has.
const LIST_TIME_MAX: Duration = Duration::from_secs(10);
/// The least progress that is told, in percent.
const STEP_PERCENT: u64 = 10;

/// Gets images, and knows which are here.
pub struct Images {
    cells: Option<Arc<Cells>>,
    logs: mpsc::Sender<Piece>,
    held: Mutex<Vec<Held>>,
}

impl Images {
    /// Gets images for these cells, if there are any; says so in these logs.
    pub fn new(cells: Option<Arc<Cells>>, logs: mpsc::Sender<Piece>) -> Self {
        Self { cells, logs, held: Mutex::default() }
    }

    /// The images of registries that are here, as they were last looked at; last used first.
    pub fn held(&self) -> Vec<Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks which images are here.
    pub async fn look(&self) {
        let Some(engine) = self.cells.as_ref().and_then(|cells| cells.containers()) else { return };
        let listed = timeout(LIST_TIME_MAX, engine.images()).await;
        let Ok(Ok(listed)) = listed else { return };
        let roots = listed.iter().filter_map(|image| digest(&image.name));
        let held = roots.map(|root| Held { root, bytes: IMAGE_BYTES_GUESS }).collect();
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = held;
    }

    /// Has the engine get an image for an attempt. The time that takes is nobody's running time.
    pub async fn get(
        &self,
        image: &Image,
        depot: &Depot,
        opens: &DatasetKey,
        attempt: AttemptId,
    ) -> Result<ReadyImage, Failure> {
        let missing = || Failure::new(Cause::HubFault, "this worker does not offer containers");
        let engine = self.cells.as_ref().and_then(|cells| cells.containers()).ok_or_else(missing)?;
        let opened = match image {
            Image::Data(data) => Some(depot.dataset(*data, opens).await?),
            Image::Registry { .. } => None,
        };
        let mut told = 0;
        let mut progress = |at: PullProgress| {
            let percent = at.bytes.saturating_mul(100).checked_div(at.bytes_total).unwrap_or(0);
            if percent >= told + STEP_PERCENT {
                told = percent;
                // What does not fit is dropped, like every log.
                let _ = self.logs.try_send((attempt, words(&at, percent)));
            }
        };
        let ready = Box::pin(ReadyImage::get(engine, image, opened, &mut progress)).await?;
        self.look().await;
        Ok(ready)
    }
}

fn words(at: &PullProgress, percent: u64) -> String {
    let (layers, done, megabytes) = (at.layers, at.layers_done, at.bytes_total / 1_000_000);
    format!("the image is fetched: {percent} % of {megabytes} MB, {done} of {layers} layers\n")
}

/// The digest in `name@sha256:…`.
fn digest(name: &str) -> Option<Hash> {
    name.split_once("@sha256:")?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_images_of_registries_have_a_digest_in_their_name() {
        let digest_of = "ab".repeat(32);
        assert_eq!(digest(&format!("docker.io/library/python@sha256:{digest_of}")), Some(Hash([0xab; 32])));
        for name in ["/tmp/cells/image.tar", "python:3.12", "python@sha256:abc"] {
            assert_eq!(digest(name), None, "{name}");
        }
    }

    #[test]
    fn progress_is_told_in_words() {
        let (layers, layers_done, bytes, bytes_total) = (5, 2, 30_000_000, 60_000_000);
        let at = PullProgress { layers, layers_done, bytes, bytes_total, status: String::new() };
        assert_eq!(words(&at, 50), "the image is fetched: 50 % of 60 MB, 2 of 5 layers\n");
    }
}
