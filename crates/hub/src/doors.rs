//! Where a hub listens: for everybody, for programs on its own machine, and for those who have to be sent on.
use crate::http::serve;
use crate::metrics::Metrics;
use crate::tls::{self, Doorkeeper, Tls, TlsError, Upkeep};
use crate::{Config, Error, Site};
use axum::Router;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// The open doors of a hub that does not serve yet.
pub(crate) struct Doors {
    public: TcpListener,
    address: SocketAddr,
    encrypted: Option<Encrypted>,
    /// The address under which people see the hub, if it is known.
    site: Option<Site>,
}

/// What an encrypted hub has besides.
struct Encrypted {
    doorkeeper: Doorkeeper,
    upkeep: Upkeep,
    /// A plain door that only this machine reaches. Programs beside the hub need no certificate that fits its address, and
    /// can come before there is one.
    own: TcpListener,
    own_address: SocketAddr,
    redirect: Option<TcpListener>,
}

/// Refuses to listen where others would hear everything.
pub(crate) fn check(config: &Config) -> Result<(), Error> {
    let is_private = config.listen.ip().is_loopback() || config.tls.is_some();
    if is_private || config.allow_remote { Ok(()) } else { Err(Error::Remote(config.listen)) }
}

impl Doors {
    /// Listens. Whoever connects waits until the hub serves.
    pub(crate) async fn open(config: &Config) -> Result<Self, Error> {
        let address = config.listen;
        let wrong = |source| Error::Listen { address, source };
        // Before the port, so that a wrong file is named and not a port that is taken meanwhile.
        let encrypted = match &config.tls {
            Some(tls) => Some(Encrypted::open(tls, config).await?),
            None => None,
        };
        let public = TcpListener::bind(address).await.map_err(wrong)?;
        let address = public.local_addr().map_err(wrong)?;
        let site = config.url.clone().or_else(|| config.tls.as_ref().and_then(named));
        Ok(Self { public, address, encrypted, site })
    }

    /// Where everybody is let in.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address under which people see the hub, if it is known.
    pub(crate) fn site(&self) -> Option<&Site> {
        self.site.as_ref()
    }

    /// When the certificate that visitors are shown ends, in seconds since 1970; 0 while they are shown none.
    pub(crate) fn certificate_ends(&self) -> Arc<AtomicU64> {
        self.encrypted.as_ref().map(|encrypted| encrypted.doorkeeper.certificate_ends()).unwrap_or_default()
    }

    /// What others write to reach the hub.
    pub(crate) fn url(&self) -> String {
        match (&self.site, &self.encrypted) {
            (Some(site), Some(_)) => site.origin().to_owned(),
            (None, Some(_)) => format!("https://{}", self.address),
            (_, None) => format!("http://{}", self.address),
        }
    }

    /// What programs on this machine write.
    pub(crate) fn own_url(&self) -> String {
        let address = self.encrypted.as_ref().map_or(self.address, |encrypted| encrypted.own_address);
        let ip = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        format!("http://{}", SocketAddr::new(ip, address.port()))
    }

    /// Serves until told to stop; the ports are free afterwards.
    pub(crate) async fn serve(self, router: Router, metrics: Arc<Metrics>, stopping: watch::Receiver<bool>) {
        let Self { public, address, encrypted, site } = self;
        let Some(encrypted) = encrypted else {
            return serve(public, None, router, metrics, stopping).await;
        };
        let Encrypted { doorkeeper, upkeep, own, redirect, .. } = encrypted;
        let sends_on = async {
            if let Some(listener) = redirect {
                let router = tls::redirect(site, address.port());
                serve(listener, None, router, Arc::clone(&metrics), stopping.clone()).await;
            }
        };
        tokio::join!(
            serve(public, Some(Arc::new(doorkeeper)), router.clone(), Arc::clone(&metrics), stopping.clone()),
            serve(own, None, router, Arc::clone(&metrics), stopping.clone()),
            sends_on,
            upkeep.attend(stopping.clone()),
        );
    }
}

impl Encrypted {
    async fn open(tls: &Tls, config: &Config) -> Result<Self, Error> {
        let (doorkeeper, upkeep) = tls::open(tls, &config.dir)?;
        let own = own_door(&config.dir.join("own.port")).await.map_err(TlsError::Own)?;
        let own_address = own.local_addr().map_err(TlsError::Own)?;
        let redirect = match config.redirect_http {
            Some(address) => {
                let listening = TcpListener::bind(address).await;
                Some(listening.map_err(|source| TlsError::Redirect { address, source })?)
            }
            None => None,
        };
        Ok(Self { doorkeeper, upkeep, own, own_address, redirect })
    }
}

/// The door for this machine, at the port of last time if that is free: programs that run know that one.
async fn own_door(file: &Path) -> io::Result<TcpListener> {
    let last = std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse::<u16>().ok());
    let again = match last {
        Some(port) => TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.ok(),
        None => None,
    };
    let door = match again {
        Some(door) => door,
        None => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?,
    };
    std::fs::write(file, door.local_addr()?.port().to_string())?;
    Ok(door)
}

/// The address that an authority has seen the hub under. It looks at the usual port, whichever one leads there.
fn named(tls: &Tls) -> Option<Site> {
    match tls {
        Tls::Acme(acme) => Site::parse(&format!("https://{}", acme.domains.first()?)).ok(),
        Tls::Files { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_room_beside_reaches_a_hub_that_listens_everywhere() {
        let dir = tempfile::tempdir().expect("a folder");
        for (listen, own) in [("0.0.0.0:0", "http://127.0.0.1:"), ("127.0.0.1:0", "http://127.0.0.1:")] {
            let config = Config::new(dir.path(), listen.parse().expect("an address"));
            let doors = Doors::open(&config).await.expect("a free port");
            assert_eq!(doors.own_url(), format!("{own}{}", doors.address().port()));
        }
    }

    #[test]
    fn others_are_not_listened_to_without_encryption_unless_the_operator_says_so() {
        let everywhere = Config::new("", "0.0.0.0:0".parse().expect("an address"));
        assert!(matches!(check(&everywhere), Err(Error::Remote(_))));
        assert!(check(&Config { allow_remote: true, ..everywhere.clone() }).is_ok());
        let tls = Some(Tls::Files { certificate: "c".into(), key: "k".into() });
        assert!(check(&Config { tls, ..everywhere }).is_ok());
        assert!(check(&Config::new("", "[::1]:0".parse().expect("an address"))).is_ok());
    }
}
