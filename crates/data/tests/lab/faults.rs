//! Peers that stall or vanish in the middle, beside one that does not.
use super::stage::*;
use gleaner_lab::{Host, Internet, Shape, Side, Uplink};

/// So many that 12 requests, each with an unfinished chunk of 112 KiB, are about 2 %: whoever is gone for good takes the
/// beginnings of its chunks along, since nobody else may finish them.
const COUNT: usize = 1000;

/// Two sources; something happens to the first at a third.
fn fetched_beside(name: &str, happens: impl FnOnce(Actor, &Host) -> Option<Actor>) {
    let internet = Internet::new().unwrap();
    let line = Uplink::even(Shape::megabits(30).delay_ms(10));
    let hosts = ["one", "two"].map(|name| internet.host(name, &line).unwrap());
    let target = internet.host("target", &Uplink::even(Shape::megabits(100).delay_ms(5))).unwrap();
    let stores = [filled(COUNT), filled(COUNT)];
    let gets = tempfile::tempdir().unwrap();
    let one = Actor::serves(&hosts[0].machine, 1, stores[0].path());
    let two = Actor::serves(&hosts[1].machine, 3, stores[1].path());
    let sources = [direct(1, hosts[0].address()), direct(3, hosts[1].address())];
    let mut fetch = fetches(&target.machine, gets.path(), COUNT, &sources);
    fetch.reaches(33);
    let one = happens(one, &hosts[0]);
    let done = fetch.done();
    fetch.end();
    one.into_iter().for_each(Actor::kill);
    two.kill();
    assert_same(&done, gets.path(), COUNT);
    assert_line(name, &done, &target);
}

#[test]
fn a_peer_that_vanishes_is_replaced_by_the_other() {
    if !possible() {
        return;
    }
    fetched_beside("vanished", |one, _| {
        one.kill();
        None
    });
}

#[test]
fn a_peer_whose_line_stalls_is_replaced_by_the_other() {
    if !possible() {
        return;
    }
    fetched_beside("stalled", |one, host| {
        host.link.set(Side::Left, Shape::cut());
        Some(one)
    });
}
