//! Addresses that change in the middle of a transfer.
use super::stage::*;
use gleaner_lab::{Internet, Shape, Side, Uplink};

const COUNT: usize = 200;

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
