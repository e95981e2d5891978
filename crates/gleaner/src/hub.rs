//! `gleaner hub`: runs a hub until Ctrl-C.
mod account;
mod desk;
mod managed;
pub mod tls;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use gleaner_chain::genesis::Genesis;
use gleaner_core::Params;
use gleaner_hub::money::{ChainConfig, FiatConfig, ReconcileView};
use gleaner_hub::{Bucket, Site};
use gleaner_wire::{Amount, ByteSize, Millis};

use crate::failure::Advice;
use crate::interrupt::Interrupt;
use crate::output::{data, json, say};
use crate::settings::{Settings, private_files};
use crate::{telemetry, words};

/// Where a hub listens unless it is told otherwise.
pub const LISTEN: &str = "127.0.0.1:7700";

/// What else can be done with a hub.
#[derive(clap::Subcommand)]
enum Verb {
    /// Compare the running hub's books with the chain, to the last unit
    Reconcile {
        /// Print the comparison as JSON
        #[arg(long)]
        json: bool,
    },
    /// Look after the accounts of people on the running hub
    #[command(subcommand)]
    Account(account::Verb),
    /// Print the OpenAPI document of the hub's HTTP API
    Openapi,
    /// Show how many managed workers of which class the running hub wants
    Demand {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Options of `gleaner hub`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = LISTEN)]
    listen: SocketAddr,
    /// Where money is: a chain inside the hub, the address of a chain's node, or the hub's own books
    #[arg(long, value_name = "embedded|URL|none", default_value = "embedded")]
    chain: String,
    /// What an embedded chain is founded with: a preset (hub, capped) or a file
    #[arg(long, value_name = "NAME|FILE", default_value = "hub")]
    genesis: String,
    /// Where the contracts are on the chain at URL, as `gleaner chain deploy` prints it
    #[arg(long, value_name = "FILE")]
    deployment: Option<PathBuf>,
    /// Address for the embedded chain's JSON-RPC server; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    rpc: SocketAddr,
    /// Let pages of this origin ask that server, such as http://localhost:5173; may be repeated [default: none]
    #[arg(long, value_name = "ORIGIN", value_parser = Site::parse)]
    rpc_origin: Vec<Site>,
    /// Blocks to wait for after the one that gives a round of checks its seed [default: 2 on a chain of others]
    #[arg(long, value_name = "BLOCKS")]
    confirmations: Option<u64>,
    /// Sell credits for ordinary money, as this TOML file says
    #[arg(long, value_name = "FILE")]
    fiat: Option<PathBuf>,
    /// The most that sealed chunks may take of the disk
    #[arg(long, value_name = "BYTES", default_value = "64GiB")]
    data_max: ByteSize,
    /// The most that one account may keep of that [default: a quarter of --data-max]
    #[arg(long, value_name = "BYTES")]
    data_account_max: Option<ByteSize>,
    /// Keep full segments of chunks in an S3-compatible bucket, as this TOML file says
    #[arg(long, value_name = "FILE")]
    bucket: Option<PathBuf>,
    /// Address, for TCP and UDP, where machines behind routers meet [default: free ports beside --listen]
    #[arg(long, value_name = "ADDRESS|none")]
    relay: Option<String>,
    /// Starting credit of a requester that the hub has not seen before, with --chain none
    #[arg(long, value_name = "AMOUNT", default_value = "100 GLN")]
    credit: Amount,
    /// Address where people without this program bring data by SFTP; the hub can read what comes this way
    #[arg(long, value_name = "ADDRESS")]
    sftp: Option<SocketAddr>,
    /// Trust workers: neither test them before they get work nor check their results before they are paid
    #[arg(long)]
    trust_workers: bool,
    /// Give workers work without a test before it
    #[arg(long)]
    no_tests: bool,
    /// How long a new hub's auctions wait for sealed bids, and again for them to be opened
    #[arg(long, value_name = "TIME", default_value = "300ms", value_parser = parse_time)]
    bid_time: Millis,
    #[command(flatten)]
    tls: tls::Args,
    /// Let webhooks lead to addresses that are not public, and be sent over plain HTTP
    #[arg(long)]
    private_webhooks: bool,
    /// Let the desk ask registries of container images at addresses that are not public, and on this machine without encryption
    #[arg(long)]
    private_registries: bool,
    #[command(flatten)]
    pub telemetry: telemetry::Args,
    #[command(flatten)]
    managed: managed::Args,
}

/// Bids must have time to come, and nobody waits for a minute.
fn parse_time(text: &str) -> Result<Millis, String> {
    let time = Millis::parse_span(text).map_err(|error| error.to_string())?;
    match time.0 {
        10..=60_000 => Ok(time),
        _ => Err(format!("`{text}` is not between 10ms and 60s")),
    }
}

impl Args {
    fn chain(&self) -> Result<ChainConfig> {
        match self.chain.as_str() {
            "none" => Ok(ChainConfig::None),
            "embedded" => Ok(ChainConfig::Embedded { rpc: self.rpc, genesis: Box::new(self.genesis()?) }),
            url => {
                let help =
                    "deploy the contracts with `gleaner chain deploy`, and name what it prints with --deployment FILE";
                let file = self.deployment.as_ref().ok_or_else(|| Advice::new("where are the contracts?", help))?;
                let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
                let deployment = serde_json::from_str(&text);
                let deployment = deployment.with_context(|| format!("{} is not a deployment", file.display()))?;
                Ok(ChainConfig::Remote { url: url.to_owned(), deployment: Box::new(deployment) })
            }
        }
    }

