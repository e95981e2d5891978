//! What devices are worth, and how many managed workers are wanted.
use super::Shared;
use super::parameters::Parameters;
use super::problem::Problem;
use crate::metrics::Text;
use axum::Json;
use axum::extract::State;
use gleaner_wire::prices::{DemandView, PriceHistory, PriceView};
use gleaner_wire::{Amount, DeviceClass, Millis};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::Mutex;

/// How old the prices may be that are told.
const PRICES_AGE_MAX: Duration = Duration::from_secs(1);

/// What devices are worth, as it was when somebody last wanted to know: every worker that follows does now and then, and to
/// look at a million devices takes a while.
#[derive(Default)]
pub(crate) struct Prices(Mutex<Option<(Instant, Vec<PriceView>)>>);

impl Prices {
    async fn at(&self, shared: &Shared, now: Millis) -> Result<Vec<PriceView>, Problem> {
        // Held while the core is asked, so that many who ask at once are one.
        let mut known = self.0.lock().await;
        if let Some((_, prices)) = known.as_ref().filter(|(at, _)| at.elapsed() < PRICES_AGE_MAX) {
            return Ok(prices.clone());
        }
        let prices = shared.keeper.ask(move |core| core.prices(now)).await?;
        *known = Some((Instant::now(), prices.clone()));
        Ok(prices)
    }
}

/// What is asked about prices.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Asked {
    /// Only this class, with its history: `nvidia-container-20GiB`.
    class: Option<String>,
}

/// What is answered about prices.
#[derive(Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub(super) enum PricesAnswer {
    /// Every class as it is now.
    All(Vec<PriceView>),
    /// One class over time.
    One(Box<PriceHistory>),
}

/// `GET /api/v1/prices`: for everybody; with `class=` the history of one.
#[utoipa::path(
    get,
    path = "/api/v1/prices",
    operation_id = "list_prices",
    tag = "market",
    summary = "What a slot of each class of devices is worth now, or the history of one class",
    params(Asked),
    responses(
        (status = 200, description = "Every class; with `class`, that one with its minutes and hours", body = PricesAnswer),
        (status = 404, description = "`not-found`: no device of the class has been here yet")
    )
)]
pub(super) async fn prices(
    State(shared): State<Arc<Shared>>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<PricesAnswer>, Problem> {
    let now = now();
    let Some(text) = asked.class else {
        return Ok(Json(PricesAnswer::All(shared.prices.at(&shared, now).await?)));
    };
    let class: DeviceClass =
        text.parse().map_err(|error: gleaner_wire::ClassError| Problem::bad_parameter("class", error.to_string()))?;
    let history = shared.keeper.ask(move |core| core.price_history(class, now)).await?;
    let missing = || Problem::not_found(format!("no device of the class {class} has been on this hub yet"));
    Ok(Json(PricesAnswer::One(Box::new(history.ok_or_else(missing)?))))
}

/// `GET /api/v1/demand`.
#[utoipa::path(
    get,
    path = "/api/v1/demand",
    operation_id = "show_demand",
    tag = "market",
    summary = "How many managed workers of which class are wanted",
    responses((status = 200, description = "The demand", body = DemandView)),
    security(("operator" = []))
)]
pub(super) async fn demand(State(shared): State<Arc<Shared>>) -> Result<Json<DemandView>, Problem> {
    Ok(Json(shared.keeper.ask(|core| core.demand()).await?))
}

/// Prices and demand for Prometheus.
pub(super) async fn write_metrics(shared: &Shared, text: &mut Text) -> Result<(), Problem> {
    let now = now();
    let (prices, demand) = shared.keeper.ask(move |core| (core.prices(now), core.demand())).await?;
    type Of = fn(&PriceView) -> f64;
    let per_class: [(&str, &str, Of); 5] = [
        ("gleaner_price_gln_per_hour", "Suggested price of a slot.", |view| gln(view.per_hour)),
        ("gleaner_class_slots", "Slots that the community offers.", |view| view.slots as f64),
        ("gleaner_class_slots_busy", "Slots of them that run something.", |view| view.busy as f64),
        ("gleaner_class_tasks_waiting", "Tasks that wait for the class.", |view| view.waiting as f64),
        ("gleaner_class_pressure", "Utilisation and queue, smoothed.", |view| f64::from(view.pressure) / 1000.0),
    ];
    for (name, help, value) in per_class {
        text.head(name, help, "gauge");
        for view in &prices {
            text.line(format_args!("{name}{{class=\"{}\"}} {}", view.class, value(view)));
        }
    }
    text.head("gleaner_managed_wanted", "Managed workers that should be here.", "gauge");
    for class in &demand.classes {
        text.line(format_args!("gleaner_managed_wanted{{class=\"{}\"}} {}", class.class, class.wanted));
    }
    text.head("gleaner_managed_online", "Managed workers that are here.", "gauge");
    for class in &demand.classes {
        text.line(format_args!("gleaner_managed_online{{class=\"{}\"}} {}", class.class, class.online));
    }
    Ok(())
}

/// An amount as a number, for who draws it.
pub(super) fn gln(amount: Amount) -> f64 {
    amount.0 as f64 / Amount::UNITS_PER_GLN as f64
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
