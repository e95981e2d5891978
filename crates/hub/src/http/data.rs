//! Datasets: what is kept, and for how long. The chunks themselves move by the routes of the data crate.
use super::Shared;
use super::access::{is_anothers, payers, requester_for, requester_of};
use super::parameters::{Parameters, countable};
use super::problem::Problem;
use crate::clock::wall_ms;
use crate::data::{AFTER_JOB_MS, Data, Dataset, Kind, Pinned, Whole, pin_listed, pin_name};
use crate::inbox::Inbox;
use crate::screen;
use crate::token::Caller;
use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode};
use futures_util::StreamExt;
use gleaner_wire::api::{CheckView, DatasetView, NetworkView};
use gleaner_wire::{BlobRef, DataRef, Hash, JobId, WorkerKey};
use serde::Deserialize;
use std::sync::{Arc, PoisonError};
use tokio::sync::mpsc;

/// The longest sealed name.
const LABEL_BYTES_MAX: usize = 1024;
/// Chunks that are pinned together.
const PINNED_TOGETHER: usize = 4096;
/// How long an input is kept that no job has named yet.
const UNUSED_INPUT_MS: u64 = 24 * 3600 * 1000;
/// How long the answer to a test is kept: it is looked at as soon as it has come.
const ANSWER_MS: u64 = 3600 * 1000;

/// What is said of a dataset when it is registered.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Said {
    /// How long its root is.
    root_bytes: u64,
    /// How long all of it is.
    bytes: u64,
    /// Why it is kept: `pushed`, `input` or `output`.
    kind: String,
    /// Its sealed name, in hexadecimal digits.
    label: Option<String>,
    /// The job of an output.
    job: Option<String>,
    /// Whether workers get most of it from the machine of its owner.
    #[serde(default)]
    direct: bool,
}

