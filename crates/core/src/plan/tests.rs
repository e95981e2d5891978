use super::*;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use gleaner_wire::job_file::{
    BlenderFile, Budget, ContainerFile, InputFile, KernelFile, NeedsFile, Source, TaskFile, TilesFile,
};
use gleaner_wire::{BlobRef, ByteSize, DeviceNeed, InputSpec, Runtime};

fn task(name: &str) -> TaskFile {
    TaskFile {
        name: name.into(),
        runtime: Runtime::Wasm,
        program: Some(Source::Data(BlobRef::of(b"program").into())),
        each: None,
        tiles: None,
        sweep: BTreeMap::new(),
        inputs: vec![],
        needs: NeedsFile::default(),
        time_max: None,
        output_max: None,
        memo: true,
        args: vec![],
        kernel: KernelFile::default(),
        container: ContainerFile::default(),
        blender: BlenderFile::default(),
        check: None,
    }
}

fn from(name: &str) -> InputFile {
    InputFile {
        name: format!("from-{name}"),
        file: None,
        folder: None,
        dataset: None,
        from: Some(name.into()),
        same_index: false,
        per: None,
    }
}

fn job(tasks: Vec<TaskFile>) -> JobFile {
    JobFile {
        name: "job".into(),
        prefer: Prefer::Balanced,
        budget: Budget::default(),
        market: Market::default(),
        needs: NeedsFile::default(),
        tasks,
    }
}

fn refusal(tasks: Vec<TaskFile>) -> (String, String) {
    let error = plan(&job(tasks)).expect_err("refused");
    (error.at.clone(), error.to_string())
}

#[test]
fn an_array_stays_a_count() {
    let graph = plan(&job(vec![TaskFile { each: Some("1..10000000".into()), ..task("a") }])).expect("planned");
    assert_eq!((graph.tasks(), graph.groups.len()), (10_000_000, 1));
}

#[test]
fn more_than_ten_million_tasks_are_refused() {
    let array = |name| TaskFile { each: Some("1..6000000".into()), ..task(name) };
    let (at, reason) = refusal(vec![array("a"), array("b")]);
    assert_eq!(at, "task[1]");
    assert!(reason.contains("12000000"), "{reason}");
}

#[test]
fn a_cycle_is_refused_with_its_way_round() {
    let a = TaskFile { inputs: vec![from("c")], ..task("a") };
    let b = TaskFile { inputs: vec![from("a")], ..task("b") };
    let c = TaskFile { inputs: vec![from("b")], ..task("c") };
    let (at, reason) = refusal(vec![task("first"), a, b, c]);
    assert!(at.ends_with(".input[0].from"), "{at}");
    assert_eq!(reason, "these tasks wait for each other: a ← c ← b ← a");
    let own = TaskFile { inputs: vec![from("x")], ..task("x") };
    assert_eq!(refusal(vec![own]).1, "these tasks wait for each other: x ← x");
}

#[test]
fn an_unknown_input_is_refused_where_it_stands() {
    let (at, reason) = refusal(vec![task("a"), TaskFile { inputs: vec![from("nobody")], ..task("b") }]);
    assert_eq!((at.as_str(), reason.as_str()), ("task[1].input[0].from", "there is no task named `nobody`"));
}

#[test]
fn inputs_are_gathered_single_or_by_index() {
    let fork = TaskFile { each: Some("1..4".into()), ..task("fork") };
    let by_index = InputFile { same_index: true, ..from("fork") };
    let each = TaskFile { each: Some("1..4".into()), inputs: vec![by_index.clone()], ..task("each") };
    let join = TaskFile { inputs: vec![from("fork"), from("first")], ..task("join") };
    let graph = plan(&job(vec![task("first"), fork.clone(), each, join])).expect("planned");
    assert!(matches!(graph.groups[2].spec.inputs[0], InputSpec::Output { group: 1, .. }));
    assert!(matches!(graph.groups[3].spec.inputs[0], InputSpec::Gather { group: 1, .. }));
    assert!(matches!(graph.groups[3].spec.inputs[1], InputSpec::Output { group: 0, .. }));
    let uneven = TaskFile { each: Some("1..5".into()), inputs: vec![by_index], ..task("uneven") };
    assert_eq!(refusal(vec![fork, uneven]).0, "task[1].input[0].same_index");
}

#[test]
fn impossible_needs_are_refused() {
    let gpu = NeedsFile { device: Some(DeviceNeed::Gpu), ..NeedsFile::default() };
    assert_eq!(refusal(vec![TaskFile { needs: gpu, ..task("a") }]).0, "task[0].needs.device");
    let tiles = TilesFile { width: 4096, height: 4096, tile_width: 4096, tile_height: 4096 };
    let small = NeedsFile { memory: Some(ByteSize::mib(1)), ..NeedsFile::default() };
    let kernel = TaskFile { runtime: Runtime::Wgsl, tiles: Some(tiles), needs: small, ..task("a") };
    assert!(refusal(vec![kernel]).1.contains("64MiB"));
}

#[test]
fn settings_of_the_other_runtime_are_refused() {
    let passes = KernelFile { passes: Some(2), ..KernelFile::default() };
    assert_eq!(refusal(vec![TaskFile { kernel: passes, ..task("a") }]).0, "task[0].kernel");
    let args = TaskFile { runtime: Runtime::Wgsl, args: vec!["x".into()], ..task("a") };
    assert_eq!(refusal(vec![args]).0, "task[0].args");
}

#[test]
fn names_cannot_leave_their_folder() {
    for name in ["", "..", "a/b", ".hidden", "a.", "é", &"x".repeat(65)] {
        assert_eq!(refusal(vec![task(name)]).0, "task[0].name", "{name}");
    }
    assert_eq!(refusal(vec![task("a"), task("a")]).0, "task[1].name");
}
