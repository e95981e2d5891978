//! Machines as their owners see them: how they do, what they ask, what they lost, and what is set of them.
use super::Shared;
use super::access::{Anyone, Asking, machines_of};
use super::parameters::Parameters;
use super::people::Said;
use super::problem::Problem;
use super::workers::worker_id;
use crate::keeper::Command;
use crate::machines::{Known, NotAsked, penalty};
use crate::money::Money;
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use gleaner_accounts::{Error, Refusal, Visit};
use gleaner_core::Event;
use gleaner_wire::api::WorkerView;
use gleaner_wire::machine::{
    HOURS_BYTES_MAX, MachineSettings, MachineView, MachinesPage, Penalty, PricePolicy, SettingsView, Telemetry,
};
use gleaner_wire::{Address, ToWorker, WorkerId, WorkerKey};
use serde::{Deserialize, Deserializer};
use std::sync::Arc;
use std::time::Duration;

/// Machines on one page.
const MACHINES_MAX: usize = 200;
const MACHINES_DEFAULT: usize = 50;
/// How long a machine may take to say whether it takes settings.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// Which machines are asked for.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// The `next` of the page before.
    cursor: Option<String>,
    /// How many on a page: 50 if not said, 200 at most.
    limit: Option<usize>,
}

/// What is to be set of a machine. What is not named stays as it is.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WantedSettings {
    /// `market`, or GLN for an hour of one card or processor slot, such as `0.36`.
    #[serde(default)]
    price: Option<PricePolicy>,
    /// When it is shared, in its own time, such as `22:00-07:00` or `mon-fri 18:00-08:00, sat, sun`; null for always.
    #[serde(default, deserialize_with = "named")]
    #[schema(value_type = Option<String>, max_length = 512)]
    hours: Option<Option<String>>,
}

/// Something that was named, if only to say that there is none.
fn named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(deserializer).map(Some)
}

/// `GET /api/v1/machines`.
#[utoipa::path(
    get,
    path = "/api/v1/machines",
    operation_id = "list_machines",
    tag = "workers",
    summary = "The caller's machines, in the order in which they first joined",
    description = "An account's machines are those that were started with one of its tokens, and those that are paid to a \
                   wallet of it. The hub's operator sees all.",
    params(Asked),
    responses((status = 200, description = "A page", body = MachinesPage))
)]
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    Anyone(asking): Anyone,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<MachinesPage>, Problem> {
    let limit = asked.limit.unwrap_or(MACHINES_DEFAULT);
    if !(1..=MACHINES_MAX).contains(&limit) {
        return Err(Problem::bad_parameter("limit", format!("limit must be 1 to {MACHINES_MAX}")));
    }
    let from = asked.cursor.as_deref().map(str::parse::<u32>).transpose();
    let detail = "this is no place in a list of machines: use the `next` of the page before";
    let from = WorkerId(from.map_err(|_| Problem::bad_parameter("cursor", detail))?.unwrap_or(0));
    let mut found = page(&shared, &asking, from, limit + 1).await?;
    let next = (found.len() > limit).then(|| found.pop()).flatten().map(|view| view.id.to_string());
    let mut items = Vec::with_capacity(found.len());
    for view in found {
        items.push(shown(&shared, view).await?);
    }
    Ok(Json(MachinesPage { items, next }))
}

/// The caller's machines from one on.
async fn page(shared: &Shared, asking: &Asking, from: WorkerId, limit: usize) -> Result<Vec<WorkerView>, Problem> {
    // An operator who is signed in has machines like everybody else; only the hub's own token has all of them.
    let mine = match asking.person() {
        Some(person) => Some(machines_of(shared, person.account.id).await?),
        None => None,
    };
    let found = shared.keeper.ask(move |core| match mine {
        Some(mine) => mine.range(from..).take(limit).filter_map(|id| core.worker_view(*id)).collect(),
        None => (from.0..).map_while(|id| core.worker_view(WorkerId(id))).take(limit).collect(),
    });
    Ok(found.await?)
}

/// `GET /api/v1/machines/{worker}`.
#[utoipa::path(
    get,
    path = "/api/v1/machines/{worker}",
    operation_id = "show_machine",
    tag = "workers",
    summary = "One machine, as its owner sees it",
    responses(
        (status = 200, description = "The machine", body = MachineView),
        (status = 404, description = "`not-found`: you have no such machine")
    )
)]
pub(super) async fn show(
    State(shared): State<Arc<Shared>>,
    Path(worker): Path<String>,
) -> Result<Json<MachineView>, Problem> {
    let worker = worker_id(&shared, &worker).await?;
    view(&shared, worker).await.map(Json)
}

