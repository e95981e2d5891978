//! How often somebody may ask: everybody by their address, and accounts by themselves.
use gleaner_accounts::AccountId;
use gleaner_accounts::rate::{Buckets, Rate, Wait};
use gleaner_wire::Millis;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

/// Addresses and accounts that are remembered.
const KEYS_MAX: usize = 50_000;
/// Requests of one address without a token or a session.
const STRANGERS: Rate = Rate { burst: 600, per_minute: 1200 };
/// Requests of one account: a page asks for much at once.
const ACCOUNTS: Rate = Rate { burst: 1200, per_minute: 6000 };
/// Sign-ins, sign-ups and challenges of one address.
const ENTRIES: Rate = Rate { burst: 60, per_minute: 30 };
/// Refusals of one account that are written down.
const DENIALS: Rate = Rate { burst: 10, per_minute: 2 };

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any request of somebody unknown.
    Stranger(Option<IpAddr>),
    /// Any request of an account.
    Account(AccountId),
    /// A try to come in.
    Entry(Option<IpAddr>),
    /// A refusal that is written down.
    Denied(AccountId),
}

/// Buckets of each kind.
pub(crate) struct Limits {
    strangers: Mutex<Buckets<Option<IpAddr>>>,
    accounts: Mutex<Buckets<AccountId>>,
    entries: Mutex<Buckets<Option<IpAddr>>>,
    denials: Mutex<Buckets<AccountId>>,
}

impl Limits {
    pub(crate) fn new() -> Self {
        Self {
            strangers: Mutex::new(Buckets::new(STRANGERS, KEYS_MAX)),
            accounts: Mutex::new(Buckets::new(ACCOUNTS, KEYS_MAX)),
            entries: Mutex::new(Buckets::new(ENTRIES, KEYS_MAX)),
            denials: Mutex::new(Buckets::new(DENIALS, KEYS_MAX)),
        }
    }

    /// Counts a request, or says how long to wait with it.
    pub(crate) fn take(&self, kind: Kind, now: Millis) -> Result<(), Wait> {
        match kind {
            Kind::Stranger(address) => lock(&self.strangers).take(address.map(network), now),
            Kind::Account(account) => lock(&self.accounts).take(account, now),
            Kind::Entry(address) => lock(&self.entries).take(address.map(network), now),
            Kind::Denied(account) => lock(&self.denials).take(account, now),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Of IPv6 the network: one household has as many addresses as it wants.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_to_come_in_are_fewer_than_other_requests() {
        let limits = Limits::new();
        let address = Some([192, 0, 2, 7].into());
        let taken = (0..1000).filter(|_| limits.take(Kind::Entry(address), Millis(1)).is_ok()).count();
        assert_eq!(taken, ENTRIES.burst as usize);
        assert!(limits.take(Kind::Stranger(address), Millis(1)).is_ok(), "they are counted apart");
        assert!(limits.take(Kind::Entry(Some([192, 0, 2, 8].into())), Millis(1)).is_ok());
    }
}