    fn fiat(&self) -> Result<Option<FiatConfig>> {
        let Some(file) = &self.fiat else { return Ok(None) };
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let config = toml::from_str(&text).with_context(|| format!("{} does not say how to sell", file.display()))?;
        Ok(Some(config))
    }

    fn bucket(&self) -> Result<Option<Bucket>> {
        let Some(file) = &self.bucket else { return Ok(None) };
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let bucket = toml::from_str(&text).with_context(|| {
            let help = "it needs endpoint, region, name, access_key and secret_key, and may have prefix";
            Advice::new(format!("{} does not name a bucket", file.display()), help)
        })?;
        Ok(Some(bucket))
    }

    fn relay(&self) -> Result<Option<SocketAddr>> {
        match self.relay.as_deref() {
            None => Ok(Some(SocketAddr::new(self.listen.ip(), 0))),
            Some("none") => Ok(None),
            Some(address) => {
                let wrong = || Advice::new(format!("`{address}` is no address"), "write IP:PORT, or `none`");
                Ok(Some(address.parse().map_err(|_| wrong())?))
            }
        }
    }

    /// The genesis of a chain on one's own machine: short delays, so that nobody waits days for a vote.
    fn genesis(&self) -> Result<Genesis> {
        let genesis = match Genesis::preset(&self.genesis) {
            Ok(genesis) => genesis,
            Err(_) if Path::new(&self.genesis).exists() => {
                let text = std::fs::read_to_string(&self.genesis);
                Genesis::parse(&text.with_context(|| format!("cannot read {}", self.genesis))?)?
            }
            Err(error) => return Err(error.into()),
        };
        Ok(genesis.with_timings("local")?)
    }
}

/// Compares the books of the hub with the chain. Fails if they differ.
async fn reconcile(settings: &Settings, as_json: bool) -> Result<ExitCode> {
    let client = settings.client().await?;
    let view: ReconcileView = client.get("/reconcile").await?;
    if as_json {
        json(&view)?;
    } else {
        view.differences.iter().for_each(|difference| say(format!("differs: {difference}")));
        let orders = words::count(view.orders, "order");
        data(&format!(
            "{}: {orders} compared at block {}, {} open; {} in the books and {} locked on the chain; {} paid to \
             providers, {} to the platform",
            if view.agrees { "the books and the chain agree" } else { "THE BOOKS AND THE CHAIN DIFFER" },
            words::grouped(view.height),
            words::grouped(view.open),
            words::money(view.booked),
            words::money(view.locked),
            words::money(view.paid),
            words::money(view.fees),
        ))?;
    }
    Ok(if view.agrees { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the hub. Its address is the one line on stdout, and in the file `address` for other commands.
pub async fn perform(settings: &Settings, args: &Args) -> Result<ExitCode> {
    match &args.verb {
        Some(Verb::Reconcile { json }) => return reconcile(settings, *json).await,
        Some(Verb::Account(verb)) => return account::perform(settings, verb).await,
        Some(Verb::Openapi) => {
            data(gleaner_hub::openapi(Some(&desk::description())).trim_end())?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(Verb::Demand { json }) => return managed::show(&settings.client().await?, *json).await,
        None => {}
    }
    let mut interrupt = Interrupt::listen()?;
    private_files();
    let folder = settings.hub_folder()?;
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let config = gleaner_hub::Config {
        credit: args.credit,
        allow_remote: args.tls.allow_remote,
        tls: args.tls.config(),
        redirect_http: args.tls.redirect_http,
        url: args.tls.url.clone(),
        behind_proxy: args.tls.behind_proxy,
        chain: args.chain()?,
        rpc_origins: args.rpc_origin.clone(),
        anchor_confirmations: args.confirmations,
        fiat: args.fiat()?,
        data_bytes_max: args.data_max,
        data_account_bytes_max: args.data_account_max,
        bucket: args.bucket()?,
        relay: args.relay()?,
        sftp: args.sftp,
        params: Params {
            screening: !args.trust_workers && !args.no_tests,
            checks: !args.trust_workers,
            bid_ms: args.bid_time,
            reveal_ms: args.bid_time,
            ..Params::default()
        },
        managed: args.managed.config(),
        extra: Some(desk::beside(args.private_registries)),
        webhooks_private: args.private_webhooks,
        traces: args.telemetry.traces(),
        ..gleaner_hub::Config::new(&folder, args.listen)
    };
    let mut hub = gleaner_hub::start(config).await?;
    let file = folder.join("address");
    let own = format!("{}\n", hub.own_url());
    std::fs::write(&file, own).with_context(|| format!("cannot write {}", file.display()))?;
    data(hub.url())?;
    args.tls.say(args.listen, hub.own_url());
    if let Some(sftp) = hub.sftp() {
        say(format!(
            "SFTP at {}, host key {}; user: any requester's name, password: the hub's token",
            sftp.address, sftp.fingerprint
        ));
    }
    say(format!("the hub keeps its state in {}; Ctrl-C ends it", folder.display()));
    tokio::select! {
        stopped = hub.stopped() => stopped?,
        () = interrupt.came() => {}
    }
    hub.stop().await;
    Ok(ExitCode::SUCCESS)
}