/// `DELETE /api/v1/machines/{worker}`.
#[utoipa::path(
    delete,
    path = "/api/v1/machines/{worker}",
    operation_id = "release_machine",
    tag = "workers",
    summary = "Gives a machine up: it is the account's no more",
    description = "A machine that still has a token of the account is its again when it connects: take the token from it, or \
                   revoke it.",
    responses(
        (status = 204, description = "It is not the account's any more"),
        (status = 404, description = "`not-found`: you have no such machine"),
        (status = 409, description = "`not-claimed`: it is yours because it is paid to your wallet")
    )
)]
pub(super) async fn release(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Anyone(asking): Anyone,
    Path(worker): Path<String>,
) -> Result<StatusCode, Problem> {
    let worker = worker_id(&shared, &worker).await?;
    let key = view(&shared, worker).await?.worker.key;
    let person = asking.person().filter(|_| asking.caller() != Some(crate::token::Caller::Operator));
    let account = person.map(|person| person.account.id);
    let released = shared.people.ask(move |accounts| {
        let Some(owner) = account.map_or_else(|| accounts.worker_owner(key), |account| Ok(Some(account)))? else {
            return Ok(false);
        };
        match accounts.release_worker(visit, owner, key) {
            Ok(()) => Ok(true),
            Err(Error::Refused(Refusal::NotFound(_))) => Ok(false),
            Err(error) => Err(error),
        }
    });
    if released.await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    let detail =
        "no account's token has claimed it; a machine that is paid to your wallet is yours for as long as it is";
    Err(Problem::new(StatusCode::CONFLICT, "not-claimed", "nobody has claimed it", detail))
}

/// `POST /api/v1/machines/{worker}/pause`.
#[utoipa::path(
    post,
    path = "/api/v1/machines/{worker}/pause",
    operation_id = "pause_machine",
    tag = "workers",
    summary = "Has a machine take no more work; what runs on it goes on elsewhere",
    responses(
        (status = 200, description = "The machine as it is now", body = MachineView),
        (status = 404, description = "`not-found`: you have no such machine")
    )
)]
pub(super) async fn pause(
    State(shared): State<Arc<Shared>>,
    Path(worker): Path<String>,
) -> Result<Json<MachineView>, Problem> {
    let worker = worker_id(&shared, &worker).await?;
    shared.keeper.tell(Event::WorkerPaused { worker }).await?;
    view(&shared, worker).await.map(Json)
}

/// `POST /api/v1/machines/{worker}/resume`.
#[utoipa::path(
    post,
    path = "/api/v1/machines/{worker}/resume",
    operation_id = "resume_machine",
    tag = "workers",
    summary = "Lets a machine work again",
    responses(
        (status = 200, description = "The machine as it is now", body = MachineView),
        (status = 404, description = "`not-found`: you have no such machine")
    )
)]
pub(super) async fn resume(
    State(shared): State<Arc<Shared>>,
    Path(worker): Path<String>,
) -> Result<Json<MachineView>, Problem> {
    let worker = worker_id(&shared, &worker).await?;
    shared.keeper.tell(Event::WorkerResumed { worker }).await?;
    view(&shared, worker).await.map(Json)
}

/// `PUT /api/v1/machines/{worker}/settings`.
#[utoipa::path(
    put,
    path = "/api/v1/machines/{worker}/settings",
    operation_id = "set_machine",
    tag = "workers",
    summary = "Sets a machine's price and hours, if the machine takes them",
    description = "The machine itself checks them, keeps them over restarts and says what is in force. It takes them only if \
                   its owner has paired it with an account (`gleaner share --account-token-file FILE`).",
    request_body = WantedSettings,
    responses(
        (status = 200, description = "What is in force", body = SettingsView),
        (status = 404, description = "`not-found`: you have no such machine"),
        (status = 409, description = "`not-connected`; `busy`: it has other settings to answer; `no-answer`"),
        (status = 422, description = "`refused`: the machine does not take them, and says why")
    )
)]
pub(super) async fn set(
    State(shared): State<Arc<Shared>>,
    Path(worker): Path<String>,
    Said(wanted): Said<WantedSettings>,
) -> Result<Json<SettingsView>, Problem> {
    let worker = worker_id(&shared, &worker).await?;
    let settings = MachineSettings { price: wanted.price, hours: wanted.hours.map(Option::unwrap_or_default) };
    if settings.hours.as_ref().is_some_and(|hours| hours.len() > HOURS_BYTES_MAX) {
        return Err(Problem::bad_parameter("hours", format!("hours have at most {HOURS_BYTES_MAX} characters")));
    }
    let (number, answer) = shared.machines.ask(worker).map_err(not_asked)?;
    let messages = vec![ToWorker::Set { number, settings }];
    shared.keeper.send(Command::Say { worker, messages }).await?;
    let detail =
        "the machine did not say whether it takes the settings: look at it again, and try once more if need be";
    let no_answer = || conflict("no-answer", "the machine does not answer", detail);
    let answer = tokio::time::timeout(ANSWER_TIME_MAX, answer).await.map_err(|_| no_answer())?;
    match answer.map_err(|_| no_answer())? {
        Ok(report) => Ok(Json(SettingsView::of(&report))),
        Err(reason) => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            Err(Problem::new(status, "refused", "the machine does not take it", reason))
        }
    }
}

