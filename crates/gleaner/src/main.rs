//! The one binary: reads the command line, wires the parts together and prints what they say.
//!
//! No decision lives here; a verb is a file of its name.

mod bench;
mod chain;
mod data;
mod demo;
mod doctor;
mod evidence;
mod failure;
mod hub;
mod image;
mod interrupt;
mod job;
mod judge;
mod network;
mod order;
mod output;
mod price;
mod prices;
mod progress;
mod purse;
mod quote;
mod receipt;
mod run;
mod service;
mod settings;
mod share;
mod sim;
mod stake;
mod standstill;
mod table;
mod telemetry;
mod up;
mod vote;
mod wallet;
mod watch;
mod words;
mod worker;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use settings::Settings;
use telemetry::LogFormat;

/// How long what still runs on a thread of its own may take once the command is done. Files appear when they are whole, so
/// nothing is left half.
const LEAVE_TIME_MAX: Duration = Duration::from_secs(5);

/// Puts idle GPUs to work: share yours, or run your jobs on others'.
#[derive(Parser)]
#[command(name = "gleaner", version, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Subcommand)]
enum Verb {
    /// Render a picture on a whole network on this machine, and kill a worker half-way
    Demo(demo::Args),
    /// Run a whole network on this machine until Ctrl-C
    Up(up::Args),
    /// Run a hub
    Hub(Box<hub::Args>),
    /// Share this machine's GPUs and processor with a hub
    Share(share::Args),
    /// Say what this machine can share, what is missing and how to fix it
    Doctor(doctor::Args),
    /// Submit a job, watch it and fetch its results
    Run(run::Args),
    /// Say what a job would cost; nothing is paid or sent
    Quote(quote::Args),
    /// Look at jobs and steer them
    #[command(subcommand)]
    Job(job::Verb),
    /// Seal folders and bring them to the hub, and fetch them again
    #[command(subcommand)]
    Data(data::Verb),
    /// Look at workers and steer them
    #[command(subcommand)]
    Worker(worker::Verb),
    /// See what devices are worth
    #[command(subcommand)]
    Price(prices::Verb),
    /// Look at your money and move it
    Wallet(wallet::Args),
    /// Look at stake, put it up and take it out
    Stake(stake::Args),
    /// Propose changes of the economy, vote on them and carry them out
    Vote(vote::Args),
    /// Look at the chain that holds the money, or found one
    #[command(subcommand)]
    Chain(chain::Verb),
    /// Check receipts of settled tasks, without asking anybody
    #[command(subcommand)]
    Receipt(receipt::Verb),
    /// Measure this build on this machine
    Bench(bench::Args),
    /// Run seeded worlds of slow, lossy and crashing workers around the scheduler
    Sim(sim::Args),
    /// Run one job's kernels for a worker
    #[command(hide = true)]
    WgslChild,
    /// Become the helper of a sandbox
    #[command(hide = true)]
    Cell {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

impl Verb {
    /// How lines of the log are written; only who serves for long is read by programs.
    fn log_format(&self) -> LogFormat {
        match self {
            Self::Up(args) => args.telemetry.log_format(),
            Self::Hub(args) => args.telemetry.log_format(),
            Self::Share(args) => args.telemetry.log_format(),
            Self::Demo(_)
            | Self::Doctor(_)
            | Self::Run(_)
            | Self::Quote(_)
            | Self::Job(_)
            | Self::Data(_)
            | Self::Worker(_)
            | Self::Price(_)
            | Self::Wallet(_)
            | Self::Stake(_)
            | Self::Vote(_)
            | Self::Chain(_)
            | Self::Receipt(_)
            | Self::Bench(_)
            | Self::Sim(_)
            | Self::WgslChild
            | Self::Cell { .. } => LogFormat::Text,
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Verb::WgslChild = cli.verb {
        return gleaner_worker::wgsl_child();
    }
    if let Verb::Cell { arguments } = &cli.verb {
        return gleaner_worker::run_helper(arguments);
    }
    match prepare(&cli.settings, cli.verb.log_format()).and_then(|runtime| run_on(runtime, cli)) {
        Ok(code) => code,
        Err(error) => {
            output::say(failure::render(&error));
            ExitCode::FAILURE
        }
    }
}

fn prepare(settings: &Settings, format: LogFormat) -> Result<tokio::runtime::Runtime> {
    telemetry::start_log(settings.verbose, format);
    if let Some(parent) = settings.with_parent {
        network::die_with(parent)?;
    }
    tokio::runtime::Runtime::new().context("cannot start the runtime")
}

fn run_on(runtime: tokio::runtime::Runtime, cli: Cli) -> Result<ExitCode> {
    let done = runtime.block_on(perform(cli));
    runtime.shutdown_timeout(LEAVE_TIME_MAX);
    done
}

async fn perform(cli: Cli) -> Result<ExitCode> {
    let settings = &cli.settings;
    match cli.verb {
        Verb::Demo(args) => demo::perform(&args).await,
        Verb::Up(args) => up::perform(settings, &args).await,
        Verb::Hub(args) => hub::perform(settings, &args).await,
        Verb::Share(args) => share::perform(settings, &args).await,
        Verb::Doctor(args) => doctor::perform(settings, &args).await,
        Verb::Run(args) => run::perform(settings, &args).await,
        Verb::Quote(args) => quote::perform(settings, &args).await,
        Verb::Job(verb) => job::perform(settings, verb).await,
        Verb::Data(verb) => data::perform(settings, verb).await,
        Verb::Worker(verb) => worker::perform(settings, verb).await,
        Verb::Price(verb) => prices::perform(settings, verb).await,
        Verb::Wallet(args) => wallet::perform(settings, args).await,
        Verb::Stake(args) => stake::perform(settings, args).await,
        Verb::Vote(args) => vote::perform(settings, args).await,
        Verb::Chain(verb) => chain::perform(settings, verb).await,
        Verb::Receipt(verb) => receipt::perform(verb),
        Verb::Bench(args) => bench::perform(&args).await,
        Verb::Sim(args) => sim::perform(&args),
        Verb::WgslChild | Verb::Cell { .. } => unreachable!("a child has no runtime and was started before"),
    }
}
