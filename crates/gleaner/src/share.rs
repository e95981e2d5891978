//! `gleaner share`: shares this machine with a hub until Ctrl-C.

pub mod owner;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use gleaner_client::HubAddress;
use gleaner_client::Token;
use gleaner_wire::{Amount, Millis, Offer};
use gleaner_worker::machine::preferences::{Price, Unknown, YieldToInput};
use gleaner_worker::machine::{Bid, Preferences};
use gleaner_worker::{Config, Finding, Report};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::failure::Advice;
use crate::interrupt::Interrupt;
use crate::judge::presence::LEAVE_TIME_MAX;
use crate::output::say;
use crate::price::HourlyPrice;
use crate::settings::{Settings, private_files};
use crate::{doctor, judge, service, telemetry, words};

/// The token of an account in a worker's folder.
const ACCOUNT_TOKEN: &str = "account.token";

/// Options of `gleaner share`.
#[derive(clap::Args)]
pub struct Args {
    /// Name of this worker [default: the machine's]
    #[arg(long)]
    name: Option<String>,
    /// Region this machine is in
    #[arg(long, default_value = "local")]
    region: String,
    /// Price for an hour of one device or processor slot [default: what the hub's index suggests]
    #[arg(long)]
    price: Option<HourlyPrice>,
    /// How to bid where tasks are sold by auction: fixed (the price), market, or a command that prints a price
    #[arg(long, value_name = "HOW")]
    bid: Option<Bid>,
    /// How many tasks the processor takes at a time [default: its cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    cpu_slots: Option<u16>,
    /// Do not share GPUs
    #[arg(long)]
    no_gpu: bool,
    /// Do not share the processor
    #[arg(long, conflicts_with_all = ["cpu_slots", "no_gpu"])]
    no_cpu: bool,
    /// Share only GPUs whose name contains this
    #[arg(long, value_name = "NAME", conflicts_with = "no_gpu")]
    adapter: Option<String>,
    /// Do not run containers
    #[arg(long)]
    no_containers: bool,
    /// Do not render with Blender
    #[arg(long)]
    no_blender: bool,
    /// The Blender that renders, or a Python that has its module `bpy` [default: the newest on PATH]
    #[arg(long, value_name = "PROGRAM", conflicts_with = "no_blender")]
    blender: Option<PathBuf>,
    /// Offer equal cards together, to tasks that need several of them
    #[arg(long, conflicts_with = "no_gpu")]
    together: bool,
    /// Let containers reach this network of the engine if their job asks for one
    #[arg(long, value_name = "NETWORK", num_args = 0..=1, require_equals = true, default_missing_value = "bridge")]
    allow_network: Option<String>,
    /// Run containers on a kernel of their own (gVisor)
    #[arg(long)]
    gvisor: bool,
    /// Share it whatever happens at it: nobody sits at this machine
    #[arg(long)]
    dedicated: bool,
    /// When the machine is yours, and what it costs you [default: preferences.toml in the worker's folder]
    #[arg(long, value_name = "FILE")]
    preferences: Option<PathBuf>,
    /// Who owns this worker, signed by a wallet that is elsewhere [default: owner-proof.json in the worker's folder]
    #[arg(long, value_name = "FILE")]
    owner_proof: Option<PathBuf>,
    /// Pair this machine with an account of the hub: a file with one of its tokens, with the scope `provide`. The account
    /// sees the machine and sets its price and hours [default: account.token in the worker's folder]
    #[arg(long, value_name = "FILE", env = "GLEANER_ACCOUNT_TOKEN_FILE", hide_env = true)]
    account_token_file: Option<PathBuf>,
    /// Set it up as a service of this user, which starts with the machine
    #[arg(long, conflicts_with = "uninstall")]
    install: bool,
    /// Remove that service
    #[arg(long)]
    uninstall: bool,
    /// Which worker of this machine it is, if there are several
    #[arg(long, default_value_t = 1, hide = true)]
    number: u32,
    #[command(flatten)]
    pub telemetry: telemetry::Args,
    /// Lie, to see how a liar is caught: altered, another, stale or cheaper results, or copied=FOLDER what a friend has lent=FOLDER
    #[arg(long, hide = true, value_name = "HOW")]
    lie: Option<gleaner_worker::Lie>,
}