/// `PUT /api/v1/datasets/{root}`: everything in it is here, and this is the list of it, 32 bytes for each chunk, the root
/// first. From now on it is kept.
#[utoipa::path(
    put,
    path = "/api/v1/datasets/{root}",
    operation_id = "keep_dataset",
    tag = "data",
    summary = "Keeps a dataset whose chunks are here",
    params(Said, ("gleaner-requester" = Option<String>, Header, description = "Whose it is; `local` if not said")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The list of its chunks: 32 bytes for each, the root first"),
    responses(
        (status = 201, description = "It is kept"),
        (status = 404, description = "`not-found`: there is no such job"),
        (status = 409, description = "`incomplete`: chunks are missing, or the root is not the first"),
        (status = 507, description = "`storage`: there is no room")
    ),
    security(("operator" = []), ("worker" = []))
)]
pub(super) async fn register(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(root): Path<String>,
    Parameters(said): Parameters<Said>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Problem> {
    let root = root_of(&root)?;
    let kind = Kind::from_name(&said.kind)
        .ok_or_else(|| Problem::bad_request("a dataset is kept as `pushed`, `input` or `output`"))?;
    let job = said.job.as_deref().map(super::jobs::job_id).transpose()?;
    check_worker(&shared, caller, kind, job).await?;
    let (root_bytes, bytes) = (countable("root_bytes", said.root_bytes)?, countable("bytes", said.bytes)?);
    let is_answer = job.is_some_and(screen::is_test);
    let label = unhex(said.label.as_deref().unwrap_or_default())
        .filter(|label| label.len() <= LABEL_BYTES_MAX)
        .ok_or_else(|| Problem::bad_request(format!("a label is at most {LABEL_BYTES_MAX} bytes in hexadecimal")))?;
    let data = Arc::clone(&shared.data);
    let whole = if said.direct { Whole::No } else { Whole::Yes };
    let chunks = pin(&data, root, whole, body).await?;
    let owner = owner(&shared, caller, &headers, root, job.filter(|_| !is_answer)).await?;
    let made = wall_ms();
    // No job of the core's holds on to it.
    let job = job.filter(|_| !is_answer);
    let until = match kind {
        Kind::Pushed => None,
        Kind::Input => Some(made + UNUSED_INPUT_MS),
        Kind::Output if is_answer => Some(made + ANSWER_MS),
        Kind::Output => Some(made + AFTER_JOB_MS),
    };
    let whole = DataRef { root: BlobRef { id: root, bytes: root_bytes }, bytes };
    let dataset = Dataset { data: whole, chunks, owner, label, kind, made, until };
    blocking(move || {
        // Who is told that it is kept may forget it.
        data.make_durable()?;
        data.catalog.add(&dataset)?;
        job.map_or(Ok(()), |job| data.catalog.used_by(job, &[root]))
    })
    .await?;
    Ok(StatusCode::CREATED)
}

/// A worker keeps results of jobs that it works on, and nothing else.
async fn check_worker(shared: &Shared, caller: Caller, kind: Kind, job: Option<JobId>) -> Result<(), Problem> {
    let allowed = match (caller, kind, job) {
        (Caller::Operator, _, _) | (Caller::Account(_), Kind::Pushed | Kind::Input, None) => true,
        (Caller::Account(_), _, _) => false,
        (Caller::Worker(worker, _), Kind::Output, Some(job)) if screen::is_test(job) => {
            shared.screener.is_tested(worker, job)
        }
        (Caller::Worker(worker, _), Kind::Output, Some(job)) => {
            shared.keeper.ask(move |core| core.works_on(worker, job)).await?
        }
        (Caller::Worker(..), _, _) => false,
    };
    let detail = "a worker leaves results of jobs that it works on, and it holds no attempt of this one";
    let refused = || Problem::new(StatusCode::FORBIDDEN, "forbidden", "not this worker's job", detail);
    if allowed { Ok(()) } else { Err(refused()) }
}

/// Whose a dataset is: what a worker leaves is the requester's, and what an account leaves is its own.
async fn owner(
    shared: &Shared,
    caller: Caller,
    headers: &HeaderMap,
    root: Hash,
    job: Option<JobId>,
) -> Result<String, Problem> {
    let of_job = match (caller, job) {
        (Caller::Worker(..), Some(job)) => requester_of(shared, job).await?,
        (Caller::Worker(..), None) | (Caller::Operator | Caller::Account(_), _) => None,
    };
    if let Some(requester) = of_job {
        return Ok(requester);
    }
    if let Caller::Account(account) = caller
        && is_anothers(shared, account, root).await?
    {
        let detail = "somebody else has brought this dataset";
        return Err(Problem::new(StatusCode::CONFLICT, "in-use", "the dataset is not yours", detail));
    }
    requester_for(shared, caller, headers).await
}

/// Pins and remembers the list of a dataset as it arrives.
async fn pin(data: &Arc<Data>, root: Hash, whole: Whole, body: Body) -> Result<u64, Problem> {
    let (sender, receiver) = mpsc::channel::<Vec<Hash>>(4);
    let listing = Arc::clone(data);
    let pinning = tokio::task::spawn_blocking(move || pin_all(&listing, root, whole, receiver));
    let (mut stream, mut rest) = (body.into_data_stream(), Vec::new());
    while let Some(piece) = stream.next().await {
        let piece = piece.map_err(|error| Problem::bad_request(format!("the list broke off: {error}")))?;
        rest.extend_from_slice(&piece);
        if rest.len() >= PINNED_TOGETHER * 32 {
            let whole = rest.len() / 32 * 32;
            let tail = rest.split_off(whole);
            if sender.send(ids(&std::mem::replace(&mut rest, tail))).await.is_err() {
                break;
            }
        }
    }
    if !rest.len().is_multiple_of(32) {
        return Err(Problem::bad_request("a list of chunks has 32 bytes for each"));
    }
    let _ = sender.send(ids(&rest)).await;
    drop(sender);
    pinning.await.map_err(|_| Problem::bad_request("the list could not be kept"))?
}

fn ids(bytes: &[u8]) -> Vec<Hash> {
    bytes.as_chunks::<32>().0.iter().map(|id| Hash(*id)).collect()
}

fn pin_all(data: &Data, root: Hash, whole: Whole, mut lists: mpsc::Receiver<Vec<Hash>>) -> Result<u64, Problem> {
    let lists = std::iter::from_fn(|| lists.blocking_recv());
    let Pinned { count, missing } = pin_listed(&data.store, root, whole, lists).map_err(|error| full(&error))?;
    if missing > 0 || count == 0 {
        let detail =
            format!("{missing} of the {count} chunks are not here, or the root is not the first: send them first");
        return Err(Problem::new(StatusCode::CONFLICT, "incomplete", "the dataset is incomplete", detail));
    }
    Ok(count)
}

fn full(error: &gleaner_data::store::Error) -> Problem {
    let detail = format!("the hub could not keep the dataset: {error}");
    Problem::new(StatusCode::INSUFFICIENT_STORAGE, "storage", "no room for the dataset", detail)
}

/// Which datasets are asked for.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Listing {
    /// Only what this job reads and made.
    job: Option<u64>,
}

