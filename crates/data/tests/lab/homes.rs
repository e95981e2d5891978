//! Homes behind NAT that can only send out, with the hub and its relay in the middle.
//!
//! Whoever fetches is told of the relay only, so everything begins there.
use super::child::RELAY_PORT;
use super::stage::*;
use gleaner_data::net::schedule::Route;
use gleaner_lab::{Home, Host, Internet, Nat, Shape, Side, Uplink};

const COUNT: usize = 120;
/// For those who find a direct way: enough that the beginning is a small part of it.
const COUNT_LONG: usize = 500;

fn line() -> Uplink {
    Uplink { up: Shape::megabits(30).delay_ms(10), down: Shape::megabits(60).delay_ms(10) }
}

/// What came, and the bytes that left the hub on the way.
struct Fetched {
    done: Done,
    relayed: u64,
}

impl Fetched {
    /// Most of it came directly; the relay has carried the beginning.
    fn assert_direct(&self, name: &str, route: Route) {
        let Self { done, relayed } = self;
        println!("{name}: {done:?}, {relayed} bytes left the hub");
        assert_eq!(done.by(route), done.bytes, "it ended on another way: {done:?}");
        assert!(relayed * 5 < done.bytes, "{relayed} bytes left the hub for {done:?}");
    }

    /// All of it came through the relay.
    fn assert_relayed(&self, name: &str) {
        let Self { done, relayed } = self;
        println!("{name}: {done:?}, {relayed} bytes left the hub");
        assert_eq!(done.by(Route::Relay), done.bytes, "{done:?}");
        assert!(*relayed > done.bytes, "nothing but the relay is left, and {relayed} bytes left the hub");
    }
}

/// Fetches from one machine to another one; something may happen in the middle.
fn fetched(hub: &Host, source: &Host, target: &Host, count: usize, happens: impl FnOnce(&mut Actor)) -> Fetched {
    let (kept, has, gets) = (tempfile::tempdir().unwrap(), filled(count), tempfile::tempdir().unwrap());
    let mut relay = Actor::start(&hub.machine, "hub", 9, kept.path(), None);
    assert_eq!(relay.hear().as_deref(), Some("ready"));
    let url = format!("http://{}:{RELAY_PORT}", hub.address());
    let mut server = Actor::start(&source.machine, "serve", 1, has.path(), Some(&url));
    assert_eq!(server.hear().as_deref(), Some("ready"));
    let mut fetch = Actor::start(&target.machine, &format!("fetch {count}"), 2, gets.path(), Some(&url));
    fetch.tell(&format!("relay 1 {url}"));
    happens(&mut fetch);
    let done = fetch.done();
    fetch.end();
    relay.kill();
    assert_same(&done, gets.path(), count);
    assert_sent_once(&done, server.sent());
    Fetched { done, relayed: hub.link.carried(Side::Left).bytes }
}

/// Between two homes behind these routers.
fn between(nats: [Nat; 2], count: usize, happens: impl FnOnce(&Internet, &mut Home, &mut Actor)) -> Fetched {
    let internet = Internet::new().unwrap();
    let hub = internet.host("hub", &Uplink::default()).unwrap();
    let one = internet.home("home-one", &line(), nats[0]).unwrap();
    let mut two = internet.home("home-two", &line(), nats[1]).unwrap();
    let (source, target) = (one.machine("source").unwrap(), two.machine("target").unwrap());
    fetched(&hub, &source, &target, count, |fetch| happens(&internet, &mut two, fetch))
}

#[test]
fn chunks_move_directly_between_two_homes() {
    if !possible() {
        return;
    }
    let fetched = between([Nat::Easy; 2], COUNT_LONG, |_, _, _| {});
    fetched.assert_direct("homes", Route::Direct);
}

#[test]
fn chunks_move_through_the_relay_between_two_homes_whose_routers_hide_their_ports() {
    if !possible() {
        return;
    }
    between([Nat::Hard; 2], COUNT, |_, _, _| {}).assert_relayed("hard homes");
}

#[test]
fn chunks_move_through_the_relay_if_one_of_the_routers_hides_its_ports() {
    if !possible() {
        return;
    }
    between([Nat::Easy, Nat::Hard], COUNT, |_, _, _| {}).assert_relayed("a hard home fetches");
    between([Nat::Hard, Nat::Easy], COUNT, |_, _, _| {}).assert_relayed("a hard home serves");
}

#[test]
fn a_fetch_goes_on_when_its_home_gets_another_address() {
    if !possible() {
        return;
    }
    let Fetched { done, relayed } = between([Nat::Easy; 2], COUNT_LONG, |internet, home, fetch| {
        fetch.reaches(30);
        home.readdress(internet.free_address()).unwrap();
    });
    println!("home's address changed: {done:?}, {relayed} bytes left the hub");
}

#[test]
fn chunks_do_not_leave_a_home_that_has_both_machines() {
    if !possible() {
        return;
    }
    let internet = Internet::new().unwrap();
    let hub = internet.host("hub", &Uplink::default()).unwrap();
    let home = internet.home("home", &line(), Nat::Easy).unwrap();
    let (source, target) = (home.machine("source").unwrap(), home.machine("target").unwrap());
    let fetched = fetched(&hub, &source, &target, COUNT_LONG, |_| {});
    fetched.assert_direct("at home", Route::Lan);
    let left = home.router().link.carried(Side::Left).bytes;
    assert!(left * 5 < fetched.done.bytes, "{left} bytes left the home for {:?}", fetched.done);
}
