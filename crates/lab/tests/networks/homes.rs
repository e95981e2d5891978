//! Homes behind NAT: the way out is open, the way in is not.
use super::*;
use gleaner_lab::{Home, Host, Internet, Nat, Uplink};
use std::net::{TcpListener, TcpStream};

struct World {
    _internet: Internet,
    outside: [Host; 2],
    home: Home,
    inside: Host,
}

fn world(nat: Nat) -> World {
    let internet = Internet::new().unwrap();
    let outside = ["one", "two"].map(|name| internet.host(name, &Uplink::default()).unwrap());
    let home = internet.home("home", &Uplink::default(), nat).unwrap();
    let inside = home.machine("inside").unwrap();
    World { _internet: internet, outside, home, inside }
}

/// By which addresses both machines outside see one socket inside.
fn seen_as(world: &World, from: &UdpSocket) -> [SocketAddr; 2] {
    [0, 1].map(|number: usize| {
        let host = &world.outside[number];
        let to = socket(&host.machine);
        sent(from, &to, at(host.address(), &to))
    })
}

#[test]
fn a_home_is_seen_by_the_address_of_its_router_and_answers_find_the_way_in() {
    if !possible() {
        return;
    }
    let world = world(Nat::Easy);
    let from = socket(&world.inside.machine);
    let [one, two] = seen_as(&world, &from);
    assert_eq!(one.ip(), world.home.router().address());
    assert_eq!(one, two, "the same port for everybody");
    let listener = world.outside[0].machine.inside(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))).unwrap();
    let to = SocketAddr::from((world.outside[0].address(), listener.local_addr().unwrap().port()));
    world.inside.machine.inside(move || TcpStream::connect(to)).unwrap();
    assert_eq!(listener.accept().unwrap().1.ip(), world.home.router().address());
}

#[test]
fn nobody_gets_into_a_home_without_being_asked() {
    if !possible() {
        return;
    }
    let world = world(Nat::Easy);
    let inner = socket(&world.inside.machine);
    let friend = socket(&world.outside[0].machine);
    let door = sent(&inner, &friend, at(world.outside[0].address(), &friend));
    sent(&friend, &inner, door);
    // A stranger knows the very port that is open for the friend.
    let stranger = socket(&world.outside[1].machine);
    stranger.send_to(b"hello", door).unwrap();
    let listener = world.inside.machine.inside(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))).unwrap();
    let port = listener.local_addr().unwrap().port();
    for address in [world.home.router().address(), world.inside.address()] {
        let connect = move || TcpStream::connect_timeout(&(address, port).into(), Duration::from_millis(300));
        assert!(world.outside[1].machine.inside(connect).is_err(), "{address}");
    }
    inner.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(inner.recv(&mut [0; 64]).is_err(), "a stranger came in");
}

#[test]
fn a_hard_router_shows_everybody_another_port() {
    if !possible() {
        return;
    }
    let world = world(Nat::Hard);
    let [one, two] = seen_as(&world, &socket(&world.inside.machine));
    assert_eq!(one.ip(), two.ip());
    assert_ne!(one.port(), two.port());
}

#[test]
fn a_home_whose_address_changes_is_seen_by_the_new_one() {
    if !possible() {
        return;
    }
    let mut world = world(Nat::Easy);
    let from = socket(&world.inside.machine);
    let before = seen_as(&world, &from)[0];
    let address = Ipv4Addr::new(198, 18, 0, 200);
    world.home.readdress(address).unwrap();
    let after = seen_as(&world, &from)[0];
    assert_ne!(before.ip(), after.ip());
    assert_eq!(after.ip(), address);
}
