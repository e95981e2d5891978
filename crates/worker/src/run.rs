//! The life of a worker: self-test, then one connection after another until it is told to stop.
use std::sync::Arc;
use std::time::Duration;

use gleaner_machine::preferences::Price;
use gleaner_trace::{Service, Tracer};
use gleaner_wire::DeviceOffer;
use tokio::sync::{mpsc, watch};

use crate::agent::Agent;
use crate::bidding::Bidding;
use crate::config::{Config, Error, Report};
use crate::deliver::Delivery;
use crate::depot::Depot;
use crate::group::Preparer;
use crate::hub_link::HubLink;
use crate::identity::Identity;
use crate::images::Images;
use crate::lane::{Lane, Shared};
use crate::line;
use crate::log::{PIECES_WAITING_MAX, Piece};
use crate::outbox::Outbox;
use crate::owner::{self, IdleGate, OurGroups, Watching};
use crate::price;
use crate::self_test::{Tested, self_test};
use crate::session::{Ended, Sessions, stopped};
use crate::steering::Steering;
use crate::trail::Trails;
use crate::watch::Cancels;

const DELAY_FIRST: Duration = Duration::from_millis(100);
const DELAY_MAX: Duration = Duration::from_secs(10);

/// Runs a worker until `stop` becomes true or the hub refuses it. A lost connection is made again; what runs goes
/// on meanwhile.
pub async fn run(
    mut config: Config,
    mut stop: watch::Receiver<bool>,
    report: impl Fn(Report) + Send + Sync + 'static,
) -> Result<(), Error> {
    let identity = Identity::open(&config.dir)?;
    let hub = HubLink::new(&config.hub)?;
    let steering = Steering::open(&config.dir, config.preferences.clone(), config.account_token.is_some());
    config.preferences = steering.in_force().borrow().clone();
    if config.preferences.price == Price::Market && config.market.is_empty() {
        // The owner's last word was to follow it. A hub that does not answer now is tried again.
        config.market = price::market(&config.hub).await.unwrap_or_default();
    }
    let testing = config.clone();
    let runtime = tokio::runtime::Handle::current();
    let tested = tokio::task::spawn_blocking(move || self_test(&testing, &runtime)).await;
    let tested = tested.unwrap_or_else(|_| Err(Error::NothingToOffer(vec!["the self-test crashed".to_owned()])))?;
    let offer = tested.offer.clone();
    let missing: Vec<_> = tested.findings.iter().filter(|finding| !finding.is_good()).cloned().collect();
    report(Report::Tested { offer: offer.clone(), missing: missing.clone() });
    if offer.devices.is_empty() {
        return Err(Error::NothingToOffer(missing.iter().map(ToString::to_string).collect()));
    }
    offer.check()?;
    let report = Arc::new(report);
    let devices = tested.devices.clone();
    let prices = offer.devices.iter().map(|device| device.price_per_second).collect();
    let (agent, mut logs) = assemble(&config, &identity, tested, hub, steering).await?;
    agent.prices.send_replace(prices);
    agent.market.send_replace(config.market.clone());
    match line::measure(&config.hub).await {
        Ok(speed) => report(Report::Line(speed)),
        Err(error) => tracing::debug!(%error, "the line to the hub was not measured"),
    }
    let watching = watch_owner(&config, (devices, offer.devices.clone()), &agent, report.clone()).await?;
    let owner_proof = config.provider.as_ref().map_or(&[][..], |provider| &provider.proof);
    let account_token = watch::Sender::new(config.account_token.clone());
    let sessions = Sessions {
        hub: &config.hub,
        identity: &identity,
        offer: &offer,
        owner_proof,
        account_token: &account_token,
        agent: &agent,
        report: &*report,
    };
    let ended = tokio::select! {
        ended = stay_connected(&sessions, &mut logs, &mut stop) => ended,
        () = price::follow(&config.hub, &agent.market, agent.steering.in_force()) => Ok(()),
    };
    agent.stop();
    agent.trails().finish().await;
    // First, so that the idle command is gone with the worker.
    drop(tokio::task::spawn_blocking(move || drop(watching)).await);
    // Devices' threads are waited for, so that no kernel process outlives the worker.
    drop(tokio::task::spawn_blocking(move || drop(agent)).await);
    ended
}

