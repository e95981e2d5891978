//! Datasets: what is kept, and for how long. The chunks themselves move by the routes of the data crate.
use super::Shared;
use super::access::{is_anothers, payers, requester_for, requester_of};
use super::parameters::{Parameters, countable};
use super::problem::Problem;
use crate::clock::wall_ms;
use crate::data::{AFTER_JOB_MS, CHUNKS_MAX, Data, Dataset, Kind, Listed, Over, Whole, hold_listed, pin_name};
use crate::inbox::Inbox;
use crate::screen;
use crate::token::Caller;
use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode};
use futures_util::StreamExt;
use gleaner_accounts::AccountId;
use gleaner_wire::api::{CheckView, DatasetView, DatasetsPage, NetworkView};
use gleaner_wire::{BlobRef, DataRef, Hash, JobId, WorkerKey};
use serde::Deserialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use tokio::sync::mpsc;

/// The longest sealed name.
const LABEL_BYTES_MAX: usize = 1024;
/// Datasets on one page.
const PAGE_MAX: u32 = 1000;
/// Chunks that are pinned together.
const PINNED_TOGETHER: usize = 4096;
/// How long an input is kept that no job has named yet.
const UNUSED_INPUT_MS: u64 = 24 * 3600 * 1000;
/// How long the answer to a test is kept: it is looked at as soon as it has come.
const ANSWER_MS: u64 = 3600 * 1000;
/// Whose answers to tests are.
const OF_HUB: &str = "hub";

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
        (status = 507, description = "`storage`: there is no room; `over-quota`: the account keeps as much as it may")
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
    // No job of the core's holds on to the answer to a test.
    let job = job.filter(|_| !is_answer);
    let owner = owner(&shared, caller, &headers, root, job).await?;
    let terms = terms(&shared, caller, kind, root, &owner).await?;
    let account = terms.account;
    let data = Arc::clone(&shared.data);
    let whole = if said.direct { Whole::No } else { Whole::Yes };
    let made = wall_ms();
    let until = match kind {
        Kind::Pushed => None,
        Kind::Input => Some(made + UNUSED_INPUT_MS),
        Kind::Output if is_answer => Some(made + ANSWER_MS),
        Kind::Output => Some(made + AFTER_JOB_MS),
    };
    let length = DataRef { root: BlobRef { id: root, bytes: root_bytes }, bytes };
    let dataset = Dataset { data: length, chunks: 0, owner, label, kind, made, until };
    let more = keep(&data, dataset, terms, whole, body).await?;
    if let Some(account) = account {
        data.quota.kept(account, more);
    }
    blocking(move || job.map_or(Ok(()), |job| data.catalog.used_by(job, &[root]))).await?;
    Ok(StatusCode::CREATED)
}

/// What has to hold for a dataset to be kept.
struct Terms {
    /// The account whose room it takes, if that is limited.
    account: Option<AccountId>,
    /// All names that the account keeps something under.
    owners: Vec<String>,
    /// Whether it is in the catalog already.
    is_known: bool,
    /// Whether it is somebody else's: then it is looked at, and nothing of it is changed.
    is_anothers: bool,
}

impl Terms {
    /// How long its list may be.
    fn chunks_max(&self) -> u64 {
        if self.account.is_some() { CHUNKS_MAX } else { u64::MAX }
    }

    /// Refuses it if the account keeps too much by it. Nobody else may keep anything until it is in the catalog.
    fn check(&self, data: &Data, more_bytes: u64, chunks: u64) -> Result<(), Problem> {
        if self.account.is_none() {
            return Ok(());
        }
        let keeps = data.catalog.kept_by(&self.owners).map_err(|error| unusable(&error))?;
        let more_chunks = if self.is_known { 0 } else { chunks };
        data.quota.check(keeps, !self.is_known, more_bytes, more_chunks).map_err(|over| no_room(&over))
    }
}

