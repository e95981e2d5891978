//! A hub with workers that do exactly what a test tells them.
use std::collections::BTreeMap;

use gleaner_core::ledger::Account;
use gleaner_core::plan::{Graph, plan};
use gleaner_core::{Core, Effect, Event, Params, Session, Ticket};
use gleaner_wire::api::JobState;
use gleaner_wire::job_file::{
    BlenderFile, Budget, ContainerFile, JobFile, KernelFile, NeedsFile, Prefer, Source, TaskFile,
};
use gleaner_wire::market::Market;
use gleaner_wire::{
    Amount, AttemptId, BlobRef, ByteSize, Cause, DeviceKind, DeviceOffer, Finished, Hash, JobId, Micros, Millis, Offer,
    Outcome, Output, Runtime, RuntimeOffer, StartAttempt, WorkerId, WorkerKey,
};

pub struct Network {
    pub core: Core,
    pub now: Millis,
    effects: Vec<Effect>,
    sessions: u64,
    /// The most recent connection of each worker.
    connected: BTreeMap<WorkerId, Session>,
    submissions: u128,
}

/// A CPU worker's offer.
pub fn offer(name: &str, score: u32, price: u64) -> Offer {
    let runtimes = vec![RuntimeOffer { runtime: Runtime::Wasm, score, loops_max: None, engine: None }];
    let device = DeviceOffer {
        kind: DeviceKind::Cpu,
        name: "cpu".into(),
        memory: ByteSize::mib(4096),
        cards: 1,
        slots: 1,
        network: false,
        eevee: false,
        price_per_second: Amount(price),
        runtimes,
    };
    Offer { name: name.into(), region: "eu".into(), provider: None, devices: vec![device] }
}

pub fn task(name: &str) -> TaskFile {
    TaskFile {
        name: name.into(),
        runtime: Runtime::Wasm,
        program: Some(Source::Data(BlobRef::of(name.as_bytes()).into())),
        each: None,
        tiles: None,
        sweep: BTreeMap::new(),
        inputs: vec![],
        needs: NeedsFile::default(),
        time_max: Some("60s".into()),
        output_max: None,
        memo: false,
        args: vec!["{index}".into()],
        kernel: KernelFile::default(),
        container: ContainerFile::default(),
        blender: BlenderFile::default(),
        check: None,
    }
}

pub fn array(name: &str, count: u32) -> TaskFile {
    TaskFile { each: Some(format!("1..{count}")), ..task(name) }
}

pub fn job(tasks: Vec<TaskFile>) -> JobFile {
    let budget = Budget { price_max: Some(Amount::gln(10)), time_max: Some("1h".into()) };
    let (prefer, market) = (Prefer::Balanced, Market::default());
    JobFile { name: "job".into(), prefer, budget, market, needs: NeedsFile::default(), tasks }
}

pub fn output(number: u64) -> Output {
    Output::inline(&number.to_le_bytes()).expect("short")
}

impl Network {
    pub fn new() -> Self {
        Self::with(Params::default())
    }

    pub fn with(params: Params) -> Self {
        let mut network = Self {
            core: Core::new(params),
            now: Millis(1_000_000),
            effects: vec![],
            sessions: 0,
            connected: BTreeMap::new(),
            submissions: 0,
        };
        for requester in ["ada", "bob"] {
            let account = Account::Requester(requester.into());
            network.apply(Event::Deposited { account, amount: Amount::gln(1000) });
        }
        network
    }

    /// Applies an event; every invariant must hold afterwards.
    pub fn apply(&mut self, event: Event) {
        self.core.apply(self.now, event, &mut self.effects);
        self.core.check().expect("every invariant holds");
    }

