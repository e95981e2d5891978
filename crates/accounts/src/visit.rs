//! When and from where somebody asks.
use gleaner_wire::Millis;
use std::net::IpAddr;

/// The moment of a call, and the address that it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Now, in milliseconds since 1970.
    pub now: Millis,
    /// Where from; nothing for the command line on the hub's own machine.
    pub address: Option<IpAddr>,
}

impl Visit {
    /// A call from the hub's own machine.
    pub fn local(now: Millis) -> Self {
        Self { now, address: None }
    }
}
