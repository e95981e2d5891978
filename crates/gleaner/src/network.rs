//! A whole network on this machine: a hub and workers as processes of their own, which end with this one.
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use gleaner_client::data::Account;
use gleaner_client::{Client, Token};
use gleaner_wire::State;
use gleaner_wire::api::WorkerView;
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, interval, timeout};

use crate::failure::Advice;

const HUB: &str = "hub";
/// How long a hub or the self-tests of workers may take to be ready.
const READY_TIME_MAX: Duration = Duration::from_secs(120);
/// How long a process may take to end when asked: longer than a hub waits for whoever still uses its folder, and for what runs on
/// a thread of its own.
const STOP_TIME_MAX: Duration = Duration::from_secs(30);
/// How often a process is looked after while others are waited for.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The wait before a process that ended by itself is started again: the first, and the longest.
const RESTART_DELAY_FIRST: Duration = Duration::from_secs(1);
const RESTART_DELAY_MAX: Duration = Duration::from_secs(30);
/// A process that ran for so long is well: should it end, the waits begin anew.
const WELL_AFTER: Duration = Duration::from_secs(60);
/// How much of a log is shown when its process ended early.
const LOG_LINES_SHOWN: usize = 12;

/// What to start.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The state folder.
    pub folder: PathBuf,
    /// Where the processes' logs go.
    pub logs: PathBuf,
    /// Where the hub listens.
    pub listen: SocketAddr,
    /// How many workers.
    pub workers: u32,
    /// Options of the hub beside where it listens.
    pub hub: Vec<String>,
    /// Options of each worker's `gleaner share`.
    pub share: Vec<String>,
    /// Environment of each worker.
    pub environment: Vec<(&'static str, &'static str)>,
}

/// One process.
struct Member {
    name: String,
    child: Child,
    log: PathBuf,
    started: Instant,
    /// How often it was started again without being well in between.
    restarts: u32,
    /// When it is to be started again, if it has ended.
    due: Option<Instant>,
}

/// A running network.
pub struct Network {
    plan: Plan,
    /// What people write to reach its hub.
    url: String,
    /// A client of its hub.
    pub client: Client,
    hub: Member,
    workers: Vec<Member>,
    /// How many workers were started so far, each with a number of its own.
    started: u32,
}

