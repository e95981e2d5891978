//! The state: accounts, their storage and their code, in memory, with its hash.
//!
//! Only whole blocks change it, and only after they are on disk. A contract can end only in the transaction that made it
//! (EIP-6780), so that an account that is created never has old storage to clear.
use super::digest::Digest;
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use alloy_rlp::{RlpDecodable, RlpEncodable};
use revm::bytecode::Bytecode;
use revm::database::{AccountState, Cache};
use revm::state::AccountInfo;

/// One account with what a contract stores.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    pub(crate) nonce: u64,
    pub(crate) balance: U256,
    pub(crate) code_hash: B256,
    pub(crate) storage: HashMap<U256, U256>,
}

/// Everything that contracts can see.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    accounts: HashMap<Address, Account>,
    codes: HashMap<B256, Bytecode>,
    digest: Digest,
}

/// What a block does to the world: the difference, and the hash of the world after it.
#[derive(Debug)]
pub(crate) struct Changes {
    accounts: Vec<Change>,
    codes: Vec<(B256, Bytecode)>,
    pub(crate) digest: Digest,
}

#[derive(Debug)]
struct Change {
    address: Address,
    /// None if the account is no more.
    record: Option<Record>,
    slots: Vec<(U256, U256)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record {
    nonce: u64,
    balance: U256,
    code_hash: B256,
}

impl World {
    /// A world in which some accounts have native coin and nothing else exists.
    pub(crate) fn with_balances(balances: &[(Address, U256)]) -> Self {
        let mut world = Self::default();
        for (address, balance) in balances {
            let account = Account { balance: *balance, code_hash: KECCAK256_EMPTY, ..Account::default() };
            world.digest.add_account(*address, 0, *balance, KECCAK256_EMPTY);
            world.accounts.insert(*address, account);
        }
        world
    }

    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    pub(crate) fn account(&self, address: Address) -> Option<&Account> {
        self.accounts.get(&address)
    }

    pub(crate) fn nonce(&self, address: Address) -> u64 {
        self.accounts.get(&address).map_or(0, |account| account.nonce)
    }

    pub(crate) fn slot(&self, address: Address, slot: U256) -> U256 {
        self.accounts.get(&address).and_then(|account| account.storage.get(&slot)).copied().unwrap_or_default()
    }

    pub(crate) fn code(&self, hash: B256) -> Bytecode {
        self.codes.get(&hash).cloned().unwrap_or_default()
    }

    /// The difference between this world and what execution on top of it left in its cache.
    pub(crate) fn changes(&self, cache: Cache) -> Changes {
        let mut changes = Changes { accounts: Vec::new(), codes: Vec::new(), digest: self.digest };
        for (address, account) in cache.accounts {
            let gone = match account.account_state {
                AccountState::None => continue,
                AccountState::NotExisting => true,
                // An account that was touched and left empty does not exist (EIP-161).
                AccountState::Touched | AccountState::StorageCleared => account.info.is_empty(),
            };
            let before = self.accounts.get(&address);
            let change = match gone {
                true if before.is_none() => continue,
                true => Change { address, record: None, slots: Vec::new() },
                false => Change {
                    address,
                    record: Some(Record::from(&account.info)),
                    slots: changed_slots(before, account.storage),
                },
            };
            note(&mut changes.digest, before, &change);
            changes.accounts.push(change);
        }
        changes.codes = cache
            .contracts
            .into_iter()
            .filter(|(hash, code)| !code.is_empty() && !self.codes.contains_key(hash))
            .collect();
        changes
    }

