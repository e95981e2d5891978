use crate::network::{Network, offer, output};
use gleaner_core::Params;
use gleaner_core::plan::{Graph, plan};
use gleaner_core::proof::{Policy, WHOLE};
use gleaner_wire::api::JobState;
use gleaner_wire::check::Compared;
use gleaner_wire::job_file::JobFile;
use gleaner_wire::render::steps;
use gleaner_wire::{ByteSize, DeviceKind, JobId, Millis, Offer, Outcome, Runtime, RuntimeOffer, State, WorkerId};

const PROJECT: &str = "data:83d9dab06011479163c7c4d5fa735f911bac86729f56aaa115b7eed2eb66e022:1:1";

fn blender(name: &str, engine: &str, slots: u16) -> Offer {
    let mut offer = offer(name, 1000, 10);
    let engine = Some(engine.into());
    offer.devices[0].runtimes = vec![RuntimeOffer { runtime: Runtime::Blender, score: 1000, loops_max: None, engine }];
    offer.devices[0].slots = slots;
    offer
}

/// Three frames of two pieces each, and a film of them.
fn rendering() -> Graph {
    let text = format!(
        "name = \"job\"\nbudget = {{ price_max = \"10 GLN\", time_max = \"10h\" }}\n[[task]]\nname = \"shot\"\n\
         runtime = \"blender\"\nprogram = \"{PROJECT}\"\n[task.blender]\nframes = \"1-3\"\n\
         split = {{ tiles = [2, 1] }}\nvideo = \"mp4\"\n"
    );
    let mut file = JobFile::from_toml(&text).expect("a job file");
    steps(&mut file);
    plan(&file).expect("it makes sense")
}

fn submit(network: &mut Network, graph: Graph) -> JobId {
    network.submit_graph("ada", graph).expect("the job is taken")
}

/// Runs whatever is started, and says who did something.
fn run(network: &mut Network) -> std::collections::BTreeSet<WorkerId> {
    let mut workers = std::collections::BTreeSet::new();
    for _ in 0..1000 {
        for (worker, start) in network.started() {
            workers.insert(worker);
            network.deliver(worker, &start, 1000);
        }
    }
    workers
}

#[test]
fn frames_of_eevee_go_where_they_can_be_drawn() {
    let mut network = Network::new();
    network.join(blender("dark", "4.5", 8));
    let text = format!(
        "name = \"job\"\nbudget = {{ price_max = \"10 GLN\", time_max = \"10h\" }}\n[[task]]\nname = \"shot\"\n\
         runtime = \"blender\"\nprogram = \"{PROJECT}\"\n[task.blender]\nframes = \"1-3\"\nengine = \"eevee\"\n"
    );
    let mut file = JobFile::from_toml(&text).expect("a job file");
    steps(&mut file);
    let id = submit(&mut network, plan(&file).expect("it makes sense"));
    // Anybody with this build may look at the scene.
    assert_eq!(run(&mut network).len(), 1);
    let waiting = network.core.explain(id).expect("it is there").waiting;
    let codes: Vec<_> = waiting.iter().flat_map(|group| &group.reasons).map(|reason| reason.code.clone()).collect();
    assert!(codes.contains(&"no_eevee".to_owned()), "{codes:?}");
    let mut offer = blender("bright", "4.5", 1);
    offer.devices[0].eevee = true;
    let bright = network.join(offer);
    assert_eq!(run(&mut network), [bright].into());
    assert_eq!(network.state(id), JobState::Done);
}

#[test]
fn a_rendering_gets_the_build_that_most_slots_have() {
    let mut network = Network::new();
    network.join(blender("rare", "3.4", 2));
    let common = [network.join(blender("one", "4.5", 1)), network.join(blender("two", "4.5", 2))];
    let gone = network.join(blender("gone", "5.0", 50));
    network.leave(gone);
    let graph = rendering();
    let needs: Vec<_> = graph.groups.iter().map(|group| &group.needs).collect();
    assert_eq!(network.core.popular_engine(&needs).as_deref(), Some("4.5"));
    let id = submit(&mut network, graph);
    assert!(run(&mut network).iter().all(|worker| common.contains(worker)));
    assert_eq!(network.state(id), JobState::Done);
}

#[test]
fn of_equally_common_builds_the_first_by_name_is_taken() {
    let mut network = Network::new();
    network.join(blender("late", "4.5", 2));
    let early = network.join(blender("early", "3.4", 2));
    let id = submit(&mut network, rendering());
    assert_eq!(run(&mut network), [early].into());
    assert_eq!(network.state(id), JobState::Done);
}

