use crate::network::{Network, array, job, offer};
use gleaner_wire::api::JobState;

#[test]
fn a_million_tasks_of_one_requester_do_not_starve_ten_of_another() {
    let mut network = Network::new();
    for name in ["a", "b"] {
        network.join(offer(name, 1000, 1));
    }
    network.submit("ada", &job(vec![array("million", 1_000_000)]));
    let mut placed = 0;
    for _ in 0..20 {
        for (worker, start) in network.started() {
            network.deliver(worker, &start, 1000);
        }
    }
    let ten = network.submit("bob", &job(vec![array("ten", 10)]));
    while network.state(ten) == JobState::Running {
        for (worker, start) in network.started() {
            network.deliver(worker, &start, 1000);
            placed += 1;
        }
        assert!(placed < 60, "ten tasks were done within {placed}");
    }
}

#[test]
fn a_requester_cannot_save_up_turns() {
    let mut network = Network::new();
    network.join(offer("a", 1000, 1));
    network.submit("ada", &job(vec![array("a", 100_000)]));
    for _ in 0..200 {
        let (worker, start) = network.started().remove(0);
        network.deliver(worker, &start, 1000);
    }
    network.submit("bob", &job(vec![array("b", 100_000)]));
    let mut of_bob = 0;
    for _ in 0..100 {
        let (worker, start) = network.started().remove(0);
        of_bob += u32::from(start.job.0 == 2);
        network.deliver(worker, &start, 1000);
    }
    assert!((40..=60).contains(&of_bob), "{of_bob} of 100 turns went to the newcomer");
}
