//! A whole worker that compares two results of a task, against a scripted hub.
use gleaner_wire::check::{Compared, Number, Tolerance};
use gleaner_wire::{
    Cause, Check, Extent, Finished, Hash, Image, InputSpec, Millis, Output, StartAttempt, ToWorker, Work,
};

use crate::hub::{Connection, Hub, Worker, output_keys, start};
use crate::session::{NOTHING, cause, done, results, spec};

/// A checker: results agree if their first bytes differ by at most one. If the first byte of the first one is 255, it ends with
/// exit code 7; if it is 254, it never ends.
const CHECKER: &str = r#"(module
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 100) "in/ain/b")
  (func $first (param $name i32) (result i32)
    (if (call $path_open (i32.const 3) (i32.const 0) (local.get $name) (i32.const 4) (i32.const 0)
      (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 12)) (then (call $exit (i32.const 8))))
    (i32.store (i32.const 0) (i32.const 200))
    (i32.store (i32.const 4) (i32.const 1))
    (if (call $fd_read (i32.load (i32.const 12)) (i32.const 0) (i32.const 1) (i32.const 16))
      (then (call $exit (i32.const 9))))
    (i32.load8_u (i32.const 200)))
  (func (export "_start") (local $apart i32)
    (if (i32.eq (call $first (i32.const 100)) (i32.const 255)) (then (call $exit (i32.const 7))))
    (if (i32.eq (call $first (i32.const 100)) (i32.const 254)) (then (loop $again (br $again))))
    (local.set $apart (i32.sub (call $first (i32.const 100)) (call $first (i32.const 104))))
    (if (i32.gt_u (i32.add (local.get $apart) (i32.const 1)) (i32.const 2)) (then (call $exit (i32.const 1))))))"#;

/// A hub with a worker, and what is compared there.
struct Trial {
    hub: Hub,
    connection: Connection,
    attempts: u64,
    _worker: Worker,
    _dir: tempfile::TempDir,
}

impl Trial {
    async fn begin() -> Self {
        let (mut hub, dir) = (Hub::start().await, tempfile::tempdir().expect("a folder"));
        let worker = Worker::start(&hub, dir.path());
        let connection = hub.welcome().await;
        Self { hub, connection, attempts: 0, _worker: worker, _dir: dir }
    }

    async fn compare(&mut self, outputs: [Output; 2]) -> Finished {
        self.attempts += 1;
        let start = StartAttempt { compare: Some(outputs), time_ms: Millis(5_000), ..start(self.attempts) };
        self.connection.send(&ToWorker::Start(vec![start])).await;
        results(&mut self.connection, 1).await.remove(0)
    }

    /// What comes out for two results, in both orders.
    async fn compared(&mut self, one: &[u8], other: &[u8]) -> Compared {
        let outputs = [one, other].map(|bytes| self.hub.keep_result(bytes));
        let forth = done(&self.compare(outputs).await);
        let back = done(&self.compare([outputs[1], outputs[0]]).await);
        assert_eq!(forth, back);
        Compared::from_output(&forth).expect("it is not sealed")
    }
}

fn short(bytes: &[u8]) -> Output {
    Output::inline(&output_keys().seal_short(0, bytes)).expect("short")
}

