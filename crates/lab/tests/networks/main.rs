//! Networks as they are built: what was asked for is what is measured inside.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "what is skipped is said, and a child speaks to its parent")]
mod homes;
mod leftovers;
mod lines;

use gleaner_lab::{Error, Link, Machine};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

const LEFT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// Whether networks can be built here; says so if not.
fn possible() -> bool {
    match gleaner_lab::available() {
        Ok(()) => true,
        Err(why @ Error::Unavailable(_)) => {
            println!("skipped: {why}");
            false
        }
        Err(other) => panic!("{other}"),
    }
}

struct Pair {
    left: Machine,
    right: Machine,
    link: Link,
}

fn pair() -> Pair {
    let (left, right) = (Machine::new("left").unwrap(), Machine::new("right").unwrap());
    let link = Link::new((&left, LEFT), (&right, RIGHT)).unwrap();
    Pair { left, right, link }
}

fn socket(machine: &Machine) -> UdpSocket {
    let socket = machine.inside(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

fn at(address: Ipv4Addr, socket: &UdpSocket) -> SocketAddr {
    SocketAddr::from((address, socket.local_addr().unwrap().port()))
}

/// Sends until it arrives: who it came from, as the receiver sees it.
fn sent(from: &UdpSocket, to: &UdpSocket, address: SocketAddr) -> SocketAddr {
    from.send_to(b"hello", address).unwrap();
    let mut buffer = [0; 64];
    let (length, sender) = to.recv_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..length], b"hello");
    sender
}
