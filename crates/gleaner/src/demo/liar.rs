//! The last act: three more workers join, one of which lies. It is caught, not paid and slashed, and everybody can check that.
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use gleaner_chain::wallet;
use gleaner_client::{Draft, Way};
use gleaner_receipt::{Verifier, verify_job};
use gleaner_requester::settle;
use gleaner_wire::Amount;
use gleaner_wire::api::{JobView, WorkerView};
use tokio::time::{Instant, sleep};

use super::ensure_done;
use super::money::{Money, provider};
use crate::network::Network;
use crate::output::say;
use crate::progress::{Progress, spinner};
use crate::watch::Watch;
use crate::{order, words};

/// Workers that join for it; the last of them lies.
pub const WORKERS: u32 = 3;
const PROGRAM: &[u8] = include_bytes!("../../../../examples/array/primes.wasm");
/// So many short tasks that a worker whose device tested slowly, because others tested theirs beside it, gets some too.
const JOB: &str = r#"
name = "primes, with a liar among the workers"

[budget]
price_max = "0.1 GLN"

[[task]]
name = "primes"
runtime = "wasm"
program = "primes.wasm"
each = "0..47"
args = ["{index}", "100000"]
"#;
/// How many primes those tasks count in all.
const PRIMES: u64 = 335_439;
/// How long the court may take.
const COURT_TIME_MAX: Duration = Duration::from_secs(120);
/// How long machines may take to enrol as judges, and for how long each must count as present then.
const JUDGES_TIME_MAX: Duration = Duration::from_secs(90);
const PRESENT_SECONDS_MIN: u64 = 15;
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Shows a liar caught. Says what happened, in a few lines.
pub async fn show(network: &mut Network, money: &Money, scratch: &Path) -> Result<String> {
    say("Three more workers join, and the last of them lies: it changes a byte of each of its results.");
    let joining = spinner("the new workers test their devices");
    let mut joined = Vec::new();
    for _ in 1..WORKERS {
        joined.push(network.add_worker(&[])?);
    }
    let number = network.add_worker(&["--lie", "altered"])?;
    joined.push(number);
    let workers = network.ready().await;
    let judges = judges_present(network, money, scratch, joined).await;
    joining.finish_and_clear();
    judges?;
    let name = crate::network::worker_name(number);
    let liar = find(&workers?, &name)?;
    let address = provider(&scratch.join("state"), number)?.address();
    let before = money.purse.market.stake_of(address).await?;

    let view = run(network, money, scratch).await?;
    let caught = view.failures.iter().find(|failure| failure.worker == name).cloned();
    let caught = caught.context("the liar was not caught")?;
    let after = slashed(network, money, address, before).await?;
    let receipts = verified(network, &view).await?;
    let earned = view.workers.iter().find(|tally| tally.name == name).map_or(Amount::ZERO, |tally| tally.earned);
    if earned != Amount::ZERO {
        bail!("the liar was paid {earned} GLN");
    }
    let state = find(&network.client.workers().await?, &name)?.state;
    Ok(format!(
        "{name} lied: {}.\nIt earned nothing, its state went from {} to {state}, and its stake went from {} to {}. All \
         results of the job are right.\n{receipts}",
        words::plain(&caught.detail),
        liar.state,
        words::money(before),
        words::money(after),
    ))
}

/// Waits until the machines that joined can be drawn as judges: a committee is drawn of those who have said by then that they
/// are there, and of no others.
async fn judges_present(network: &mut Network, money: &Money, scratch: &Path, mut joined: Vec<u32>) -> Result<()> {
    let (market, deadline) = (&money.purse.market, Instant::now() + JUDGES_TIME_MAX);
    while let Some(number) = joined.last() {
        let file = scratch.join("state/workers").join(number.to_string()).join("judge.json");
        let until = match file.exists() {
            true => market.present_until(wallet::own(&file)?.address()).await?,
            false => None,
        };
        let now = market.now().await?;
        if until.is_some_and(|until| until > now + PRESENT_SECONDS_MIN) {
            joined.pop();
            continue;
        }
        if Instant::now() > deadline {
            bail!("{} did not enrol as a judge in time", crate::network::worker_name(*number));
        }
        network.check()?;
        sleep(LOOK_EVERY).await;
    }
    Ok(())
}

fn find(workers: &[WorkerView], name: &str) -> Result<WorkerView> {
    let found = workers.iter().find(|worker| worker.offer.name == name);
    found.cloned().with_context(|| format!("{name} did not join"))
}

/// Runs a job on all workers, checks its results, and has it settled.
async fn run(network: &Network, money: &Money, scratch: &Path) -> Result<JobView> {
    let folder = scratch.join("primes");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let job_file = folder.join("job.toml");
    std::fs::write(&job_file, JOB).with_context(|| format!("cannot write {}", job_file.display()))?;
    std::fs::write(folder.join("primes.wasm"), PROGRAM).context("cannot write the program")?;
    let client = &network.client;
    let (submitted, attendant) = order::submit(client, Some(&money.purse), &Draft::read(&job_file)?, Way::Hub).await?;
    let _keys = attendant.start();
    let mut progress = Progress::new("primes", submitted.tasks);
    let view = Watch::new(client, submitted.job).follow(|view| progress.show(view)).await;
    progress.clear();
    let view = view?;
    ensure_done(&view)?;
    let out = folder.join("out");
    client.fetch(submitted.job, &out, |_| {}).await?;
    let mut sum = 0;
    for file in std::fs::read_dir(out.join("primes")).context("the job left no results")? {
        let text = std::fs::read_to_string(file.context("a result cannot be read")?.path())?;
        sum += text.trim().parse::<u64>().context("a result is no number")?;
    }
    if sum != PRIMES {
        bail!("the results add up to {sum} primes instead of {PRIMES}");
    }
    say(order::told(&settle(client, &money.purse, submitted.job).await?));
    Ok(view)
}

/// Waits until the court has taken something of a provider's stake.
async fn slashed(
    network: &mut Network,
    money: &Money,
    address: gleaner_chain::primitives::Address,
    before: Amount,
) -> Result<Amount> {
    let waiting = spinner("the court looks at the evidence");
    let deadline = Instant::now() + COURT_TIME_MAX;
    let outcome = loop {
        let now = money.purse.market.stake_of(address).await?;
        if now < before {
            break Ok(now);
        }
        if Instant::now() > deadline {
            break Err(anyhow::anyhow!("the court did not decide in time"));
        }
        network.check()?;
        sleep(LOOK_EVERY).await;
    };
    waiting.finish_and_clear();
    outcome
}

/// Checks all receipts of the job as anybody could, offline.
async fn verified(network: &Network, view: &JobView) -> Result<String> {
    let mut receipts = Vec::new();
    loop {
        let some = network.client.task_receipts(view.summary.id, receipts.len() as u64).await?;
        if some.is_empty() {
            break;
        }
        receipts.extend(some);
    }
    match verify_job(&receipts, &mut Verifier::default()) {
        Ok(_) => Ok(format!(
            "All {} of the job hold, the one of the lie too.",
            words::count(receipts.len() as u64, "receipt")
        )),
        Err(faults) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            bail!("a receipt does not hold: {}", faults.join("; "))
        }
    }
}
