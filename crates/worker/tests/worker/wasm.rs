//! What programs can and cannot do in the wasm runtime.
use std::sync::Arc;
use std::time::Duration;

use gleaner_wire::{AttemptId, Cause, Limits, Millis, Output};
use gleaner_worker::content::Content;
use gleaner_worker::failure::{End, Failure, Run};
use gleaner_worker::log::Log;
use gleaner_worker::product::Product;
use gleaner_worker::wasm::{Call, Wasm};
use gleaner_worker::watch::{Cancels, Watch};
use tokio::sync::mpsc;

/// The calls that the programs below use, a memory, and `write`, which prints bytes.
const PRELUDE: &str = r#"
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock_time_get (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "sock_send" (func $sock_send (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ_sizes_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_readdir" (func $fd_readdir (param i32 i32 i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (func $write (param $fd i32) (param $at i32) (param $len i32)
    (i32.store (i32.const 0) (local.get $at))
    (i32.store (i32.const 4) (local.get $len))
    (drop (call $fd_write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8))))
  ;; Opens a path with these flags and rights and answers with the error number; the file is at 12.
  (func $open (param $at i32) (param $len i32) (param $flags i32) (param $rights i64) (result i32)
    (call $path_open (i32.const 3) (i32.const 0) (local.get $at) (local.get $len) (local.get $flags)
      (local.get $rights) (i64.const 0) (i32.const 0) (i32.const 12)))
"#;

const READ: &str = "(i64.const 2)";
const WRITE: &str = "(i64.const 64)";

struct Trial {
    index: u32,
    args: Vec<String>,
    inputs: Vec<(String, Content)>,
    limits: Limits,
    cancels: Arc<Cancels>,
}

impl Default for Trial {
    fn default() -> Self {
        Self {
            index: 0,
            args: Vec::new(),
            inputs: Vec::new(),
            limits: Limits { time_ms: Millis(20_000), memory: 1 << 20, output: 10_000 },
            cancels: Arc::default(),
        }
    }
}

impl Trial {
    /// Runs a program made of the prelude, more definitions, and the body of `_start`.
    fn run_with(self, more: &str, body: &str) -> Run {
        let text = format!("(module {PRELUDE} {more} (func (export \"_start\") {body}))");
        self.run_module(&wat::parse_str(text).expect("the test's program is right")).expect("compiles")
    }

    fn run(self, body: &str) -> Run {
        self.run_with("", body)
    }

    fn run_module(self, module: &[u8]) -> Result<Run, Failure> {
        let wasm = Wasm::new(1, std::env::temp_dir()).expect("starts");
        let program = wasm.compile(module)?;
        let _ticking = wasm.tick();
        let attempt = AttemptId(1);
        let (to, _from) = mpsc::channel(16);
        let time = Duration::from_millis(self.limits.time_ms.0);
        Ok(wasm.run(
            &program,
            Call {
                args: self.args,
                index: self.index,
                inputs: Content::folder(self.inputs).expect("safe names"),
                limits: self.limits,
                watch: Watch::start(attempt, time, self.cancels),
                log: Log::new(attempt, to),
            },
        ))
    }
}

fn product(run: Run) -> Product {
    match run.end {
        End::Done(product) => product,
        End::Failed(failure) => panic!("{failure}"),
        End::Cancelled | End::Compared(_) => panic!("cancelled"),
    }
}

fn stdout(run: Run) -> Vec<u8> {
    product(run).stdout.in_memory().expect("is small").to_vec()
}

fn failure(run: Run) -> Failure {
    match run.end {
        End::Failed(failure) => failure,
        End::Done(_) | End::Cancelled | End::Compared(_) => panic!("it should have failed: {:?}", run.end),
    }
}

fn bytes(text: &str) -> Content {
    Content::Bytes(Output::inline(text.as_bytes()).expect("short"))
}

#[test]
fn an_endless_loop_ends_at_its_time_limit() {
    let limits = Limits { time_ms: Millis(50), ..Trial::default().limits };
    let run = Trial { limits, ..Trial::default() }.run("(loop $again (br $again))");
    assert!(run.ran.0 >= 50_000);
    assert_eq!(failure(run).cause, Cause::TimeLimit);
}

#[test]
fn a_sleep_ends_at_its_time_limit() {
    let limits = Limits { time_ms: Millis(50), ..Trial::default().limits };
    let run = Trial { limits, ..Trial::default() }.run(&sleep(3_600_000_000_000));
    assert_eq!(failure(run).cause, Cause::TimeLimit);
}

/// Waits for so many nanoseconds.
fn sleep(nanos: u64) -> String {
    format!(
        "(i64.store (i32.const 124) (i64.const {nanos}))
         (drop (call $poll_oneoff (i32.const 100) (i32.const 200) (i32.const 1) (i32.const 300)))"
    )
}

#[test]
fn a_sleep_is_real_and_the_clock_moves_by_what_was_asked() {
    let look = "(drop (call $clock_time_get (i32.const 1) (i64.const 0) (i32.const 16)))";
    let run = Trial::default()
        .run(&format!("{} {look} (call $write (i32.const 1) (i32.const 16) (i32.const 8))", sleep(30_000_000)));
    assert!(run.ran.0 >= 30_000);
    assert_eq!(stdout(run), 30_001_000_u64.to_le_bytes());
}

#[test]
fn a_cancelled_program_stops() {
    let cancels = Arc::new(Cancels::default());
    cancels.cancel(AttemptId(1));
    for body in ["(loop $again (br $again))", &sleep(3_600_000_000_000)] {
        let run = Trial { cancels: cancels.clone(), ..Trial::default() }.run(body);
        assert!(matches!(run.end, End::Cancelled), "{:?}", run.end);
    }
}

#[test]
fn endless_allocation_is_out_of_memory() {
    let failure = failure(Trial::default().run("(loop $again (drop (memory.grow (i32.const 1))) (br $again))"));
    assert_eq!(failure.cause, Cause::OutOfMemory);
    assert!(failure.detail.contains("1MiB"), "{}", failure.detail);
}

#[test]
fn a_program_that_starts_over_its_memory_limit_is_out_of_memory() {
    let module = wat::parse_str("(module (memory 100) (func (export \"_start\")))").expect("is right");
    assert_eq!(failure(Trial::default().run_module(&module).expect("compiles")).cause, Cause::OutOfMemory);
}

#[test]
fn what_is_not_a_program_is_bad_input() {
    let no_start = wat::parse_str("(module (func (export \"main\")))").expect("is right");
    let wrong_start = wat::parse_str("(module (func (export \"_start\") (param i32)))").expect("is right");
    let network = wat::parse_str("(module (import \"env\" \"connect\" (func)) (func (export \"_start\")))");
    let threads = wat::parse_str("(module (memory 1 1 shared) (func (export \"_start\")))");
    let text = b"(module (func (export \"_start\")))".to_vec();
    let modules = [
        Vec::new(),
        b"chaff".to_vec(),
        text,
        no_start,
        wrong_start,
        network.expect("is right"),
        threads.expect("is right"),
    ];
    for module in modules {
        let refused = Trial::default().run_module(&module).expect_err("is refused");
        assert_eq!(refused.cause, Cause::BadInput, "{refused}");
    }
}

#[test]
fn an_exit_code_is_told_with_the_last_words() {
    let more = "(data (i32.const 500) \"no wheat\")";
    let run = Trial::default()
        .run_with(more, "(call $write (i32.const 2) (i32.const 500) (i32.const 8)) (call $proc_exit (i32.const 3))");
    let failure = failure(run);
    assert_eq!(failure.cause, Cause::ProgramFault);
    assert!(failure.detail.contains("exit code 3") && failure.detail.contains("no wheat"), "{}", failure.detail);
    let run =
        Trial::default().run("(call $write (i32.const 1) (i32.const 0) (i32.const 2)) (call $proc_exit (i32.const 0))");
    assert_eq!(stdout(run).len(), 2);
}

#[test]
fn a_trap_is_the_programs_fault() {
    for (more, body, word) in [
        ("", "(unreachable)", "unreachable"),
        ("", "(drop (i32.load (i32.const -1)))", "out of bounds"),
        ("(func $deep (call $deep))", "(call $deep)", "stack"),
    ] {
        let failure = failure(Trial::default().run_with(more, body));
        assert_eq!(failure.cause, Cause::ProgramFault);
        assert!(failure.detail.contains(word), "{}", failure.detail);
    }
}

#[test]
fn output_over_its_limit_ends_the_program() {
    let failure = failure(
        Trial::default().run("(loop $again (call $write (i32.const 1) (i32.const 0) (i32.const 4096)) (br $again))"),
    );
    assert_eq!(failure.cause, Cause::ProgramFault);
    assert!(failure.detail.contains("output limit"), "{}", failure.detail);
}

#[test]
fn no_path_leads_out_of_the_tasks_folder() {
    let paths = ["../etc/passwd", "/etc/passwd", "in/../../etc/passwd", "out/../../x", "..", "etc/passwd", "in/none"];
    for path in paths {
        let more = format!("(data (i32.const 500) \"{path}\")");
        let body = format!(
            "(i32.store (i32.const 16) (call $open (i32.const 500) (i32.const {}) (i32.const 0) {READ}))
             (call $write (i32.const 1) (i32.const 16) (i32.const 4))",
            path.len()
        );
        let errno = stdout(Trial::default().run_with(&more, &body))[0];
        let expected = if path.contains("..") || path.starts_with('/') { 76 } else { 44 };
        assert_eq!(errno, expected, "{path}");
    }
}

#[test]
fn only_the_output_folder_can_be_written() {
    for (path, expected) in
        [("in/new", 69), ("new", 69), ("in/seed", 69), ("out", 31), ("out/no/folder", 44), ("out/new", 0)]
    {
        let more = format!("(data (i32.const 500) \"{path}\")");
        let body = format!(
            "(i32.store (i32.const 16) (call $open (i32.const 500) (i32.const {}) (i32.const 1) {WRITE}))
             (call $write (i32.const 1) (i32.const 16) (i32.const 4))",
            path.len()
        );
        let inputs = vec![("seed".to_owned(), bytes("wheat"))];
        assert_eq!(stdout(Trial { inputs, ..Trial::default() }.run_with(&more, &body))[0], expected, "{path}");
    }
}

#[test]
fn there_is_no_network_and_no_environment() {
    let body = "(i32.store (i32.const 16)
          (call $sock_send (i32.const 4) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 8)))
        (drop (call $environ_sizes_get (i32.const 20) (i32.const 24)))
        (call $write (i32.const 1) (i32.const 16) (i32.const 12))";
    let mut expected = [0; 12];
    expected[0] = 58;
    assert_eq!(stdout(Trial::default().run(body)), expected);
}

