//! `gleaner up`: a whole network on this machine until Ctrl-C.
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use gleaner_client::Heard;
use gleaner_wire::JobId;
use gleaner_wire::api::{JobState, JobSummary, Live};
use tokio::time::interval;

use crate::interrupt::Interrupt;
use crate::network::{Network, Plan};
use crate::output::{data, say};
use crate::progress::spinner;
use crate::settings::Settings;
use crate::{hub, telemetry, words};

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Options of `gleaner up`.
#[derive(clap::Args)]
pub struct Args {
    /// How many workers share this machine
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    workers: u32,
    /// Address for the hub to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = hub::LISTEN)]
    listen: SocketAddr,
    #[command(flatten)]
    tls: hub::tls::Args,
    #[command(flatten)]
    pub telemetry: telemetry::Args,
}

/// Runs the network.
pub async fn perform(settings: &Settings, args: &Args) -> Result<ExitCode> {
    let mut interrupt = Interrupt::listen()?;
    let folder = settings.folder()?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let slots = (cores / args.workers as usize).max(1);
    let telemetry = args.telemetry.options();
    let plan = Plan {
        logs: folder.join("logs"),
        folder,
        listen: args.listen,
        workers: args.workers,
        // These workers are nobody else's, and nobody else's wishes count at them.
        hub: [vec!["--no-tests".to_owned()], args.tls.options(), telemetry.clone()].concat(),
        share: [vec!["--dedicated".to_owned(), "--cpu-slots".to_owned(), slots.to_string()], telemetry].concat(),
        environment: Vec::new(),
    };
    let spinner = spinner("starting the hub");
    let mut network = Network::start(plan).await?;
    spinner.set_message(format!("{} testing their devices", words::count(args.workers.into(), "worker")));
    let ready = tokio::select! {
        ready = network.ready() => Some(ready?),
        () = interrupt.came() => None,
    };
    spinner.finish_and_clear();
    if let Some(workers) = ready {
        data(network.url())?;
        args.tls.say(args.listen, network.client.url());
        greet(settings, workers.len() as u64);
        tokio::select! {
            told = tell(&mut network) => told?,
            () = interrupt.came() => {}
        }
    }
    say("ending the workers and the hub");
    network.stop().await?;
    Ok(ExitCode::SUCCESS)
}

fn greet(settings: &Settings, workers: u64) {
    let dir = settings.dir.as_ref().map(|dir| format!(" --dir {}", dir.display())).unwrap_or_default();
    say(format!("{} ready. In another terminal:", words::count(workers, "worker")));
    say(format!("  gleaner{dir} run examples/array/job.toml --out out"));
    say(format!("  gleaner{dir} worker list"));
    say(format!("  gleaner{dir} job list"));
    say("Ctrl-C ends everything.");
}

/// Says what happens, and starts again what ends by itself.
async fn tell(network: &mut Network) -> Result<()> {
    let mut events = network.client.events();
    let mut look = interval(LOOK_EVERY);
    let mut running = BTreeSet::new();
    loop {
        tokio::select! {
            heard = events.next() => match heard {
                Ok(heard) => tell_event(&heard, &mut running),
                // The hub may be on its way back; until then there is nothing to tell.
                Err(error) => {
                    tracing::info!(%error, "no live events");
                    look.tick().await;
                    network.mend().await?.iter().for_each(say);
                }
            },
            _ = look.tick() => network.mend().await?.iter().for_each(say),
        }
    }
}

fn tell_event(heard: &Heard, running: &mut BTreeSet<JobId>) {
    match heard {
        Heard::Connected => {}
        Heard::Live(Live::Job(job)) => tell_job(job, running),
        Heard::Live(Live::Worker { id, name, state }) => {
            tracing::info!(worker = %id, name = %words::plain(name), %state, "a worker changed");
        }
        Heard::Live(Live::Failure { job, failure }) => {
            let (task, worker) = (words::plain(&failure.task), words::plain(&failure.worker));
            say(format!("job {job} · {task} failed on {worker}: {}", failure.cause));
        }
        Heard::Live(Live::Missed { count }) => tracing::info!(count, "events were not shown"),
    }
}

fn tell_job(job: &JobSummary, running: &mut BTreeSet<JobId>) {
    let head = format!("job {} · {}", job.id, words::plain(&job.name));
    let took = job.ended_at.map(|end| words::span(end.since(job.submitted_at))).unwrap_or_default();
    if job.state.has_ended() {
        running.remove(&job.id);
    }
    match &job.state {
        JobState::Ordered => {}
        JobState::Running if running.insert(job.id) => {
            say(format!("{head} · {} from {}", words::count(job.tasks, "task"), words::plain(&job.requester)));
        }
        JobState::Running => {}
        JobState::Done => say(format!("{head} · done in {took} · {}", words::money(job.spent))),
        JobState::Cancelled => say(format!("{head} · cancelled after {took} · {}", words::money(job.spent))),
        JobState::Failed { reason, .. } => say(format!("{head} · failed after {took}: {}", words::plain(reason))),
    }
}
