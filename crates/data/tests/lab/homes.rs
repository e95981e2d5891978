//! Two homes behind NAT, with the hub and its relay in the middle.
use super::child::RELAY_PORT;
use super::stage::*;
use gleaner_lab::{Internet, Nat, Shape, Side, Uplink};

const COUNT: usize = 120;

fn line() -> Uplink {
    Uplink { up: Shape::megabits(30).delay_ms(10), down: Shape::megabits(60).delay_ms(10) }
}

/// Fetches from one home to another; in the middle the address of the one that fetches may change.
fn fetched(nat: Nat, changes: bool) -> (Done, u64) {
    let internet = Internet::new().unwrap();
    let hub = internet.host("hub", &Uplink::default()).unwrap();
    let one = internet.home("home-one", &line(), nat).unwrap();
    let mut two = internet.home("home-two", &line(), nat).unwrap();
    let (source, target) = (one.machine("source").unwrap(), two.machine("target").unwrap());
    let (kept, has, gets) = (tempfile::tempdir().unwrap(), filled(COUNT), tempfile::tempdir().unwrap());
    let mut relay = Actor::start(&hub.machine, "hub", 9, kept.path(), None);
    assert_eq!(relay.hear().as_deref(), Some("ready"));
    let url = format!("http://{}:{RELAY_PORT}", hub.address());
    let mut server = Actor::start(&source.machine, "serve", 1, has.path(), Some(&url));
    assert_eq!(server.hear().as_deref(), Some("ready"));
    let mut fetch = Actor::start(&target.machine, &format!("fetch {COUNT}"), 2, gets.path(), Some(&url));
    fetch.tell(&format!("relay 1 {url}"));
    if changes {
        fetch.reaches(30);
        two.readdress(internet.free_address()).unwrap();
    }
    let done = fetch.done();
    fetch.end();
    relay.kill();
    assert_same(&done, gets.path(), COUNT);
    assert_sent_once(&done, server.sent());
    (done, hub.link.carried(Side::Left).bytes)
}

#[test]
fn chunks_move_between_two_homes() {
    if !possible() {
        return;
    }
    let (done, relayed) = fetched(Nat::Easy, false);
    println!("homes: {done:?}, {relayed} bytes left the hub");
}

#[test]
fn chunks_move_between_two_homes_whose_routers_hide_their_ports() {
    if !possible() {
        return;
    }
    let (done, relayed) = fetched(Nat::Hard, false);
    println!("hard homes: {done:?}, {relayed} bytes left the hub");
    assert!(relayed > done.bytes, "nothing but the relay is left");
}

#[test]
fn a_fetch_goes_on_when_its_home_gets_another_address() {
    if !possible() {
        return;
    }
    let (done, relayed) = fetched(Nat::Easy, true);
    println!("home's address changed: {done:?}, {relayed} bytes left the hub");
}