/// Shares the machine.
pub async fn perform(settings: &Settings, args: &Args) -> Result<ExitCode> {
    if args.install || args.uninstall {
        return service::perform(settings, args.install);
    }
    let mut interrupt = Interrupt::listen()?;
    private_files();
    let mut config = args.config(settings, settings.hub_address()?)?;
    if config.preferences.price == Price::Market {
        // A hub that does not answer now is tried again by the worker.
        config.market = gleaner_worker::market(&config.hub).await.unwrap_or_default();
    }
    let (stop, stopped) = watch::channel(false);
    let mut judging = None;
    if let Some(owner) = owner::find(settings, &config, args.owner_proof.as_deref()).await? {
        config.provider = Some(owner.provider);
        judging = Some(judge::attend(owner.bench, stopped.clone()));
    }
    let worker = tokio::spawn(gleaner_worker::run(config, stopped, |report| tell(&report)));
    let sharing = async {
        worker.await.context("the worker broke")??;
        stop.send_replace(true);
        if let Some(judging) = judging {
            // It ends by itself within that time, unless it had only begun.
            let _late = timeout(LEAVE_TIME_MAX, judging).await;
        }
        anyhow::Ok(())
    };
    tokio::pin!(sharing);
    tokio::select! {
        ended = &mut sharing => ended?,
        () = interrupt.came() => {
            say("finishing; Ctrl-C again leaves at once");
            stop.send_replace(true);
            tokio::select! {
                ended = &mut sharing => ended?,
                () = interrupt.came() => return Ok(ExitCode::FAILURE),
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// What the worker is told.
    pub fn config(&self, settings: &Settings, hub: HubAddress) -> Result<Config> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let cores = u16::try_from(cores).unwrap_or(u16::MAX).min(Offer::SLOTS_MAX);
        let dir = settings.folder()?.join("workers").join(self.number.to_string());
        let preferences = self.preferences(&dir)?;
        let account_token = self.account_token(&dir)?;
        Ok(Config {
            hub,
            dir,
            name: self.name.clone().unwrap_or_else(machine_name),
            region: self.region.clone(),
            provider: None,
            account_token,
            market: Vec::new(),
            cpu_slots: if self.no_cpu { 0 } else { self.cpu_slots.unwrap_or(cores) },
            gpu: !self.no_gpu,
            child: own_program()?,
            adapter: self.adapter.clone(),
            containers: !self.no_containers,
            blender: !self.no_blender,
            lie: self.lie.clone(),
            traces: self.telemetry.traces(),
            blender_program: self.blender.clone(),
            together: self.together,
            network: self.allow_network.clone(),
            gvisor: self.gvisor,
            preferences,
        })
    }

    /// The token of the account that the machine is paired with, if its owner has left one.
    fn account_token(&self, dir: &Path) -> Result<Option<Token>> {
        let file = self.account_token_file.clone().unwrap_or_else(|| dir.join(ACCOUNT_TOKEN));
        if self.account_token_file.is_none() && !file.exists() {
            return Ok(None);
        }
        let token = Token::read(&file).with_context(|| {
            let help = "make a token with the scope `provide` on the hub's page, and put it into this file";
            Advice::new(format!("{} holds no token of an account", file.display()), help)
        })?;
        Ok(Some(token))
    }

    /// What the owner wrote, and what the command line says over it.
    fn preferences(&self, dir: &Path) -> Result<Preferences> {
        let path = self.preferences.clone().unwrap_or_else(|| dir.join("preferences.toml"));
        if self.preferences.is_some() && !path.exists() {
            return Err(Advice::new(
                format!("{} is not there", path.display()),
                "name another file with --preferences",
            )
            .into());
        }
        let mut preferences = Preferences::read(&path).map_err(|error| {
            let problem = format!("{}: {error}", path.display());
            Advice::new(problem, "docs/providing.md says what the file may hold")
        })?;
        if let Some(price) = self.price {
            preferences.price = Price::PerSecond(price.per_second());
        }
        if let Some(bid) = &self.bid {
            preferences.bid = bid.clone();
        }
        if self.dedicated {
            preferences.idle.unknown = Unknown::Share;
            preferences.idle.input = YieldToInput::Never;
            preferences.idle.fullscreen = false;
        }
        Ok(preferences)
    }
}

fn own_program() -> Result<PathBuf> {
    std::env::current_exe().context("cannot find this program's own file")
}

fn machine_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "worker".to_owned() } else { words::plain(&name).chars().take(64).collect() }
}

