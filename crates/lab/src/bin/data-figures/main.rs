//! How fast datasets move, and what moving them costs, beside the tools that people use for it: all of them with the same
//! files over the same line, in one run. Needs root, and Debian's rsync, openssh-server, openssh-client, nginx-light,
//! curl, openssl and iproute2.
//!
//! It prints tables for `docs/benchmarks.md`. It asserts no time; what arrived is compared with what was sent.
#![expect(clippy::print_stdout, reason = "figures are for whoever runs this")]
mod delta;
mod files;
mod line;
mod memory;
mod moves;
mod peak;
mod pipeline;
mod run;
mod servers;
mod stage;
mod stream;
mod swarm;
mod table;
mod tool;

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};
use files::{Data, Sizes};
use line::Line;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tool::Tool;

/// A folder with this in it was made by this program, which may empty it.
const MARK: &str = ".data-figures";

/// How data moves, beside other tools.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// One file and many small ones over several lines, with every tool
    Moves(Moves),
    /// A project of which one hundredth is new
    Delta(Common),
    /// Eight workers that need the same dataset
    Swarm(Common),
    /// One core's work on each byte
    Pipeline(Common),
    /// The most memory that client and hub take
    Memory(Common),
    /// One bare iroh stream: takes and gives the file at this path
    #[command(hide = true)]
    StreamServe {
        /// Where it listens
        listen: SocketAddr,
        /// The file
        file: PathBuf,
    },
    /// Sends standard input to such a server
    #[command(hide = true)]
    StreamPut {
        /// Where it is
        server: SocketAddr,
    },
    /// Writes what such a server has to standard output
    #[command(hide = true)]
    StreamGet {
        /// Where it is
        server: SocketAddr,
    },
}

/// What all parts need to know.
#[derive(clap::Args, Clone)]
struct Common {
    /// The binary of the product
    #[arg(long)]
    gleaner: PathBuf,
    /// Folder to work in: new, empty, or left by an earlier run
    #[arg(long)]
    folder: PathBuf,
    /// Mebibytes of the large datasets
    #[arg(long, default_value_t = 1024)]
    mib: u64,
    /// How many small files
    #[arg(long, default_value_t = 100_000)]
    files: u64,
    /// Seconds after which a transfer is given up
    #[arg(long, default_value_t = 600)]
    limit: u64,
}

/// What of the transfers is wanted.
#[derive(clap::Args, Clone)]
struct Moves {
    #[command(flatten)]
    common: Common,
    /// Only these lines
    #[arg(long, value_enum, value_delimiter = ',')]
    lines: Vec<Line>,
    /// Only these kinds of data
    #[arg(long, value_enum, value_delimiter = ',')]
    kinds: Vec<Data>,
    /// Only these tools
    #[arg(long, value_enum, value_delimiter = ',')]
    tools: Vec<Tool>,
    /// How often each transfer is made; the fastest counts, which is the one that other work held up least
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

impl Common {
    fn sizes(&self) -> Sizes {
        Sizes { mib: self.mib, files: self.files }
    }

    /// The folder, empty. One that somebody else filled is left alone.
    fn cleared(&self) -> Result<&Path> {
        let folder = &self.folder;
        if folder.join(MARK).exists() {
            std::fs::remove_dir_all(folder).with_context(|| format!("emptying {}", folder.display()))?;
        }
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        ensure!(folder.read_dir()?.next().is_none(), "{} is not empty, and not of this program", folder.display());
        std::fs::write(folder.join(MARK), "")?;
        let load = std::fs::read_to_string("/proc/loadavg").context("reading the load")?;
        println!("Load {}, in {}.\n", load.split(' ').next().unwrap_or_default(), folder.display());
        Ok(folder)
    }
}

/// All of them where nothing was chosen.
fn chosen<T: clap::ValueEnum>(wanted: &[T]) -> Vec<T> {
    if wanted.is_empty() { T::value_variants().to_vec() } else { wanted.to_vec() }
}

#[expect(clippy::print_stderr, reason = "it takes long, and says how far it is")]
fn say(text: &str) {
    eprintln!("{text}");
}

fn main() -> Result<()> {
    let begun = Instant::now();
    match Args::parse().what {
        What::Moves(wanted) => moves::measure(&wanted),
        What::Delta(common) => delta::measure(&common),
        What::Swarm(common) => swarm::measure(&common),
        What::Pipeline(common) => pipeline::measure(&common),
        What::Memory(common) => memory::measure(&common),
        What::StreamServe { listen, file } => return stream::wait_for(stream::serve(listen, &file)),
        What::StreamPut { server } => return stream::wait_for(stream::put(server)),
        What::StreamGet { server } => return stream::wait_for(stream::get(server)),
    }?;
    say(&format!("all of it took {:.0} s", begun.elapsed().as_secs_f64()));
    Ok(())
}
