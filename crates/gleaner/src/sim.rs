//! `gleaner sim`: seeded worlds around the real core, and the core against plain schedulers.
mod market;
mod prices;
mod proof;
mod quotes;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use gleaner_sim::{Comparison, Faults, Report, Summary, Violation};
use gleaner_wire::Millis;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::output::{data, json, say};
use crate::words::{bytes, count, grouped, money, span};

/// Options of `gleaner sim`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Run this many small worlds with all kinds of faults, checking every invariant after every event
    #[arg(long, value_name = "N", conflicts_with_all = ["workers", "tasks", "seed", "faults"])]
    seeds: Option<u64>,
    /// The first seed of many
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "seeds")]
    from: u64,
    /// How many workers one world has
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    workers: u32,
    /// How many tasks its requester has
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    tasks: u64,
    /// The seed of one world
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// What goes wrong: none, light or heavy
    #[arg(long, default_value = "light", value_parser = parse_faults)]
    faults: String,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Compare with an even split and with pulling from a queue, on 60 uneven nodes
    Compare {
        /// How many seeds
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
        seeds: u64,
        /// The first seed
        #[arg(long, value_name = "SEED", default_value_t = 1)]
        from: u64,
    },
    /// Measure what bidders gain who do not ask what the work costs them, and whether auctions leave others their share
    Market {
        /// How many auctions
        #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
        seeds: u64,
        /// The first seed
        #[arg(long, value_name = "SEED", default_value_t = 1)]
        from: u64,
    },
    /// Show how far quotes are from what jobs then cost and take, as more of their kind has run
    Quotes {
        /// How many seeds for each length of history
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000))]
        seeds: u64,
        /// The first seed
        #[arg(long, value_name = "SEED", default_value_t = 1)]
        from: u64,
    },
    /// Show how prices answer load that doubles and supply of which half goes away
    Prices {
        /// How many seeds
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
        seeds: u64,
        /// The first seed
        #[arg(long, value_name = "SEED", default_value_t = 1)]
        from: u64,
    },
    /// Proof of Sync against liars of many kinds: what they get away with, and what it costs them and everybody
    Proof {
        /// How many tasks are delivered in each world
        #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1000..=100_000_000))]
        jobs: u64,
        /// The seed of all worlds
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

/// What a run took of the machine; not part of what follows from a seed.
#[derive(Serialize)]
struct Cost {
    cpu_ms: u64,
    events_per_cpu_second: u64,
    peak_memory_bytes: u64,
}

/// Runs what was asked for.
pub fn perform(args: &Args) -> Result<ExitCode> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    match (&args.verb, args.seeds) {
        (Some(Verb::Compare { seeds, from }), _) => compare(*from, *seeds, args.json),
        (Some(Verb::Market { seeds, from }), _) => market::perform(*from, *seeds, args.json),
        (Some(Verb::Prices { seeds, from }), _) => prices::perform(*from, *seeds, args.json),
        (Some(Verb::Proof { jobs, seed }), _) => proof::perform(*jobs, *seed, threads, args.json),
        (Some(Verb::Quotes { seeds, from }), _) => quotes::perform(*from, *seeds, args.json),
        (None, Some(seeds)) => many(args, seeds, threads),
        (None, None) => one(args),
    }
}

