//! Eight workers that need the same dataset, from somebody with a slow uplink, beside one copy for each.
use super::Common;
use super::files::Data;
use super::peak::peak_of;
use super::run::shell;
use super::stage::Stage;
use super::tool::{Tool, Way};
use anyhow::{Context, Result, bail};
use gleaner_lab::{Host, Internet, Process, Shape, Side, Uplink};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const WORKERS: usize = 8;
const UPLINK_MEGABITS: u64 = 100;
const GOAL_TIMES: f64 = 6.0;
const GOAL_COPIES: f64 = 1.15;
/// A program that does nothing: `(module (func (export "_start")))`.
const NOTHING: [u8; 36] = [
    0, b'a', b's', b'm', 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 7, 10, 1, 6, b'_', b's', b't', b'a', b'r', b't',
    0, 0, 10, 4, 1, 2, 0, 11,
];

/// What a job took.
struct Done {
    seconds: f64,
    /// Bytes that left by the requester's uplink.
    sent: u64,
    /// Bytes that came to each worker.
    came: Vec<u64>,
    /// The most memory of the requester, the hub, and the worker that had most.
    peaks: [u64; 3],
}

/// A job of eight tasks that all read it, and a copy with rsync.
pub fn measure(common: &Common) -> Result<()> {
    let folder = common.cleared()?;
    let source = folder.join("source");
    fs::create_dir_all(&source)?;
    let bytes = Data::Random.write(&source, common.sizes())?;
    let copy = copy(common, &source)?;
    let done = job(common, folder)?;
    let (copies, whole) = (copy * WORKERS as f64, done.came.iter().filter(|came| **came >= bytes).count());
    let (times, sent) = (copies / done.seconds, done.sent as f64 / bytes as f64);
    let goal = |text: String, is_reached: bool| if is_reached { text } else { format!("{text}, missed") };
    println!("{UPLINK_MEGABITS} Mbit/s up, 20 ms; the workers and the hub have 1 Gbit/s.\n");
    println!("| figure | value | goal |\n|---|---|---|");
    println!("| dataset | {} MiB random | |", common.mib);
    println!(
        "| a job of {WORKERS} tasks that read it, from `gleaner run` to the last result | {:.1} s | |",
        done.seconds
    );
    println!("| workers that took all of it | {whole} | {} |", goal(WORKERS.to_string(), whole == WORKERS));
    println!("| one copy with rsync over ssh by the same uplink | {copy:.1} s | |");
    println!("| {WORKERS} such copies, one after the other | {copies:.1} s | |");
    println!("| {WORKERS} copies / the job | {times:.2} | {} |", goal(format!("≥ {GOAL_TIMES}"), times >= GOAL_TIMES));
    println!(
        "| sent by the uplink / dataset | {sent:.3} | {} |",
        goal(format!("≤ {GOAL_COPIES}"), sent <= GOAL_COPIES)
    );
    let [client, hub, worker] = done.peaks.map(|peak| peak / 1_000_000);
    println!("| most memory: requester, hub, worker | {client}, {hub}, {worker} MB | |\n");
    Ok(())
}

fn copy(common: &Common, source: &Path) -> Result<f64> {
    let shape = Shape::megabits(UPLINK_MEGABITS).delay_ms(10);
    let stage = Stage::start(Tool::RsyncSsh, Some(shape), common.folder.join("copy"), &common.gleaner)?;
    let cost = stage.run(&Tool::RsyncSsh.line(Way::Push, Data::Random, source, &stage)?, common.limit)?;
    if cost.near.is_given_up() {
        bail!("one copy with rsync took more than {} s", common.limit);
    }
    stage.clear()?;
    Ok(cost.near.seconds)
}

fn start(host: &Host, program: &Path, arguments: &[&str], log: &Path) -> Result<Process> {
    let file = fs::File::create(log)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    Ok(host.machine.start(command)?)
}