impl Network {
    /// Starts the hub, waits until it listens, and starts the workers.
    pub async fn start(mut plan: Plan) -> Result<Self> {
        for folder in [&plan.folder, &plan.logs] {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        plan.remove_logs()?;
        let (hub, url) = plan.start_hub().await?;
        // Started again, it is to be found where it was. A hub that people see under a name has a port of its own already.
        let address = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        plan.listen = address.and_then(|address| address.parse().ok()).unwrap_or(plan.listen);
        let own = plan.own_url()?;
        let token = Token::read(&plan.folder.join("hub/api.token"))?;
        let account = Account::open(&plan.folder.join("data"))?;
        let client = Client::new(&own, token, "local")?.with_account(account);
        let started = plan.workers;
        let mut network = Self { url, client, hub, workers: Vec::new(), plan, started };
        for number in 1..=network.plan.workers {
            let worker = network.plan.start_worker(network.client.url(), number)?;
            network.workers.push(worker);
        }
        Ok(network)
    }

    /// What people write to reach its hub. Its own client and workers take the shorter way.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Starts what has ended by itself again, the hub where it was and each worker as the one it was. Returns a line
    /// for each process that was found ended or did not start.
    pub async fn mend(&mut self) -> Result<Vec<String>> {
        let now = Instant::now();
        let members = std::iter::once(&mut self.hub).chain(&mut self.workers);
        let mut lines: Vec<String> =
            members.filter_map(|member| member.notice_end(now).transpose()).collect::<Result<_>>()?;
        if self.hub.is_due(now) {
            match self.plan.start_hub().await {
                Ok((hub, _)) => self.hub = hub.instead_of(&self.hub),
                Err(error) => {
                    let delay = self.hub.postpone(Instant::now()).as_secs();
                    lines.push(format!("the hub did not start and is tried again in {delay} s: {error}"));
                }
            }
        }
        for (number, worker) in (1..).zip(&mut self.workers) {
            if worker.is_due(now) {
                *worker = self.plan.start_worker(self.client.url(), number)?.instead_of(worker);
            }
        }
        Ok(lines)
    }

    /// Starts one more worker, with options of its own. Returns its number.
    pub fn add_worker(&mut self, options: &[&str]) -> Result<u32> {
        self.started += 1;
        let number = self.started;
        let mut plan = self.plan.clone();
        plan.share.extend(options.iter().map(|option| (*option).to_owned()));
        let worker = plan.start_worker(self.client.url(), number)?;
        self.workers.push(worker);
        Ok(number)
    }

    /// Waits until every worker has passed its self-test and joined.
    pub async fn ready(&mut self) -> Result<Vec<WorkerView>> {
        let deadline = Instant::now() + READY_TIME_MAX;
        let mut events = self.client.events();
        let mut look = interval(LOOK_EVERY);
        loop {
            tokio::select! {
                heard = events.next() => { heard?; }
                _ = look.tick() => self.check()?,
            }
            let mut workers = self.client.workers().await?;
            workers.retain(|worker| worker.state != State::Offline);
            if workers.len() >= self.workers.len() {
                workers.sort_by(|one, other| one.offer.name.cmp(&other.offer.name));
                return Ok(workers);
            }
            if Instant::now() > deadline {
                let logs = self.plan.logs.display();
                bail!("only {} of {} workers joined; their logs are in {logs}", workers.len(), self.workers.len());
            }
        }
    }

    /// Says if a process has ended that should not have.
    pub fn check(&mut self) -> Result<()> {
        let members = std::iter::once(&mut self.hub).chain(&mut self.workers);
        for member in members {
            if let Some(status) = member.child.try_wait().context("cannot ask for the state of a process")? {
                return Err(member.ended_early(&status.to_string()).into());
            }
        }
        Ok(())
    }

    /// Holds a worker still, so that it delivers nothing more, or lets it go on.
    pub fn hold(&self, name: &str, held: bool) {
        let signal = if held { Signal::STOP } else { Signal::CONT };
        if let Some(member) = self.workers.iter().find(|member| member.name == name) {
            member.send(signal);
        }
    }

    /// Kills a worker on the spot, as a power cut would.
    pub async fn kill(&mut self, name: &str) -> Result<()> {
        let place = self.workers.iter().position(|member| member.name == name);
        let mut member = self.workers.remove(place.with_context(|| format!("no worker is called {name}"))?);
        member.child.kill().await.with_context(|| format!("cannot kill {name}"))
    }

    /// Asks every worker but the first to end, and waits for it.
    pub async fn stop_all_but_one(&mut self) -> Result<()> {
        while self.workers.len() > 1 {
            if let Some(member) = self.workers.pop() {
                member.stop().await?;
            }
        }
        Ok(())
    }

    /// The names of the workers that run.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.workers.iter().map(|member| member.name.as_str())
    }

    /// The hub's process.
    pub fn hub_pid(&self) -> Result<u32> {
        self.hub.child.id().context("the hub has ended")
    }

    /// The workers' processes.
    pub fn worker_pids(&self) -> impl Iterator<Item = u32> {
        self.workers.iter().filter_map(|member| member.child.id())
    }

    /// Ends everything, the workers first.
    pub async fn stop(mut self) -> Result<()> {
        let members: Vec<Member> = self.workers.drain(..).collect();
        for member in &members {
            member.ask_to_stop();
        }
        for member in members {
            member.stop().await?;
        }
        self.hub.stop().await
    }
}

impl Plan {
    fn log_of(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.log"))
    }

