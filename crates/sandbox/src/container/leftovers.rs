//! Removes the containers of a worker that is gone.

use super::WORKER_LABEL;
use crate::Error;
use bollard::Docker;
use bollard::query_parameters::{ListContainersOptions, RemoveContainerOptions};
use std::collections::HashMap;

/// Kills and removes every container of a worker, and says how many there were.
pub(crate) async fn remove_leftovers(docker: &Docker, worker: &str) -> Result<usize, Error> {
    let filters = HashMap::from([("label".to_owned(), vec![format!("{WORKER_LABEL}={worker}")])]);
    let options = ListContainersOptions { all: true, filters: Some(filters), ..ListContainersOptions::default() };
    let failed = |error| Error::engine("listing containers that were left", error);
    let left = docker.list_containers(Some(options)).await.map_err(failed)?;
    let ids: Vec<String> = left.into_iter().filter_map(|container| container.id).collect();
    for id in &ids {
        remove(docker, id).await;
    }
    Ok(ids.len())
}

/// Kills and removes one container with what it brought along; one that is gone already stays gone.
pub(super) async fn remove(docker: &Docker, id: &str) {
    let options = RemoveContainerOptions { force: true, v: true, ..RemoveContainerOptions::default() };
    let _ = docker.remove_container(id, Some(options)).await;
}
