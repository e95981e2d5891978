//! Fetches an image from a registry.

use super::reference::{Reference, Version};
use super::{PullProgress, too_large};
use crate::Error;
use bollard::Docker;
use bollard::models::{CreateImageInfo, ImageInspect};
use bollard::query_parameters::CreateImageOptions;
use futures_util::StreamExt;
use std::collections::BTreeMap;
use std::time::Duration;

/// So many layers are followed; what is beyond is fetched all the same.
const LAYERS_MAX: usize = 256;
/// The caller's limit counts, not the connection's.
const PATIENCE: Duration = Duration::from_secs(7 * 24 * 3600);

/// What a source answers: the image, its digest in a registry, and whether it was here before.
pub(super) type Had = (ImageInspect, Option<String>, bool);

pub(super) async fn pull(
    docker: &Docker,
    name: &str,
    bytes_max: u64,
    progress: &mut (dyn FnMut(PullProgress) + Send),
) -> Result<Had, Error> {
    let reference = Reference::parse(name)?;
    let whole = reference.whole();
    let before = docker.inspect_image(&whole).await.ok();
    if let (Some(found), Version::Digest(_)) = (&before, &reference.version) {
        return Ok((found.clone(), Some(whole), true));
    }
    fetch(docker, &reference, bytes_max, progress).await?;
    let found = docker
        .inspect_image(&whole)
        .await
        .map_err(|error| Error::engine(format!("looking for {whole} after it was fetched"), error))?;
    let digest = match &reference.version {
        Version::Digest(_) => whole,
        Version::Tag(_) => resolved(&reference, &found)?,
    };
    let cached = before.is_some_and(|before| before.id == found.id);
    Ok((found, Some(digest), cached))
}

/// The digest that a tag stands for now.
fn resolved(reference: &Reference, found: &ImageInspect) -> Result<String, Error> {
    let prefix = format!("{}@", reference.repository);
    let digests = found.repo_digests.as_deref().unwrap_or_default();
    let own = digests.iter().find(|digest| digest.starts_with(&prefix));
    // Engines write short names in full (`alpine` is `docker.io/library/alpine`).
    let ending = format!("/{prefix}");
    own.or_else(|| digests.iter().find(|digest| digest.contains(&ending)))
        .cloned()
        .ok_or_else(|| Error::Image(format!("{} has no digest in its registry", reference.whole())))
}

async fn fetch(
    docker: &Docker,
    reference: &Reference,
    bytes_max: u64,
    progress: &mut (dyn FnMut(PullProgress) + Send),
) -> Result<(), Error> {
    let (from_image, tag) = match &reference.version {
        Version::Digest(_) => (reference.whole(), None),
        Version::Tag(tag) => (reference.repository.clone(), Some(tag.clone())),
    };
    let options = CreateImageOptions { from_image: Some(from_image), tag, ..CreateImageOptions::default() };
    let patient = docker.clone().with_timeout(PATIENCE);
    let mut stream = Box::pin(patient.create_image(Some(options), None, None));
    let mut layers = Layers::default();
    while let Some(said) = stream.next().await {
        let said = said.map_err(|error| Error::engine(format!("fetching the image {}", reference.whole()), error))?;
        let heard = layers.hear(said);
        if heard.bytes_total > bytes_max {
            return Err(too_large(heard.bytes_total, bytes_max));
        }
        progress(heard);
    }
    Ok(())
}

/// Sums up what an engine says about single layers.
#[derive(Debug, Default)]
struct Layers(BTreeMap<String, Layer>);

#[derive(Debug, Default, Clone, Copy)]
struct Layer {
    bytes: u64,
    total: u64,
    done: bool,
}

impl Layers {
    fn hear(&mut self, said: CreateImageInfo) -> PullProgress {
        let status = said.status.unwrap_or_default();
        if let Some(id) = said.id.filter(|id| self.0.len() < LAYERS_MAX || self.0.contains_key(id)) {
            let layer = self.0.entry(id).or_default();
            let number = |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok());
            let detail = said.progress_detail.unwrap_or_default();
            if let (true, Some(bytes)) = (status.starts_with("Downloading"), number(detail.current)) {
                layer.bytes = bytes;
                layer.total = number(detail.total).unwrap_or(layer.total).max(bytes);
            }
            if status.contains("complete") || status.contains("exists") {
                layer.done = true;
                layer.bytes = layer.total;
            }
        }
        PullProgress {
            layers: self.0.len(),
            layers_done: self.0.values().filter(|layer| layer.done).count(),
            bytes: self.0.values().map(|layer| layer.bytes).sum(),
            bytes_total: self.0.values().map(|layer| layer.total).sum(),
            status,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bollard::models::ProgressDetail;

    fn said(id: &str, status: &str, current: i64, total: i64) -> CreateImageInfo {
        let detail = ProgressDetail { current: Some(current), total: Some(total) };
        CreateImageInfo {
            id: Some(id.into()),
            status: Some(status.into()),
            progress_detail: Some(detail),
            ..CreateImageInfo::default()
        }
    }

    #[test]
    fn layers_add_up() {
        let mut layers = Layers::default();
        layers.hear(said("a", "Downloading", 50, 100));
        let now = layers.hear(said("b", "Downloading", 10, 300));
        assert_eq!((now.bytes, now.bytes_total, now.layers_done), (60, 400, 0));
        layers.hear(said("a", "Extracting", 7, 100));
        let now = layers.hear(said("a", "Pull complete", 0, 0));
        assert_eq!((now.bytes, now.layers, now.layers_done), (110, 2, 1));
    }

    #[test]
    fn endless_list_of_layers_is_cut() {
        let mut layers = Layers::default();
        (0..LAYERS_MAX + 10).for_each(|n| drop(layers.hear(said(&n.to_string(), "Downloading", 1, 1))));
        assert_eq!(layers.0.len(), LAYERS_MAX);
    }

    #[test]
    fn tag_is_resolved_to_the_digest_of_its_own_repository() {
        let reference = Reference::parse("alpine:3").expect("a name");
        let digests = vec!["docker.io/other@sha256:1".to_owned(), "docker.io/library/alpine@sha256:2".to_owned()];
        let found = ImageInspect { repo_digests: Some(digests), ..ImageInspect::default() };
        assert_eq!(resolved(&reference, &found).expect("a digest"), "docker.io/library/alpine@sha256:2");
    }
}
