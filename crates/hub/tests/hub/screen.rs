//! Tests of workers before paid work, with a worker that answers as a test tells it to.
use crate::place::{Api, Place, gift};
use crate::worker::{Worker, done_with};
use ed25519_dalek::SigningKey;
use gleaner_core::Params;
use gleaner_data::parcel::{self, File, ONLY_FILE};
use gleaner_data::seal::{Keys, SignedTaskKeys, TaskKeys};
use gleaner_data::{PortError, Sink};
use gleaner_wire::api::{JobState, KeysView, WorkerView};
use gleaner_wire::{
    BlobRef, Cause, Finished, JobId, Micros, Outcome, Output, Runtime, StartAttempt, State, TaskSpec, ToWorker, Work,
};
use reqwest::StatusCode;
use std::sync::Mutex;

/// A round of a test, as a worker gets it.
struct Round {
    spec: TaskSpec,
    start: StartAttempt,
}

impl Round {
    /// Where the walk begins, and how many steps it has.
    fn walk(&self) -> (u64, u64) {
        let Work::Wasm { args, .. } = &self.spec.work else { panic!("{:?}", self.spec.work) };
        let number = |digits: &str| u64::from_str_radix(digits, 16).unwrap();
        (number(&args[0][..16]), number(&args[0][16..]))
    }

