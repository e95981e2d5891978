//! The scheduler among simulated sources: everything arrives, once, in good time, whatever the sources do.
use super::world::{Uplink, World, key};
use super::*;
use proptest::prelude::*;

fn sizes(count: usize, seed: u32) -> Vec<u32> {
    (0..count).map(|number| 16 * 1024 + (u32::try_from(number).expect("few") * 7919 + seed) % (96 * 1024)).collect()
}

fn single(uplinks: &[Uplink], chunks: usize) -> (World, usize, Duration) {
    let mut world = World::new(sizes(chunks, 5));
    let fetcher = world.fetcher(Uplink::new(1.0, 5));
    for uplink in uplinks {
        world.seed(uplink.clone(), Role::Peer);
    }
    let done = world.run();
    (world, fetcher, done)
}

#[expect(clippy::cast_precision_loss, reason = "a ratio")]
fn ideal(world: &World, rate: f64) -> f64 {
    world.total() as f64 / rate
}

/// Less than 2 % arrives twice. In a fetch of a few megabytes it is the least that a slow source may be overtaken with, and
/// what was on its way when the first copy came. What a source had on the wire when it was given up is not among it: its
/// connection is closed, and what it had brought is kept.
fn assert_twice_is_bounded(world: &World, fetcher: usize) {
    let (twice, total) = (world.twice(fetcher), world.total());
    assert!(twice <= (total / 50).max(3 * TWICE_BYTES_MIN), "{twice} of {total} arrived twice");
}

#[test]
fn sources_of_different_speed_are_all_used_to_the_full() {
    let uplinks = [Uplink::new(20e6, 10), Uplink::new(5e6, 40), Uplink::new(1e6, 100), Uplink::new(0.2e6, 20)];
    let (world, fetcher, done) = single(&uplinks, 2000);
    assert_twice_is_bounded(&world, fetcher);
    let ideal = ideal(&world, 26.2e6);
    assert!(done.as_secs_f64() < ideal * 1.15 + 0.5, "took {done:?}, ideal {ideal:.2} s");
}

#[test]
fn a_source_that_dies_costs_no_more_than_what_it_had_outstanding() {
    let dying = Uplink { dies: Some(Duration::from_millis(1500)), ..Uplink::new(10e6, 10) };
    let (world, fetcher, done) = single(&[Uplink::new(10e6, 10), dying], 1000);
    assert_twice_is_bounded(&world, fetcher);
    let ideal = ideal(&world, 10e6);
    assert!(done.as_secs_f64() < ideal + 1.0, "took {done:?}, alone {ideal:.2} s");
}

#[test]
fn a_far_slower_relay_is_left_alone_while_a_better_route_holds_the_same() {
    let mut scheduler = Scheduler::new(Turns::new(key(0)), 0);
    (0..64).for_each(|position| scheduler.want(Wanted { position, bytes: 64 * 1024 }));
    let now = Duration::from_secs(1);
    let relay = scheduler.add_source(Duration::ZERO, Route::Relay, Role::Peer, Holds::All);
    let lan = scheduler.add_source(Duration::ZERO, Route::Lan, Role::Peer, Holds::All);
    let mut effects = Vec::new();
    scheduler.plan(Duration::ZERO, &mut effects);
    for effect in std::mem::take(&mut effects) {
        let Effect::Ask { source, positions, .. } = effect else { panic!("{effect:?}") };
        assert_eq!(positions.len(), 1, "a probe is small");
        let time = if source == lan { now / 1000 } else { now };
        scheduler.received(time, source, 64 * 1024);
        scheduler.arrived(time, source, positions[0], &mut effects);
    }
    scheduler.plan(now, &mut effects);
    assert!(!effects.is_empty());
    assert!(effects.iter().all(|effect| !matches!(effect, Effect::Ask { source, .. } if *source == relay)));
}

#[test]
fn an_owner_elsewhere_is_asked_only_for_what_nobody_else_has() {
    let mut world = World::new(sizes(600, 5));
    world.fetcher(Uplink::new(1.0, 5));
    world.seed_part(Uplink::new(2e6, 10), Role::Origin, |position| position % 10 != 0);
    let owner = world.seed(Uplink::new(20e6, 10), Role::Owner);
    world.run();
    let missing: u64 = sizes(600, 5).iter().step_by(10).map(|bytes| u64::from(*bytes)).sum();
    assert_eq!(world.sent(owner), missing, "of {} bytes", world.total());
}

