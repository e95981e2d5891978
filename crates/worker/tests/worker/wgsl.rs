//! Kernels on two really different drivers: Mesa's llvmpipe, which cuts long loops short, and SwiftShader, which
//! does not and hangs on endless ones.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gleaner_wire::{
    AttemptId, BlobRef, Cause, Check, DeviceKind, Extent, JobId, Limits, Millis, Output, TaskSpec, Work,
};
use gleaner_worker::content::Content;
use gleaner_worker::failure::{End, Failure, Run};
use gleaner_worker::watch::Cancels;
use gleaner_worker::wgsl::{Adapter, Launcher, Supervisor, dispatch};

/// A software driver that the tests need.
#[derive(Clone, Copy, Debug)]
pub enum Driver {
    Llvmpipe,
    SwiftShader,
}

impl Driver {
    const BOTH: [Self; 2] = [Self::Llvmpipe, Self::SwiftShader];

    fn manifest(self) -> PathBuf {
        let (path, package) = match self {
            Self::Llvmpipe => ("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json", "mesa-vulkan-drivers"),
            Self::SwiftShader => ("/usr/lib/chromium/vk_swiftshader_icd.json", "chromium-common"),
        };
        assert!(Path::new(path).exists(), "{path} is missing. Run: apt-get install {package}");
        path.into()
    }
}

/// How kernel processes are started with one driver. Tests that call this have a process of their own or all set
/// the same variable: a script in between sets it for the kernel process alone.
pub fn launcher(driver: Driver, dir: &Path) -> Launcher {
    use std::os::unix::fs::PermissionsExt;
    let script = dir.join("child");
    let text = format!(
        "#!/bin/sh\nVK_DRIVER_FILES='{0}' VK_ICD_FILENAMES='{0}' LP_NUM_THREADS=1 exec '{1}' \"$@\"\n",
        driver.manifest().display(),
        env!("CARGO_BIN_EXE_gleaner-worker-child")
    );
    std::fs::write(&script, text).expect("writes");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("may");
    Launcher { executable: script, runtime_dir: dir.to_path_buf() }
}

fn adapter(launcher: &Launcher) -> Adapter {
    let adapters = launcher.adapters().expect("the drivers answer");
    assert_eq!(adapters.len(), 1, "{adapters:?}");
    adapters.into_iter().next().expect("there is one")
}

/// A job of one element on one driver.
struct Trial {
    supervisor: Supervisor,
    spec: TaskSpec,
    inputs: Vec<Content>,
    cancels: Arc<Cancels>,
    _dir: tempfile::TempDir,
}

impl Trial {
    fn on(driver: Driver) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let launcher = launcher(driver, dir.path());
        let adapter = adapter(&launcher);
        let work = Work::Wgsl {
            kernel: BlobRef::of(b"").into(),
            entry: "main".to_owned(),
            finish: None,
            passes: 1,
            output_bytes_per_item: 4,
            scratch_bytes_per_item: 0,
            items: 4,
            values: Vec::new(),
        };
        let limits = Limits { time_ms: Millis(60_000), memory: 64 << 20, output: 1 << 20 };
        let (extent, inputs) = (Extent::Single, Vec::new());
        let spec = TaskSpec { name: "trial".to_owned(), work, extent, inputs, limits, check: Check::None };
        let supervisor = Supervisor::new(launcher, adapter);
        Self { supervisor, spec, inputs: Vec::new(), cancels: Arc::default(), _dir: dir }
    }

    fn change(mut self, change: impl FnOnce(&mut Work, &mut Limits, &mut Extent)) -> Self {
        change(&mut self.spec.work, &mut self.spec.limits, &mut self.spec.extent);
        self
    }

    fn run(&mut self, source: &str) -> Run {
        self.run_element(source, 0)
    }

    fn run_element(&mut self, source: &str, index: u32) -> Run {
        let described = dispatch(&self.spec, source, index, &self.inputs, self.spec.limits.time_ms);
        let described = described.expect("can be described");
        self.supervisor.run(JobId(1), described, AttemptId(1), &self.cancels)
    }
}

fn numbers(run: Run) -> Vec<u32> {
    match run.end {
        End::Done(product) => {
            let bytes = product.stdout.in_memory().expect("is small").to_vec();
            bytes.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().expect("four bytes"))).collect()
        }
        End::Failed(failure) => panic!("{failure}"),
        End::Cancelled | End::Compared(_) => panic!("cancelled"),
    }
}

fn failure(run: Run) -> Failure {
    match run.end {
        End::Failed(failure) => failure,
        End::Done(_) | End::Cancelled | End::Compared(_) => panic!("it should have failed"),
    }
}

const BINDINGS: &str = "
    @group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 16>;
    @group(0) @binding(1) var<storage, read_write> output: array<u32>;
";