/// `GET /api/v1/datasets`: everything, or what a job that has not ended reads and made.
#[utoipa::path(
    get,
    path = "/api/v1/datasets",
    operation_id = "list_datasets",
    tag = "data",
    summary = "What is kept, or what a job that has not ended reads and made",
    params(Listing),
    responses((status = 200, description = "The datasets", body = Vec<DatasetView>)),
    security(("operator" = []))
)]
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Parameters(listing): Parameters<Listing>,
) -> Result<Json<Vec<DatasetView>>, Problem> {
    let data = Arc::clone(&shared.data);
    let owners = match caller {
        Caller::Account(account) => Some(payers(&shared, account).await?),
        Caller::Operator | Caller::Worker(..) => None,
    };
    let job = listing.job.map(|job| countable("job", job)).transpose()?;
    let views = blocking(move || {
        let all = match (job, &owners) {
            (Some(job), _) => data.catalog.list_of(JobId(job))?,
            (None, Some(owners)) => data.catalog.list_owned(owners)?,
            (None, None) => data.catalog.list()?,
        };
        let is_listed = |dataset: &Dataset| owners.as_ref().is_none_or(|owners| owners.contains(&dataset.owner));
        Ok(all.into_iter().filter(is_listed).map(|dataset| view(&data, dataset)).collect())
    });
    views.await.map(Json)
}

/// `GET /api/v1/datasets/{root}`.
#[utoipa::path(
    get,
    path = "/api/v1/datasets/{root}",
    operation_id = "show_dataset",
    tag = "data",
    summary = "One dataset",
    responses(
        (status = 200, description = "The dataset", body = DatasetView),
        (status = 404, description = "`not-found`: there is no such dataset")
    ),
    security(("operator" = []), ("worker" = []))
)]
pub(super) async fn show(
    State(shared): State<Arc<Shared>>,
    Path(root): Path<String>,
) -> Result<Json<DatasetView>, Problem> {
    let (root, data) = (root_of(&root)?, Arc::clone(&shared.data));
    let found = blocking(move || Ok(data.catalog.find(&root)?.map(|dataset| view(&data, dataset)))).await?;
    found.map(Json).ok_or_else(|| Problem::not_found(format!("there is no dataset {root} on this hub")))
}

/// `POST /api/v1/datasets/{root}/remove`.
#[utoipa::path(
    post,
    path = "/api/v1/datasets/{root}/remove",
    operation_id = "remove_dataset",
    tag = "data",
    summary = "Forgets a dataset",
    responses(
        (status = 204, description = "Forgotten"),
        (status = 404, description = "`not-found`: there is no such dataset"),
        (status = 409, description = "`in-use`: a job that has not ended reads it")
    ),
    security(("operator" = []))
)]
pub(super) async fn remove(State(shared): State<Arc<Shared>>, Path(root): Path<String>) -> Result<StatusCode, Problem> {
    let (root, data, inbox) = (root_of(&root)?, Arc::clone(&shared.data), Arc::clone(&shared.inbox));
    let removed = blocking(move || {
        if data.catalog.is_used(&root)? {
            return Ok(None);
        }
        discard_upload(&data, &inbox, &root)?;
        let known = data.catalog.remove(&root)?;
        let freed = data.store.unpin(&pin_name(&root)).and_then(|_| data.store.forget(&root));
        freed.map_err(|source| crate::Error::Store { path: "chunks".into(), source })?;
        Ok(Some(known))
    });
    match removed.await? {
        Some(true) => Ok(StatusCode::NO_CONTENT),
        Some(false) => Err(Problem::not_found(format!("there is no dataset {root} on this hub"))),
        None => {
            let detail = "a job that has not ended reads it: cancel the job, or wait for its end";
            Err(Problem::new(StatusCode::CONFLICT, "in-use", "the dataset is in use", detail))
        }
    }
}