#[test]
fn equal_tasks_see_equal_clocks_and_equal_chance() {
    let body = "(drop (call $clock_time_get (i32.const 0) (i64.const 0) (i32.const 16)))
        (drop (call $random_get (i32.const 24) (i32.const 40)))
        (call $write (i32.const 1) (i32.const 16) (i32.const 48))";
    let first = stdout(Trial::default().run(body));
    assert_eq!(stdout(Trial::default().run(body)), first);
    let other = stdout(Trial { index: 1, ..Trial::default() }.run(body));
    assert_eq!(other[..8], first[..8]);
    assert_ne!(other[8..], first[8..]);
    assert!(
        u64::from_le_bytes(first[..8].try_into().expect("eight bytes")) < 1_000_000_000,
        "the clock starts at zero"
    );
}

#[test]
fn inputs_are_read_and_outputs_come_back_as_files() {
    let more = "(data (i32.const 500) \"in/seed\") (data (i32.const 600) \"out/grain\")";
    let read_write = "(i64.const 66)";
    let body = format!(
        "(drop (call $open (i32.const 500) (i32.const 7) (i32.const 0) {READ}))
         (i32.store (i32.const 0) (i32.const 700))
         (i32.store (i32.const 4) (i32.const 64))
         (drop (call $fd_read (i32.load (i32.const 12)) (i32.const 0) (i32.const 1) (i32.const 8)))
         (i32.store (i32.const 20) (i32.load (i32.const 8)))
         (drop (call $open (i32.const 600) (i32.const 9) (i32.const 1) {read_write}))
         (call $write (i32.load (i32.const 12)) (i32.const 700) (i32.load (i32.const 20)))
         (call $write (i32.load (i32.const 12)) (i32.const 700) (i32.load (i32.const 20)))"
    );
    let inputs = vec![("seed".to_owned(), bytes("wheat"))];
    let product = product(Trial { inputs, ..Trial::default() }.run_with(more, &body));
    assert!(product.stdout.is_empty());
    let files: Vec<_> = product.files.iter().map(|(name, body)| (name.as_str(), body.in_memory())).collect();
    assert_eq!(files, [("grain", Some(&b"wheatwheat"[..]))]);
}