#[tokio::test(flavor = "multi_thread")]
async fn results_are_compared_byte_for_byte() {
    let mut trial = Trial::begin().await;
    let mut spec = spec(&trial.hub, NOTHING);
    spec.check = Check::Exact;
    trial.connection.spec(&spec).await;
    let long = vec![7; 3_000_000];
    let mut altered = long.clone();
    altered[2_999_999] = 8;
    assert_eq!(trial.compared(&long, &long).await, Compared::SAME);
    assert_eq!(trial.compared(&long, &altered).await, Compared::APART);
    let stored = trial.hub.keep_result(b"wheat");
    let same = trial.compare([short(b"wheat"), stored]).await;
    assert_eq!(Compared::from_output(&done(&same)), Some(Compared::SAME), "a short one and a stored one");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_does_not_open_differs_from_one_that_does() {
    let mut trial = Trial::begin().await;
    let mut spec = spec(&trial.hub, NOTHING);
    spec.check = Check::Exact;
    trial.connection.spec(&spec).await;
    let good = trial.hub.keep_result(b"wheat");
    let foreign = Output::File(trial.hub.keep_output(b"wheat"));
    for bad in [Output::inline(b"chaff").expect("short"), foreign] {
        let found = trial.compare([bad, good]).await;
        assert_eq!(Compared::from_output(&done(&found)), Some(Compared::APART));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_are_compared_where_the_program_itself_could_not_run() {
    let mut trial = Trial::begin().await;
    let mut spec = spec(&trial.hub, NOTHING);
    spec.work = Work::Container {
        image: Image::Registry { name: "example.org/nothing".to_owned(), digest: Hash([1; 32]) },
        command: Vec::new(),
        env: Vec::new(),
        sweep: Vec::new(),
        cards: 0,
        network: false,
        checkpoint_ms: Millis(60_000),
    };
    let (absolute, relative) = (Tolerance(Tolerance::UNITS_PER_ONE / 2), Tolerance(0));
    spec.check = Check::Numeric { number: Number::F32, absolute, relative, learned: false };
    trial.connection.spec(&spec).await;
    let numbers = |last: f32| {
        let all = (0..10_000).map(|number| number as f32).chain([last]);
        all.flat_map(f32::to_le_bytes).collect::<Vec<_>>()
    };
    assert_eq!(trial.compared(&numbers(1.0), &numbers(1.25)).await, Compared::at(500_000));
    assert_eq!(trial.compared(&numbers(1.0), &numbers(1.5)).await, Compared::at(1_000_000));
    assert_eq!(trial.compared(&numbers(1.0), &numbers(2.0)).await, Compared::at(2_000_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn tiles_are_compared_as_pictures() {
    let mut trial = Trial::begin().await;
    let mut spec = spec(&trial.hub, NOTHING);
    spec.check = Check::Image { pixel: 2 * 257, perceptual: 10_000, learned: false };
    spec.extent = Extent::Tiles { width: 64, height: 32, tile_width: 32, tile_height: 32 };
    trial.connection.spec(&spec).await;
    let tile: Vec<u8> = (0..32 * 32 * 4).map(|at: u32| (at / 128) as u8 * 7).collect();
    let noisy: Vec<u8> = tile.iter().enumerate().map(|(at, byte)| byte ^ u8::from(at % 5 == 0)).collect();
    let mut altered = tile.clone();
    altered[400..464].fill(255);
    assert!(trial.compared(&tile, &noisy).await.agrees);
    assert!(!trial.compared(&tile, &altered).await.agrees);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_requesters_own_program_compares() {
    let mut trial = Trial::begin().await;
    let mut spec = spec(&trial.hub, NOTHING);
    let data = trial.hub.keep_checker(&wat::parse_str(CHECKER).expect("the test's program is right"));
    spec.inputs = vec![InputSpec::File { name: "check.wasm".to_owned(), data }];
    spec.check = Check::Program { input: 0 };
    spec.limits.time_ms = Millis(1_000);
    trial.connection.spec(&spec).await;
    assert!(trial.compared(b"5, and more", b"6, or less").await.agrees);
    assert!(!trial.compared(b"5", b"7").await.agrees);
    let [faulty, endless, other] = [255, 254, 1].map(|byte| trial.hub.keep_result(&[byte]));
    assert_eq!(cause(&trial.compare([faulty, other]).await), Cause::ProgramFault);
    assert_eq!(cause(&trial.compare([endless, other]).await), Cause::TimeLimit);
    trial.connection.start(&[99]).await;
    assert!(trial.hub.opened(done(&results(&mut trial.connection, 1).await[0])).is_empty(), "the task itself runs too");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_check_is_not_compared() {
    let mut trial = Trial::begin().await;
    let spec = spec(&trial.hub, NOTHING);
    trial.connection.spec(&spec).await;
    let found = trial.compare([short(b"1"), short(b"2")]).await;
    assert_eq!(cause(&found), Cause::HubFault);
}
