//! A router in the middle of everything, with machines and homes around it, each on a line of its own.
use super::{Error, Link, Machine, Nat, Shape, Side};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU8, AtomicU16, Ordering};

/// The line of a machine or a home to the rest of the world.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Uplink {
    /// What the machine sends.
    pub up: Shape,
    /// What it receives.
    pub down: Shape,
}

impl Uplink {
    /// The same both ways.
    pub fn even(shape: Shape) -> Self {
        Self { up: shape, down: shape }
    }
}

/// A machine on its line.
pub struct Host {
    /// The machine.
    pub machine: Machine,
    /// Its line: the machine is at the left.
    pub link: Link,
}

impl Host {
    /// Its address.
    pub fn address(&self) -> Ipv4Addr {
        self.link.address(Side::Left)
    }

    /// Shapes its line otherwise, from now on.
    pub fn shape(&self, uplink: &Uplink) {
        self.link.set(Side::Left, uplink.up);
        self.link.set(Side::Right, uplink.down);
    }
}

/// A home: machines that share one address, behind a router that lets nothing in that was not asked for.
pub struct Home {
    router: Host,
    inside: AtomicU8,
}

impl Home {
    /// One more machine at home. Addresses are those that many homes have: 192.168.1.10 and up.
    pub fn machine(&self, name: &str) -> Result<Host, Error> {
        let number = self.inside.fetch_add(1, Ordering::Relaxed);
        assert!(number >= MACHINES_AT_HOME_FROM, "a home has room for 245 machines");
        let (own, router) = (Ipv4Addr::new(192, 168, 1, number), Ipv4Addr::new(192, 168, 1, 1));
        joined(name, own, (&self.router.machine, router), &Uplink::default())
    }

    /// The router, on the line of the home.
    pub fn router(&self) -> &Host {
        &self.router
    }

    /// The provider gives the home another address, while everything runs.
    pub fn readdress(&mut self, address: Ipv4Addr) -> Result<(), Error> {
        self.router.link.readdress(Side::Left, address)
    }
}

/// The first of the addresses that machines get, and that of the router in the middle. RFC 2544 keeps both for tests.
const FIRST: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
const MIDDLE: Ipv4Addr = Ipv4Addr::new(198, 19, 255, 254);
const MACHINES_AT_HOME_FROM: u8 = 10;

/// A router in the middle of everything.
pub struct Internet {
    middle: Machine,
    next: AtomicU16,
}

impl Internet {
    /// Nobody but the router.
    pub fn new() -> Result<Self, Error> {
        let middle = Machine::new("internet")?;
        middle.forward()?;
        Ok(Self { middle, next: AtomicU16::new(1) })
    }

    /// An address that nobody has yet.
    pub fn free_address(&self) -> Ipv4Addr {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        assert!(number > 0, "an internet has room for 65,535 addresses");
        Ipv4Addr::from_bits(FIRST.to_bits() + u32::from(number))
    }

    /// One more machine, with a public address.
    pub fn host(&self, name: &str, uplink: &Uplink) -> Result<Host, Error> {
        joined(name, self.free_address(), (&self.middle, MIDDLE), uplink)
    }

    /// One more home, with a public address that its machines share.
    pub fn home(&self, name: &str, uplink: &Uplink, nat: Nat) -> Result<Home, Error> {
        let router = self.host(name, uplink)?;
        router.machine.forward()?;
        router.machine.hide_behind(&router.link, Side::Left, nat)?;
        Ok(Home { router, inside: AtomicU8::new(MACHINES_AT_HOME_FROM) })
    }
}

fn joined(name: &str, own: Ipv4Addr, router: (&Machine, Ipv4Addr), uplink: &Uplink) -> Result<Host, Error> {
    let machine = Machine::new(name)?;
    let link = Link::new((&machine, own), router)?;
    link.default_route(Side::Left)?;
    let host = Host { machine, link };
    host.shape(uplink);
    Ok(host)
}
