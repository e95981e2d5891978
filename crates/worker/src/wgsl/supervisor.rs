//! The worker's side of a kernel process: starts it, asks it, and kills it when it hangs.
use std::io::{self, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use gleaner_wire::{AttemptId, Cause, JobId, Micros};

use super::message::{Adapter, Answer, Ask, Dispatch, TooLarge, frame, read_frame};
use crate::failure::{End, Failure, Run};
use crate::product::Product;
use crate::watch::{Cancels, Interruption, LOOK_UP, Watch};

/// How long drivers may take to show their adapters or to open one.
const OPEN_TIME_MAX: Duration = Duration::from_secs(30);
/// How long a self-test may take.
const TEST_TIME_MAX: Duration = Duration::from_secs(60);
/// What a process gets beyond a time limit to say by itself that it was reached.
const GRACE: Duration = Duration::from_millis(500);
const NOISE_BYTES: usize = 4096;

/// How kernel processes are started.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The executable, called with `wgsl-child`.
    pub executable: PathBuf,
    /// A private folder for drivers that want one.
    pub runtime_dir: PathBuf,
}

/// A running kernel process. It is killed when this is dropped.
struct Process {
    child: Child,
    to: ChildStdin,
    answers: Receiver<io::Result<(Answer, Vec<u8>)>>,
    output_bytes_max: Arc<AtomicU64>,
}

/// One device, served by one kernel process at a time, which is replaced with every job.
pub struct Supervisor {
    launcher: Launcher,
    adapter: Adapter,
    process: Option<(JobId, Process)>,
}

/// What an adapter's self-test found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    /// Speed, 1000 being the reference.
    pub score: u32,
    /// Loop iterations after which the device stops counting.
    pub loops_max: Option<u64>,
}

impl Launcher {
    /// The adapters that drivers show, asked in a process of its own.
    pub fn adapters(&self) -> Result<Vec<Adapter>, Failure> {
        match self.start()?.ask(&Ask::List, 0, &patience(OPEN_TIME_MAX))?.0 {
            Answer::Adapters(adapters) => Ok(adapters),
            answer => Err(unexpected(&answer)),
        }
    }

    /// Tests one adapter in a process of its own.
    pub fn test(&self, adapter: &Adapter) -> Result<Speed, Failure> {
        let mut process = self.open(adapter, &patience(OPEN_TIME_MAX))?;
        match process.ask(&Ask::Test, 0, &patience(TEST_TIME_MAX))?.0 {
            Answer::Tested { score, loops_max } => Ok(Speed { score, loops_max }),
            answer => Err(unexpected(&answer)),
        }
    }

    fn start(&self) -> Result<Process, Failure> {
        let mut command = Command::new(&self.executable);
        command.arg("wgsl-child").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Drivers complain loudly without this variable; the machine's own value wins.
        if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
            command.env("XDG_RUNTIME_DIR", &self.runtime_dir);
        }
        let mut child = command.spawn().map_err(|error| {
            let executable = self.executable.display();
            Failure::new(Cause::DeviceFault, format!("the kernel process {executable} does not start: {error}"))
        })?;
        let piped = "the process was started with pipes";
        let (to, from) = (child.stdin.take().expect(piped), child.stdout.take().expect(piped));
        let noise = child.stderr.take().expect(piped);
        let output_bytes_max = Arc::new(AtomicU64::new(0));
        let (send, answers) = mpsc::sync_channel(1);
        let allowed = output_bytes_max.clone();
        std::thread::spawn(move || listen(from, &send, &allowed));
        std::thread::spawn(move || note(noise));
        Ok(Process { child, to, answers, output_bytes_max })
    }

    fn open(&self, adapter: &Adapter, watch: &Watch) -> Result<Process, Failure> {
        let mut process = self.start()?;
        match process.ask(&Ask::Open(Box::new(adapter.clone())), 0, watch)?.0 {
            Answer::Opened => Ok(process),
            answer => Err(unexpected(&answer)),
        }
    }
}

fn unexpected(answer: &Answer) -> Failure {
    match answer {
        Answer::Failed { cause, detail, .. } => Failure::new(*cause, detail.clone()),
        Answer::Adapters(_) | Answer::Opened | Answer::Tested { .. } | Answer::Done { .. } => {
            Failure::new(Cause::DeviceFault, "the kernel process answered something else")
        }
    }
}