fn start_hub(host: &Host, product: &Path, folder: &Path) -> Result<Process> {
    let (listen, own) = (format!("{}:7700", host.address()), folder.join("hub").display().to_string());
    let arguments = ["hub", "--chain", "none", "--trust-workers", "--allow-remote", "--listen", &listen, "--dir", &own];
    let hub = start(host, product, &arguments, &folder.join("hub.log"))?;
    wait_for(&folder.join("hub/hub/api.token"))?;
    Ok(hub)
}

fn start_workers(
    internet: &Internet,
    line: &Uplink,
    product: &Path,
    hub: &str,
    folder: &Path,
) -> Result<Vec<(Host, Process)>> {
    let token = folder.join("hub/hub/api.token").display().to_string();
    let worker = |number| -> Result<(Host, Process)> {
        let name = format!("worker-{number}");
        let host = internet.host(&name, line)?;
        let own = folder.join(&name).display().to_string();
        let place = ["--hub", hub, "--token-file", &token, "--dir", &own];
        let arguments = [
            &place[..],
            &[
                "share",
                "--dedicated",
                "--no-gpu",
                "--cpu-slots",
                "1",
                "--no-containers",
                "--no-blender",
                "--name",
                &name,
            ][..],
        ]
        .concat();
        let process = start(&host, product, &arguments, &folder.join(format!("{name}.log")))?;
        Ok((host, process))
    };
    (0..WORKERS).map(worker).collect()
}

fn job(common: &Common, folder: &Path) -> Result<Done> {
    let internet = Internet::new()?;
    let even = Uplink::even(Shape::megabits(1000).delay_ms(2));
    let slow = Uplink { up: Shape::megabits(UPLINK_MEGABITS).delay_ms(8), down: Shape::megabits(1000).delay_ms(8) };
    let (hub_host, requester) = (internet.host("hub", &even)?, internet.host("requester", &slow)?);
    let hub = start_hub(&hub_host, &common.gleaner, folder)?;
    let url = format!("http://{}:7700", hub_host.address());
    let workers = start_workers(&internet, &even, &common.gleaner, &url, folder)?;
    let (at, product) = (folder.display(), common.gleaner.display());
    let gleaner = format!("exec {product} --hub {url} --token-file {at}/hub/hub/api.token --dir {at}/own");
    all_there(&requester, &gleaner)?;
    fs::write(folder.join("source/nothing.wasm"), NOTHING)?;
    fs::write(folder.join("source/job.toml"), job_file())?;
    let before = requester.link.carried(Side::Left).bytes;
    let line = format!("{gleaner} run {at}/source/job.toml --direct --out {at}/results --json");
    let taken = shell(&requester.machine, &line, common.limit, folder)?;
    if taken.is_given_up() {
        bail!("the job took more than {} s", common.limit);
    }
    let came = workers.iter().map(|(host, _)| host.link.carried(Side::Right).bytes).collect();
    let peak = |process: &Process| peak_of(process.id()).unwrap_or(0);
    let worker = workers.iter().map(|(_, process)| peak(process)).max().unwrap_or(0);
    let sent = requester.link.carried(Side::Left).bytes - before;
    Ok(Done { seconds: taken.seconds, sent, came, peaks: [taken.peak, peak(&hub), worker] })
}

fn job_file() -> String {
    format!(
        "name = \"read\"\n[budget]\nprice_max = \"50 GLN\"\ntime_max = \"1h\"\n[[task]]\nname = \"read\"\nruntime = \"wasm\"\n\
         program = \"nothing.wasm\"\neach = \"0..{}\"\ntime_max = \"30m\"\n[task.needs]\nmemory = \"16MiB\"\n\
         [[task.input]]\nname = \"data\"\nfile = \"{}\"\n",
        WORKERS - 1,
        Data::Random.name()
    )
}

fn wait_for(path: &Path) -> Result<()> {
    for _ in 0..400 {
        if path.exists() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    bail!("{} does not come", path.display())
}

/// Until the hub knows all workers.
fn all_there(requester: &Host, gleaner: &str) -> Result<()> {
    for _ in 0..120 {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{gleaner} worker list --json")]);
        let output = requester.machine.run(command).context("listing workers")?;
        if String::from_utf8_lossy(&output.stdout).matches("\"worker-").count() >= WORKERS {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    bail!("the workers do not come")
}
