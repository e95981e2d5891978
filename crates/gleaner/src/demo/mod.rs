//! `gleaner demo`: a whole network on this machine renders a picture, loses a worker half-way, and finishes.

mod chain;
mod liar;
mod money;
mod report;
mod scene;
mod visitor;

use std::cmp::Reverse;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use gleaner_chain::{Account, wallet};
use gleaner_client::data::Attending;
use gleaner_client::{Client, Draft, Way};
use gleaner_hub::money::ReconcileView;
use gleaner_requester::{Purse, settle};
use gleaner_wire::api::{JobState, JobView, Submitted, WorkerView};
use gleaner_wire::{JobId, Runtime};

use crate::failure::Advice;
use crate::interrupt::Interrupt;
use crate::network::{Network, Plan, worker_name};
use crate::output::{data, say};
use crate::progress::{Progress, spinner};
use crate::watch::Watch;
use crate::{order, words};
use money::Money;
use report::Report;
use visitor::Visitor;

const WORKERS: u32 = 4;
/// A processor scores about a thousand; what is many times faster gets more to do.
const SCORE_PER_PASS: u32 = 8_000;
const PASSES_FACTOR_MAX: u32 = 64;
/// By then, what a worker sent before it was held still is known to the hub.
const DELIVERY_TIME: Duration = Duration::from_millis(100);
const PICTURE: &str = "picture.png";

/// Options of `gleaner demo`.
#[derive(clap::Args)]
pub struct Args {
    /// Folder for the picture and the logs
    #[arg(long, value_name = "DIR", default_value = "gleaner-demo")]
    out: PathBuf,
    /// Do not render the picture again on one worker alone to compare time and bytes
    #[arg(long)]
    no_reference: bool,
    /// Use the WebAssembly program even if there is a Vulkan device
    #[arg(long)]
    wasm: bool,
    /// Address of a chain's node for the money, such as anvil's [default: a chain inside the hub]
    #[arg(long, value_name = "URL")]
    chain: Option<String>,
    /// Keep the network running afterwards, with all that happened on its page, until Ctrl-C
    #[arg(long)]
    stay: bool,
}

/// Runs the demo.
pub async fn perform(args: &Args) -> Result<ExitCode> {
    let mut interrupt = Interrupt::listen()?;
    let state = tempfile::Builder::new().prefix("gleaner-demo-").tempdir().context("cannot make a temporary folder")?;
    let folder = state.path().join("state");
    let ready = match &args.chain {
        Some(url) => Some(tokio::select! {
            ready = chain::prepare(url, &folder, WORKERS) => ready?,
            () = interrupt.came() => return Err(interrupted()),
        }),
        None => None,
    };
    let plan = Plan {
        folder: folder.clone(),
        logs: args.out.join("logs"),
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        workers: WORKERS,
        hub: ready.as_ref().map_or_else(|| vec!["--no-tests".to_owned()], |ready| ready.options.clone()),
        share: ["--dedicated", "--no-containers", "--no-blender", "--cpu-slots", "1"].map(str::to_owned).to_vec(),
        // Mesa's software driver takes all cores for each worker otherwise, and four would only fight over them.
        environment: vec![("LP_NUM_THREADS", "1")],
    };
    say(format!(
        "Starting a hub and {WORKERS} workers, each a process of its own; each worker tests its devices first."
    ));
    let mut network = Network::start(plan).await?;
    // On a chain inside the hub, its faucet holds the tokens that vote.
    let voter = match ready {
        Some(ready) => ready.voter,
        None => wallet::own(&folder.join("hub/chain/faucet.json"))?,
    };
    let visitor = Visitor::welcome(&mut network, &folder).await?;
    let outcome = tokio::select! {
        outcome = show(&mut network, args, state.path(), voter, &visitor) => outcome,
        () = interrupt.came() => Err(interrupted()),
    };
    if let (Ok(job), true) = (&outcome, args.stay) {
        tokio::select! {
            stayed = visitor.stay(*job) => stayed?,
            () = interrupt.came() => say("ending the workers and the hub"),
        }
    }
    network.stop().await?;
    outcome.map(|_| ExitCode::SUCCESS)
}

fn interrupted() -> anyhow::Error {
    Advice::new("the demo was interrupted", "run it again at any time").into()
}

