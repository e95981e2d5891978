//! A whole network on this machine: a hub and workers as processes of their own, which end with this one.
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use gleaner_client::{Client, Token};
use gleaner_wire::State;
use gleaner_wire::api::WorkerView;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, interval, timeout};

use crate::failure::Advice;

/// How long a hub or the self-tests of workers may take to be ready.
const READY_TIME_MAX: Duration = Duration::from_secs(120);
/// How long a process may take to end when asked.
const STOP_TIME_MAX: Duration = Duration::from_secs(10);
/// How often a process is looked after while others are waited for.
const LOOK_EVERY: Duration = Duration::from_millis(250);
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
}

/// A running network.
pub struct Network {
    plan: Plan,
    /// A client of its hub.
    pub client: Client,
    hub: Member,
    workers: Vec<Member>,
}

impl Network {
    /// Starts the hub, waits until it listens, and starts the workers.
    pub async fn start(plan: Plan) -> Result<Self> {
        for folder in [&plan.folder, &plan.logs] {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        let mut hub = plan.spawn("hub", &["hub", "--listen", &plan.listen.to_string()], Stdio::piped(), &[])?;
        let url = hub.first_line().await?;
        let token = Token::read(&plan.folder.join("hub/api.token"))?;
        let client = Client::new(&url, token, "local")?;
        let mut network = Self { client, hub, workers: Vec::new(), plan };
        for number in 1..=network.plan.workers {
            network.start_worker(number)?;
        }
        Ok(network)
    }

    fn start_worker(&mut self, number: u32) -> Result<()> {
        let (name, number) = (worker_name(number), number.to_string());
        let mut args = vec!["share", "--hub", self.client.url(), "--number", &number, "--name", &name];
        args.extend(self.plan.share.iter().map(String::as_str));
        let member = self.plan.spawn(&name, &args, Stdio::null(), &self.plan.environment)?;
        self.workers.push(member);
        Ok(())
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
    fn spawn(&self, name: &str, args: &[&str], output: Stdio, environment: &[(&str, &str)]) -> Result<Member> {
        let log = self.logs.join(format!("{name}.log"));
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
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
        Ok(Member { name: name.to_owned(), child, log })
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

    fn ask_to_stop(&self) {
        let id = self.child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
        if let Some(id) = id {
            // It may have ended in between, which is what is wanted.
            let _ended = rustix::process::kill_process(id, rustix::process::Signal::TERM);
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

fn last_lines(log: &Path) -> String {
    let text = std::fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.len().saturating_sub(LOG_LINES_SHOWN);
    lines[start..].iter().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

/// Makes the kernel end this process when its parent ends, however that happens.
pub fn die_with(parent: i32) -> Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .context("cannot tie this process to its parent")?;
    let now = rustix::process::getppid().map(|id| id.as_raw_nonzero().get());
    // The parent may have ended before the kernel was told.
    if now != Some(parent) {
        bail!("the process {parent} that started this one has ended");
    }
    Ok(())
}