    /// Makes the changes. They must have been computed from this very world.
    pub(crate) fn apply(&mut self, changes: Changes) {
        for change in changes.accounts {
            let Some(record) = change.record else {
                self.accounts.remove(&change.address);
                continue;
            };
            let account = self.accounts.entry(change.address).or_default();
            account.nonce = record.nonce;
            account.balance = record.balance;
            account.code_hash = record.code_hash;
            for (slot, value) in change.slots {
                match value.is_zero() {
                    true => account.storage.remove(&slot),
                    false => account.storage.insert(slot, value),
                };
            }
        }
        self.codes.extend(changes.codes);
        self.digest = changes.digest;
    }
}

impl From<&AccountInfo> for Record {
    fn from(info: &AccountInfo) -> Self {
        Self { nonce: info.nonce, balance: info.balance, code_hash: info.code_hash }
    }
}

fn changed_slots(before: Option<&Account>, storage: impl IntoIterator<Item = (U256, U256)>) -> Vec<(U256, U256)> {
    let old = |slot: &U256| before.and_then(|account| account.storage.get(slot)).copied().unwrap_or_default();
    storage.into_iter().filter(|(slot, value)| old(slot) != *value).collect()
}

fn note(digest: &mut Digest, before: Option<&Account>, change: &Change) {
    let address = change.address;
    if let Some(old) = before {
        digest.remove_account(address, old.nonce, old.balance, old.code_hash);
    }
    let Some(record) = change.record else {
        for (slot, value) in before.iter().flat_map(|account| &account.storage) {
            digest.remove_slot(address, *slot, *value);
        }
        return;
    };
    digest.add_account(address, record.nonce, record.balance, record.code_hash);
    for (slot, value) in &change.slots {
        if let Some(old) = before.and_then(|account| account.storage.get(slot)) {
            digest.remove_slot(address, *slot, *old);
        }
        digest.add_slot(address, *slot, *value);
    }
}

/// A world as it is written to disk: sorted, so that equal worlds give equal bytes.
#[derive(RlpEncodable, RlpDecodable)]
struct Image {
    accounts: Vec<AccountImage>,
    codes: Vec<Bytes>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct AccountImage {
    address: Address,
    nonce: u64,
    balance: U256,
    code_hash: B256,
    slots: Vec<SlotImage>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct SlotImage {
    slot: U256,
    value: U256,
}

impl World {
    /// The bytes of a snapshot.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut accounts: Vec<_> = self.accounts.iter().map(|(address, account)| image(*address, account)).collect();
        accounts.sort_unstable_by_key(|account| account.address);
        let mut codes: Vec<_> = self.codes.values().map(Bytecode::original_bytes).collect();
        codes.sort_unstable();
        alloy_rlp::encode(Image { accounts, codes })
    }

    /// Reads a snapshot; its hash is computed afresh, so that the caller can compare it with the block's header.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, alloy_rlp::Error> {
        let image: Image = alloy_rlp::decode_exact(bytes)?;
        let mut world = Self::default();
        for code in image.codes {
            let hash = keccak256(&code);
            let code = Bytecode::new_raw_checked(code).map_err(|_| alloy_rlp::Error::Custom("code that cannot be"))?;
            world.codes.insert(hash, code);
        }
        for account in image.accounts {
            let AccountImage { address, nonce, balance, code_hash, slots } = account;
            if code_hash != KECCAK256_EMPTY && !world.codes.contains_key(&code_hash) {
                return Err(alloy_rlp::Error::Custom("an account without its code"));
            }
            world.digest.add_account(address, nonce, balance, code_hash);
            for slot in &slots {
                world.digest.add_slot(address, slot.slot, slot.value);
            }
            let storage = slots.into_iter().map(|slot| (slot.slot, slot.value)).collect();
            world.accounts.insert(address, Account { nonce, balance, code_hash, storage });
        }
        Ok(world)
    }
}

fn image(address: Address, account: &Account) -> AccountImage {
    let mut slots: Vec<_> =
        account.storage.iter().map(|(slot, value)| SlotImage { slot: *slot, value: *value }).collect();
    slots.sort_unstable_by_key(|slot| slot.slot);
    AccountImage { address, nonce: account.nonce, balance: account.balance, code_hash: account.code_hash, slots }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_restores_the_same_world_and_hash() {
        let mut world =
            World::with_balances(&[(Address::repeat_byte(1), U256::from(7)), (Address::ZERO, U256::from(1))]);
        let mut cache = Cache::default();
        let account = cache.accounts.entry(Address::repeat_byte(9)).or_default();
        account.account_state = AccountState::Touched;
        account.info.nonce = 3;
        account.storage.insert(U256::from(4), U256::from(5));
        let changes = world.changes(cache);
        world.apply(changes);
        let restored = World::decode(&world.encode()).expect("just encoded");
        assert_eq!(restored.digest(), world.digest());
        assert_eq!(restored.slot(Address::repeat_byte(9), U256::from(4)), U256::from(5));
        assert_eq!(restored.encode(), world.encode());
    }

    #[test]
    fn empty_accounts_leave_no_trace() {
        let mut world = World::default();
        let mut cache = Cache::default();
        cache.accounts.entry(Address::ZERO).or_default().account_state = AccountState::Touched;
        let changes = world.changes(cache);
        world.apply(changes);
        assert_eq!(world.digest(), Digest::default());
        assert!(world.account(Address::ZERO).is_none());
    }

    #[test]
    fn damaged_snapshot_is_refused_or_hashes_differently() {
        let world = World::with_balances(&[(Address::repeat_byte(1), U256::from(7))]);
        let bytes = world.encode();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            if let Ok(other) = World::decode(&damaged) {
                assert_ne!(other.digest(), world.digest(), "byte {at}");
            }
        }
    }
}
