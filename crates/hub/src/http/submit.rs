//! Taking a job: read it, plan it, check that its files are here, hand it to the keeper.
use super::Shared;
use super::access::{Anyone, is_anothers, requester_for};
use super::idempotency::{self, IDEMPOTENCY_KEY};
use super::problem::Problem;
use super::quote::{QUOTE, Unfit, ordered_by};
use super::spending::{give_back, purpose_of, reserve};
use crate::data::Data;
use crate::token::Caller;
use axum::Json;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gleaner_accounts::token::TokenId;
use gleaner_core::plan::{self, Graph};
use gleaner_wire::api::Submitted;
use gleaner_wire::job_file::{JOB_FILE_BYTES_MAX, JobFile, JobFileError, Source, line_of};
use gleaner_wire::{DataRef, Hash, Quote, SignedOrder};
use std::sync::Arc;
use std::time::SystemTime;

/// The header that names who pays.
pub(super) const REQUESTER: &str = "gleaner-requester";
/// The header with the requester's signed order.
const ORDER: &str = "gleaner-order";
/// The header by which a caller names the trace that it is in (W3C Trace Context).
const TRACE_PARENT: &str = "traceparent";
/// The longest name of a requester, in characters.
const REQUESTER_MAX: usize = 64;
/// Who pays if nobody is named.
const REQUESTER_DEFAULT: &str = "local";

/// How a job is written.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Json,
    Toml,
}

impl Form {
    fn name(self) -> &'static [u8] {
        match self {
            Self::Json => b"json",
            Self::Toml => b"toml",
        }
    }
}

/// `POST /api/v1/jobs`.
#[utoipa::path(
    post,
    path = "/api/v1/jobs",
    operation_id = "submit_job",
    tag = "jobs",
    summary = "Takes a job",
    params(
        ("gleaner-requester" = Option<String>, Header, description = "Who pays: 1 to 64 printable characters; `local` if not said"),
        ("idempotency-key" = Option<String>, Header, description = "32 hexadecimal digits: a submission sent again with them is the same job, also after it has ended"),
        ("gleaner-order" = Option<String>, Header, description = "A signed order (`SignedOrder`) as JSON, where money is on a chain"),
        ("gleaner-quote" = Option<String>, Header, description = "A quote that the hub has signed (`SignedQuote`) as JSON: the job is ordered for exactly its price"),
        ("traceparent" = Option<String>, Header, description = "The caller's own trace (W3C Trace Context), which the job's is linked to")
    ),
    request_body(content((JobFile = "application/json"), (String = "application/toml")), description = "The job file, as JSON or as TOML"),
    responses(
        (status = 201, description = "The new job; with a key that was used before, that one's", body = Submitted, headers(("location" = String, description = "Where the job is"))),
        (status = 409, description = "`idempotency-key-in-use`: a request with this key is being carried out; `quote-expired`, `other-quote`: the quote does not hold for this job"),
        (status = 413, description = "`too-large`: a job file has at most 16 MiB"),
        (status = 415, description = "`media-type`: neither JSON nor TOML"),
        (status = 422, description = "`job-refused`: what is wrong with it, with its place in `at` and `line`; `idempotency-key-reused`: the key was used for another job")
    ),
    security(("operator" = []))
)]
pub(super) async fn submit(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Anyone(asking): Anyone,
    request: Request,
) -> Result<Response, Problem> {
    if let Some(reason) = shared.keeper.refusing() {
        return Err(crate::keeper::Unavailable::Refusing(reason).into());
    }
    let arrived = SystemTime::now();
    let form = form(request.headers())?;
    let requester = requester_for(&shared, caller, request.headers()).await?;
    let key = idempotency::key(request.headers())?;
    let submission = submission(key.as_deref())?;
    let order = order(request.headers())?;
    let quote = ordered_by(&shared, request.headers())?;
    let parent = request.headers().get(TRACE_PARENT).and_then(|value| value.to_str().ok());
    let came = Came { arrived, caller: parent.unwrap_or_default().to_owned() };
    let signed = request.headers().get(ORDER).map(|value| value.as_bytes().to_vec()).unwrap_or_default();
    let offered = request.headers().get(QUOTE).map(|value| value.as_bytes().to_vec());
    let body = to_bytes(request.into_body(), JOB_FILE_BYTES_MAX).await.map_err(|_| too_large())?;
    let mut parts: Vec<&[u8]> = vec![form.name(), requester.as_bytes(), &signed, &body];
    // A job that is ordered by a quote is another one than without it, or by another quote.
    parts.extend(offered.as_deref());
    let hash = idempotency::hash(&parts);
    // All requesters share one scope: a submission has one number, whoever sends it.
    let scope = "jobs".to_owned();
    let spender = asking.person().and_then(|person| person.spend_limit()).map(|(token, _)| token);
    let work = take(&shared, Sent { form, requester, submission, order, quote, body, caller, spender, came });
    idempotency::once(&shared, scope, key, hash, work).await
}

