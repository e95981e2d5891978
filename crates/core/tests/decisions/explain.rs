use crate::network::{Network, array, job, offer, task};
use gleaner_core::Event;

fn codes(network: &Network, id: gleaner_wire::JobId) -> Vec<String> {
    let view = network.core.explain(id).expect("it is there");
    view.waiting.iter().flat_map(|waiting| waiting.reasons.iter().map(|reason| reason.code.clone())).collect()
}

#[test]
fn a_waiting_task_says_why() {
    let mut network = Network::new();
    let id = network.submit("ada", &job(vec![task("a")]));
    assert_eq!(codes(&network, id), ["no_workers"]);
    let worker = network.join(offer("a", 1000, 10));
    assert!(codes(&network, id).is_empty(), "it runs");
    let busy = network.submit("ada", &job(vec![task("b")]));
    assert_eq!(codes(&network, busy), ["busy"]);
    network.apply(Event::WorkerPaused { worker });
    assert_eq!(codes(&network, busy), ["paused"]);
    network.leave(worker);
    assert_eq!(codes(&network, busy), ["offline"]);
}

#[test]
fn a_running_task_says_where_and_why_there() {
    let mut network = Network::new();
    network.join(offer("anna", 1000, 10));
    let id = network.submit("ada", &job(vec![array("a", 3)]));
    let view = network.core.explain(id).expect("it is there");
    assert_eq!((view.running.len(), view.running[0].worker.as_str()), (1, "anna"));
    assert!(view.running[0].why.contains("best idle device"), "{}", view.running[0].why);
    assert_eq!(view.waiting[0].queued, 2);
}
