//! Images: fetched by digest from a registry or loaded from a dataset, remembered, and removed by least use.
//!
//! Time spent here is never a job's running time. Images that the owner of the machine had before are used but never
//! removed.

mod layout;
mod ledger;
mod pull;
mod reference;

pub(super) use layout::machine;
pub(super) use ledger::Ledger;

use super::Engine;
use crate::{DISK_RESERVE_BYTES, Error};
use bollard::models::ImageInspect;
use bollard::query_parameters::RemoveImageOptions;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// So many volumes an image may declare.
const VOLUMES_MAX: usize = 32;
/// So often the engine's disk is looked at while an image arrives.
const STORAGE_PAUSE: Duration = Duration::from_millis(500);

/// Where an image comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageSource {
    /// A registry: `registry.example/name@sha256:…`, or a tag, which is resolved to the digest it has now.
    Registry(String),
    /// A folder in the OCI image layout, such as a dataset brings.
    Layout(PathBuf),
    /// The same as one tar file.
    Archive(PathBuf),
}

/// An image that the engine has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The engine's own name for exactly this image: the digest of its configuration.
    pub id: String,
    /// `name@sha256:…`, if it came from a registry.
    pub digest: Option<String>,
    /// What it takes up.
    pub bytes: u64,
    /// Whether it was there already.
    pub cached: bool,
    /// How long it took to be had.
    pub took: Duration,
    /// Where the image wants volumes.
    pub(super) volumes: Vec<String>,
}

/// How far an image has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullProgress {
    /// Layers known so far, and how many of them are here.
    pub layers: usize,
    /// Layers that are here.
    pub layers_done: usize,
    /// Bytes here, of those that are known to come.
    pub bytes: u64,
    /// Bytes known to come; 0 where the engine does not say.
    pub bytes_total: u64,
    /// What the engine says that it does.
    pub status: String,
}

/// An image that this worker has fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The engine's name for it.
    pub id: String,
    /// What it was asked for as.
    pub name: String,
    /// What it takes up.
    pub bytes: u64,
    /// When it was used last, in seconds since 1970.
    pub used_at: u64,
}

impl Engine {
    /// Gets an image, from here if it is here, within `limit`, and makes room by removing those that were not used for
    /// longest. One that alone is larger than all images may be is refused.
    ///
    /// # Errors
    /// If it cannot be had, is not what its digest says, or takes too long.
    pub async fn image(
        &self,
        source: &ImageSource,
        limit: Duration,
        progress: &mut (dyn FnMut(PullProgress) + Send),
    ) -> Result<Image, Error> {
        let begun = Instant::now();
        let name = match source {
            ImageSource::Registry(name) => name.clone(),
            ImageSource::Layout(path) | ImageSource::Archive(path) => path.display().to_string(),
        };
        let bytes_max = self.config.images_bytes_max;
        let had = async {
            match source {
                ImageSource::Registry(name) => pull::pull(&self.docker, name, bytes_max, progress).await,
                ImageSource::Layout(folder) => layout::load(&self.docker, folder, bytes_max).await,
                ImageSource::Archive(file) => {
                    layout::load_archive(&self.docker, file, &self.unpacked()?, bytes_max).await
                }
            }
        };
        let had = async {
            tokio::select! {
                had = had => had,
                () = self.storage_is_full() => Err(storage_full()),
            }
        };
        let (found, digest, cached) = timeout(limit, had)
            .await
            .map_err(|_| Error::PullTimeUp { image: name.clone(), seconds: limit.as_secs() })??;
        let id = found.id.clone().ok_or_else(|| Error::Image("the engine gives it no name".into()))?;
        let bytes = found.size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
        let mut ledger = self.ledger.lock().await;
        if !cached {
            // Before anything can be wrong with it: what is not in the ledger is never removed.
            ledger.add(&id, digest.as_deref().unwrap_or(&name), bytes);
        }
        ledger.touch(&id);
        drop(ledger);
        let image = volumes(found)
            .map(|volumes| Image { id: id.clone(), digest, bytes, cached, took: begun.elapsed(), volumes })
            // An engine that does not say beforehand how much is coming has it here by now. What the owner had may be larger.
            .and_then(|image| if cached || bytes <= bytes_max { Ok(image) } else { Err(too_large(bytes, bytes_max)) });
        let image = match image {
            Ok(image) => image,
            Err(refused) => {
                if !cached {
                    // If the engine keeps it for now, it is in the ledger and goes when there is need of room.
                    let _ = self.remove_image(&id).await;
                }
                return Err(refused);
            }
        };
        self.make_room(&image.id).await;
        Ok(image)
    }