#[test]
fn one_that_has_nothing_is_soon_asked_for_much_at_a_time() {
    let mut scheduler = Scheduler::new(Turns::new(key(0)), 0);
    (0..20_000).for_each(|position| scheduler.want(Wanted { position, bytes: 64 * 1024 }));
    scheduler.add_source(Duration::ZERO, Route::Hub, Role::Origin, Holds::All);
    scheduler.add_source(Duration::ZERO, Route::Direct, Role::Owner, Holds::These(crate::store::Bitmap::new(0)));
    let (mut rounds, mut effects) = (0, Vec::new());
    loop {
        let now = Duration::from_millis(20 * rounds);
        scheduler.plan(now, &mut effects);
        if effects.is_empty() {
            break;
        }
        rounds += 1;
        for effect in std::mem::take(&mut effects) {
            let Effect::Ask { request, positions, .. } = effect else { panic!("{effect:?}") };
            positions.into_iter().for_each(|position| scheduler.absent(now, request, position));
        }
    }
    assert!((20_000 / 512..250).contains(&rounds), "asked in {rounds} rounds");
}

#[test]
fn an_owner_in_the_same_network_is_asked_like_an_origin() {
    let mut scheduler = Scheduler::new(Turns::new(key(0)), 0);
    (0..64).for_each(|position| scheduler.want(Wanted { position, bytes: 64 * 1024 }));
    scheduler.add_source(Duration::ZERO, Route::Hub, Role::Origin, Holds::All);
    let owner = scheduler.add_source(Duration::ZERO, Route::Lan, Role::Owner, Holds::All);
    let mut effects = Vec::new();
    scheduler.plan(Duration::ZERO, &mut effects);
    let first = effects.first();
    assert!(matches!(first, Some(Effect::Ask { source, .. }) if *source == owner), "{effects:?}");
}

#[test]
fn an_owner_who_alone_has_the_data_sends_about_one_copy_to_a_swarm() {
    let mut world = World::new(vec![64 * 1024; 2048]);
    world.seed_part(Uplink::new(12.5e6, 10), Role::Origin, |position| position < 4);
    let owner = world.seed(Uplink::new(12.5e6, 20), Role::Owner);
    for _ in 0..8 {
        world.fetcher(Uplink::new(12.5e6, 20));
    }
    world.run();
    let (sent, total) = (world.sent(owner), world.total());
    assert!(sent * 100 <= total * 108, "the owner sent {sent} bytes of {total}");
}

fn any_uplink() -> impl Strategy<Value = Uplink> {
    let moment = || 0..8000_u64;
    (100_000.0..30e6, 1..150_u64, moment(), moment(), 0..6_u32).prop_map(|(rate, delay, at, long, fate)| {
        let (at, long) = (Duration::from_millis(at), Duration::from_millis(long));
        let fair = Uplink::new(rate, delay);
        match fate {
            0 => Uplink { dies: Some(at), ..fair },
            1 => Uplink { stalls: Some((at, long)), ..fair },
            2 => Uplink { lies_about: Some(u32::try_from(long.as_millis()).expect("some seconds") % 600), ..fair },
            3 => Uplink { joins: at, ..fair },
            _ => fair,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_fetch_ends_with_everything_once_and_in_good_time(
        uplinks in proptest::collection::vec(any_uplink(), 0..6), rate in 500_000.0..20e6_f64, chunks in 20..600_usize,
    ) {
        let honest = Uplink::new(rate, 20);
        let others = f64::from(u32::try_from(uplinks.len()).expect("few"));
        let all: Vec<Uplink> = uplinks.into_iter().chain([honest]).collect();
        let (world, fetcher, done) = single(&all, chunks);
        assert_twice_is_bounded(&world, fetcher);
        // The honest one alone would take this long; what another has in its hands when it falls silent may cost a pause more.
        let alone = ideal(&world, rate);
        prop_assert!(done.as_secs_f64() < alone * 1.2 + 2.0 + others, "took {:?}, one source alone {:.2} s", done, alone);
    }
}