    /// The right answer.
    fn answer(&self) -> Vec<u8> {
        let (first, steps) = self.walk();
        let step = |state: u64, _| (state ^ state >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let end = (0..steps).fold(first, |state, at| step(state, at).wrapping_add(0x2545_f491_4f6c_dd1d));
        end.to_le_bytes().to_vec()
    }

    fn ended(&self, outcome: Outcome) -> Vec<Finished> {
        vec![Finished { attempt: self.start.attempt, ran: Micros(1), outcome }]
    }
}

/// A hub that tests its workers, however slow the machine is that this runs on.
async fn strict() -> Place {
    Place::with(Params { screening: true, score_min: [1; Runtime::ALL.len()], ..Params::default() }).await
}

/// What comes next to a worker in a test: another round, or the verdict.
enum Next {
    Round(Box<Round>),
    Verdict(Result<u32, String>),
}

async fn next(worker: &mut Worker) -> Next {
    let mut seen = None;
    loop {
        match worker.connection.receive().await.expect("the connection stays") {
            ToWorker::Spec { job, group, spec } => seen = Some((job, group, spec)),
            ToWorker::Start(mut starts) => {
                let (start, (job, group, spec)) = (starts.pop().unwrap(), seen.take().expect("it has come before"));
                assert_eq!((start.job, start.group, start.index, start.device), (job, group, 0, 0));
                return Next::Round(Box::new(Round { spec, start }));
            }
            ToWorker::Screened { device: 0, runtime: Runtime::Wasm, verdict } => return Next::Verdict(verdict),
            ToWorker::Refused { reason } => panic!("{reason}"),
            _ => {}
        }
    }
}

async fn round(worker: &mut Worker) -> Round {
    match next(worker).await {
        Next::Round(round) => *round,
        Next::Verdict(verdict) => panic!("{verdict:?}"),
    }
}

/// What opens the data of a round, as its worker fetches it.
async fn keys(api: &Api, worker: &Worker, seed: u8, round: &Round) -> TaskKeys {
    let path = format!("/api/v1/jobs/{}/keys/{}", round.start.job, round.start.group);
    let asked = as_worker(api, worker).get(&path).send().await.unwrap();
    assert_eq!(asked.status(), StatusCode::OK);
    let view: KeysView = asked.json().await.unwrap();
    assert!(view.attended, "nobody else need hand them on");
    let digits = view.keys[0].as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    let wrapped: Vec<u8> = digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect();
    let submission = u128::from_str_radix(&view.submission, 16).unwrap();
    let key = SigningKey::from_bytes(&[seed; 32]);
    SignedTaskKeys::unwrap(&wrapped, submission, round.start.group, &key, view.owner).unwrap().keys
}

fn as_worker(api: &Api, worker: &Worker) -> Api {
    Api { token: worker.token.clone(), ..api.clone() }
}

fn inline(keys: &TaskKeys, answer: &[u8]) -> Outcome {
    Outcome::Done(Output::inline(&keys.output_secret().keys().seal_short(0, answer)).unwrap())
}

/// Answers every round rightly; returns how many there were, the test's number and the score.
async fn pass(api: &Api, worker: &mut Worker, seed: u8) -> (usize, JobId, u32) {
    let (mut rounds, mut job) = (0, None);
    loop {
        match next(worker).await {
            Next::Round(round) => {
                rounds += 1;
                assert!(job.is_none_or(|job| job == round.start.job), "one test is one job");
                job = Some(round.start.job);
                let keys = keys(api, worker, seed, &round).await;
                worker.finish(round.ended(inline(&keys, &round.answer()))).await;
            }
            Next::Verdict(verdict) => return (rounds, job.unwrap(), verdict.unwrap()),
        }
    }
}

async fn view(api: &Api, worker: &Worker) -> WorkerView {
    serde_json::from_value(api.json(&format!("/api/v1/workers/{}", worker.id)).await).unwrap()
}

#[tokio::test]
async fn a_worker_that_answers_rightly_gets_work_and_the_score_that_the_hub_measured() {
    let place = strict().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(3, 1).await.job;
    let (rounds, _, score) = pass(&place.api, &mut worker, 1).await;
    assert!((2..=4).contains(&rounds), "the first also fetches and compiles: {rounds}");
    let tested = view(&place.api, &worker).await.tests;
    assert_eq!((tested.len(), tested[0].score, tested[0].why.as_str()), (1, Some(score), ""));
    worker.work(3).await;
    assert_eq!(place.api.job(job).await.summary.state, JobState::Done);
    let metrics = place.api.get("/metrics").send().await.unwrap().text().await.unwrap();
    for line in ["gleaner_tests_begun_total 1", "gleaner_tests_passed_total 1", "gleaner_tests_failed_total 0"] {
        assert!(metrics.lines().any(|found| found == line), "{line}");
    }
}

#[tokio::test]
async fn a_worker_that_answers_wrongly_gets_none() {
    let place = strict().await;
    let mut liar = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(3, 1).await.job;
    let asked = round(&mut liar).await;
    let keys = keys(&place.api, &liar, 1, &asked).await;
    liar.finish(asked.ended(inline(&keys, &[0; 8]))).await;
    let Next::Verdict(verdict) = next(&mut liar).await else { panic!("another round") };
    assert_eq!(verdict, Err("its answer is wrong".to_owned()));
    let view = view(&place.api, &liar).await;
    assert_eq!((view.tests[0].score, view.tests[0].why.as_str()), (None, "its answer is wrong"));
    assert!(view.tests[0].due.is_some(), "it is tested again later");
    let mut honest = Worker::join(&place.api, 2).await;
    pass(&place.api, &mut honest, 2).await;
    honest.work(3).await;
    assert_eq!(place.api.job(job).await.summary.state, JobState::Done);
    let batch = liar.finish(Vec::new()).await;
    assert!(liar.acknowledged(batch).await.is_empty(), "it has got nothing in all that time");
}

#[tokio::test]
async fn what_was_sealed_with_other_keys_is_no_answer() {
    let place = strict().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let asked = round(&mut worker).await;
    let others = TaskKeys { program: [1; 32], output: [2; 32], inputs: Vec::new() };
    worker.finish(asked.ended(inline(&others, &asked.answer()))).await;
    let Next::Verdict(verdict) = next(&mut worker).await else { panic!("another round") };
    assert_eq!(verdict, Err("its answer cannot be read".to_owned()));
}

#[tokio::test]
async fn ends_of_tests_are_acknowledged_and_the_test_is_forgotten() {
    let place = strict().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let asked = round(&mut worker).await;
    let outcome = Outcome::Failed { cause: Cause::RefusedByOwner, detail: "a game has started".to_owned() };
    worker.finish(asked.ended(outcome)).await;
    let (mut acknowledged, mut forgotten, mut verdict) = (false, false, None);
    while !acknowledged || !forgotten || verdict.is_none() {
        match worker.connection.receive().await.unwrap() {
            ToWorker::Acknowledge { batch: 1, .. } => acknowledged = true,
            ToWorker::Forget(job) => forgotten = job == asked.start.job,
            ToWorker::Screened { verdict: said, .. } => verdict = Some(said),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(verdict, Some(Err("the test failed: refused by owner: a game has started".to_owned())));
    let path = format!("/api/v1/jobs/{}/keys/0", asked.start.job);
    let late = as_worker(&place.api, &worker).get(&path).send().await.unwrap();
    assert_eq!(late.status(), StatusCode::FORBIDDEN, "its keys are not given any more");
}

#[tokio::test]
async fn the_data_of_a_test_is_for_the_tested_worker_alone() {
    let place = strict().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let asked = round(&mut worker).await;
    let mut other = Worker::join(&place.api, 2).await;
    let others = round(&mut other).await;
    assert_ne!(others.start.job, asked.start.job);
    assert_ne!(others.walk().0, asked.walk().0, "no two have the same answer");
    let path = format!("/api/v1/jobs/{}/keys/0", asked.start.job);
    let sneaked = as_worker(&place.api, &other).get(&path).send().await.unwrap();
    assert_eq!(sneaked.status(), StatusCode::FORBIDDEN);
    let of_other = as_worker(&place.api, &other);
    let root = of_other.store(b"an answer").await.root;
    let path = dataset_path(root, asked.start.job);
    let sneaked = of_other.put(&path).body(root.id.0.to_vec()).send().await.unwrap();
    assert_eq!(sneaked.status(), StatusCode::FORBIDDEN);
    let program = match &asked.spec.work {
        Work::Wasm { module, .. } => *module,
        other => panic!("{other:?}"),
    };
    let opened = keys(&place.api, &worker, 1, &asked).await;
    assert_ne!(opened.output, keys(&place.api, &other, 2, &others).await.output);
    let sealed = chunk(&as_worker(&place.api, &worker), program.root).await;
    assert!(gleaner_data::manifest::Root::open(&opened.program_key(), sealed).is_ok(), "the program is there");
}

async fn chunk(api: &Api, root: BlobRef) -> Vec<u8> {
    let response = api.post("/api/v1/chunks/want").body(root.id.0.to_vec()).send().await.unwrap();
    let bytes = response.bytes().await.unwrap();
    let at = bytes.windows(root.bytes as usize).position(|window| BlobRef::of(window) == root);
    bytes[at.expect("the chunk is in what came")..][..root.bytes as usize].to_vec()
}

fn dataset_path(root: BlobRef, job: JobId) -> String {
    format!("/api/v1/datasets/{}?root_bytes={}&bytes={}&kind=output&job={job}", root.id, root.bytes, root.bytes)
}

#[derive(Default)]
struct Gathered(Mutex<Vec<Vec<u8>>>);

impl Sink for Gathered {
    fn put(&self, _: BlobRef, sealed: Vec<u8>) -> Result<(), PortError> {
        self.0.lock().unwrap().push(sealed);
        Ok(())
    }

    fn flush(&self) -> Result<(), PortError> {
        Ok(())
    }
}

/// Stores an answer as a dataset, as long ones are.
async fn deliver(api: &Api, job: JobId, keys: &Keys, answer: &[u8]) -> Outcome {
    let gathered = Gathered::default();
    let file = File { path: ONLY_FILE.to_owned(), bytes: answer.len() as u64, content: answer };
    let packed = parcel::pack(keys, vec![file], &gathered).unwrap();
    let chunks = gathered.0.into_inner().unwrap();
    let chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
    assert!(api.post("/api/v1/chunks").body(gift(&chunks)).send().await.unwrap().status().is_success());
    let ids: Vec<u8> = packed.chunks.iter().flat_map(|id| id.0).collect();
    let kept = api.put(&dataset_path(packed.sealed.blob, job)).body(ids).send().await.unwrap();
    assert_eq!(kept.status(), StatusCode::CREATED);
    Outcome::Done(Output::File(packed.sealed.blob))
}

#[tokio::test]
async fn an_answer_may_come_as_a_dataset_and_is_not_kept_for_long() {
    let place = strict().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let asked = round(&mut worker).await;
    let opened = keys(&place.api, &worker, 1, &asked).await;
    let api = as_worker(&place.api, &worker);
    let outcome = deliver(&api, asked.start.job, &opened.output_secret().keys(), &asked.answer()).await;
    worker.finish(asked.ended(outcome)).await;
    let (more, _, _) = pass(&place.api, &mut worker, 1).await;
    assert!(more > 0, "the answer was right, and another round came");
    let kept = place.api.json("/api/v1/datasets").await;
    let kept = kept["items"].as_array().unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let hours = (kept[0]["until_ms"].as_u64().unwrap() - kept[0]["made_ms"].as_u64().unwrap()) / 3_600_000;
    assert_eq!(hours, 1);
}

#[tokio::test]
async fn a_worker_that_goes_away_in_the_middle_is_tested_again_and_nothing_is_held_against_it() {
    let place = strict().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let first = round(&mut worker).await;
    let path = format!("/api/v1/jobs/{}/keys/0", first.start.job);
    drop(worker);
    let mut again = Worker::rejoin(&place.api, 1, vec![first.start.attempt]).await;
    let second = round(&mut again).await;
    assert_ne!(first.start.job, second.start.job);
    let late = as_worker(&place.api, &again).get(&path).send().await.unwrap();
    assert_eq!(late.status(), StatusCode::FORBIDDEN, "the first test is over");
    let batch = again.finish(first.ended(Outcome::Cancelled)).await;
    assert!(again.acknowledged(batch).await.is_empty());
    let keys = keys(&place.api, &again, 1, &second).await;
    again.finish(second.ended(inline(&keys, &second.answer()))).await;
    pass(&place.api, &mut again, 1).await;
    let view = view(&place.api, &again).await;
    assert_eq!((view.state, view.tests[0].why.as_str()), (State::Available, ""));
}

#[tokio::test]
async fn who_has_passed_is_not_tested_at_every_connection_and_a_hub_that_starts_again_goes_on() {
    let mut place = strict().await;
    let mut worker = Worker::join(&place.api, 1).await;
    round(&mut worker).await;
    place.kill_and_start().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let (_, _, score) = pass(&place.api, &mut worker, 1).await;
    place.kill_and_start().await;
    let mut worker = Worker::join(&place.api, 1).await;
    place.api.submit_array(1, 1).await;
    let starts = worker.starts().await;
    worker.finish(starts.iter().map(done_with).collect()).await;
    assert_eq!(view(&place.api, &worker).await.tests[0].score, Some(score));
}

#[tokio::test]
async fn nobody_is_tested_where_that_is_not_wanted() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(2, 1).await.job;
    let starts = worker.starts().await;
    assert_eq!(starts[0].job, job);
    assert!(view(&place.api, &worker).await.tests.is_empty());
}
