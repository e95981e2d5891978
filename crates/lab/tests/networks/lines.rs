//! Rate, delay, loss and order of a line, and the counts of what it carried.
use super::*;
use gleaner_lab::{Shape, Side};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

/// Sends datagrams in small batches, waits until the line has decided about each, and counts those that arrive.
fn arrived(pair: &Pair, count: u64) -> u64 {
    let (from, to) = (socket(&pair.left), socket(&pair.right));
    let address = at(RIGHT, &to);
    let (before, mut received, mut buffer) = (pair.link.carried(Side::Left), 0, [0; 2048]);
    for batch in 1..=count / 50 {
        (0..50).for_each(|_| assert_eq!(from.send_to(&[1; 1000], address).unwrap(), 1000));
        let decided = || {
            let now = pair.link.carried(Side::Left);
            (now.packets - before.packets, now.lost - before.lost)
        };
        while decided().0 + decided().1 < batch * 50 {
            std::thread::sleep(Duration::from_millis(1));
        }
        while received < decided().0 {
            to.recv(&mut buffer).unwrap();
            received += 1;
        }
    }
    received
}

#[test]
fn the_asked_share_of_packets_is_lost_and_the_rest_arrives_and_is_counted() {
    if !possible() {
        return;
    }
    let pair = pair();
    assert_eq!(arrived(&pair, 1000), 1000, "an open line loses nothing");
    assert_eq!(pair.link.carried(Side::Left).bytes, 1000 * 1028, "headers are counted");
    pair.link.set(Side::Left, Shape::open().loss(0.1));
    let kept = arrived(&pair, 5000);
    assert!((4300..4700).contains(&kept), "{kept} of 5000 with a tenth lost");
    assert_eq!(pair.link.carried(Side::Right).packets, 0, "nothing went the other way");
}

/// Least of several round trips.
fn round_trip(pair: &Pair) -> Duration {
    let (from, to) = (socket(&pair.left), socket(&pair.right));
    let address = at(RIGHT, &to);
    let once = || {
        let start = Instant::now();
        let back = sent(&from, &to, address);
        sent(&to, &from, back);
        start.elapsed()
    };
    (0..8).map(|_| once()).min().unwrap()
}

#[test]
fn each_direction_has_its_own_delay() {
    if !possible() {
        return;
    }
    let pair = pair();
    let open = round_trip(&pair);
    pair.link.set(Side::Left, Shape::open().delay_ms(30));
    let one_way = round_trip(&pair);
    pair.link.set(Side::Right, Shape::open().delay_ms(90));
    let both = round_trip(&pair);
    let ratio = (both.as_secs_f64() - open.as_secs_f64()) / (one_way.as_secs_f64() - open.as_secs_f64());
    assert!((2.5..6.0).contains(&ratio), "{open:?}, {one_way:?}, {both:?}: four times the delay");
    assert!(one_way >= Duration::from_millis(30) && both >= Duration::from_millis(120), "{one_way:?}, {both:?}");
}

/// Sends a pattern over TCP and checks that it arrives as it was.
fn transferred(pair: &Pair, bytes: usize) -> Duration {
    let listener = pair.right.inside(|| TcpListener::bind((RIGHT, 0))).unwrap();
    let to = listener.local_addr().unwrap();
    let pattern: Vec<u8> = (0..bytes).map(|number| (number / 7 % 253) as u8).collect();
    let mut stream = pair.left.inside(move || TcpStream::connect(to)).unwrap();
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            stream.write_all(&pattern).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
        });
        let (mut got, (mut receiving, _)) = (Vec::new(), listener.accept().unwrap());
        receiving.read_to_end(&mut got).unwrap();
        assert!(got == pattern, "{} of {bytes} bytes, or others", got.len());
    });
    start.elapsed()
}

#[test]
fn packets_lost_out_of_large_buffers_leave_the_rest_as_it_was() {
    if !possible() {
        return;
    }
    let pair = pair();
    pair.link.set(Side::Left, Shape::open().delay_ms(2).loss(0.02));
    pair.link.set(Side::Right, Shape::open().loss(0.02));
    transferred(&pair, 6_000_000);
    let carried = pair.link.carried(Side::Left);
    assert!(carried.lost > 30, "{carried:?}");
    assert!(carried.bytes / carried.packets > 1000, "buffers are counted as the packets they hold: {carried:?}");
}

#[test]
fn a_line_is_as_fast_as_asked_and_no_faster() {
    if !possible() {
        return;
    }
    let (slow, fast) = (pair(), pair());
    slow.link.set(Side::Left, Shape::megabits(10));
    fast.link.set(Side::Left, Shape::megabits(40));
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| transferred(&slow, 1_500_000));
        let fast = scope.spawn(|| transferred(&fast, 6_000_000));
        let [slow, fast] = [slow, fast].map(|line| line.join().unwrap().as_secs_f64());
        // Both take 1.2 s, for four times the bytes. A busy computer makes them slower, and nothing makes them faster.
        assert!((0.4..2.5).contains(&(fast / slow)), "{slow}, {fast}");
        assert!(slow > 1.1 && fast > 1.1, "{slow}, {fast}");
    });
}

#[test]
fn what_the_queue_has_no_room_for_is_dropped() {
    if !possible() {
        return;
    }
    let pair = pair();
    pair.link.set(Side::Left, Shape::megabits(1).queue_bytes(20_000));
    let (from, to) = (socket(&pair.left), socket(&pair.right));
    for _ in 0..200 {
        from.send_to(&[1; 972], at(RIGHT, &to)).unwrap();
    }
    while pair.link.carried(Side::Left).packets + pair.link.carried(Side::Left).overflowed < 200 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let carried = pair.link.carried(Side::Left);
    assert!(carried.overflowed > 100 && carried.packets >= 20, "{carried:?}");
    assert_eq!(carried.lost, 0);
}

#[test]
fn a_line_that_was_cut_carries_again_when_it_is_mended() {
    if !possible() {
        return;
    }
    let pair = pair();
    let (from, to) = (socket(&pair.left), socket(&pair.right));
    sent(&from, &to, at(RIGHT, &to));
    pair.link.set(Side::Left, Shape::cut());
    from.send_to(b"lost", at(RIGHT, &to)).unwrap();
    while pair.link.carried(Side::Left).lost == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    pair.link.set(Side::Left, Shape::open());
    sent(&from, &to, at(RIGHT, &to));
}

#[test]
fn an_address_changes_while_everything_runs() {
    if !possible() {
        return;
    }
    let mut pair = pair();
    let (from, to) = (socket(&pair.left), socket(&pair.right));
    assert_eq!(sent(&from, &to, at(RIGHT, &to)).ip(), LEFT);
    let other = Ipv4Addr::new(10, 0, 0, 77);
    pair.link.readdress(Side::Left, other).unwrap();
    assert_eq!(pair.link.address(Side::Left), other);
    assert_eq!(sent(&from, &to, at(RIGHT, &to)).ip(), other, "it is seen at its new address");
    sent(&to, &from, at(other, &from));
    to.send_to(b"hello", at(LEFT, &from)).unwrap();
    from.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(from.recv(&mut [0; 64]).is_err(), "nobody has the old address any more");
}