/// A job as it was sent.
struct Sent {
    form: Form,
    requester: String,
    submission: u128,
    order: Option<SignedOrder>,
    quote: Option<Quote>,
    body: Bytes,
    caller: Caller,
    /// The token that pays, if what it may spend is limited.
    spender: Option<TokenId>,
    came: Came,
}

/// When a request came, and what it says of the trace that it is a part of.
struct Came {
    arrived: SystemTime,
    caller: String,
}

async fn take(shared: &Shared, sent: Sent) -> Result<Response, Problem> {
    let Sent { form, requester, submission, order, quote, body, caller, spender, came } = sent;
    if let Some(order) = &order {
        check_order(shared, order, &requester, &body)?;
    }
    let data = Arc::clone(&shared.data);
    let planning = SystemTime::now();
    let planned = tokio::task::spawn_blocking(move || plan_held(form, &body, &data)).await;
    let (mut graph, roots) = planned.map_err(|_| not_planned())??;
    graph.quote = quote;
    let planned = (planning, SystemTime::now());
    check_owner(shared, caller, &roots).await?;
    let cap = match graph.price_max {
        Some(cap) => cap,
        None => shared.keeper.ask(|core| core.params().price_max_default).await?,
    };
    let unfit = graph.quote.as_ref().and_then(|quote| Unfit::of(quote, &graph));
    let purpose = purpose_of(submission);
    if let Some(token) = spender {
        reserve(shared, token, &purpose, cap).await?;
    }
    let submitted = shared.keeper.submit(submission, requester, graph, order).await?;
    let submitted = match submitted {
        Ok(submitted) => submitted,
        Err(reason) => {
            if let Some(token) = spender {
                give_back(shared, token, purpose).await?;
            }
            return Err(unfit.map_or_else(|| refused(reason.as_str()), |unfit| unfit.because(reason.as_str())));
        }
    };
    super::data::keep_for_job(Arc::clone(&shared.data), submitted.job, roots, submission).await?;
    shared.traces.submitted(submitted.job, planned, came.arrived, &came.caller);
    let location = format!("/api/v1/jobs/{}", submitted.job);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(submitted)).into_response())
}

/// What somebody else has brought is not there for this account.
async fn check_owner(shared: &Shared, caller: Caller, roots: &[Hash]) -> Result<(), Problem> {
    let Caller::Account(account) = caller else { return Ok(()) };
    for root in roots {
        if is_anothers(shared, account, *root).await? {
            return Err(refused(format!("the hub does not hold {root}: push it first")));
        }
    }
    Ok(())
}

/// Plans a job whose files must all be here.
fn plan_held(form: Form, body: &[u8], data: &Data) -> Result<(Graph, Vec<Hash>), Problem> {
    let (graph, sources) = plan_job(form, body)?;
    if let Some((at, dataset)) = sources.iter().find(|(_, dataset)| !data.holds(&dataset.root)) {
        let reason = format!("the hub does not hold {dataset}: push it first");
        let line = match form {
            Form::Json => None,
            Form::Toml => std::str::from_utf8(body).ok().and_then(|text| line_of(text, at)),
        };
        return Err(refused(reason).at(at, line));
    }
    Ok((graph, sources.into_iter().map(|(_, dataset)| dataset.root.id).collect()))
}

/// Plans a job, and says what it names: each with its place in the file.
pub(super) fn plan_job(form: Form, body: &[u8]) -> Result<(Graph, Vec<(String, DataRef)>), Problem> {
    let text = std::str::from_utf8(body).map_err(|_| refused("the job file is not UTF-8"))?;
    let file = match form {
        Form::Json => JobFile::from_json(body),
        Form::Toml => JobFile::from_toml(text),
    };
    let file = file.map_err(|error| match error {
        JobFileError::Toml { line, reason } => refused(reason).on_line(line),
        JobFileError::TooLarge(_) => too_large(),
        JobFileError::Json(reason) => refused(reason),
    })?;
    let line = |at: &str| match form {
        Form::Json => None,
        Form::Toml => line_of(text, at),
    };
    let graph = plan::plan(&file).map_err(|error| refused(error.reason.to_string()).at(&error.at, line(&error.at)))?;
    Ok((graph, sources(&file)))
}

