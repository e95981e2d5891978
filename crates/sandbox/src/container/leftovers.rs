//! Removes the containers of a worker that is gone.

use super::{RUN_LABEL, WORKER_LABEL};
use crate::Error;
use bollard::Docker;
use bollard::errors::Error as Failed;
use bollard::errors::Error::{DockerResponseServerError as Refused, JsonDataError as Unreadable};
use bollard::models::ContainerSummary;
use bollard::query_parameters::{ListContainersOptions, PruneContainersOptions, RemoveContainerOptions};
use std::collections::HashMap;
use std::time::Duration;

/// How often an engine is asked to remove a container that it does not let go of yet.
const REMOVE_TRIES: u32 = 10;
const REMOVE_PAUSE: Duration = Duration::from_millis(200);

/// Whose containers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of<'a> {
    /// All that a worker ever made.
    Worker(&'a str),
    /// Those of one run of a worker, and of no other that has its name by now.
    Run(&'a str),
}

/// Kills and removes every container of a worker or of one of its runs, and says how many there were.
pub(crate) async fn remove_leftovers(docker: &Docker, of: Of<'_>) -> Result<usize, Error> {
    let label = match of {
        Of::Worker(worker) => format!("{WORKER_LABEL}={worker}"),
        Of::Run(run) => format!("{RUN_LABEL}={run}"),
    };
    let filters = HashMap::from([("label".to_owned(), vec![label])]);
    let options =
        ListContainersOptions { all: true, filters: Some(filters.clone()), ..ListContainersOptions::default() };
    let mut removed = 0;
    for _ in 0..REMOVE_TRIES {
        match docker.list_containers(Some(options.clone())).await {
            // For a moment after its end podman calls a container `stopped`, a word that the interface does not have.
            Err(Unreadable { .. }) => removed += remove_ended(docker, filters.clone()).await,
            listed => return Ok(removed + remove_listed(docker, listed).await?),
        }
        tokio::time::sleep(REMOVE_PAUSE).await;
    }
    Ok(removed + remove_listed(docker, docker.list_containers(Some(options)).await).await?)
}

async fn remove_listed(docker: &Docker, listed: Result<Vec<ContainerSummary>, Failed>) -> Result<usize, Error> {
    let left = listed.map_err(|error| Error::engine("listing containers that were left", error))?;
    let ids: Vec<String> = left.into_iter().filter_map(|container| container.id).collect();
    for id in &ids {
        remove(docker, id).await;
    }
    Ok(ids.len())
}

/// Removes containers that do not run, without asking which there are.
async fn remove_ended(docker: &Docker, filters: HashMap<String, Vec<String>>) -> usize {
    let options = PruneContainersOptions { filters: Some(filters) };
    let pruned = docker.prune_containers(Some(options)).await.ok();
    pruned.and_then(|pruned| pruned.containers_deleted).map_or(0, |deleted| deleted.len())
}

/// Kills and removes one container with what it brought along; one that is gone already stays gone. An engine that is
/// clearing up after the container itself refuses for a moment.
pub(super) async fn remove(docker: &Docker, id: &str) {
    for _ in 0..REMOVE_TRIES {
        let options = RemoveContainerOptions { force: true, v: true, ..RemoveContainerOptions::default() };
        match docker.remove_container(id, Some(options)).await {
            Err(Refused { status_code: 409 | 500, .. }) => tokio::time::sleep(REMOVE_PAUSE).await,
            Ok(()) | Err(_) => return,
        }
    }
}
