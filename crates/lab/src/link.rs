//! A line between two machines.
use super::shaper::Shaper;
use super::{Carried, Error, Machine, Shape, tun};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

/// Packets that a device may hold until the line takes them: enough not to be a queue of its own.
const DEVICE_PACKETS: u32 = 10_000;

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that was named first.
    Left,
    /// The end that was named second.
    Right,
}

impl Side {
    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }

    /// The direction of what leaves here.
    fn way(self) -> usize {
        match self {
            Self::Left => 0,
            Self::Right => 1,
        }
    }
}

struct End {
    machine: Machine,
    device: String,
    address: Ipv4Addr,
}

/// A line between two machines, open at first. It is gone when this is dropped.
pub struct Link {
    left: End,
    right: End,
    shaper: Shaper,
}

impl Link {
    /// Joins two machines; each has an address at its end, and knows the way to the other's.
    pub fn new(left: (&Machine, Ipv4Addr), right: (&Machine, Ipv4Addr)) -> Result<Self, Error> {
        let (left_file, left_device) = plug_in(left.0)?;
        let (right_file, right_device) = plug_in(right.0)?;
        let seed = |from: &Machine, to: &Machine| seed(&format!("{}>{}", from.name(), to.name()));
        let seeds = [seed(left.0, right.0), seed(right.0, left.0)];
        let shaper = Shaper::start([left_file, right_file], seeds)?;
        let end = |(machine, address): (&Machine, Ipv4Addr), device| End { machine: machine.clone(), device, address };
        let link = Self { left: end(left, left_device), right: end(right, right_device), shaper };
        link.left.set_up(link.right.address)?;
        link.right.set_up(link.left.address)?;
        Ok(link)
    }

    /// Shapes what leaves at this side, from now on. What is under way arrives as it would have.
    pub fn set(&self, from: Side, shape: Shape) {
        self.shaper.set(from.way(), shape);
    }

    /// How what leaves at this side is shaped.
    pub fn shape(&self, from: Side) -> Shape {
        self.shaper.shape(from.way())
    }

    /// What has left at this side so far.
    pub fn carried(&self, from: Side) -> Carried {
        self.shaper.carried(from.way())
    }

    /// The address at this side.
    pub fn address(&self, side: Side) -> Ipv4Addr {
        self.end(side).address
    }

    /// The name of the device at this side.
    pub fn device(&self, side: Side) -> &str {
        &self.end(side).device
    }

    /// Sends everything that the machine at this side knows no other way for over this link.
    pub fn default_route(&self, side: Side) -> Result<(), Error> {
        let end = self.end(side);
        end.machine.ip(&format!("route replace default dev {}", end.device))
    }

    /// Gives this side another address, while everything runs. The old one is gone.
    pub fn readdress(&mut self, side: Side, address: Ipv4Addr) -> Result<(), Error> {
        let far = self.end(side.other());
        far.machine.ip(&format!("route replace {address}/32 dev {}", far.device))?;
        let (near, far) = (self.end(side), far.address);
        let (device, old) = (&near.device, near.address);
        near.machine.ip(&format!(
            "addr add {address} peer {far} dev {device}\n\
             addr del {old} peer {far} dev {device}\n\
             route replace {far}/32 dev {device} src {address}\n"
        ))?;
        match side {
            Side::Left => self.left.address = address,
            Side::Right => self.right.address = address,
        }
        Ok(())
    }

    fn end(&self, side: Side) -> &End {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }
}

impl End {
    fn set_up(&self, other: Ipv4Addr) -> Result<(), Error> {
        let (device, address) = (&self.device, self.address);
        self.machine.ip(&format!(
            "link set {device} txqueuelen {DEVICE_PACKETS} mtu 1500 up\n\
             addr add {address} peer {other} dev {device}\n"
        ))
    }
}

fn plug_in(machine: &Machine) -> Result<(OwnedFd, String), Error> {
    let device = machine.next_device();
    let name = device.clone();
    let file = machine.inside(move || tun::open(&name))?;
    Ok((file, device))
}

/// The same names lose the same packets.
fn seed(names: &str) -> u64 {
    names.bytes().fold(0xcbf2_9ce4_8422_2325, |seed, byte| (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
