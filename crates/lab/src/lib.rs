//! Small real networks for tests and benchmarks: machines, the lines between them, and routers that hide a home.
//!
//! A [`Machine`] is a Linux network namespace; commands run inside it and see its addresses and routes only. A [`Link`]
//! joins two of them by a line that has a rate, a delay, jitter, loss and a queue, for each direction apart, and counts
//! what it carries. An [`Internet`] puts machines and homes behind NAT around a router. Needs Linux, root (or
//! CAP_SYS_ADMIN and CAP_NET_ADMIN), `ip` and, for homes, `nft`; [`available`] says what is missing.
//!
//! **Nothing is left over**, whatever happens: namespaces have no name and devices are not persistent, so that both
//! vanish with the process that made them, and the commands inside are killed by the kernel when it dies.
//!
//! **Lines are shaped here, not by the kernel.** A thread for each line takes packets from one TUN device and puts them
//! into the other one when they are due. netem, which does the same in the kernel, is missing from many kernels and
//! drops whole bursts where it should drop packets: it decides once for each buffer, and buffers hold up to 45 packets
//! when a sender offloads segmentation. The lines here keep those large buffers, which makes them cheap, and decide for
//! each packet within. So a figure means the same on every machine, wherever it was taken.
//!
//! A line of 1 Gbit/s with TCP costs about a tenth of a processor, of which most is the receiver's share of the kernel; a
//! line without limit carries 5 Gbit/s. Single datagrams cost four times as much as those that leave in one buffer. The
//! example `figures` measures it.
//!
//! ```no_run
//! use gleaner_lab::{Internet, Shape, Side, Uplink};
//! use std::process::Command;
//!
//! # fn main() -> Result<(), gleaner_lab::Error> {
//! let internet = Internet::new()?;
//! let hub = internet.host("hub", &Uplink::even(Shape::megabits(1000).delay_ms(5)))?;
//! let slow = Uplink { up: Shape::megabits(100).delay_ms(5), down: Shape::megabits(1000).delay_ms(5) };
//! let worker = internet.host("worker", &slow)?;
//! let mut command = Command::new("curl");
//! command.arg(format!("http://{}:8080/", hub.address()));
//! let output = worker.machine.run(command)?;
//! let (sent, received) = (worker.link.carried(Side::Left), worker.link.carried(Side::Right));
//! # drop((output, sent, received));
//! # Ok(())
//! # }
//! ```
//!
//! Only IPv4 is spoken. Lines keep the order of packets, also with jitter.
#![cfg(target_os = "linux")]
mod error;
mod frame;
mod internet;
mod line;
mod link;
mod machine;
mod nat;
mod process;
mod shape;
mod shaper;
mod tun;

pub use error::Error;
pub use internet::{Home, Host, Internet, Uplink};
pub use link::{Link, Side};
pub use machine::Machine;
pub use nat::Nat;
pub use process::Process;
pub use shape::Shape;
pub use shaper::Carried;

use std::net::Ipv4Addr;

/// Whether networks can be built here: builds a small one with a router, and says what was missing.
pub fn available() -> Result<(), Error> {
    let (one, router) = (Machine::new("one")?, Machine::new("router")?);
    let [left, right] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
    let link = Link::new((&one, left), (&router, right))?;
    router.forward()?;
    router.hide_behind(&link, Side::Right, Nat::Easy)
}