fn one(args: &Args) -> Result<ExitCode> {
    let before = cpu_time();
    let report = match gleaner_sim::one(args.seed, args.workers, args.tasks, &args.faults)? {
        Ok(report) => report,
        Err(violation) => return Ok(failed(&violation)),
    };
    let cost = Cost::since(before, report.events)?;
    if args.json {
        #[derive(Serialize)]
        struct Both {
            world: Report,
            cost: Cost,
        }
        json(&Both { world: report, cost })?;
    } else {
        print_world(&report, &cost)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_world(report: &Report, cost: &Cost) -> Result<()> {
    let workers = count(report.workers, "worker");
    data(&format!("{workers}, {} in {}", count(report.tasks_done, "task"), span(Millis(report.makespan_ms))))?;
    let jobs = [(report.jobs_done, "done"), (report.jobs_failed, "failed"), (report.jobs_cancelled, "cancelled")];
    let jobs = jobs.iter().filter(|(number, _)| *number > 0).map(|(number, word)| format!("{number} {word}"));
    data(&format!("jobs        {}", jobs.collect::<Vec<_>>().join(", ")))?;
    let attempts = grouped(report.attempts);
    data(&format!("attempts    {attempts}, of them {} beside slow ones", grouped(report.second_attempts)))?;
    for (cause, number) in &report.failed {
        data(&format!("  lost      {} by {cause}", grouped(*number)))?;
    }
    data(&format!("late        {}", count(report.results_late, "result")))?;
    data(&format!("hub crashes {}", report.hub_crashes))?;
    let (whole, tenth) = (report.wasted_per_mille / 10, report.wasted_per_mille % 10);
    let used = span(Millis(report.device_ms));
    data(&format!("device time {used}, {whole}.{tenth} % of it wasted"))?;
    data(&format!("paid        {}", money(report.spent)))?;
    let (events, rate) = (grouped(report.events), grouped(cost.events_per_cpu_second));
    data(&format!("events      {events}, {rate} a second of processor time"))?;
    let cpu = span(Millis(cost.cpu_ms));
    data(&format!("this took   {cpu} of processor time, {} of memory at most", bytes(cost.peak_memory_bytes)))?;
    data(&format!("trace       {}", report.trace))
}

fn many(args: &Args, seeds: u64, threads: usize) -> Result<ExitCode> {
    let before = cpu_time();
    let summary = match gleaner_sim::many(args.from, seeds, threads) {
        Ok(summary) => summary,
        Err(violation) => return Ok(failed(&violation)),
    };
    if args.json {
        json(&summary)?;
    } else {
        data(&summary_line(&summary, &Cost::since(before, summary.events)?))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn summary_line(summary: &Summary, cost: &Cost) -> String {
    let (done, failed, cancelled) = summary.jobs;
    format!(
        "{} hold every invariant ({} run twice with the same trace): {} checked, jobs {done} done, {failed} failed for \
         a reason, {cancelled} cancelled; {}, {} retried, {} second, {} late, {} of a crashed hub; {} of processor time",
        count(summary.worlds, "world"),
        summary.repeated,
        count(summary.events, "event"),
        count(summary.attempts, "attempt"),
        grouped(summary.failed),
        grouped(summary.second_attempts),
        grouped(summary.results_late),
        count(summary.hub_crashes, "replay"),
        span(Millis(cost.cpu_ms)),
    )
}

fn compare(from: u64, seeds: u64, as_json: bool) -> Result<ExitCode> {
    let mut all = Vec::new();
    for seed in from..from + seeds {
        match gleaner_sim::compare(seed) {
            Ok(comparison) => all.push(comparison),
            Err(violation) => return Ok(failed(&violation)),
        }
    }
    if as_json {
        json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    type Makespan = fn(&Comparison) -> u64;
    let rows: [(&str, Makespan); 5] = [
        ("even split", |comparison| comparison.even_split_ms),
        ("pull, first in first out", |comparison| comparison.pull_ms),
        ("core, balanced", |comparison| comparison.balanced_ms),
        ("core, fast", |comparison| comparison.fast_ms),
        ("no faults, no rounding", |comparison| comparison.floor_ms),
    ];
    data(&format!("60 uneven nodes, a few hundred tasks; medians over {}", count(seeds, "seed")))?;
    data(&format!("{:26}{:>12}{:>12}{:>16}", "", "makespan", "over fast", "over balanced"))?;
    for (name, makespan) in rows {
        let median = gleaner_sim::median(all.iter().map(makespan).collect());
        let over = |ours: Makespan| {
            let ratios = all.iter().map(|comparison| makespan(comparison) * 100 / ours(comparison).max(1));
            let ratio = gleaner_sim::median(ratios.collect());
            format!("{}.{:02}×", ratio / 100, ratio % 100)
        };
        let (fast, balanced) = (over(|one| one.fast_ms), over(|one| one.balanced_ms));
        data(&format!("{name:26}{:>12}{fast:>12}{balanced:>16}", span(Millis(median))))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn failed(violation: &Violation) -> ExitCode {
    say(format!("error: an invariant does not hold: {violation}"));
    ExitCode::FAILURE
}

fn parse_faults(text: &str) -> Result<String, gleaner_sim::FaultsError> {
    text.parse::<Faults>().map(|_| text.to_owned())
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

impl Cost {
    fn since(before: Duration, events: u64) -> Result<Self> {
        let cpu = cpu_time().saturating_sub(before);
        let micros = cpu.as_micros().max(1);
        let rate = u128::from(events) * 1_000_000 / micros;
        Ok(Self {
            cpu_ms: u64::try_from(cpu.as_millis()).unwrap_or(u64::MAX),
            events_per_cpu_second: u64::try_from(rate).unwrap_or(u64::MAX),
            peak_memory_bytes: peak_memory()?,
        })
    }
}

/// The most memory this process has had; where the system does not say, zero.
fn peak_memory() -> Result<u64> {
    if !cfg!(target_os = "linux") {
        return Ok(0);
    }
    let status = std::fs::read_to_string("/proc/self/status").context("cannot read /proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    Ok(kibibytes.unwrap_or(0) * 1024)
}
