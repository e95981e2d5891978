//! A network on this machine for the time of a benchmark.
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use gleaner_client::{Client, Draft};
use gleaner_wire::api::JobView;

use super::process::usage;
use crate::network::{Network, Plan};
use crate::watch::Watch;

const STATE: &str = "state";
const LOGS: &str = "logs";

/// The network and its folder, which is removed afterwards.
pub struct Local {
    folder: tempfile::TempDir,
    /// The network.
    pub network: Network,
}

impl Local {
    /// Starts a hub and workers that run neither containers nor Blender, and waits until all have joined.
    pub async fn start(workers: u32, share: &[&str]) -> Result<Self> {
        Self::with(workers, &[share, &["--no-containers", "--no-blender"]].concat()).await
    }

    /// Starts a hub that believes whom requests say that they come from.
    pub async fn behind_proxy() -> Result<Self> {
        Self::started(0, &["--behind-proxy"], &[]).await
    }

    /// Starts a hub and workers with these options and waits until all have joined.
    pub async fn with(workers: u32, share: &[&str]) -> Result<Self> {
        Self::started(workers, &[], share).await
    }

    async fn started(workers: u32, hub: &[&str], share: &[&str]) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a folder for the benchmark")?;
        let plan = Plan {
            folder: folder.path().join(STATE),
            logs: folder.path().join(LOGS),
            listen: ([127, 0, 0, 1], 0).into(),
            workers,
            // The figures are about the hub, not about the chain; `bench money` has those.
            hub: ["--chain", "none", "--trust-workers"].iter().chain(hub).map(|option| (*option).to_owned()).collect(),
            share: ["--dedicated"].iter().chain(share).map(|option| (*option).to_owned()).collect(),
            environment: Vec::new(),
        };
        let mut network = Network::start(plan).await?;
        if workers > 0 {
            network.ready().await?;
        }
        Ok(Self { folder, network })
    }

    /// Where the benchmark may write; the hub's journal is on the same disk.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The state folder.
    pub fn state(&self) -> PathBuf {
        self.folder.path().join(STATE)
    }

    /// What a worker has said.
    pub fn worker_log(&self, number: u32) -> PathBuf {
        self.folder.path().join(LOGS).join(format!("worker-{number}.log"))
    }

    /// Processor time of all workers so far.
    pub fn workers_cpu_seconds(&self) -> Result<f64> {
        self.network.worker_pids().map(|pid| Ok(usage(pid)?.cpu_seconds)).sum()
    }

    /// Ends the network.
    pub async fn stop(self) -> Result<()> {
        self.network.stop().await
    }
}

/// Submits a job and follows it to its end.
pub async fn run_to_end(client: &Client, draft: &Draft) -> Result<JobView> {
    let (submitted, _keys) = client.submit(draft).await?;
    Watch::new(client, submitted.job).follow(|_| {}).await
}