    /// Logs of an earlier network would only confuse.
    fn remove_logs(&self) -> Result<()> {
        for name in (1..=self.workers).map(worker_name).chain([HUB.to_owned()]) {
            let log = self.log_of(&name);
            match std::fs::remove_file(&log) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("cannot remove {}", log.display()));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Starts the hub and waits until it says its address.
    async fn start_hub(&self) -> Result<(Member, String)> {
        let listen = self.listen.to_string();
        let mut args = vec!["hub", "--listen", &listen];
        args.extend(self.hub.iter().map(String::as_str));
        let mut hub = self.spawn(HUB, &args, Stdio::piped(), &[])?;
        let url = hub.first_line().await?;
        Ok((hub, url))
    }

    /// What programs on this machine write to reach the hub, as it has left it for them.
    fn own_url(&self) -> Result<String> {
        let file = self.folder.join("hub/address");
        let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(text.trim().to_owned())
    }

    fn start_worker(&self, hub: &str, number: u32) -> Result<Member> {
        let (name, number) = (worker_name(number), number.to_string());
        let mut args = vec!["share", "--hub", hub, "--number", &number, "--name", &name];
        args.extend(self.share.iter().map(String::as_str));
        self.spawn(&name, &args, Stdio::null(), &self.environment)
    }

    fn spawn(&self, name: &str, args: &[&str], output: Stdio, environment: &[(&str, &str)]) -> Result<Member> {
        let log = self.log_of(name);
        // A process that is started again adds to what the one before it said.
        let file = File::options().create(true).append(true).open(&log);
        let file = file.with_context(|| format!("cannot write {}", log.display()))?;
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let child = Command::new(&program)
            .arg("--dir")
            .arg(&self.folder)
            .args(["--with-parent", &std::process::id().to_string()])
            .args(args)
            .envs(environment.iter().copied())
            .env_remove("GLEANER_HUB")
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(file)
            // Ctrl-C in the terminal is for this process alone: it ends the others in order.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {} {name}", program.display()))?;
        Ok(Member { name: name.to_owned(), child, log, started: Instant::now(), restarts: 0, due: None })
    }
}

impl Member {
    /// The first line of stdout: what the process says when it is ready.
    async fn first_line(&mut self) -> Result<String> {
        let output = self.child.stdout.take().context("the output was read before")?;
        let mut line = String::new();
        let read = timeout(READY_TIME_MAX, BufReader::new(output).read_line(&mut line)).await;
        let read = read.with_context(|| format!("{} was not ready in time", self.name))?;
        if read.with_context(|| format!("cannot read what {} says", self.name))? == 0 {
            let status = self.child.wait().await.context("cannot wait for a process")?;
            return Err(self.ended_early(&status.to_string()).into());
        }
        Ok(line.trim().to_owned())
    }

    fn ended_early(&self, status: &str) -> Advice {
        let said = last_lines(&self.log);
        let problem = format!("{} ended by itself ({status}). It said:\n{said}", self.name);
        Advice::new(problem, format!("its whole log is {}", self.log.display()))
    }

    /// Says if the process is found ended, once, and plans its next start.
    fn notice_end(&mut self, now: Instant) -> Result<Option<String>> {
        if self.due.is_some() {
            return Ok(None);
        }
        let Some(status) = self.child.try_wait().context("cannot ask for the state of a process")? else {
            return Ok(None);
        };
        if now.duration_since(self.started) >= WELL_AFTER {
            self.restarts = 0;
        }
        let delay = self.postpone(now).as_secs();
        let log = self.log.display();
        Ok(Some(format!(
            "{} ended by itself ({status}) and is started again in {delay} s; its log is {log}",
            self.name
        )))
    }

    fn postpone(&mut self, now: Instant) -> Duration {
        let delay = restart_delay(self.restarts);
        self.restarts = self.restarts.saturating_add(1);
        self.due = Some(now + delay);
        delay
    }

    fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    fn instead_of(self, ended: &Self) -> Self {
        Self { restarts: ended.restarts, ..self }
    }

    fn ask_to_stop(&self) {
        self.send(Signal::TERM);
    }

    fn send(&self, signal: Signal) {
        let id = self.child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
        if let Some(id) = id {
            // It may have ended in between; whoever sends a signal looks at what became of the process.
            let _ended = rustix::process::kill_process(id, signal);
        }
    }

    async fn stop(mut self) -> Result<()> {
        self.ask_to_stop();
        if timeout(STOP_TIME_MAX, self.child.wait()).await.is_err() {
            tracing::warn!(name = self.name, "did not end when asked and is killed");
            self.child.kill().await.with_context(|| format!("cannot kill {}", self.name))?;
        }
        Ok(())
    }
}

/// The name of a worker of the network, by its number from 1.
pub fn worker_name(number: u32) -> String {
    format!("worker-{number}")
}

/// The wait before a start, by how many there were in a row.
fn restart_delay(restarts: u32) -> Duration {
    RESTART_DELAY_FIRST.saturating_mul(1_u32.checked_shl(restarts).unwrap_or(u32::MAX)).min(RESTART_DELAY_MAX)
}

fn last_lines(log: &Path) -> String {
    let text = std::fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.len().saturating_sub(LOG_LINES_SHOWN);
    lines[start..].iter().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

/// Makes the kernel end this process when its parent ends, however that happens.
pub fn die_with(parent: i32) -> Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .context("cannot tie this process to its parent")?;
    let now = rustix::process::getppid().map(|id| id.as_raw_nonzero().get());
    // The parent may have ended before the kernel was told.
    if now != Some(parent) {
        bail!("the process {parent} that started this one has ended");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_before_a_start_double_up_to_a_limit() {
        let waits = [0, 1, 2, 4, 5, 40, u32::MAX].map(|restarts| restart_delay(restarts).as_secs());
        assert_eq!(waits, [1, 2, 4, 16, 30, 30, 30]);
    }
}
