//! Quotes a second of processor time, for three preferences each, against one walk over all workers.
use std::hint::black_box;

use anyhow::{Context, Result, ensure};
use gleaner_core::plan::{Graph, plan};
use gleaner_core::{Core, Effect, Event, Ticket};
use gleaner_wire::job_file::NeedsFile;
use gleaner_wire::{Finished, INLINE_BYTES_MAX, Micros, Millis, Outcome, Output};

use super::figure::Figure;
use super::placement::{NOW, crowd, job, scans_a_second};
use super::process::thread_time;

/// Quotes that are timed for each figure.
const QUOTES: u32 = 40;
/// Tasks that have run before.
const HISTORY: u32 = 64;
/// Tasks of the job that is quoted: a few of the workers, or all of them.
const TASKS: [u32; 2] = [1000, 1_000_000];

/// Times quotes with so many workers connected.
pub fn measure(workers: u32) -> Result<Vec<Figure>> {
    let floor = scans_a_second(workers);
    let core = learned(workers)?;
    let mut figures = Vec::new();
    for tasks in TASKS {
        let graph = graph(tasks)?;
        let known = core.quote(NOW, graph.clone()).context("the benchmark's own job is quoted")?.expected;
        ensure!(known.is_some(), "nothing is known of the benchmark's own job");
        let start = thread_time();
        for _ in 0..QUOTES {
            black_box(core.quote(NOW, black_box(graph.clone())).context("the benchmark's own job is quoted")?);
        }
        let rate = f64::from(QUOTES) / thread_time().saturating_sub(start).as_secs_f64();
        let name = format!("quote of {tasks} tasks, {workers} workers, any device");
        figures.push(Figure::rate(name, rate, "quotes/CPU-s", "scans over all workers/CPU-s", floor));
    }
    Ok(figures)
}

fn graph(tasks: u32) -> Result<Graph> {
    plan(&job("quoted", tasks, NeedsFile::default())).context("the benchmark's own job makes sense")
}

/// A hub on which some tasks of the program have run.
fn learned(workers: u32) -> Result<Core> {
    let mut core = crowd(workers);
    let mut effects = Vec::new();
    let (ticket, requester) = (Ticket(0), "bench".to_owned());
    let submitted = Event::JobSubmitted { ticket, submission: 1, requester, graph: graph(HISTORY)?, order: None };
    core.apply(NOW, submitted, &mut effects);
    let output = Output::inline(&[7; INLINE_BYTES_MAX]).context("it is short")?;
    for effect in effects {
        if let Effect::StartAttempt { worker, attempt } = effect {
            let results = vec![Finished { attempt, ran: Micros(500_000), outcome: Outcome::Done(output) }];
            core.apply(NOW.after(Millis(600)), Event::AttemptsFinished { worker, batch: 1, results }, &mut Vec::new());
        }
    }
    Ok(core)
}