    /// Lets time pass, ringing every alarm on the way.
    pub fn wait(&mut self, millis: u64) {
        let until = self.now.after(Millis(millis));
        while let Some(at) = self.core.next_deadline().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.apply(Event::TimePassed);
        }
        self.now = until;
        self.apply(Event::TimePassed);
    }

    /// Applies an event and says what is to be done about it.
    pub fn effects_of(&mut self, event: Event) -> Vec<Effect> {
        let before = self.effects.len();
        self.apply(event);
        self.effects[before..].to_vec()
    }

    /// Why a worker with this offer is not let in.
    pub fn join_refused(&mut self, offer: Offer) -> Option<String> {
        let mut key = [1; 32];
        key[..offer.name.len()].copy_from_slice(offer.name.as_bytes());
        self.sessions += 1;
        let session = Session(self.sessions);
        let joined = Event::WorkerJoined { key: WorkerKey(key), session, offer, resting: vec![], held: vec![] };
        self.effects_of(joined).into_iter().find_map(|effect| match effect {
            Effect::RefuseWorker { reason, .. } => Some(reason),
            _ => None,
        })
    }

    pub fn join(&mut self, offer: Offer) -> WorkerId {
        self.join_holding(offer, vec![])
    }

    pub fn join_holding(&mut self, offer: Offer, held: Vec<AttemptId>) -> WorkerId {
        self.join_as(offer, vec![], held)
    }

    pub fn join_resting(&mut self, offer: Offer, resting: Vec<u16>) -> WorkerId {
        self.join_as(offer, resting, vec![])
    }

    fn join_as(&mut self, offer: Offer, resting: Vec<u16>, held: Vec<AttemptId>) -> WorkerId {
        let mut key = [0; 32];
        key[..offer.name.len()].copy_from_slice(offer.name.as_bytes());
        self.sessions += 1;
        let session = Session(self.sessions);
        self.apply(Event::WorkerJoined { key: WorkerKey(key), session, offer, resting, held });
        let worker = self.core.worker_by_key(&WorkerKey(key)).expect("it joined");
        self.connected.insert(worker, session);
        worker
    }

    /// Ends the worker's most recent connection.
    pub fn leave(&mut self, worker: WorkerId) {
        for session in 1..=self.sessions {
            self.apply(Event::WorkerLeft { worker, session: Session(session) });
        }
    }

    pub fn submit(&mut self, requester: &str, file: &JobFile) -> JobId {
        self.try_submit(requester, file).expect("the job is taken")
    }

    pub fn try_submit(&mut self, requester: &str, file: &JobFile) -> Result<JobId, String> {
        self.submit_graph(requester, plan(file).expect("the job makes sense"))
    }

    pub fn submit_graph(&mut self, requester: &str, graph: Graph) -> Result<JobId, String> {
        self.submissions += 1;
        let before = self.effects.len();
        let (ticket, submission, requester) = (Ticket(7), self.submissions, requester.into());
        self.apply(Event::JobSubmitted { ticket, submission, requester, graph, order: None });
        let answer = self.effects[before..].iter().find_map(|effect| match effect {
            Effect::AcceptJob { job, .. } => Some(Ok(*job)),
            Effect::RefuseJob { reason, .. } => Some(Err(reason.clone())),
            _ => None,
        });
        answer.expect("a submission is answered")
    }

    /// Takes effects of a kind out of those that came since they were last taken.
    pub fn take_effects(&mut self, of: impl Fn(&Effect) -> bool) -> Vec<Effect> {
        let taken = self.effects.iter().filter(|effect| of(effect)).cloned().collect();
        self.effects.retain(|effect| !of(effect));
        taken
    }

    /// The attempts that were sent to workers since the last look, with what their workers were told.
    pub fn started(&mut self) -> Vec<(WorkerId, StartAttempt)> {
        let starts = self.effects.iter().filter_map(|effect| match effect {
            Effect::StartAttempt { worker, attempt } => Some((*worker, self.core.start_message(*attempt)?)),
            _ => None,
        });
        let starts = starts.collect();
        self.effects.retain(|effect| !matches!(effect, Effect::StartAttempt { .. }));
        starts
    }

    /// The tests that were asked for since the last look.
    pub fn tests(&mut self) -> Vec<(WorkerId, u16, Runtime)> {
        let tests = self.effects.iter().filter_map(|effect| match effect {
            Effect::Screen { worker, session, device, runtime } => {
                assert_eq!(self.connected.get(worker).unwrap_or(session), session, "on the connection of now");
                Some((*worker, *device, *runtime))
            }
            _ => None,
        });
        let tests = tests.collect();
        self.effects.retain(|effect| !matches!(effect, Effect::Screen { .. }));
        tests
    }

    /// What workers were told of their tests since the last look.
    pub fn verdicts(&mut self) -> Vec<Result<u32, String>> {
        let told = self.effects.iter().filter_map(|effect| match effect {
            Effect::TellScreened { verdict, .. } => Some(verdict.clone()),
            _ => None,
        });
        let told = told.collect();
        self.effects.retain(|effect| !matches!(effect, Effect::TellScreened { .. }));
        told
    }

    /// A test ends on the connection that the worker has now.
    pub fn screened(&mut self, (worker, device, runtime): (WorkerId, u16, Runtime), outcome: Result<u32, &str>) {
        let (session, outcome) = (self.connected[&worker], outcome.map_err(Into::into));
        self.apply(Event::Screened { worker, session, device, runtime, outcome });
    }

    /// The worker's present connection.
    pub fn session(&self, worker: WorkerId) -> Session {
        self.connected[&worker]
    }

    /// The one attempt that was started since the last look.
    pub fn started_one(&mut self) -> (WorkerId, StartAttempt) {
        let mut starts = self.started();
        assert_eq!(starts.len(), 1, "one attempt was started: {starts:?}");
        starts.remove(0)
    }

    pub fn cancelled(&self) -> Vec<AttemptId> {
        let cancelled = self.effects.iter().filter_map(|effect| match effect {
            Effect::CancelAttempt { attempt, .. } => Some(*attempt),
            _ => None,
        });
        cancelled.collect()
    }

    /// Workers say that they have stopped what they were told to stop since the last look. Whoever says nothing gets no
    /// more work for a while: it may be asleep.
    pub fn stop_cancelled(&mut self) {
        for effect in self.take_effects(|effect| matches!(effect, Effect::CancelAttempt { .. })) {
            let Effect::CancelAttempt { worker, attempt } = effect else { unreachable!("no others were taken") };
            self.finish(worker, attempt, 0, Outcome::Cancelled);
        }
    }

    /// The attempts that were told to give their seats up since the last look.
    pub fn yielding(&mut self) -> Vec<AttemptId> {
        let told = self.effects.iter().filter_map(|effect| match effect {
            Effect::YieldAttempt { attempt, .. } => Some(*attempt),
            _ => None,
        });
        let told = told.collect();
        self.effects.retain(|effect| !matches!(effect, Effect::YieldAttempt { .. }));
        told
    }

    pub fn disconnected(&self) -> Vec<WorkerId> {
        let disconnected = self.effects.iter().filter_map(|effect| match effect {
            Effect::DisconnectWorker { worker, .. } => Some(*worker),
            _ => None,
        });
        disconnected.collect()
    }

    /// The worker delivers, after this long on its device.
    pub fn deliver(&mut self, worker: WorkerId, start: &StartAttempt, ran_millis: u64) {
        self.now = self.now.after(Millis(ran_millis));
        let outcome = Outcome::Done(output(u64::from(start.index)));
        self.finish(worker, start.attempt, ran_millis, outcome);
    }

    pub fn fail(&mut self, worker: WorkerId, start: &StartAttempt, cause: Cause) {
        self.now = self.now.after(Millis(10));
        self.finish(worker, start.attempt, 10, Outcome::Failed { cause, detail: "exit code 3".into() });
    }

    pub fn finish(&mut self, worker: WorkerId, attempt: AttemptId, ran_millis: u64, outcome: Outcome) {
        let results = vec![Finished { attempt, ran: Micros(ran_millis * 1000), outcome }];
        self.apply(Event::AttemptsFinished { worker, batch: 1, results });
    }

    /// Draws the round that waits for it, with this seed.
    pub fn draw(&mut self, seed: u8) {
        let (round, _) = self.core.round_to_draw().expect("claims wait for their draw");
        self.apply(Event::RoundDrawn { round, seed: Hash([seed; 32]) });
    }

    /// Workers deliver whatever they are given until nothing more is started.
    pub fn run_all(&mut self, ran_millis: u64) {
        for _ in 0..100_000 {
            let starts = self.started();
            if starts.is_empty() {
                return;
            }
            for (worker, start) in starts {
                self.deliver(worker, &start, ran_millis);
            }
        }
        panic!("work never ends");
    }

    pub fn state(&self, job: JobId) -> JobState {
        self.core.job_summary(job).expect("the job is there").state
    }

    pub fn earned(&self, worker: WorkerId) -> Amount {
        self.core.balance(&Account::Worker(worker))
    }
}
