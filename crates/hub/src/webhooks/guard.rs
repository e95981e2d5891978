//! Where webhooks may lead. Whoever makes one chooses where this hub sends requests, so they must not reach what only the
//! hub can reach: its own machine, its neighbours, and what answers questions about machines inside clouds.
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use url::{Host, Url};

/// The longest address.
const URL_BYTES_MAX: usize = 2048;

/// Reads an address that requests may be sent to, or says why they may not.
pub(crate) fn read(text: &str, private: bool) -> Result<Url, String> {
    if text.len() > URL_BYTES_MAX {
        return Err(format!("an address has at most {URL_BYTES_MAX} characters"));
    }
    let url = Url::parse(text).map_err(|error| format!("`{text}` is no address: {error}"))?;
    match url.scheme() {
        "https" => {}
        "http" if private => {}
        "http" => return Err("webhooks are sent over https only".to_owned()),
        other => return Err(format!("webhooks are sent over https, not over {other}")),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("an address has no name and password in it; requests are signed instead".to_owned());
    }
    let closed = |what: &dyn std::fmt::Display| {
        format!("{what} is not a public address, and this hub sends webhooks to public ones only")
    };
    match url.host() {
        None => return Err(format!("`{text}` names no host")),
        Some(_) if private => {}
        Some(Host::Ipv4(ip)) if !is_public(ip.into()) => return Err(closed(&ip)),
        Some(Host::Ipv6(ip)) if !is_public(ip.into()) => return Err(closed(&ip)),
        Some(Host::Domain(name)) if is_local_name(name) => return Err(closed(&name)),
        Some(Host::Ipv4(_) | Host::Ipv6(_) | Host::Domain(_)) => {}
    }
    Ok(url)
}

fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || [".localhost", ".local", ".internal", ".home.arpa"].iter().any(|end| name.ends_with(end))
}

/// Whether an address is reached over the public network, and by that alone.
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let special = ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_broadcast()
        || ip.is_documentation()
        || ip.is_multicast();
    // This network, shared by providers, special purposes, former relays, measurements, the future.
    let reserved = a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19))
        || a >= 240;
    !special && !reserved
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let segments = ip.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // Addresses that carry another one inside lead where that one leads.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            embedded(high, low)
        }
        // Everything that is not global unicast, and of that what is set aside: tunnels, documentation, benchmarks.
        [first, second, ..] => {
            let global = first & 0xe000 == 0x2000;
            let aside = first == 0x2001 && (second < 0x0200 || second == 0x0db8) || first == 0x3fff;
            global && !aside
        }
    }
}

/// Finds the addresses of names, and leaves those out that are not public.
pub(super) struct Guard {
    pub(super) private: bool,
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let private = self.private;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found.filter(|address| private || is_public(address.ip())).collect();
            if allowed.is_empty() {
                return Err(format!("{} leads to no public address", name.as_str()).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_are_not_public_are_refused() {
        for url in [
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[64:ff9b::7f00:1]/",
            "https://[2002:7f00:1::]/",
            "https://[fe80::1]/",
            "https://[fd00::1]/",
            "https://[2001:db8::1]/",
            "https://[::]/",
            "https://0.0.0.0/",
            "https://10.1.2.3/",
            "https://172.16.0.1/",
            "https://192.168.1.1/",
            "https://169.254.169.254/latest/meta-data",
            "https://100.64.0.1/",
            "https://198.18.0.1/",
            "https://224.0.0.1/",
            "https://255.255.255.255/",
            "https://localhost/",
            "https://LOCALHOST./",
            "https://hub.internal/",
            "https://printer.local/",
        ] {
            let refused = read(url, false).expect_err(url);
            assert!(refused.contains("not a public address"), "{url}: {refused}");
            assert!(read(url, true).is_ok(), "{url} where the operator allows it");
        }
    }

    #[test]
    fn addresses_that_make_no_sense_are_refused_always() {
        for url in ["", "hook", "ftp://example.com/", "file:///etc/passwd", "https://ada:pw@example.com/", "https:///"]
        {
            assert!(read(url, true).is_err(), "{url}");
        }
        assert!(read("http://example.com/", false).is_err(), "plain HTTP");
        assert!(read(&format!("https://example.com/{}", "a".repeat(3000)), false).is_err());
    }

    #[test]
    fn public_addresses_are_taken() {
        for url in ["https://example.com/hooks?id=1", "https://8.8.8.8:8443/", "https://[2606:4700::1111]/"] {
            assert!(read(url, false).is_ok(), "{url}");
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_home_is_not_followed() {
        let name = || "localhost".parse::<Name>().expect("a name");
        let refused = Guard { private: false }.resolve(name()).await;
        assert!(refused.is_err_and(|error| error.to_string().contains("no public address")));
        let found = Guard { private: true }.resolve(name()).await;
        assert!(found.is_ok_and(|mut found| found.any(|address| address.ip().is_loopback())));
    }
}
