//! Rooms beside the hub that answer requests at its address. They are its clients and know nothing of its inside; the hub
//! knows nothing of theirs.
use crate::Error;
use axum::Router;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where such a room finds the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The hub's address, as this machine reaches it.
    pub url: String,
    /// The file with the operator's token.
    pub token_file: PathBuf,
    /// The hub's folder, which is locked for it.
    pub dir: PathBuf,
}

impl Place {
    pub(crate) fn of(address: SocketAddr, token_file: &Path, dir: &Path) -> Self {
        let ip = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        let url = format!("http://{}", SocketAddr::new(ip, address.port()));
        Self { url, token_file: token_file.to_owned(), dir: dir.to_owned() }
    }
}

/// What it takes to use a route of such a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// To read what is the account's.
    Read,
    /// To submit jobs and change files.
    Submit,
    /// To spend the account's money.
    Spend,
}

/// The routes of such a room, and what it takes to use each. One that is not listed is not served.
#[derive(Debug)]
pub struct Routes {
    /// What serves them.
    pub router: Router,
    /// Method, path as axum writes it, and need.
    pub needs: Vec<(&'static str, &'static str, Need)>,
}

type Open = dyn Fn(&Place) -> Result<Routes, Box<dyn std::error::Error + Send + Sync>> + Send + Sync;

/// What opens such rooms, once it is known where the hub is.
#[derive(Clone)]
pub struct Extra(Arc<Open>);

impl Extra {
    /// Rooms that answer what the router says. It is made within the hub's runtime, before the hub answers anybody; their
    /// requests are let through as the hub's own are, with an [`gleaner_wire::Asker`] that says who asks.
    pub fn new(
        open: impl Fn(&Place) -> Result<Routes, Box<dyn std::error::Error + Send + Sync>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(open))
    }

    pub(crate) fn open(&self, place: &Place) -> Result<Routes, Error> {
        (self.0)(place).map_err(Error::Extra)
    }
}

impl fmt::Debug for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Extra")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_beside_reaches_a_hub_that_listens_everywhere() {
        let url = |address: &str| Place::of(address.parse().expect("an address"), Path::new("t"), Path::new("d")).url;
        assert_eq!(url("0.0.0.0:7700"), "http://127.0.0.1:7700");
        assert_eq!(url("[::]:7700"), "http://[::1]:7700");
        assert_eq!(url("192.0.2.7:7700"), "http://192.0.2.7:7700");
    }
}
