//! Images by their tags, as people write them. A job names each by its digest, so that every machine runs the same bytes: the
//! desk asks the registry which one a tag stands for, once, when the job is quoted or ordered.
use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use gleaner_client::registry::{Reach, resolve_within};
use gleaner_wire::job_file::JobFile;

use crate::Error;

/// Tags in one job.
const TAGS_MAX: usize = 16;

/// What tags stand for: names with digests.
pub(crate) type Exact = BTreeMap<String, String>;

/// Puts digests in the place of a job's tags: those that are known already, and the registries' for the others. Returns all of
/// them.
pub(crate) async fn fix(file: &mut JobFile, known: &Exact, registries: Reach) -> Result<Exact, Error> {
    let tags = tags(file);
    if tags.len() > TAGS_MAX {
        let reason = format!("a job names at most {TAGS_MAX} images by their tags: name the others by their digests");
        return Err(Error::Job { reason, line: None });
    }
    let found = try_join_all(tags.into_iter().map(async |tag| {
        let exact = match known.get(&tag) {
            Some(exact) => exact.clone(),
            None => resolve_within(&tag, registries).await?,
        };
        Ok::<_, Error>((tag, exact))
    }));
    let found: Exact = found.await?.into_iter().collect();
    for image in file.tasks.iter_mut().filter_map(|task| task.container.image.as_mut()) {
        if let Some(exact) = found.get(image) {
            image.clone_from(exact);
        }
    }
    Ok(found)
}

/// The images that have no digest, each once.
fn tags(file: &JobFile) -> Vec<String> {
    let images = file.tasks.iter().filter_map(|task| task.container.image.as_ref());
    let mut tags: Vec<String> = images.filter(|image| !image.contains('@')).cloned().collect();
    tags.sort();
    tags.dedup();
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(images: &[&str]) -> JobFile {
        let task = |(index, image): (usize, &&str)| {
            format!("[[task]]\nname = \"t{index}\"\nruntime = \"container\"\ncontainer.image = \"{image}\"\n")
        };
        let tasks: String = images.iter().enumerate().map(task).collect();
        toml::from_str(&format!("name = \"x\"\n{tasks}")).expect("a job file")
    }

    fn images(file: &JobFile) -> Vec<&str> {
        file.tasks.iter().filter_map(|task| task.container.image.as_deref()).collect()
    }

    #[tokio::test]
    async fn what_a_tag_stood_for_when_it_was_quoted_holds() {
        let mut file = job(&["python:3", "a@sha256:00", "python:3"]);
        let known = Exact::from([("python:3".to_owned(), "docker.io/library/python@sha256:11".to_owned())]);
        let nowhere = Reach::Only(|_| false);
        assert_eq!(fix(&mut file, &known, nowhere).await.expect("nobody is asked"), known);
        let exact = "docker.io/library/python@sha256:11";
        assert_eq!(images(&file), [exact, "a@sha256:00", exact]);
    }

    #[tokio::test]
    async fn a_job_names_only_so_many_tags() {
        let names: Vec<String> = (0..=TAGS_MAX).map(|number| format!("image:{number}")).collect();
        let mut file = job(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let refused = fix(&mut file, &Exact::new(), Reach::Only(|_| false)).await;
        assert!(matches!(refused, Err(Error::Job { .. })), "{refused:?}");
    }
}
