//! Swarms in simulated time: how often the origin sends what it has.
use crate::net::schedule::Role;
use crate::net::schedule::world::{Uplink, World};
use proptest::prelude::*;
use std::time::Duration;

const LINE: f64 = 12.5e6;
const CHUNKS: usize = 2048;

/// How many copies the origin sent to those who live, and how many times as long as one copy it took.
fn swarm(peers: &[Uplink]) -> (f64, f64) {
    let mut world = World::new(vec![64 * 1024; CHUNKS]);
    let origin = world.seed(Uplink::new(LINE, 20), Role::Origin);
    for peer in peers {
        world.fetcher(peer.clone());
    }
    let done = world.run();
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    let (sent, total) = ((world.sent(origin) - world.sent_in_vain(origin)) as f64, world.total() as f64);
    (sent / total, done.as_secs_f64() / (total / LINE))
}

#[test]
fn eight_peers_cost_the_origin_one_copy() {
    let (copies, times) = swarm(&vec![Uplink::new(LINE, 20); 8]);
    assert!(copies <= 1.05, "the origin sent {copies:.3} copies");
    assert!(times < 1.6, "took {times:.2} times as long as one copy");
}

#[test]
fn a_peer_that_comes_late_takes_nothing_from_the_origin_that_others_hold() {
    let mut peers = vec![Uplink::new(LINE, 20); 7];
    peers.push(Uplink { joins: Duration::from_secs(6), ..Uplink::new(LINE, 20) });
    let (copies, _) = swarm(&peers);
    assert!(copies <= 1.1, "the origin sent {copies:.3} copies");
}

#[test]
fn one_peer_alone_is_held_up_by_no_rule() {
    let (copies, times) = swarm(&[Uplink::new(LINE, 20)]);
    assert!(copies <= 1.001 && times < 1.1, "{copies:.3} copies, {times:.2} times");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn peers_that_come_and_go_cost_the_origin_little_more_than_one_copy(
        lives in proptest::collection::vec((0..10_000_u64, proptest::option::of(2_000..12_000_u64), 2e6..40e6_f64), 8),
    ) {
        let peers: Vec<Uplink> = lives
            .into_iter()
            .enumerate()
            .map(|(number, (joins, dies, rate))| {
                let joins = Duration::from_millis(if number == 0 { 0 } else { joins });
                let dies = dies.filter(|_| number % 3 == 2).map(|after| joins + Duration::from_millis(after));
                Uplink { joins, dies, ..Uplink::new(rate, 20) }
            })
            .collect();
        let (copies, _) = swarm(&peers);
        prop_assert!(copies <= 1.1, "the origin sent {copies:.3} copies");
    }
}