/// Results of jobs take nobody's room: they are paid for, and go by themselves.
async fn terms(shared: &Shared, caller: Caller, kind: Kind, root: Hash, owner: &str) -> Result<Terms, Problem> {
    let account = match (caller, kind) {
        (_, Kind::Output) | (Caller::Worker(..), _) => None,
        (Caller::Account(account), _) => Some(account),
        // The desk brings in the names of accounts.
        (Caller::Operator, _) => {
            let name = owner.to_owned();
            shared.people.ask(move |accounts| accounts.payer_owner(&name)).await?
        }
    };
    let owners = match account {
        Some(account) => payers(shared, account).await?,
        None => Vec::new(),
    };
    let (data, name) = (Arc::clone(&shared.data), owner.to_owned());
    blocking(move || {
        let known = data.catalog.find(&root)?;
        let is_anothers = matches!(caller, Caller::Worker(..)) && known.as_ref().is_some_and(|it| it.owner != name);
        Ok(Terms { account, owners, is_known: known.is_some(), is_anothers })
    })
    .await
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
    if let Caller::Worker(..) = caller {
        let of_job = match job {
            Some(job) => requester_of(shared, job).await?,
            None => None,
        };
        // Whatever it says, a worker leaves nothing in the name of somebody whose job it does not have.
        return Ok(of_job.unwrap_or_else(|| OF_HUB.to_owned()));
    }
    if let Caller::Account(account) = caller
        && is_anothers(shared, account, root).await?
    {
        let detail = "somebody else has brought this dataset";
        return Err(Problem::new(StatusCode::CONFLICT, "in-use", "the dataset is not yours", detail));
    }
    requester_for(shared, caller, headers).await
}

/// Keeps a dataset whose list arrives. How many bytes more are kept by that.
async fn keep(data: &Arc<Data>, dataset: Dataset, terms: Terms, whole: Whole, body: Body) -> Result<u64, Problem> {
    let (sender, receiver) = mpsc::channel::<Vec<Hash>>(4);
    let (has_all, chunks_max) = (Arc::new(AtomicBool::new(false)), terms.chunks_max());
    let (listing, came) = (Arc::clone(data), Arc::clone(&has_all));
    let keeping = tokio::task::spawn_blocking(move || keep_listed(&listing, dataset, &terms, whole, receiver, &came));
    let (mut stream, mut rest, mut listed) = (body.into_data_stream(), Vec::new(), 0);
    while let Some(piece) = stream.next().await {
        let piece = piece.map_err(|error| Problem::bad_request(format!("the list broke off: {error}")))?;
        listed += piece.len() as u64;
        if listed / 32 > chunks_max {
            return Err(no_room(&Over::Chunks));
        }
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
    has_all.store(true, Ordering::Release);
    drop(sender);
    keeping.await.map_err(|_| Problem::bad_request("the list could not be kept"))?
}

fn ids(bytes: &[u8]) -> Vec<Hash> {
    bytes.as_chunks::<32>().0.iter().map(|id| Hash(*id)).collect()
}

/// Pins and remembers a list, and has the dataset in the catalog. A list of which the end has not come changes nothing.
fn keep_listed(
    data: &Data,
    mut dataset: Dataset,
    terms: &Terms,
    whole: Whole,
    mut lists: mpsc::Receiver<Vec<Hash>>,
    has_all: &AtomicBool,
) -> Result<u64, Problem> {
    let root = dataset.data.root.id;
    let lists = std::iter::from_fn(|| lists.blocking_recv());
    let listed: Listed<'_> = hold_listed(&data.store, root, whole, lists).map_err(|error| full(&error))?;
    let (count, missing) = (listed.found.count, listed.found.missing);
    if missing > 0 || count == 0 || !has_all.load(Ordering::Acquire) {
        let detail =
            format!("{missing} of the {count} chunks are not here, or the root is not the first: send them first");
        return Err(Problem::new(StatusCode::CONFLICT, "incomplete", "the dataset is incomplete", detail));
    }
    let _turn = terms.account.map(|_| data.quota.turn());
    let more = listed.bytes().map_err(|error| full(&error))?;
    terms.check(data, more, count)?;
    dataset.chunks = count;
    let more = if terms.is_anothers {
        0
    } else {
        listed.keep().map_err(|error| full(&error))?;
        more
    };
    // Who is told that it is kept may forget it.
    let written = data.make_durable().and_then(|()| data.catalog.add(&dataset)).and_then(|()| match more {
        0 => Ok(()),
        more => data.catalog.weigh(&root, more),
    });
    written.map_err(|error| unusable(&error))?;
    Ok(more)
}

fn no_room(over: &Over) -> Problem {
    Problem::new(StatusCode::INSUFFICIENT_STORAGE, "over-quota", "your room on this hub is full", over.to_string())
}

fn full(error: &gleaner_data::store::Error) -> Problem {
    let detail = format!("the hub could not keep the dataset: {error}");
    Problem::new(StatusCode::INSUFFICIENT_STORAGE, "storage", "no room for the dataset", detail)
}

/// Which datasets are asked for.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    /// Only what this job reads and made.
    job: Option<u64>,
    /// How many on a page: 1,000 if not said, and at most.
    limit: Option<u32>,
    /// The `next` of the page before, asked with the same conditions.
    cursor: Option<String>,
}

