//! A million no-op tasks end to end, the journal syncing to disk: tasks a second and the hub's processor time for each.
use std::time::Instant;

use anyhow::{Result, ensure};
use gleaner_client::Draft;
use gleaner_wire::api::JobState;

use super::figure::Figure;
use super::local::{Local, run_to_end};
use super::process::usage;
use super::{floor, programs};

/// Server processor time for each task of HyperQueue, which keeps nothing on disk, as it was measured on such a machine.
const HYPERQUEUE_MICROS: f64 = 5.9;

/// Runs the array and measures.
pub async fn measure(tasks: u32, workers: u32) -> Result<Vec<Figure>> {
    let messages = floor::socket_messages_a_second().await?;
    let local = Local::start(workers, &["--no-gpu", "--cpu-slots", "1"]).await?;
    let folder = local.folder().to_path_buf();
    let syncs = 1.0 / floor::sync_seconds(&folder)?;
    let warm_up = Draft::read(&programs::noop(&folder, 1000)?)?;
    run_to_end(&local.network.client, &warm_up).await?;
    let draft = Draft::read(&programs::noop(&folder, tasks)?)?;
    let before = usage(local.network.hub_pid()?)?;
    let workers_before = local.workers_cpu_seconds()?;
    let start = Instant::now();
    let view = run_to_end(&local.network.client, &draft).await?;
    let seconds = start.elapsed().as_secs_f64();
    let after = usage(local.network.hub_pid()?)?;
    let workers_after = local.workers_cpu_seconds()?;
    ensure!(view.summary.state == JobState::Done, "the benchmark's job ended as {:?}", view.summary.state);
    local.stop().await?;
    let count = f64::from(tasks);
    let each = |seconds: f64| seconds * 1e6 / count;
    let (hub, theirs) = (each(after.cpu_seconds - before.cpu_seconds), each(workers_after - workers_before));
    Ok(vec![
        Figure::rate(
            format!("{tasks} no-op tasks over {workers} workers"),
            count / seconds,
            "tasks/s",
            "loopback WebSocket messages/s",
            messages,
        )
        .goal("≥ 100,000 on 2 quiet cores"),
        Figure::rate("the same against one sync a task", count / seconds, "tasks/s", "fdatasync/s", syncs),
        Figure::rate(
            "hub processor time for each",
            hub,
            "µs",
            "HyperQueue (not durable, measured before)",
            HYPERQUEUE_MICROS,
        )
        .goal("< 5.9 µs"),
        Figure::rate("worker processor time for each", theirs, "µs", "hub processor time", hub),
    ])
}