fn tell(report: &Report) {
    match report {
        Report::Tested { offer, missing } => tell_offer(offer, missing),
        Report::Line(speed) => say(format!("the hub {speed}")),
        Report::Unpaired { why } => {
            say(format!(
                "the hub does not take the account's token, so this machine is nobody's: {}",
                words::plain(why)
            ));
        }
        Report::Set { what } => say(format!("set through your account: {}", words::plain(what))),
        Report::Connected { worker } => say(format!("joined the hub as worker {worker}; Ctrl-C leaves")),
        Report::Reconnecting { in_ms, why } => {
            say(format!(
                "no connection to the hub ({}); next try in {}",
                words::plain(why),
                words::span(Millis(*in_ms))
            ));
        }
        Report::Screened { device, runtime, verdict: Ok(score) } => {
            let score = words::grouped(u64::from(*score));
            say(format!("the hub has tested {runtime} on device {device}: score {score}, work can come"));
        }
        Report::Screened { device, runtime, verdict: Err(why) } => {
            say(format!("the hub's test of {runtime} on device {device} failed: {}", words::plain(why)));
        }
        Report::Rests { device, why: Some(why) } => {
            say(format!("device {device} is yours now: {}", words::plain(why)));
        }
        Report::Rests { device, why: None } => say(format!("device {device} is shared again")),
        Report::Freed { device, took, in_time } => {
            let took = words::span(Millis(u64::try_from(took.as_millis()).unwrap_or(u64::MAX)));
            let late = if *in_time { "" } else { ", later than you allow" };
            say(format!("device {device} was free after {took}{late}"));
        }
        Report::Finished { done, failed } => tracing::info!(done, failed, "attempts ended"),
        Report::Repriced { prices } => {
            for (device, price) in prices.iter().enumerate() {
                say(format!("device {device} costs {} from now on", hourly(*price)));
            }
        }
        Report::Earned { earned, energy } => say(earnings(*earned, *energy)),
    }
}

/// What the worker has earned on this hub, and what is left of it after electricity.
fn earnings(earned: Amount, energy: Option<Amount>) -> String {
    let gross = words::money(earned);
    match energy {
        None => {
            format!("earned {gross} so far; name tariff and gln_price in preferences.toml to see it net of electricity")
        }
        Some(energy) if energy <= earned => {
            let net = words::money(Amount(earned.0 - energy.0));
            format!("earned {gross} so far, {net} after {} of electricity", words::money(energy))
        }
        Some(energy) => format!("earned {gross} so far, less than the {} of electricity", words::money(energy)),
    }
}

/// A price by the hour, as owners think of it.
fn hourly(per_second: Amount) -> String {
    format!("{} an hour", words::money(Amount(per_second.0.saturating_mul(3600))))
}

fn tell_offer(offer: &Offer, missing: &[Finding]) {
    for device in &offer.devices {
        let runtimes =
            device.runtimes.iter().map(|one| format!("{} at speed {}", one.runtime, words::grouped(one.score.into())));
        let runtimes: Vec<String> = runtimes.collect();
        let name = words::plain(&device.name);
        let (memory, slots) = (words::bytes(device.memory.0), words::count(device.slots.into(), "slot"));
        let price = hourly(device.price_per_second);
        say(format!("sharing {name} ({}, {memory}, {slots}) for {price}: {}", device.kind, runtimes.join(", ")));
    }
    for finding in missing {
        say(doctor::render(finding));
    }
}