/// Every program and input that came with the job, with its place in the file.
fn sources(file: &JobFile) -> Vec<(String, DataRef)> {
    let mut sources = Vec::new();
    let mut add = |at: String, source: &Source| match source {
        Source::Data(data) => sources.push((at, *data)),
        Source::Path(_) => {}
    };
    for (task, of) in file.tasks.iter().enumerate() {
        if let Some(program) = &of.program {
            add(format!("task[{task}].program"), program);
        }
        for (input, of) in of.inputs.iter().enumerate() {
            for (field, source) in [("file", &of.file), ("folder", &of.folder)] {
                if let Some(source) = source {
                    add(format!("task[{task}].input[{input}].{field}"), source);
                }
            }
        }
    }
    sources
}

pub(super) fn form(headers: &HeaderMap) -> Result<Form, Problem> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match kind.split(';').next().unwrap_or_default().trim() {
        "application/json" => Ok(Form::Json),
        "application/toml" => Ok(Form::Toml),
        other => {
            let detail = format!("a job is sent as application/json or application/toml, not as `{other}`");
            Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", "unknown kind of content", detail))
        }
    }
}

pub(super) fn requester(headers: &HeaderMap) -> Result<String, Problem> {
    let Some(value) = headers.get(REQUESTER) else { return Ok(REQUESTER_DEFAULT.to_owned()) };
    let name = std::str::from_utf8(value.as_bytes()).ok();
    let fits = |name: &&str| {
        (1..=REQUESTER_MAX).contains(&name.chars().count())
            && !name.chars().any(char::is_control)
            && name.trim() == *name
    };
    let refuse = || Problem::bad_request(format!("{REQUESTER} must be 1 to {REQUESTER_MAX} printable characters"));
    name.filter(fits).map(str::to_owned).ok_or_else(refuse)
}

/// What the requester signed for the job.
fn order(headers: &HeaderMap) -> Result<Option<SignedOrder>, Problem> {
    let Some(value) = headers.get(ORDER) else { return Ok(None) };
    let order = serde_json::from_slice(value.as_bytes());
    order.map(Some).map_err(|error| Problem::bad_request(format!("{ORDER} is not a signed order as JSON: {error}")))
}

/// Refuses an order that is for another job or another hub, or that its requester did not sign.
fn check_order(shared: &Shared, order: &SignedOrder, requester: &str, body: &[u8]) -> Result<(), Problem> {
    let Some(money) = &shared.money else {
        return Err(refused("this hub takes no orders: its money is on no chain"));
    };
    if order.order.job != Hash::of(body) {
        return Err(refused("the order is for another job: it must name the BLAKE3 hash of the job as it is sent"));
    }
    if order.order.requester.to_string() != requester {
        return Err(refused("the order is of another requester than the job"));
    }
    money.check_signature(order).map_err(refused)
}

/// The number of a submission: its key, or one that nobody has.
fn submission(key: Option<&str>) -> Result<u128, Problem> {
    let Some(key) = key else {
        let bytes = crate::token::random_bytes().map_err(|error| Problem::bad_request(error.to_string()))?;
        return Ok(u128::from_le_bytes(std::array::from_fn(|at| bytes[at])));
    };
    let digits = Some(key).filter(|text| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let detail = format!("the {IDEMPOTENCY_KEY} of a job must be 32 hexadecimal digits");
    let refuse = || Problem::bad_parameter(IDEMPOTENCY_KEY, detail);
    digits.and_then(|text| u128::from_str_radix(text, 16).ok()).ok_or_else(refuse)
}

pub(super) fn refused(reason: impl Into<String>) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "job-refused", "the job is refused", reason)
}

pub(super) fn not_planned() -> Problem {
    Problem::bad_request("the job could not be planned")
}

pub(super) fn too_large() -> Problem {
    let detail = format!("a job file may have at most {JOB_FILE_BYTES_MAX} bytes");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "the job file is too large", detail)
}