/// The files that a dataset was made of go with it, if they came by the inbox and it is the newest version of them.
fn discard_upload(data: &Data, inbox: &Inbox, root: &Hash) -> Result<(), crate::Error> {
    let Some(dataset) = data.catalog.find(root)?.filter(|dataset| dataset.kind == Kind::Pushed) else { return Ok(()) };
    let top = Inbox::top_of(&dataset.owner, &dataset.label);
    let Some(top) = top.filter(|_| data.catalog.opened(root).is_ok_and(|key| key.is_some())) else { return Ok(()) };
    inbox.discard(&top).map_err(|source| crate::Error::Folder { path: inbox.dir.clone(), source })
}

/// `POST /api/v1/datasets/check`: reads everything. What is bad is dropped, and can be sent again.
#[utoipa::path(
    post,
    path = "/api/v1/datasets/check",
    operation_id = "check_datasets",
    tag = "data",
    summary = "Reads every chunk, and drops those that have gone bad",
    responses((status = 200, description = "What was found", body = CheckView)),
    security(("operator" = []))
)]
pub(super) async fn check(State(shared): State<Arc<Shared>>) -> Result<Json<CheckView>, Problem> {
    let data = Arc::clone(&shared.data);
    let checked = blocking(move || {
        data.store.check(|_| {}).map_err(|source| crate::Error::Store { path: "chunks".into(), source })
    });
    let checked = checked.await?;
    let (bad, orphan_bytes) = (checked.bad.len() as u64, checked.orphan_bytes);
    Ok(Json(CheckView { chunks: checked.chunks, bytes: checked.bytes, bad, orphan_bytes }))
}

/// Who asks for the network.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Guest {
    /// The key of a requester's machine, which may use the relay from then on.
    key: Option<WorkerKey>,
}

/// `GET /api/v1/network`: a requester's machine names its key, and may use the relay from then on.
#[utoipa::path(
    get,
    path = "/api/v1/network",
    operation_id = "show_network",
    tag = "machines",
    summary = "How machines of this hub's network find each other",
    params(Guest),
    responses((status = 200, description = "The network", body = NetworkView)),
    security(("operator" = []), ("worker" = []))
)]
pub(super) async fn network(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Parameters(guest): Parameters<Guest>,
) -> Json<NetworkView> {
    if let (Caller::Operator | Caller::Account(_), Some(key)) = (caller, guest.key) {
        shared.data.welcome(key);
    }
    let hub = gleaner_data::net::public(&shared.data.signer);
    Json(NetworkView { hub, relay_port: shared.relay_port, discovery_port: shared.discovery_port })
}

fn view(data: &Data, dataset: Dataset) -> DatasetView {
    let held = data.store.holdings(&dataset.data.root.id).ok().flatten().map_or(0, |bits| bits.count() as u64);
    let swarm = data.swarm.lock().unwrap_or_else(PoisonError::into_inner);
    let machines = swarm.members(&dataset.data.root.id).count() as u64;
    DatasetView {
        machines,
        data: dataset.data,
        chunks: dataset.chunks,
        owner: dataset.owner,
        label: dataset.label.iter().map(|byte| format!("{byte:02x}")).collect(),
        kind: dataset.kind.name().to_owned(),
        made_ms: dataset.made,
        until_ms: dataset.until,
        held,
    }
}

pub(super) fn root_of(text: &str) -> Result<Hash, Problem> {
    text.parse().map_err(|_| Problem::bad_request(format!("`{text}` is not the root of a dataset")))
}

/// Bytes out of hexadecimal digits.
pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

/// Does something that waits for the disk.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, crate::Error> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    let failed = |error: crate::Error| {
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        // Where the hub keeps what is nobody's business but its operator's.
        tracing::error!(%error, source, "the catalog of datasets could not be used");
        let detail =
            "the hub could not read or write what it keeps of datasets; its operator finds the reason in its log";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "catalog", "the hub could not use its catalog", detail)
    };
    done.map_err(|_| Problem::bad_request("the request could not be carried out"))?.map_err(failed)
}

/// What a job reads is kept for it.
pub(super) async fn keep_for_job(
    data: Arc<Data>,
    job: JobId,
    roots: Vec<Hash>,
    submission: u128,
) -> Result<(), Problem> {
    blocking(move || {
        data.catalog.used_by(job, &roots)?;
        data.catalog.submitted(job, submission)?;
        data.desk.ring();
        Ok(())
    })
    .await
}
