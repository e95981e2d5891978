//! `gleaner bench`: figures about this machine and this build, each beside a floor or a peer measured in the same run.
mod api;
mod efficiency;
mod figure;
mod floor;
mod latency;
mod local;
mod market;
mod memory;
mod money;
mod pages;
mod placement;
mod process;
mod programs;
mod proof;
mod provider;
mod quotes;
mod receipts;
mod search;
mod throughput;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use figure::Figure;

use crate::output;

/// Options of `gleaner bench`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum What {
    /// No-op tasks a second end to end, and the hub's processor time for each
    Throughput {
        /// How many tasks
        #[arg(long, default_value_t = 1_000_000)]
        tasks: u32,
        /// How many worker processes
        #[arg(long, default_value_t = 4)]
        workers: u32,
    },
    /// One task on an idle network, from submission to result
    Latency {
        /// How many tasks, one after the other
        #[arg(long, default_value_t = 200)]
        runs: u32,
    },
    /// Placement decisions a second
    Placement {
        /// How many workers are connected
        #[arg(long, default_value_t = 1_000_000)]
        workers: u32,
    },
    /// How soon a query finds workers, and what a look at all prices takes
    Search {
        /// How many workers are connected
        #[arg(long, default_value_t = 1_000_000)]
        workers: u32,
    },
    /// The hub's memory with queued tasks
    Queue {
        /// How many tasks
        #[arg(long, default_value_t = 1_000_000)]
        tasks: u32,
    },
    /// The hub's memory with idle workers
    Idle {
        /// How many workers
        #[arg(long, default_value_t = 10_000)]
        workers: u32,
    },
    /// Requests a second that the hub's API answers
    Api {
        /// How many requests
        #[arg(long, default_value_t = 40_000, value_parser = clap::value_parser!(u32).range(1000..))]
        requests: u32,
    },
    /// The hub's memory with pages that watch something
    Pages {
        /// How many pages
        #[arg(long, default_value_t = 10_000)]
        pages: u32,
    },
    /// Speed of 4 and 64 workers against one
    Efficiency {
        /// How many tasks for each worker
        #[arg(long, default_value_t = 50)]
        tasks_each: u32,
    },
    /// Transfers, settlements and vouchers a second, and gas
    Money,
    /// Auctions cleared and bids checked a second
    Market {
        /// How many bids an auction has
        #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1000..))]
        bids: u32,
    },
    /// How soon an owner has a device back, containers start, and four workers render a frame
    Provider {
        /// An image as a folder in OCI layout, with a shell in it
        #[arg(long)]
        image: PathBuf,
        /// A scene of Blender
        #[arg(long)]
        scene: PathBuf,
    },
    /// Receipts checked a second, beside the signatures in them
    Receipts,
    /// Quotes a second
    Quotes {
        /// How many workers are connected
        #[arg(long, default_value_t = 100_000)]
        workers: u32,
    },
    /// Work for audits beside the work that is paid, from the simulation
    Proof {
        /// How many tasks are delivered in each world
        #[arg(long, default_value_t = 1_000_000)]
        jobs: u64,
    },
    /// Hold connections for a measurement
    #[command(hide = true)]
    HoldConnections,
    /// Answer requests for a measurement
    #[command(hide = true)]
    BareRoute,
}

/// Measures and prints.
pub async fn perform(args: &Args) -> Result<ExitCode> {
    let figures = measure(&args.what).await?;
    if args.json {
        output::json(&figures)?;
    } else {
        output::data(&figure::table(&figures))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn measure(what: &What) -> Result<Vec<Figure>> {
    match what {
        What::Throughput { tasks, workers } => throughput::measure(*tasks, *workers).await,
        What::Latency { runs } => latency::measure(*runs).await,
        What::Placement { workers } => placement::measure(*workers),
        What::Search { workers } => search::measure(*workers),
        What::Queue { tasks } => memory::measure_queue(*tasks).await,
        What::Idle { workers } => memory::measure_idle(*workers).await,
        What::Api { requests } => api::measure(*requests).await,
        What::Pages { pages } => pages::measure(*pages).await,
        What::Efficiency { tasks_each } => efficiency::measure(*tasks_each).await,
        What::Provider { image, scene } => provider::measure(image, scene).await,
        What::Money => money::measure().await,
        What::Receipts => receipts::measure().await,
        What::Market { bids } => market::measure(*bids),
        What::Proof { jobs } => proof::measure(*jobs),
        What::Quotes { workers } => quotes::measure(*workers),
        What::HoldConnections => memory::hold_connections().await.map(|()| Vec::new()),
        What::BareRoute => api::serve_bare_route().await.map(|()| Vec::new()),
    }
}