async fn assemble(
    config: &Config,
    identity: &Identity,
    tested: Tested,
    hub: HubLink,
    steering: Steering,
) -> Result<(Arc<Agent>, mpsc::Receiver<Piece>), Error> {
    let depot = Arc::new(Depot::open(&config.dir, identity.key(), hub.clone())?);
    let (outbox, cancels) = (Arc::new(Outbox::default()), Arc::new(Cancels::default()));
    let runtime = tokio::runtime::Handle::current();
    let service = || Service { name: "gleaner-worker", instance: identity.public().to_string() };
    let tracer = config.traces.as_ref().map(|traces| Tracer::start(traces, service())).transpose()?;
    let trails = Trails::told_to(tracer);
    let delivery =
        Delivery::new(runtime, depot.clone(), outbox.clone(), cancels.clone(), config.lie.clone(), trails.clone());
    let (log_sender, logs) = mpsc::channel(PIECES_WAITING_MAX);
    let idle = Arc::new(IdleGate::default());
    let containers = tested.cells.as_ref().and_then(|cells| cells.containers()).map(gleaner_sandbox::Engine::running);
    let ours = OurGroups { name: tested.group, containers };
    let images = Images::new(tested.cells, log_sender.clone());
    images.look().await;
    let shared = Arc::new(Shared { delivery, cancels, logs: log_sender, idle, trails });
    let lanes = tested
        .engines
        .iter()
        .zip(&tested.offer.devices)
        .enumerate()
        .map(|(number, (engine, device))| Lane::start(&format!("device-{number}"), device.slots, engine, &shared));
    let lanes = lanes.collect::<Result<Vec<_>, _>>().map_err(Error::file("start threads for", &config.dir))?;
    let preparer = Preparer::new(depot.clone(), hub.clone(), tested.wasm, images);
    let floor = |cards: &Vec<_>| price::floor(&config.preferences, cards.iter().map(|card| (card, None)));
    let floors = tested.devices.iter().map(floor).collect::<Result<_, _>>().map_err(Error::Tariff)?;
    let bidding = Bidding::new(identity.public(), config.preferences.bid.clone(), floors);
    let set = (bidding, steering, tested.offer.devices);
    Ok((Arc::new(Agent::new(lanes, preparer, shared, outbox, hub, (depot, ours), set)), logs))
}

/// Looks for the owner before any work comes, and goes on looking.
async fn watch_owner(
    config: &Config,
    (devices, offers): (Vec<Vec<gleaner_machine::Device>>, Vec<DeviceOffer>),
    agent: &Arc<Agent>,
    report: Arc<dyn Fn(Report) + Send + Sync>,
) -> Result<Watching, Error> {
    let (preferences, dir) = (config.preferences.clone(), config.dir.clone());
    let ask = owner::Ask { preferences, dir, devices, offers, report };
    let (agent, dir) = (agent.clone(), config.dir.clone());
    let begun = tokio::task::spawn_blocking(move || owner::watch(&agent, ask)).await;
    begun.unwrap_or_else(|_| Err(std::io::Error::other("it broke"))).map_err(Error::file("start a thread for", &dir))
}

async fn stay_connected(
    sessions: &Sessions<'_>,
    logs: &mut mpsc::Receiver<Piece>,
    stop: &mut watch::Receiver<bool>,
) -> Result<(), Error> {
    let mut failures = 0;
    loop {
        let why = match sessions.run(logs, stop).await {
            Ended::Stopped => return Ok(()),
            Ended::Refused(reason) => return Err(Error::Refused(reason)),
            Ended::Lost { why, was_in } => {
                failures = if was_in { 0 } else { failures + 1 };
                why
            }
        };
        let wait = delay(failures);
        tracing::debug!(why, ?wait, "the connection to the hub is lost");
        (sessions.report)(Report::Reconnecting { in_ms: wait.as_millis() as u64, why });
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stopped(stop) => return Ok(()),
        }
    }
}

/// The wait before another connection: longer each time, half of it chance, so that the workers of a hub that comes
/// back do not all come at once.
fn delay(failures: u32) -> Duration {
    let full = DELAY_FIRST.saturating_mul(1_u32.checked_shl(failures).unwrap_or(u32::MAX)).min(DELAY_MAX);
    let chance = f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX);
    full / 2 + (full / 2).mul_f64(chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_stay_bounded() {
        for failures in [0, 1, 6, 31, 32, u32::MAX] {
            let wait = delay(failures);
            assert!(wait >= DELAY_FIRST / 2 && wait <= DELAY_MAX, "{failures}: {wait:?}");
        }
        assert!(delay(20) >= DELAY_MAX / 2);
    }
}
