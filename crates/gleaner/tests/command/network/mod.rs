//! A real network for tests: the built binary as hub and workers, each a process that ends with the test.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use gleaner_client::data::Account;
use gleaner_client::{Client, Heard, HubAddress, Token};
use gleaner_wire::api::{JobView, Live, WorkerView};
use gleaner_wire::{JobId, State};
use tokio::runtime::Runtime;

/// A test that waits longer than this for something has failed.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A hub, workers, and a folder for everything.
pub struct Network {
    folder: tempfile::TempDir,
    runtime: Runtime,
    hub: Option<Process>,
    pub workers: Vec<Process>,
    /// What the hub is told besides where to listen.
    options: Vec<String>,
    machines: u32,
    scheme: String,
    listen: String,
}

/// A process that is killed when dropped.
pub struct Process(Child);

impl Process {
    /// Kills it as a power cut would.
    pub fn kill(mut self) {
        self.end();
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    fn end(&mut self) {
        self.0.kill().expect("it can be killed");
        self.0.wait().expect("it can be waited for");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// What a command printed and how it ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("it prints text");
        Self {
            code: output.status.code().expect("it ended by itself"),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

impl Ended {
    /// Fails the test if the command failed.
    pub fn succeeded(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }
}

/// The folder of this package's sources. Asked for when the test runs: what was built may serve a checkout elsewhere.
pub fn sources() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo tells tests where their package is").into()
}

/// The program under test, without the environment's own settings.
pub fn gleaner() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
    command.env_remove("GLEANER_HUB").env_remove("GLEANER_DIR").env_remove("GLEANER_LOG");
    command.env_remove("OTEL_EXPORTER_OTLP_ENDPOINT").env("NO_COLOR", "1");
    command.stdin(Stdio::null());
    command
}

impl Network {
    /// A hub and so many workers that share the processor; all of them have joined.
    pub fn start(workers: usize) -> Self {
        Self::with(|_| ["--chain", "none", "--trust-workers"].map(str::to_owned).into(), workers)
    }

    /// The same with money on a chain inside the hub.
    pub fn with_chain(workers: usize) -> Self {
        Self::with(|_| ["--chain", "embedded", "--no-tests"].map(str::to_owned).into(), workers)
    }

    /// The same with a hub that is told what `prepare` returns, which may put things into the state's folder before.
    pub fn with(prepare: impl FnOnce(&Path) -> Vec<String>, workers: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = prepare(&folder.path().join("state"));
        let runtime = Runtime::new().expect("a runtime");
        let (scheme, listen) = ("http".to_owned(), "127.0.0.1:0".to_owned());
        let mut network =
            Self { folder, runtime, hub: None, workers: Vec::new(), machines: 0, scheme, listen, options };
        network.start_hub();
        for _ in 0..workers {
            network.start_worker();
        }
        network.wait_for_workers(workers);
        network
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn state(&self) -> PathBuf {
        self.folder().join("state")
    }

    /// Starts the hub, on the same port as before if it ran before.
    pub fn start_hub(&mut self) {
        let log = std::fs::File::options().create(true).append(true).open(self.folder().join("hub.log"));
        let mut child = gleaner()
            .arg("--dir")
            .arg(self.state())
            .args(["hub", "--listen", &self.listen])
            .args(&self.options)
            .stdout(Stdio::piped())
            .stderr(log.expect("a log"))
            .spawn()
            .expect("the hub starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("the output is piped");
        BufReader::new(output).read_line(&mut line).expect("the hub says its address");
        let log = || std::fs::read_to_string(self.folder().join("hub.log")).unwrap_or_default();
        let said = line.trim().split_once("://").unwrap_or_else(|| panic!("the hub ended: {}", log()));
        (self.scheme, self.listen) = (said.0.to_owned(), said.1.to_owned());
        self.hub = Some(Process(child));
    }

    pub fn hub_id(&self) -> u32 {
        self.hub.as_ref().expect("the hub runs").id()
    }

    pub fn kill_hub(&mut self) {
        self.hub.take().expect("the hub runs").kill();
    }

    /// Starts a worker on a machine that the hub has not seen before.
    pub fn start_worker(&mut self) {
        let url = self.url();
        self.start_worker_at(&url);
    }

    /// Starts a worker that reaches the hub at this address.
    pub fn start_worker_at(&mut self, url: &str) {
        self.start_worker_with(url, &["--no-gpu", "--cpu-slots", "4", "--no-containers", "--no-blender"], &[]);
    }

    /// Starts a worker with these options and this environment, on a machine at which nobody sits.
    pub fn start_worker_with(&mut self, url: &str, options: &[&str], environment: &[(&str, &str)]) {
        self.machines += 1;
        let number = self.machines.to_string();
        let log = std::fs::File::create(self.folder().join(format!("worker-{number}.log"))).expect("a log");
        let child = gleaner()
            .arg("--dir")
            .arg(self.state())
            .args(["share", "--hub", url, "--number", &number, "--name", &format!("worker-{number}")])
            .arg("--dedicated")
            .args(options)
            .envs(environment.iter().copied())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the worker starts");
        self.workers.push(Process(child));
    }

    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.listen)
    }

    pub fn client(&self) -> Client {
        let token = Token::read(&self.state().join("hub/api.token")).expect("the hub made its token");
        let account = Account::open(&self.state().join("data")).expect("an account");
        Client::at(&self.address(), token, "local").expect("a client").with_account(account)
    }

    /// Who vouches for an encrypted hub, if a test has put that there.
    pub fn authority(&self) -> PathBuf {
        self.folder().join("ca.pem")
    }

    fn address(&self) -> HubAddress {
        let authority = (self.scheme == "https").then(|| self.authority());
        HubAddress::parse(&self.url(), authority.as_deref()).expect("an address")
    }

    /// Waits until so many workers are there.
    pub fn wait_for_workers(&self, count: usize) -> Vec<WorkerView> {
        self.wait(&async |client: &Client| {
            let mut workers = client.workers().await.expect("the hub answers");
            workers.retain(|worker| worker.state != State::Offline);
            (workers.len() >= count).then_some(workers)
        })
    }

    /// Waits until the hub has tested all that so many workers offer.
    pub fn wait_for_tests(&self, count: usize) -> Vec<WorkerView> {
        self.wait(&async |client: &Client| {
            let workers = client.workers().await.expect("the hub answers");
            let is_tested = |worker: &&WorkerView| {
                !worker.tests.is_empty() && worker.tests.iter().all(|test| test.score.is_some() || !test.why.is_empty())
            };
            (workers.iter().filter(is_tested).count() >= count).then_some(workers)
        })
    }

    /// Waits until the job satisfies a condition.
    pub fn wait_for_job(&self, job: JobId, condition: impl Fn(&JobView) -> bool) -> JobView {
        self.wait(&async |client: &Client| {
            let view = client.job(job).await.expect("the hub answers");
            condition(&view).then_some(view)
        })
    }

    /// Waits for something that `look` finds; it looks again whenever the hub says that something happened.
    fn wait<T>(&self, look: &impl AsyncFn(&Client) -> Option<T>) -> T {
        self.runtime.block_on(wait(&self.client(), look))
    }

    /// Runs something that asks the hub.
    pub fn ask<T>(&self, question: impl AsyncFnOnce(Client) -> T) -> T {
        self.runtime.block_on(question(self.client()))
    }

    /// A command to this network, to be run in its folder.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = gleaner();
        command.current_dir(self.folder()).arg("--dir").arg(self.state()).args(args);
        command
    }

    /// Gives workers the keys of a job until this is dropped.
    pub fn attend(&self, job: JobId) -> Process {
        let mut command = self.command(&["job", "attend", &job.to_string()]);
        Process(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"))
    }

    /// Runs a command to its end.
    pub fn run(&self, args: &[&str]) -> Ended {
        self.command(args).output().expect("it runs").into()
    }

    /// Writes a file beside the job files.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.folder().join(name), content).expect("it can be written");
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        let path = self.folder().join(name);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Submits a job file and returns the job.
    pub fn submit(&self, name: &str, content: &str) -> JobId {
        self.write(name, content);
        let ended = self.run(&["run", "--detach", name]).succeeded();
        JobId(ended.stdout.trim().parse().expect("a job's number"))
    }
}

/// Waits for something that `look` finds; it looks again whenever the hub says that something happened.
pub async fn wait<T>(client: &Client, look: &impl AsyncFn(&Client) -> Option<T>) -> T {
    let waiting = async {
        let mut events = client.events();
        loop {
            match events.next().await.expect("the hub is there") {
                Heard::Connected | Heard::Live(Live::Job(_) | Live::Worker { .. }) => {}
                Heard::Live(Live::Failure { .. } | Live::Missed { .. }) => {}
            }
            if let Some(found) = look(client).await {
                return found;
            }
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("it happens before patience ends")
}