fn conflict(code: &str, title: &str, detail: &str) -> Problem {
    Problem::new(StatusCode::CONFLICT, code, title, detail)
}

fn not_asked(reason: NotAsked) -> Problem {
    match reason {
        NotAsked::Gone => {
            let detail = "a machine is set while it is connected: start `gleaner share` on it, and try again";
            conflict("not-connected", "the machine is not connected", detail)
        }
        NotAsked::Busy => {
            conflict("busy", "the machine is busy", "it has other settings to answer: try again in a few seconds")
        }
    }
}

async fn view(shared: &Shared, worker: WorkerId) -> Result<MachineView, Problem> {
    let found = shared.keeper.ask(move |core| core.worker_view(worker)).await?;
    shown(shared, found.ok_or_else(|| Problem::not_found(format!("there is no worker {worker}")))?).await
}

/// A worker with what only its owner sees.
async fn shown(shared: &Shared, worker: WorkerView) -> Result<MachineView, Problem> {
    let penalties = penalties(shared, worker.offer.provider, worker.key).await?;
    let (known, connected) = shared.machines.known(worker.id);
    Ok(described(worker, known.as_ref(), connected, penalties))
}

fn described(worker: WorkerView, known: Option<&Known>, connected: bool, penalties: Vec<Penalty>) -> MachineView {
    let report = known.map(|known| &known.report);
    let settings = report.map(SettingsView::of);
    let devices = report.map_or(&[][..], |report| &report.devices);
    let measured: &[_] = if connected { devices } else { &[] };
    MachineView {
        worker,
        telemetry: (0..).zip(measured).map(|(device, reading)| Telemetry::of(device, reading)).collect(),
        telemetry_at: known.filter(|_| connected).map(|known| known.at),
        price: settings.as_ref().map(|settings| settings.price),
        hours: settings.and_then(|settings| settings.hours),
        energy_per_hour: devices.iter().filter_map(|device| device.energy_per_hour).max(),
        energy: report.and_then(|report| report.energy),
        paired: report.is_some_and(|report| report.paired),
        penalties,
    }
}

/// What a machine lost because it was found wrong. Without a chain there is no stake to take it from.
async fn penalties(shared: &Shared, provider: Option<Address>, machine: WorkerKey) -> Result<Vec<Penalty>, Problem> {
    let (Some(money), Some(provider)) = (shared.money.clone(), provider) else { return Ok(Vec::new()) };
    let read = move |money: &Money| {
        let mut found = Vec::new();
        for case in money.cases(None, Some(provider))? {
            let evidence = money.evidence(case.evidence)?;
            found.extend(penalty(&case, evidence.as_deref(), machine));
        }
        found.sort_by_key(|penalty: &Penalty| std::cmp::Reverse((penalty.at, penalty.job)));
        Ok::<_, crate::money::Trouble>(found)
    };
    let read = tokio::task::spawn_blocking(move || read(&money)).await;
    Ok(read.map_err(|_| Problem::bad_request("the request could not be carried out"))??)
}

/// What an hour of a machine's device time costs in electricity, if it said so.
pub(super) fn energy_of(shared: &Shared, worker: WorkerId, ran_micros: u64) -> Option<gleaner_wire::Amount> {
    const HOUR_MICROS: u128 = 3_600_000_000;
    let (known, _) = shared.machines.known(worker);
    let per_hour = known?.report.devices.iter().filter_map(|device| device.energy_per_hour).max()?;
    let cost = (u128::from(per_hour.0) * u128::from(ran_micros)).div_ceil(HOUR_MICROS);
    Some(gleaner_wire::Amount(u64::try_from(cost).unwrap_or(u64::MAX)))
}