#[test]
fn a_build_whose_machines_do_not_fit_is_not_taken() {
    let mut network = Network::new();
    let mut small = blender("small", "3.4", 8);
    small.devices[0].memory = ByteSize::mib(16);
    network.join(small);
    let fits = network.join(blender("fits", "4.5", 1));
    let id = submit(&mut network, rendering());
    assert_eq!(run(&mut network), [fits].into());
    assert_eq!(network.state(id), JobState::Done);
}

#[test]
fn a_build_that_the_job_names_is_kept() {
    let mut network = Network::new();
    network.join(blender("common", "4.5", 8));
    let named = network.join(blender("named", "3.4", 1));
    let mut graph = rendering();
    graph.groups.iter_mut().for_each(|group| group.needs.engine = Some("3.4".into()));
    let id = submit(&mut network, graph);
    assert_eq!(run(&mut network), [named].into());
    assert_eq!(network.state(id), JobState::Done);
}

#[test]
fn where_nobody_was_there_all_follow_the_build_that_first_looked() {
    let mut network = Network::new();
    let id = submit(&mut network, rendering());
    let first = network.join(blender("first", "4.5", 1));
    let (worker, look) = network.started_one();
    assert_eq!((worker, look.group), (first, 0));
    network.join(blender("other", "3.4", 8));
    network.deliver(first, &look, 1000);
    let view = network.core.explain(id).expect("it is there");
    let codes = view.waiting[0].reasons.iter().map(|reason| reason.code.as_str());
    assert!(codes.into_iter().any(|code| code == "other_engine"), "{view:?}");
    assert_eq!(run(&mut network), [first].into());
    assert_eq!(network.state(id), JobState::Done);
}

#[test]
fn results_of_another_build_are_not_reused() {
    let mut network = Network::new();
    let known = |network: &Network, id| network.core.job_summary(id).expect("it is there").known;
    let old = network.join(blender("old", "3.4", 1));
    let first = submit(&mut network, rendering());
    run(&mut network);
    assert_eq!((network.state(first), known(&network, first)), (JobState::Done, 0));
    let again = submit(&mut network, rendering());
    assert_eq!((network.state(again), known(&network, again)), (JobState::Done, 11));
    network.leave(old);
    network.join(blender("new", "4.5", 1));
    let other = submit(&mut network, rendering());
    assert_eq!(known(&network, other), 0);
    run(&mut network);
    assert_eq!(network.state(other), JobState::Done);
}

#[test]
fn a_known_look_does_not_decide_for_a_build_that_nobody_chose() {
    let mut network = Network::new();
    let worker = network.join(blender("a", "3.4", 1));
    submit(&mut network, rendering());
    run(&mut network);
    network.leave(worker);
    let id = submit(&mut network, rendering());
    assert_eq!(network.core.job_summary(id).expect("it is there").known, 0, "whose pixels would they be?");
    network.join(blender("a", "3.4", 1));
    let (_, look) = network.started_one();
    network.deliver(worker, &look, 1000);
    let summary = network.core.job_summary(id).expect("it is there");
    assert_eq!((summary.state, summary.known), (JobState::Done, 10), "the rest is known of that build");
}

/// A worker that renders on a card.
fn card(name: &str, model: &str) -> Offer {
    let mut offer = blender(name, "4.5-optix", 1);
    (offer.devices[0].kind, offer.devices[0].name) = (DeviceKind::Nvidia, model.into());
    offer
}

#[test]
fn what_cards_draw_is_not_compared_bit_by_bit() {
    let audits = Policy { trusted: WHOLE, floor: WHOLE, ..Policy::default() };
    let mut network = Network::with(Params { checks: true, audits, ..Params::default() });
    let models = ["large", "large", "large", "large", "small", "small", "small"];
    let workers: Vec<_> = (0..).zip(models).map(|(at, model)| network.join(card(&format!("w{at}"), model))).collect();
    let id = submit(&mut network, rendering());
    let mut looked = 0;
    for seed in 0..200 {
        for (worker, start) in network.started() {
            // Every card adds up its samples in another order, each time.
            let drawn = if start.group == 1 { u64::from(start.index) * 1000 + start.attempt.0 } else { 7 };
            looked += u64::from(start.compare.is_some());
            let result = match start.compare {
                Some(_) => Compared::at(1000).to_output(),
                None => output(drawn),
            };
            network.now = network.now.after(Millis(1000));
            network.finish(worker, start.attempt, 1000, Outcome::Done(result));
        }
        if network.core.round_to_draw().is_some() {
            network.draw(seed);
        }
    }
    assert_eq!(network.state(id), JobState::Done, "{:?}", network.core.explain(id));
    assert!(looked > 0, "they are looked at as pictures");
    assert_eq!((network.core.totals().answers_wrong, network.core.totals().claims_refuted), (0, 0));
    let state = |worker| network.core.worker_view(worker).expect("it is there").state;
    assert!(workers.into_iter().all(|worker| state(worker) == State::Available), "nobody is blamed");
}
