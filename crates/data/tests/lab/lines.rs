//! Long, lossy and slow lines.
use super::stage::*;
use gleaner_data::net::schedule::Route;
use gleaner_lab::{Internet, Shape, Side, Uplink};

/// Fetches over a line of this shape.
fn fetched(name: &str, shape: Shape, count: usize) {
    let internet = Internet::new().unwrap();
    let source = internet.host("source", &Uplink::default()).unwrap();
    let target = internet.host("target", &Uplink::even(shape)).unwrap();
    let (has, gets) = (filled(count), tempfile::tempdir().unwrap());
    let server = Actor::serves(&source.machine, 1, has.path());
    let mut fetch = fetches(&target.machine, gets.path(), count, &[direct(1, source.address())]);
    let done = fetch.done();
    fetch.end();
    assert_same(&done, gets.path(), count);
    assert_sent_once(&done, server.sent());
    assert_line(name, &done, &target);
}

#[test]
fn chunks_cross_a_line_that_loses_one_percent() {
    if possible() {
        fetched("1 % loss", Shape::megabits(100).delay_ms(10).loss(0.01), 120);
    }
}

#[test]
fn chunks_cross_a_line_of_a_hundred_milliseconds() {
    if possible() {
        fetched("100 ms", Shape::megabits(100).delay_ms(50).jitter_ms(5), 120);
    }
}

#[test]
fn a_source_with_a_slow_uplink_is_helped_by_the_hub() {
    if !possible() {
        return;
    }
    // So many that what a slow source may be overtaken with, however little is wanted, is under 2 %.
    let count = 320;
    let internet = Internet::new().unwrap();
    let hub = internet.host("hub", &Uplink::even(Shape::megabits(40).delay_ms(10))).unwrap();
    let slow = Uplink { up: Shape::megabits(5).delay_ms(10), down: Shape::megabits(50).delay_ms(10) };
    let source = internet.host("source", &slow).unwrap();
    let target = internet.host("target", &Uplink::even(Shape::megabits(100).delay_ms(5))).unwrap();
    let (has, kept, gets) = (filled(count), filled(count), tempfile::tempdir().unwrap());
    let _server = Actor::serves(&source.machine, 1, has.path());
    let mut cached = Actor::start(&hub.machine, "hub", 9, kept.path(), None);
    assert_eq!(cached.hear().as_deref(), Some("ready"));
    let sources = [direct(1, source.address()), cache(&hub)];
    let mut fetch = fetches(&target.machine, gets.path(), count, &sources);
    let done = fetch.done();
    fetch.end();
    cached.kill();
    assert_same(&done, gets.path(), count);
    assert_line("slow uplink", &done, &target);
    assert!(done.by(Route::Hub) > done.bytes / 2, "most came from the hub: {done:?}");
    let (from_source, from_hub) = (source.link.carried(Side::Left).bytes, hub.link.carried(Side::Left).bytes);
    let both = from_source > done.bytes / 50 && from_hub > 2 * from_source;
    assert!(both, "{from_source} bytes from the source, {from_hub} from the hub, which is eight times as fast");
}