    /// Returns when the engine's disk has only its reserve left; never where that disk cannot be seen.
    async fn storage_is_full(&self) {
        let free = |root: &str| rustix::fs::statvfs(root).map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize));
        loop {
            match self.character.storage.as_deref().map(free) {
                Some(Ok(left)) if left < DISK_RESERVE_BYTES => return,
                Some(Ok(_)) => tokio::time::sleep(STORAGE_PAUSE).await,
                Some(Err(_)) | None => std::future::pending().await,
            }
        }
    }

    /// The images that this worker has fetched and the engine still has, last used first.
    ///
    /// # Errors
    /// If the engine does not answer.
    pub async fn images(&self) -> Result<Vec<Held>, Error> {
        let mut held = Vec::new();
        for entry in self.ledger.lock().await.held() {
            if self.docker.inspect_image(&entry.id).await.is_ok() {
                held.push(entry);
            }
        }
        held.sort_by_key(|entry| std::cmp::Reverse(entry.used_at));
        Ok(held)
    }

    /// Removes an image that this worker has fetched. One that a container uses stays.
    ///
    /// # Errors
    /// If it is not this worker's to remove, or is in use.
    pub async fn remove_image(&self, id: &str) -> Result<(), Error> {
        let mut ledger = self.ledger.lock().await;
        if !ledger.knows(id) {
            return Err(Error::Refused(format!("the image {id} was not fetched by this worker")));
        }
        let names = match self.docker.inspect_image(id).await {
            Ok(found) => found.repo_tags.unwrap_or_default(),
            Err(_) => Vec::new(),
        };
        // An image with several names goes with the last of them.
        for name in names.iter().map(String::as_str).chain([id]) {
            let options = RemoveImageOptions::default();
            match self.docker.remove_image(name, Some(options), None).await {
                Ok(_) => {}
                Err(bollard::errors::Error::DockerResponseServerError { status_code: 404, .. }) => {}
                Err(error) => return Err(Error::engine(format!("removing the image {id}"), error)),
            }
        }
        ledger.forget(id);
        Ok(())
    }

    async fn make_room(&self, keep: &str) {
        let excess = self.ledger.lock().await.excess(self.config.images_bytes_max, keep);
        for id in excess {
            // What a container uses stays, and is looked at again next time.
            let _ = self.remove_image(&id).await;
        }
    }
}

fn too_large(bytes: u64, bytes_max: u64) -> Error {
    Error::Image(format!("it has {bytes} bytes, and this machine keeps at most {bytes_max} bytes of images"))
}

fn storage_full() -> Error {
    Error::unavailable(
        format!("less than {} MiB are free where the container engine keeps its images", DISK_RESERVE_BYTES >> 20),
        "Free some space on that disk, or let the worker keep fewer images",
    )
}

/// Where the image wants volumes, if these are places that it may want them at.
fn volumes(found: ImageInspect) -> Result<Vec<String>, Error> {
    let volumes = found.config.and_then(|config| config.volumes).unwrap_or_default();
    if volumes.len() > VOLUMES_MAX {
        return Err(Error::Image(format!("it declares more than {VOLUMES_MAX} volumes")));
    }
    if let Some(odd) = volumes.iter().find(|path| !path.starts_with('/') || path.contains([':', ',', '\0'])) {
        return Err(Error::Image(format!("it declares a volume at `{odd}`")));
    }
    Ok(volumes)
}
