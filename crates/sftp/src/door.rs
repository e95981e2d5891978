//! How many may come in, how many may knock, and how long somebody waits who guesses passwords.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most connections at a time.
pub(crate) const CONNECTIONS_MAX: usize = 64;
/// The most of them that have not logged in.
const KNOCKING_MAX: usize = 32;
/// The most of those from one address; FileZilla opens up to ten at once.
const KNOCKING_FROM_ADDRESS_MAX: usize = 12;
/// The most connections of one user.
const CONNECTIONS_OF_USER_MAX: usize = 16;
/// The longest that a wrong password makes an address wait for the next answer.
const WAIT_MAX: Duration = Duration::from_secs(8);
const WAIT_FIRST: Duration = Duration::from_millis(250);
/// Wrong passwords are forgotten after this time.
const FORGET_AFTER: Duration = Duration::from_secs(600);
/// The most addresses with wrong passwords that are remembered.
const ADDRESSES_MAX: usize = 1024;

/// Counts connections and wrong passwords.
#[derive(Debug, Default)]
pub(crate) struct Door {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    connections: usize,
    knocking: BTreeMap<IpAddr, usize>,
    inside: BTreeMap<String, usize>,
    wrong: BTreeMap<IpAddr, Wrong>,
}

#[derive(Clone, Copy, Debug)]
struct Wrong {
    count: u32,
    last: Instant,
}

/// One network of IPv6 counts as one address: it is as easily had.
fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    }
}

fn leave<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

impl Door {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a connection knock, unless there are too many.
    pub(crate) fn knock(self: &Arc<Self>, address: IpAddr) -> Option<Visit> {
        let address = neighbourhood(address);
        let mut state = self.state();
        let knocking: usize = state.knocking.values().sum();
        let from_address = state.knocking.get(&address).copied().unwrap_or(0);
        if state.connections >= CONNECTIONS_MAX || knocking >= KNOCKING_MAX || from_address >= KNOCKING_FROM_ADDRESS_MAX
        {
            return None;
        }
        state.connections += 1;
        *state.knocking.entry(address).or_default() += 1;
        Some(Visit { door: Arc::clone(self), address, folder: None })
    }
}

/// A connection, as long as it lasts.
#[derive(Debug)]
pub(crate) struct Visit {
    door: Arc<Door>,
    address: IpAddr,
    folder: Option<String>,
}

impl Visit {
    /// Lets the visitor in, unless too many connections of the same user are.
    pub(crate) fn enter(&mut self, folder: &str) -> bool {
        let mut state = self.door.state();
        if self.folder.is_some() || state.inside.get(folder).is_some_and(|count| *count >= CONNECTIONS_OF_USER_MAX) {
            return false;
        }
        leave(&mut state.knocking, &self.address);
        *state.inside.entry(folder.to_string()).or_default() += 1;
        self.folder = Some(folder.to_string());
        true
    }

    /// Whether no other connection of the same user is there.
    pub(crate) fn is_alone(&self) -> bool {
        let folder = self.folder.as_ref();
        folder.is_some_and(|folder| self.door.state().inside.get(folder) == Some(&1))
    }

    /// How long the next try of a password has to wait.
    pub(crate) fn wait(&self) -> Duration {
        let state = self.door.state();
        let Some(wrong) = state.wrong.get(&self.address).filter(|wrong| wrong.last.elapsed() < FORGET_AFTER) else {
            return Duration::ZERO;
        };
        WAIT_FIRST.saturating_mul(1 << wrong.count.min(10)).min(WAIT_MAX)
    }

    /// Remembers a wrong password.
    pub(crate) fn was_wrong(&self) {
        let mut state = self.door.state();
        state.wrong.retain(|_, wrong| wrong.last.elapsed() < FORGET_AFTER);
        if state.wrong.len() >= ADDRESSES_MAX
            && !state.wrong.contains_key(&self.address)
            && let Some(oldest) = state.wrong.iter().min_by_key(|(_, wrong)| wrong.last).map(|(address, _)| *address)
        {
            state.wrong.remove(&oldest);
        }
        let count = state.wrong.get(&self.address).map_or(0, |wrong| wrong.count);
        state.wrong.insert(self.address, Wrong { count: count.saturating_add(1), last: Instant::now() });
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut state = self.door.state();
        state.connections -= 1;
        match &self.folder {
            Some(folder) => leave(&mut state.inside, folder),
            None => leave(&mut state.knocking, &self.address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn one_address_cannot_keep_others_from_knocking() {
        let door = Arc::new(Door::default());
        let visits: Vec<_> = std::iter::from_fn(|| door.knock(address(1))).take(100).collect();
        assert_eq!(visits.len(), KNOCKING_FROM_ADDRESS_MAX);
        assert!(door.knock(address(2)).is_some());
        drop(visits);
        assert!(door.knock(address(1)).is_some());
        assert_eq!(door.state().connections, 0);
    }

    #[test]
    fn one_user_cannot_take_all_connections() {
        let door = Arc::new(Door::default());
        let mut inside = Vec::new();
        for last in 0..CONNECTIONS_OF_USER_MAX {
            let mut visit = door.knock(address(u8::try_from(last).expect("few"))).expect("there is room");
            assert!(visit.enter("ada"));
            assert_eq!(visit.is_alone(), last == 0);
            inside.push(visit);
        }
        let mut visit = door.knock(address(200)).expect("there is room");
        assert!(!visit.enter("ada"));
        assert!(visit.enter("bob"));
    }

    #[test]
    fn wrong_passwords_make_the_address_wait_longer_and_longer() {
        let door = Arc::new(Door::default());
        let visit = door.knock(address(1)).expect("there is room");
        let mut waits = vec![visit.wait()];
        for _ in 0..7 {
            visit.was_wrong();
            waits.push(visit.wait());
        }
        assert_eq!(waits[0], Duration::ZERO);
        assert!(waits.is_sorted());
        assert_eq!(waits[7], WAIT_MAX);
        assert_eq!(door.knock(address(2)).expect("there is room").wait(), Duration::ZERO);
    }

    #[test]
    fn few_addresses_are_remembered() {
        let door = Arc::new(Door::default());
        for number in 0..2 * ADDRESSES_MAX as u32 {
            door.knock(IpAddr::from(number.to_be_bytes())).expect("there is room").was_wrong();
        }
        assert_eq!(door.state().wrong.len(), ADDRESSES_MAX);
    }
}