#[test]
fn folders_list_in_the_same_order_everywhere() {
    let more = "(data (i32.const 500) \"in\")";
    let body = format!(
        "(drop (call $open (i32.const 500) (i32.const 2) (i32.const 2) {READ}))
         (drop (call $fd_readdir (i32.load (i32.const 12)) (i32.const 1000) (i32.const 500) (i64.const 0) (i32.const 16)))
         (call $write (i32.const 1) (i32.const 1000) (i32.load (i32.const 16)))"
    );
    let listing = |names: [&str; 3]| {
        let inputs = names.iter().map(|name| ((*name).to_owned(), bytes(name))).collect();
        stdout(Trial { inputs, ..Trial::default() }.run_with(more, &body))
    };
    let first = listing(["b", "a", "c"]);
    assert_eq!(first.len(), 5 * 24 + 1 + 2 + 3);
    assert_eq!(listing(["c", "b", "a"]), first);
}

#[test]
fn wild_addresses_are_answered_and_not_followed() {
    for body in [
        "(i32.store (i32.const 16) (call $fd_write (i32.const 1) (i32.const -8) (i32.const 2) (i32.const 8)))",
        "(i32.store (i32.const 16) (call $random_get (i32.const 131000) (i32.const -1)))",
        "(i32.store (i32.const 16) (call $args_get (i32.const -4) (i32.const -4)))",
        "(i32.store (i32.const 16) (call $open (i32.const -4) (i32.const 8) (i32.const 0) (i64.const 2)))",
        "(i32.store (i32.const 16) (call $poll_oneoff (i32.const -8) (i32.const 0) (i32.const 1) (i32.const 0)))",
    ] {
        let args = vec!["argument".to_owned()];
        let run = Trial { args, ..Trial::default() }
            .run(&format!("{body} (call $write (i32.const 1) (i32.const 16) (i32.const 4))"));
        assert_eq!(stdout(run)[0], 21, "{body}");
    }
}

#[test]
fn different_nan_bits_cannot_leak() {
    // 0/0 has whatever sign and payload a processor likes; canonical bits are promised.
    let body = "(f32.store (i32.const 16) (f32.div (f32.load (i32.const 900)) (f32.load (i32.const 900))))
        (call $write (i32.const 1) (i32.const 16) (i32.const 4))";
    assert_eq!(stdout(Trial::default().run(body)), 0x7fc0_0000_u32.to_le_bytes());
}