/// Short inputs travel inside the question, and gathered ones add up.
fn too_large(error: TooLarge) -> Failure {
    let text = format!("the kernel and its short inputs do not fit into a message to the kernel process: {error}");
    Failure::new(Cause::BadInput, text)
}

/// A watch over something that is not an attempt.
fn patience(time: Duration) -> Watch {
    Watch::start(AttemptId(0), time, Arc::new(Cancels::default()))
}

/// Reads answers until the process ends. Output is read only as far as it was asked for.
fn listen(from: ChildStdout, to: &mpsc::SyncSender<io::Result<(Answer, Vec<u8>)>>, output_bytes_max: &AtomicU64) {
    let mut from = BufReader::new(from);
    loop {
        let answer = read_answer(&mut from, output_bytes_max).transpose();
        let Some(answer) = answer else { return };
        let failed = answer.is_err();
        if to.send(answer).is_err() || failed {
            return;
        }
    }
}

fn read_answer(from: &mut impl Read, output_bytes_max: &AtomicU64) -> io::Result<Option<(Answer, Vec<u8>)>> {
    let Some(answer) = read_frame::<Answer>(from)? else { return Ok(None) };
    // Read after the answer has come: before, the question may not have been asked yet.
    let output_bytes_max = output_bytes_max.load(Ordering::Acquire);
    let bytes = match answer {
        Answer::Done { output_bytes, .. } if output_bytes > output_bytes_max => {
            return Err(io::Error::other("the output is larger than its buffer"));
        }
        Answer::Done { output_bytes, .. } => output_bytes,
        Answer::Adapters(_) | Answer::Opened | Answer::Tested { .. } | Answer::Failed { .. } => 0,
    };
    let mut output = Vec::new();
    from.take(bytes).read_to_end(&mut output)?;
    if output.len() as u64 != bytes {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((answer, output)))
}

/// What drivers print is for whoever looks for a fault in them.
fn note(mut noise: ChildStderr) {
    let mut buffer = [0; NOISE_BYTES];
    while let Ok(count @ 1..) = noise.read(&mut buffer) {
        tracing::debug!(target: "driver", "{}", String::from_utf8_lossy(&buffer[..count]).trim_end());
    }
}

impl Process {
    /// Asks and waits for the answer for as long as the watch allows. After an error the process is of no use.
    fn ask(&mut self, ask: &Ask, output_bytes_max: u64, watch: &Watch) -> Result<(Answer, Vec<u8>), Failure> {
        self.ask_frame(&frame(ask).map_err(too_large)?, output_bytes_max, watch)
    }

    /// Asks what was put into a frame before.
    fn ask_frame(&mut self, ask: &[u8], output_bytes_max: u64, watch: &Watch) -> Result<(Answer, Vec<u8>), Failure> {
        self.output_bytes_max.store(output_bytes_max, Ordering::Release);
        if self.to.write_all(ask).and_then(|()| self.to.flush()).is_err() {
            return Err(self.crashed("it takes no questions"));
        }
        loop {
            match self.answers.recv_timeout(LOOK_UP) {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => return Err(self.crashed(&error.to_string())),
                Err(RecvTimeoutError::Disconnected) => return Err(self.crashed("it ended")),
                Err(RecvTimeoutError::Timeout) => match watch.check() {
                    Ok(()) => {}
                    Err(Interruption::Cancelled) => return Err(Failure::new(Cause::RefusedByOwner, "cancelled")),
                    Err(Interruption::TimeLimit) => {
                        return Err(Failure::new(Cause::TimeLimit, "the kernel never ended and was killed"));
                    }
                },
            }
        }
    }