fn kernel(more: &str, body: &str) -> String {
    format!(
        "{BINDINGS} {more}
        @compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
            if (id.x >= parameters[2].z) {{ return; }}
            {body}
        }}"
    )
}

const COUNT: &str = "
    var state = 1u; var count = 0u;
    loop {
        if (count >= parameters[4].x) { break; }
        state ^= state << 13u; state ^= state >> 17u; state ^= state << 5u;
        count += 1u;
    }
    output[id.x] = select(count, count + 1u, state == 0u);";

#[test]
fn the_self_test_finds_how_far_a_driver_counts() {
    let dir = tempfile::tempdir().expect("a folder");
    for driver in Driver::BOTH {
        let launcher = launcher(driver, dir.path());
        let adapter = adapter(&launcher);
        assert_eq!(adapter.kind, DeviceKind::Software);
        let speed = launcher.test(&adapter).expect("passes");
        assert!(speed.score > 0);
        match driver {
            Driver::Llvmpipe => assert!(speed.loops_max.is_some_and(|loops| (60_000..70_000).contains(&loops))),
            Driver::SwiftShader => assert_eq!(speed.loops_max, None),
        }
    }
}

#[test]
fn a_loop_of_a_million_is_counted_by_one_driver_and_cut_by_the_other() {
    for driver in Driver::BOTH {
        let mut trial = Trial::on(driver).change(|work, _, _| set_values(work, vec![1_000_000]));
        let counts = numbers(trial.run(&kernel("", COUNT)));
        match driver {
            Driver::Llvmpipe => assert!(counts.iter().all(|count| *count < 70_000), "{counts:?}"),
            Driver::SwiftShader => assert_eq!(counts, [1_000_000; 4]),
        }
    }
}

fn set_values(work: &mut Work, numbers: Vec<u32>) {
    let Work::Wgsl { values, .. } = work else { panic!("a kernel") };
    *values = numbers;
}

#[test]
fn passes_accumulate_in_scratch_and_finish_sees_them() {
    let source = format!(
        "{BINDINGS}
        @group(0) @binding(2) var<storage, read_write> scratch: array<u32>;
        @compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
            if (id.x >= parameters[2].z) {{ return; }}
            scratch[id.x] += 100u + parameters[1].z;
        }}
        @compute @workgroup_size(2) fn finish(@builtin(global_invocation_id) id: vec3<u32>) {{
            if (id.x >= parameters[2].z) {{ return; }}
            output[id.x] = scratch[id.x] * 10u + parameters[1].w;
        }}"
    );
    for driver in Driver::BOTH {
        let mut trial = Trial::on(driver).change(|work, _, _| {
            let Work::Wgsl { passes, finish, scratch_bytes_per_item, items, .. } = work else { panic!("a kernel") };
            (*passes, *finish, *scratch_bytes_per_item, *items) = (3, Some("finish".to_owned()), 4, 5);
        });
        assert_eq!(numbers(trial.run(&source)), [3033; 5]);
        // Scratch and output start from zero again in the same process.
        assert_eq!(numbers(trial.run(&source)), [3033; 5]);
    }
}

#[test]
fn tiles_know_where_they_are_and_inputs_come_in_order() {
    let source = "
        @group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 16>;
        @group(0) @binding(1) var<storage, read_write> output: array<u32>;
        @group(0) @binding(3) var<storage, read> first: array<u32>;
        @group(0) @binding(4) var<storage, read> second: array<u32>;
        @compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            let place = parameters[0];
            if (id.x >= place.z || id.y >= place.w) { return; }
            let x = place.x + id.x;
            let y = place.y + id.y;
            output[id.y * place.z + id.x] = y * parameters[1].x + x + first[0] + second[1];
        }";
    let mut trial = Trial::on(Driver::Llvmpipe)
        .change(|_, _, extent| *extent = Extent::Tiles { width: 10, height: 7, tile_width: 4, tile_height: 3 });
    let input = |numbers: &[u32]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        Content::Bytes(Output::inline(&bytes).expect("short"))
    };
    trial.inputs = vec![input(&[1000]), Content::Gather(Arc::new(vec![input(&[7]), input(&[20_000])]))];
    assert_eq!(numbers(trial.run_element(source, 8)), [21_068, 21_069]);
    assert_eq!(numbers(trial.run_element(source, 0))[4..6], [21_010, 21_011]);
}

#[test]
fn an_endless_kernel_is_killed_and_the_next_attempt_works() {
    let mut trial = Trial::on(Driver::SwiftShader).change(|_, limits, _| limits.time_ms = Millis(500));
    let endless = kernel("", "loop { output[id.x] += 1u; if (output[id.x] == 0u) { output[id.x] = 1u; } }");
    assert_eq!(failure(trial.run(&endless)).cause, Cause::TimeLimit);
    trial.spec.limits.time_ms = Millis(60_000);
    assert_eq!(numbers(trial.run(&kernel("", "output[id.x] = id.x;"))), [0, 1, 2, 3]);
}