/// Shows everything, and says which job rendered the picture.
async fn show(network: &mut Network, args: &Args, scratch: &Path, voter: Account, visitor: &Visitor) -> Result<JobId> {
    let testing = spinner("the workers test their devices");
    let workers = network.ready().await;
    testing.finish_and_clear();
    let workers = workers?;
    let runtime = choose_runtime(&workers, args.wasm)?;
    introduce(&workers, runtime);
    if args.stay {
        visitor.invite("Watch it on a page in your browser", visitor::JOBS).await?;
    }
    let job_file = scene::unpack(&scratch.join("scene"), runtime)?;

    let money = Money::begin(&network.client, &scratch.join("state"), WORKERS, voter).await?;

    // It goes on while the picture is rendered: an order that runs keeps the terms under which it was locked.
    let vote = tokio::spawn(money.vote());
    let passes = passes_factor(&workers);
    let (view, killed) = render_and_kill(network, &money.purse, &draft(&job_file, passes)?).await?;
    let job = view.summary.id;
    let picture = fetch_picture(&network.client, &view, &scratch.join("first"), &args.out.join(PICTURE)).await?;
    say(order::told(&settle(&network.client, &money.purse, job).await?));
    let best = view.workers.iter().max_by_key(|tally| tally.earned).map(|tally| tally.name.clone());
    let mut report = Report::new(view, workers, killed, picture, runtime);
    report.note(withdraw(&money, best.as_deref()).await?);
    let waiting = spinner("the vote on the platform's share goes on");
    let voted = vote.await.context("the vote broke");
    waiting.finish_and_clear();
    report.note(voted??);
    if !args.no_reference {
        let (view, other) = render_alone(network, &money.purse, draft(&job_file, passes)?, scratch).await?;
        let settled = settle(&network.client, &money.purse, view.summary.id).await?;
        say(order::told(&settled));
        report.note(money::took_effect(&settled)?);
        report.compare(view, same_bytes(&report.picture, &other)?);
    }
    report.books(money.compare().await?);
    let reconciled: ReconcileView = network.client.get("/reconcile").await?;
    if !reconciled.agrees {
        bail!("the hub's books and the chain differ: {}", reconciled.differences.join("; "));
    }
    report.note(format!(
        "The hub's books and the chain agree on {} to the last unit.",
        words::count(reconciled.orders, "order")
    ));
    report.note(liar::show(network, &money, scratch).await?);
    data(&report.render())?;
    report.check()?;
    Ok(job)
}

/// Has the owner of the worker that earned most withdraw it.
async fn withdraw(money: &Money, name: Option<&str>) -> Result<String> {
    let number = (1..=WORKERS).find(|number| Some(worker_name(*number).as_str()) == name);
    money.withdraw(number.context("nobody has earned anything")?).await
}

fn choose_runtime(workers: &[WorkerView], wasm_wanted: bool) -> Result<Runtime> {
    let offers = |runtime| {
        let devices = workers.iter().flat_map(|worker| &worker.offer.devices);
        devices.flat_map(|device| &device.runtimes).any(|offer| offer.runtime == runtime)
    };
    if offers(Runtime::Wgsl) && !wasm_wanted {
        return Ok(Runtime::Wgsl);
    }
    if !offers(Runtime::Wasm) {
        let help = "`gleaner doctor` says what is missing and how to fix it";
        return Err(Advice::new("the workers offer nothing that could render the picture", help).into());
    }
    if !wasm_wanted {
        say("No Vulkan device passed its test here, so the same picture is rendered by a WebAssembly program.");
        say("`gleaner doctor` says what is missing.");
    }
    Ok(Runtime::Wasm)
}

fn introduce(workers: &[WorkerView], runtime: Runtime) {
    for worker in workers {
        if let Some((device, offer)) = report::device_for(worker, runtime) {
            let name = words::plain(&worker.offer.name);
            let device = words::plain(device);
            say(format!("  {name}  {device}  {runtime}, speed {}", words::grouped(offer.score.into())));
        }
    }
}

/// How many times the job's own passes the picture gets: a real GPU would be done before anyone could watch.
fn passes_factor(workers: &[WorkerView]) -> u32 {
    let fastest =
        workers.iter().filter_map(|worker| report::device_for(worker, Runtime::Wgsl)).map(|(_, offer)| offer.score);
    (fastest.max().unwrap_or(0) / SCORE_PER_PASS).clamp(1, PASSES_FACTOR_MAX)
}