    fn crashed(&mut self, how: &str) -> Failure {
        // The streams end a moment before the process does; killing it makes sure that it has ended.
        let _ = self.child.kill();
        let status = self.child.wait().map(|status| format!(", {status}")).unwrap_or_default();
        Failure::new(Cause::DeviceFault, format!("the kernel process crashed: {how}{status}"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if the process has already ended and was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Supervisor {
    /// Serves this adapter. Call it from a thread that lives as long as the worker: on Linux kernel processes die
    /// with the thread that started them.
    pub fn new(launcher: Launcher, adapter: Adapter) -> Self {
        Self { launcher, adapter, process: None }
    }

    /// Ends the process, and with it everything that it holds of the device.
    pub fn give_back(&mut self) {
        self.process = None;
    }

    /// Runs a dispatch of a job to its end.
    pub fn run(&mut self, job: JobId, dispatch: Dispatch, attempt: AttemptId, cancels: &Arc<Cancels>) -> Run {
        match self.try_run(job, dispatch, attempt, cancels) {
            Ok((ran, output)) => Run { ran, end: End::Done(Product { stdout: output.into(), files: Vec::new() }) },
            Err((ran, _)) if cancels.has(attempt) => Run { ran, end: End::Cancelled },
            Err((ran, failure)) => Run { ran, end: End::Failed(failure) },
        }
    }

    fn try_run(
        &mut self,
        job: JobId,
        dispatch: Dispatch,
        attempt: AttemptId,
        cancels: &Arc<Cancels>,
    ) -> Result<(Micros, Vec<u8>), (Micros, Failure)> {
        let (output_bytes, time_ms_max) = (dispatch.output_bytes, dispatch.time_ms_max);
        // Before the process is touched: what is too large is the job's fault and no reason for another process.
        let ask = frame(&Ask::Run(Box::new(dispatch))).map_err(|error| (Micros(0), too_large(error)))?;
        let opening = Watch::start(attempt, OPEN_TIME_MAX, cancels.clone());
        let mut process = self.process_for(job, &opening).map_err(|failure| (Micros(0), not_opened(failure)))?;
        let begun = std::time::Instant::now();
        let time = Duration::from_millis(time_ms_max).saturating_add(GRACE);
        let watch = Watch::start(attempt, time, cancels.clone());
        let answer = process.ask_frame(&ask, output_bytes, &watch);
        let ran = || Micros(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX));
        let (answer, output) = answer.map_err(|failure| (ran(), failure))?;
        match answer {
            Answer::Done { ran, .. } => {
                self.process = Some((job, process));
                Ok((ran, output))
            }
            Answer::Failed { cause, detail, usable } => {
                if usable {
                    self.process = Some((job, process));
                }
                Err((ran(), Failure::new(cause, detail)))
            }
            answer => Err((ran(), unexpected(&answer))),
        }
    }

    /// The process that serves this job, taken out: it is put back only if it may be used again.
    fn process_for(&mut self, job: JobId, watch: &Watch) -> Result<Process, Failure> {
        match self.process.take() {
            Some((serves, process)) if serves == job => Ok(process),
            Some(_) | None => self.launcher.open(&self.adapter, watch),
        }
    }
}

/// That a device does not open in time is its fault, not the program's.
fn not_opened(failure: Failure) -> Failure {
    match failure.cause {
        Cause::TimeLimit => Failure::new(Cause::DeviceFault, "the device did not open in time"),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use gleaner_wire::DeviceKind;

    use super::*;
    use crate::wgsl::message::Piece;

    #[test]
    fn inputs_that_no_message_holds_are_bad_input_and_not_the_devices_fault() {
        let nowhere = Launcher { executable: "/there/is/none".into(), runtime_dir: "/there/is/none".into() };
        let adapter = Adapter {
            name: String::new(),
            driver: String::new(),
            backend: String::new(),
            kind: DeviceKind::Cpu,
            ids: (0, 0),
            bus: String::new(),
            twin: 0,
            discrete: false,
            buffer_bytes_max: 0,
        };
        let dispatch = Dispatch {
            source: String::new(),
            entry: String::new(),
            finish: None,
            passes: 1,
            invocations: (1, 1),
            parameters: Vec::new(),
            output_bytes: 4,
            scratch_bytes: 0,
            inputs: vec![vec![Piece::Bytes(vec![0; 1 << 20]); 16]],
            memory_max: 1 << 30,
            time_ms_max: 1000,
        };
        let run = Supervisor::new(nowhere, adapter).run(JobId(1), dispatch, AttemptId(1), &Arc::default());
        let End::Failed(failure) = run.end else { panic!("it cannot run") };
        assert_eq!(failure.cause, Cause::BadInput, "{failure}");
        assert!(failure.detail.contains("16777216"), "{failure}");
    }
}