#[test]
fn a_cancelled_kernel_stops() {
    let mut trial = Trial::on(Driver::SwiftShader);
    let endless = kernel("", "loop { output[id.x] += 1u; if (output[id.x] == 0u) { output[id.x] = 1u; } }");
    let cancels = trial.cancels.clone();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| trial.run(&endless));
        // Whether the kernel runs already or not makes no difference to the outcome.
        std::thread::sleep(Duration::from_millis(200));
        cancels.cancel(AttemptId(1));
        assert!(matches!(run.join().expect("ends").end, End::Cancelled));
    });
}

#[test]
fn a_crash_of_the_process_is_a_device_fault() {
    let mut trial = Trial::on(Driver::Llvmpipe);
    assert_eq!(numbers(trial.run(&kernel("", "output[id.x] = 7u;"))), [7; 4]);
    let endless = kernel("", "output[id.x] = 7u;");
    let dir = tempfile::tempdir().expect("a folder");
    let mut launcher = launcher(Driver::Llvmpipe, dir.path());
    let adapter = adapter(&launcher);
    let script = dir.path().join("crash");
    std::fs::copy("/bin/false", &script).expect("copies");
    launcher.executable = script;
    trial.supervisor = Supervisor::new(launcher, adapter);
    assert_eq!(failure(trial.run(&endless)).cause, Cause::DeviceFault);
}

#[test]
fn a_kernel_process_dies_with_its_worker() {
    use std::io::{Read, Write};
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner-worker-child"));
        command.arg("wgsl-child").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("starts");
        // The question for its adapters, in a frame; its answer shows that it is up.
        child.stdin.as_mut().expect("piped").write_all(&[1, 0, 0, 0, 0]).expect("listens");
        child.stdout.as_mut().expect("piped").read_exact(&mut [0; 4]).expect("answers");
        child
    };
    // To the system the thread that started it is its parent. Its input stays open, so it does not end by itself.
    let mut child = std::thread::spawn(start).join().expect("starts");
    let input = child.stdin.take();
    assert_eq!(child.wait().expect("ends").signal(), Some(9));
    drop(input);
}

#[test]
fn mistakes_in_kernels_are_bad_input_and_leave_the_device_usable() {
    let mut trial = Trial::on(Driver::Llvmpipe);
    for (source, word) in [
        (kernel("", "let wrong: u32 = 1.5;"), "wgsl:7"),
        ("not a kernel".to_owned(), "does not parse"),
        ("@compute @workgroup_size(1) fn other() {}".to_owned(), "`main`"),
        (
            kernel("@group(0) @binding(7) var<storage, read> more: array<u32>;", "output[0] = more[0];"),
            "nothing is bound",
        ),
        (
            kernel("@group(0) @binding(2) var<storage, read_write> more: array<u32>;", "output[0] = more[0];"),
            "no scratch",
        ),
        ("@compute @workgroup_size(4096, 4096) fn main() {}".to_owned(), "workgroup"),
    ] {
        let failure = failure(trial.run(&source));
        assert_eq!(failure.cause, Cause::BadInput, "{failure}");
        assert!(failure.detail.contains(word), "{source}: {failure}");
    }
    assert_eq!(numbers(trial.run(&kernel("", "output[id.x] = 9u;"))), [9; 4]);
}

#[test]
fn what_is_too_large_is_refused_with_the_limit() {
    let good = kernel("", "output[id.x] = 9u;");
    let mut trial = Trial::on(Driver::Llvmpipe).change(|work, limits, _| {
        let Work::Wgsl { items, .. } = work else { panic!("a kernel") };
        *items = 1 << 20;
        limits.output = 1 << 30;
    });
    let refused = failure(trial.run(&good));
    assert!(refused.detail.contains("max_compute_workgroups_per_dimension"), "{refused}");
    let mut trial = Trial::on(Driver::Llvmpipe).change(|work, limits, _| {
        let Work::Wgsl { items, scratch_bytes_per_item, .. } = work else { panic!("a kernel") };
        (*items, *scratch_bytes_per_item) = (1000, 4096);
        limits.memory = 1 << 20;
    });
    assert_eq!(failure(trial.run(&good)).cause, Cause::OutOfMemory);
    trial.spec.limits.memory = u64::MAX;
    let Work::Wgsl { items, scratch_bytes_per_item, .. } = &mut trial.spec.work else { panic!("a kernel") };
    (*items, *scratch_bytes_per_item) = (100_000, u32::MAX);
    let refused = failure(trial.run(&good));
    assert!(refused.cause == Cause::BadInput && refused.detail.contains("max_"), "{refused}");
}
