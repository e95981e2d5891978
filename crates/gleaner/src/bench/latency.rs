//! One task on an idle network, from submission to its result in hand.
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use gleaner_client::{Client, Draft, Events, Heard};
use gleaner_wire::JobId;
use gleaner_wire::api::{JobState, Live};

use super::figure::Figure;
use super::floor::{self, percentile};
use super::local::Local;
use super::programs;

const RUNS_BEFORE: u32 = 20;
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Submits single tasks one after the other.
pub async fn measure(runs: u32) -> Result<Vec<Figure>> {
    let local = Local::start(1, &["--no-gpu", "--cpu-slots", "1"]).await?;
    let folder = local.folder().to_path_buf();
    let floor = floor::sync_seconds(&folder)? + 4.0 * floor::round_trip_seconds()?;
    let job = programs::noop(&folder, 1)?;
    let client = local.network.client.clone();
    let mut events = client.events();
    ensure!(events.next().await? == Heard::Connected, "the events start with a connection");
    let mut times = Vec::new();
    for run in 0..RUNS_BEFORE + runs {
        let draft = Draft::read(&job)?;
        let start = Instant::now();
        let (submitted, _keys) = client.submit(&draft).await?;
        tokio::time::timeout(WAIT_MAX, done(&mut events, submitted.job)).await??;
        ensure!(client.results(submitted.job, None, 0).await?.results.len() == 1, "the result is there");
        if run >= RUNS_BEFORE {
            times.push(start.elapsed().as_secs_f64());
        }
    }
    local.stop().await?;
    let figure = |name: &str, percent| {
        let seconds = percentile(times.clone(), percent);
        Figure::rate(name, seconds * 1e3, "ms", "one fdatasync and four loopback round trips", floor * 1e3)
    };
    Ok(vec![figure("one task, submit to result, p50", 50), figure("one task, submit to result, p99", 99)])
}

async fn done(events: &mut Events, job: JobId) -> Result<()> {
    loop {
        if let Heard::Live(Live::Job(summary)) = events.next().await?
            && summary.id == job
            && summary.state.has_ended()
        {
            ensure!(summary.state == JobState::Done, "the task ended as {:?}", summary.state);
            return Ok(());
        }
    }
}

/// A client that waits for single jobs is also what `efficiency` needs.
pub async fn wait_for(client: &Client, draft: &Draft) -> Result<JobId> {
    let mut events = client.events();
    ensure!(events.next().await? == Heard::Connected, "the events start with a connection");
    let (submitted, _keys) = client.submit(draft).await?;
    done(&mut events, submitted.job).await?;
    Ok(submitted.job)
}
