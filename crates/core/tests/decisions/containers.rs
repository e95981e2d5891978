use crate::network::{Network, offer};
use gleaner_core::Event;
use gleaner_core::plan::{Graph, plan};
use gleaner_wire::job_file::JobFile;
use gleaner_wire::{
    DeviceKind, DeviceNeed, Extent, Hash, Held, IMAGE_BYTES_GUESS, Image, Offer, Runtime, RuntimeOffer, Sweep,
    TASKS_MAX, Work,
};

const LAYOUT: &str = "data:83d9dab06011479163c7c4d5fa735f911bac86729f56aaa115b7eed2eb66e022:1:1";

fn image() -> String {
    format!("image = \"docker.io/library/python@sha256:{}\"", "ab".repeat(32))
}

/// A job of one container: keys of its task, and of its `[task.container]`.
fn file(task: &str, container: &str) -> String {
    format!(
        "name = \"job\"\nbudget = {{ price_max = \"10 GLN\" }}\n[[task]]\nname = \"c\"\nruntime = \"container\"\n\
         {task}\n[task.container]\n{container}\n"
    )
}

fn planned(task: &str, container: &str) -> Graph {
    let file = JobFile::from_toml(&file(task, container)).expect("a job file");
    plan(&file).unwrap_or_else(|error| panic!("{}: {error}", error.at))
}

/// Where a job is refused.
fn refused(task: &str, container: &str) -> String {
    let text = file(task, container);
    let file = JobFile::from_toml(&text).expect("a job file");
    plan(&file).expect_err(&text).at
}

fn image_of(graph: &Graph) -> &Image {
    let Work::Container { image, .. } = &graph.groups[0].spec.work else { panic!("a container") };
    image
}

#[test]
fn an_image_is_named_with_its_digest() {
    let graph = planned("", &image());
    let digest = Hash([0xab; 32]);
    assert_eq!(*image_of(&graph), Image::Registry { name: "docker.io/library/python".into(), digest });
    let short = format!("image = \"python@sha256:{}\"", "ab".repeat(31));
    for unsure in ["image = \"python\"", "image = \"python:3.12\"", "image = \"python@sha512:00\"", &short] {
        assert_eq!(refused("", unsure), "task[0].container.image", "{unsure}");
    }
    let nameless = format!("image = \"@sha256:{}\"", "ab".repeat(32));
    assert_eq!(refused("", &nameless), "task[0].container.image");
}

#[test]
fn a_tag_beside_a_digest_is_dropped_and_a_port_is_not() {
    let digest = Hash([0xab; 32]);
    for (written, name) in [
        ("localhost:5000/python:3.12", "localhost:5000/python"),
        ("localhost:5000/python", "localhost:5000/python"),
        ("python:3.12", "python"),
    ] {
        let graph = planned("", &format!("image = \"{written}@sha256:{}\"", "ab".repeat(32)));
        assert_eq!(*image_of(&graph), Image::Registry { name: name.into(), digest }, "{written}");
    }
}

#[test]
fn an_image_comes_from_a_registry_or_from_a_dataset() {
    let program = format!("program = \"{LAYOUT}\"");
    assert!(matches!(image_of(&planned(&program, "")), Image::Data(_)));
    assert_eq!(refused(&program, &image()), "task[0].container.image");
    assert_eq!(refused("", ""), "task[0].container.image");
    assert_eq!(refused("program = \"layout\"", ""), "task[0].program", "a path is not stored yet");
}

#[test]
fn cards_and_kinds_of_devices_go_together() {
    let needs = |device: &str, gpus: &str| {
        let device = if device.is_empty() { String::new() } else { format!("needs = {{ device = \"{device}\" }}") };
        let graph = planned(&device, &format!("{}\n{gpus}", image()));
        (graph.groups[0].needs.device, graph.groups[0].needs.cards)
    };
    assert_eq!(needs("", ""), (DeviceNeed::Cpu, 1));
    assert_eq!(needs("cpu", "gpus = 0"), (DeviceNeed::Cpu, 1));
    assert_eq!(needs("", "gpus = 2"), (DeviceNeed::Gpu, 2));
    assert_eq!(needs("nvidia", "gpus = 1"), (DeviceNeed::Nvidia, 1));
    for (device, gpus) in [("cpu", "gpus = 1"), ("software", "gpus = 1"), ("gpu", ""), ("amd", "gpus = 0")] {
        let at = refused(&format!("needs = {{ device = \"{device}\" }}"), &format!("{}\n{gpus}", image()));
        assert_eq!(at, "task[0].needs.device", "{device}, {gpus}");
    }
    assert_eq!(refused("", &format!("{}\ngpus = 65", image())), "task[0].container.gpus");
}

#[test]
fn a_sweep_is_one_task_for_each_combination() {
    let graph = planned("sweep = { lr = [\"1e-3\", \"1e-4\"], seed = [\"1\", \"2\", \"3\"] }", &image());
    assert_eq!((graph.tasks(), graph.groups.len()), (6, 1));
    let Work::Container { sweep, .. } = &graph.groups[0].spec.work else { panic!("a container") };
    assert_eq!(Sweep::values_of(sweep, 4), [("lr", "1e-4"), ("seed", "2")]);
    let single = planned("sweep = { lr = [\"1\"] }", &image());
    assert_eq!(single.groups[0].spec.extent, Extent::Single);
}