fn draft(job_file: &Path, passes: u32) -> Result<Draft> {
    let mut draft = Draft::read(job_file)?;
    for task in draft.file.tasks.iter_mut().filter(|task| task.runtime == Runtime::Wgsl) {
        task.kernel.passes = Some(task.kernel.passes.unwrap_or(1).saturating_mul(passes));
    }
    Ok(draft)
}

async fn submit(client: &Client, purse: &Purse, draft: &Draft) -> Result<(Submitted, Attending)> {
    let (submitted, attendant) = order::submit(client, Some(purse), draft, Way::Hub).await?;
    let tiles = words::count(submitted.tasks, "tile");
    let cap = words::money(submitted.reserved);
    say(format!("Job {}: {tiles}, one task each; its order locks {cap}, no more can be spent.", submitted.job));
    Ok((submitted, attendant.start()))
}

/// Renders on all workers and kills one of them half-way, while it has a tile in its hands.
async fn render_and_kill(network: &mut Network, purse: &Purse, draft: &Draft) -> Result<(JobView, Option<String>)> {
    let (submitted, _keys) = submit(&network.client, purse, draft).await?;
    let mut progress = Progress::new("picture", submitted.tasks);
    let mut watch = Watch::new(&network.client, submitted.job);
    let mut killed = None;
    let view = loop {
        let view = watch.next().await?;
        progress.show(&view);
        if view.summary.state.has_ended() {
            break view;
        }
        if killed.is_none()
            && view.summary.done * 2 >= view.summary.tasks
            && let Some(victim) = hold_a_busy_one(network, submitted.job).await?
        {
            network.kill(&victim).await?;
            progress.say(&format!("Half-way: {victim} is killed (SIGKILL). Watch the others take over."));
            killed = Some(victim);
        }
        network.check()?;
    };
    progress.clear();
    ensure_done(&view)?;
    Ok((view, killed))
}

/// Holds a worker still that has a tile in its hands, and returns its name; none if all are done before that.
async fn hold_a_busy_one(network: &Network, job: JobId) -> Result<Option<String>> {
    let mut running = network.client.explain(job).await?.running;
    running.retain(|attempt| network.names().any(|name| name == attempt.worker));
    // What was placed last has the longest way to go.
    running.sort_by_key(|attempt| Reverse(attempt.since));
    for candidate in running {
        network.hold(&candidate.worker, true);
        tokio::time::sleep(DELIVERY_TIME).await;
        let running = network.client.explain(job).await?.running;
        if running.iter().any(|attempt| attempt.worker == candidate.worker) {
            return Ok(Some(candidate.worker));
        }
        network.hold(&candidate.worker, false);
    }
    Ok(None)
}

/// Renders the same picture on one worker alone, without reusing a known tile.
async fn render_alone(
    network: &mut Network,
    purse: &Purse,
    mut draft: Draft,
    scratch: &Path,
) -> Result<(JobView, PathBuf)> {
    say("The same picture again on one worker alone, every tile anew, to compare.");
    network.stop_all_but_one().await?;
    draft.file.tasks.iter_mut().for_each(|task| task.memo = false);
    let (submitted, _keys) = submit(&network.client, purse, &draft).await?;
    let mut progress = Progress::new("one worker", submitted.tasks);
    let view = Watch::new(&network.client, submitted.job).follow(|view| progress.show(view)).await;
    progress.clear();
    let view = view?;
    ensure_done(&view)?;
    let folder = scratch.join("alone");
    let picture = fetch_picture(&network.client, &view, &folder, &folder.join(PICTURE)).await?;
    Ok((view, picture))
}

fn ensure_done(view: &JobView) -> Result<()> {
    match &view.summary.state {
        JobState::Done => Ok(()),
        JobState::Ordered | JobState::Running | JobState::Cancelled => bail!("the job did not finish"),
        JobState::Failed { reason, .. } => bail!("the job failed: {}", words::plain(reason)),
    }
}

async fn fetch_picture(client: &Client, view: &JobView, folder: &Path, to: &Path) -> Result<PathBuf> {
    let fetched = client.fetch(view.summary.id, folder, |_| {}).await?;
    let picture = fetched.pictures.first().context("the tiles do not make up a picture")?;
    std::fs::copy(picture, to).with_context(|| format!("cannot write {}", to.display()))?;
    Ok(to.to_path_buf())
}

fn same_bytes(one: &Path, other: &Path) -> Result<bool> {
    let read = |path: &Path| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    Ok(read(one)? == read(other)?)
}