/// `GET /api/v1/datasets`: everything, or what a job that has not ended reads and made.
#[utoipa::path(
    get,
    path = "/api/v1/datasets",
    operation_id = "list_datasets",
    tag = "data",
    summary = "What is kept, or what a job that has not ended reads and made",
    params(Listing),
    responses((status = 200, description = "A page", body = DatasetsPage)),
    security(("operator" = []))
)]
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Parameters(listing): Parameters<Listing>,
) -> Result<Json<DatasetsPage>, Problem> {
    let data = Arc::clone(&shared.data);
    let owners = match caller {
        Caller::Account(account) => Some(payers(&shared, account).await?),
        Caller::Operator | Caller::Worker(..) => None,
    };
    let job = listing.job.map(|job| countable("job", job)).transpose()?.map(JobId);
    let limit = listing.limit.unwrap_or(PAGE_MAX);
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(Problem::bad_parameter("limit", format!("limit must be 1 to {PAGE_MAX}")));
    }
    let after = listing.cursor.as_deref().map(place).transpose()?;
    let page = blocking(move || {
        let mut found = data.catalog.page(job, owners.as_deref(), after.as_ref(), limit + 1)?;
        let more = found.len() > limit as usize;
        found.truncate(limit as usize);
        let next = found.last().filter(|_| more).map(cursor);
        Ok(DatasetsPage { items: found.into_iter().map(|dataset| view(&data, dataset)).collect(), next })
    });
    page.await.map(Json)
}

/// The place of a dataset in the list.
fn cursor(dataset: &Dataset) -> String {
    format!("{}-{}-{}", dataset.kind.name(), dataset.made, dataset.data.root.id)
}

/// A dataset at the place that a cursor names; what else there is to one plays no part.
fn place(cursor: &str) -> Result<Dataset, Problem> {
    let read = || {
        let (kind, rest) = cursor.split_once('-')?;
        let (made, root) = rest.split_once('-')?;
        let (kind, made, id) = (Kind::from_name(kind)?, made.parse().ok()?, root.parse().ok()?);
        let data = DataRef { root: BlobRef { id, bytes: 0 }, bytes: 0 };
        Some(Dataset { data, chunks: 0, owner: String::new(), label: Vec::new(), kind, made, until: None })
    };
    let detail = "this is no place in a list of datasets: use the `next` of the page before";
    read().ok_or_else(|| Problem::bad_parameter("cursor", detail))
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
    let failed = |error: crate::Error| unusable(&error);
    done.map_err(|_| Problem::bad_request("the request could not be carried out"))?.map_err(failed)
}

fn unusable(error: &crate::Error) -> Problem {
    let source = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    // Where the hub keeps what is nobody's business but its operator's.
    tracing::error!(%error, source, "the catalog of datasets could not be used");
    let detail = "the hub could not read or write what it keeps of datasets; its operator finds the reason in its log";
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "catalog", "the hub could not use its catalog", detail)
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
