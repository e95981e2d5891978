//! Addresses that change in the middle of a transfer.
use super::child::HTTP_PORT;
use super::stage::*;
use gleaner_lab::{Internet, Shape, Side, Uplink};

const COUNT: usize = 200;
/// Many, on a slow line, so that what is under way at any moment is a small part of it.
const PUSHED: usize = 600;
/// The headers of a packet: IP, TCP, and TCP's clock.
const HEADER_BYTES: u64 = 20 + 20 + 12;

fn line() -> Uplink {
    Uplink::even(Shape::megabits(40).delay_ms(10))
}

#[test]
fn a_fetch_goes_on_when_its_own_address_has_changed() {
    if !possible() {
        return;
    }
    let internet = Internet::new().unwrap();
    let source = internet.host("source", &line()).unwrap();
    let mut target = internet.host("target", &line()).unwrap();
    let (has, gets) = (filled(COUNT), tempfile::tempdir().unwrap());
    let server = Actor::serves(&source.machine, 1, has.path());
    let mut fetch = fetches(&target.machine, gets.path(), COUNT, &[direct(1, source.address())]);
    fetch.reaches(30);
    target.link.readdress(Side::Left, internet.free_address()).unwrap();
    let done = fetch.done();
    fetch.end();
    server.kill();
    assert_same(&done, gets.path(), COUNT);
    assert_line("own address changed", &done, &target);
}

#[test]
fn a_fetch_goes_on_when_the_hub_tells_the_new_address_of_a_source() {
    if !possible() {
        return;
    }
    let internet = Internet::new().unwrap();
    let mut source = internet.host("source", &line()).unwrap();
    let target = internet.host("target", &line()).unwrap();
    let (has, gets) = (filled(COUNT), tempfile::tempdir().unwrap());
    let server = Actor::serves(&source.machine, 1, has.path());
    let mut fetch = fetches(&target.machine, gets.path(), COUNT, &[direct(1, source.address())]);
    fetch.reaches(30);
    source.link.readdress(Side::Left, internet.free_address()).unwrap();
    fetch.tell(&direct(1, source.address()));
    let done = fetch.done();
    fetch.end();
    server.kill();
    assert_same(&done, gets.path(), COUNT);
    assert_line("source's address changed", &done, &target);
}

#[test]
fn a_push_goes_on_when_its_own_address_has_changed() {
    if !possible() {
        return;
    }
    let internet = Internet::new().unwrap();
    let hub = internet.host("hub", &Uplink::default()).unwrap();
    let mut source = internet.host("source", &Uplink::even(Shape::megabits(16).delay_ms(10))).unwrap();
    let (has, kept) = (filled(PUSHED), tempfile::tempdir().unwrap());
    let mut taker = Actor::start(&hub.machine, "hub", 9, kept.path(), None);
    assert_eq!(taker.hear().as_deref(), Some("ready"));
    let role = format!("push {PUSHED} http://{}:{HTTP_PORT}", hub.address());
    let mut push = Actor::start(&source.machine, &role, 2, has.path(), None);
    push.reaches(30);
    source.link.readdress(Side::Left, internet.free_address()).unwrap();
    let done = push.done();
    push.end();
    taker.kill();
    let carried = source.link.carried(Side::Left);
    let sent = carried.bytes - carried.packets * HEADER_BYTES;
    println!("push, own address changed: {done:?}, {sent} bytes over its line, {carried:?}");
    // What was handed to a connection that is lost counts as sent again; the line tells what really was.
    assert_whole(&done, kept.path(), PUSHED);
    assert!(sent * 50 < done.bytes * 51, "{sent} bytes sent for {done:?}");
}
