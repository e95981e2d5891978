//! Parallel efficiency: a fork-join of tasks that each hold a device for 100 ms, on one worker and on many.
use std::time::Instant;

use anyhow::Result;
use gleaner_client::Draft;

use super::figure::Figure;
use super::local::Local;
use super::{latency, programs};

/// Seconds of a fork-join with this many tasks for each worker.
async fn seconds(workers: u32, tasks_each: u32) -> Result<f64> {
    let local = Local::start(workers, &["--no-gpu", "--cpu-slots", "1"]).await?;
    let folder = local.folder().to_path_buf();
    // The first job teaches the hub how long such a task takes and the workers the program.
    let warm_up = Draft::read(&programs::fork_join(&folder, workers * 4)?)?;
    latency::wait_for(&local.network.client, &warm_up).await?;
    let draft = Draft::read(&programs::fork_join(&folder, workers * tasks_each)?)?;
    let start = Instant::now();
    latency::wait_for(&local.network.client, &draft).await?;
    let seconds = start.elapsed().as_secs_f64();
    local.stop().await?;
    Ok(seconds)
}

/// How many times one worker's rate the others reach together.
pub async fn measure(tasks_each: u32) -> Result<Vec<Figure>> {
    let alone = seconds(1, tasks_each).await? / f64::from(tasks_each);
    let mut figures = Vec::new();
    for (workers, goal) in [(4, "≥ 3.9"), (64, "≥ 60")] {
        let together = seconds(workers, tasks_each).await? / f64::from(workers * tasks_each);
        let name = format!("speed of {workers} workers, fork-join of {} tasks of 100 ms", workers * tasks_each);
        figures.push(Figure::rate(name, alone / together, "× one", "workers", f64::from(workers)).goal(goal));
    }
    Ok(figures)
}