#[test]
fn sweeps_have_limits() {
    let values = |count: usize| format!("[{}]", vec!["\"x\""; count].join(", "));
    let sweep = |names: usize, count: usize| {
        let each: Vec<_> = (0..names).map(|at| format!("n{at} = {}", values(count))).collect();
        format!("sweep = {{ {} }}", each.join(", "))
    };
    assert_eq!(planned(&sweep(16, 1), &image()).tasks(), 1);
    assert_eq!(planned(&sweep(1, 10_000), &image()).tasks(), 10_000);
    for wrong in [
        sweep(17, 1),
        sweep(1, 10_001),
        sweep(1, 0),
        "sweep = { index = [\"1\"] }".into(),
        "sweep = { \"a b\" = [\"1\"] }".into(),
        "sweep = { a = [\"\"] }".into(),
        "sweep = { a = [\"\\u0000\"] }".into(),
    ] {
        assert_eq!(refused(&wrong, &image()), "task[0].sweep", "{wrong:.60}");
    }
    // Sixteen names of a hundred values each: far more than any number holds.
    assert_eq!(refused(&sweep(16, 100), &image()), "task[0]");
    assert!(100_u64.pow(4) > TASKS_MAX);
    assert_eq!(refused(&format!("each = \"1..3\"\n{}", sweep(1, 2)), &image()), "task[0].sweep");
}

#[test]
fn names_in_an_environment_can_be_names() {
    let graph = planned("", &format!("{}\nenv = {{ LR = \"{{lr}}\", EMPTY = \"\" }}", image()));
    let Work::Container { env, .. } = &graph.groups[0].spec.work else { panic!("a container") };
    assert_eq!(*env, [("EMPTY".into(), String::new()), ("LR".into(), "{lr}".into())]);
    for wrong in ["{ \"\" = \"1\" }", "{ \"a=b\" = \"1\" }", "{ A = \"\\u0000\" }"] {
        assert_eq!(refused("", &format!("{}\nenv = {wrong}", image())), "task[0].container.env", "{wrong}");
    }
    let long = format!("{}\ncommand = [\"{}\"]", image(), "x".repeat(256 * 1024 + 1));
    assert_eq!(refused("", &long), "task[0].container.command");
}

#[test]
fn checkpoints_are_saved_at_most_every_second() {
    assert_eq!(refused("", &format!("{}\ncheckpoint = \"999ms\"", image())), "task[0].container.checkpoint");
    planned("", &format!("{}\ncheckpoint = \"1s\"", image()));
}

#[test]
fn settings_of_other_runtimes_are_refused() {
    assert_eq!(refused("args = [\"x\"]", &image()), "task[0].args");
    assert_eq!(refused("kernel = { passes = 2 }", &image()), "task[0].kernel");
    assert_eq!(refused("blender = { frames = \"1\" }", &image()), "task[0].blender");
    let wasm = format!("name = \"job\"\n[[task]]\nname = \"c\"\nruntime = \"wasm\"\nprogram = \"{LAYOUT}\"\n");
    for (setting, at) in
        [("container = { gpus = 1 }", "task[0].container"), ("sweep = { a = [\"1\"] }", "task[0].sweep")]
    {
        let file = JobFile::from_toml(&format!("{wasm}{setting}\n")).expect("a job file");
        assert_eq!(plan(&file).expect_err("refused").at, at);
    }
}

fn host(name: &str, cards: u16, network: bool) -> Offer {
    let mut offer = offer(name, 1000, 10);
    let device = &mut offer.devices[0];
    (device.cards, device.network) = (cards, network);
    device.kind = if cards > 0 { DeviceKind::Nvidia } else { DeviceKind::Cpu };
    device.cards = cards.max(1);
    device.runtimes = vec![RuntimeOffer { runtime: Runtime::Container, score: 1000, loops_max: None, engine: None }];
    offer
}

fn codes(network: &Network, id: gleaner_wire::JobId) -> Vec<(String, Option<u64>)> {
    let view = network.core.explain(id).expect("it is there");
    view.waiting[0].reasons.iter().map(|reason| (reason.code.clone(), reason.devices)).collect()
}

#[test]
fn a_container_goes_where_its_image_is() {
    for has_it in [0, 1, 2] {
        let mut network = Network::new();
        let workers = ["a", "b", "c"].map(|name| network.join(host(name, 0, false)));
        let held = vec![Held { root: Hash([0xab; 32]), bytes: IMAGE_BYTES_GUESS }];
        network.apply(Event::Holds { worker: workers[has_it], held });
        let id = network.submit_graph("ada", planned("", &image())).expect("taken");
        assert_eq!(network.started_one().0, workers[has_it]);
        let why = network.core.explain(id).expect("it is there").running[0].why.clone();
        assert!(why.contains("holds all"), "{why}");
    }
}

#[test]
fn a_container_goes_where_there_are_enough_cards() {
    let mut network = Network::new();
    network.join(host("one", 1, false));
    let id = network.submit_graph("ada", planned("", &format!("{}\ngpus = 2", image()))).expect("taken");
    assert!(network.started().is_empty());
    assert_eq!(codes(&network, id), [("too_few_cards".into(), Some(1))]);
    let four = network.join(host("four", 4, false));
    assert_eq!(network.started_one().0, four);
}

#[test]
fn a_container_that_needs_the_network_goes_where_the_owner_allows_it() {
    let mut network = Network::new();
    network.join(host("closed", 0, false));
    let id = network.submit_graph("ada", planned("", &format!("{}\nnetwork = true", image()))).expect("taken");
    assert!(network.started().is_empty());
    assert_eq!(codes(&network, id), [("no_network".into(), Some(1))]);
    let open = network.join(host("open", 0, true));
    assert_eq!(network.started_one().0, open);
}
