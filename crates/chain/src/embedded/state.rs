//! The newest state with the head of the chain: what readers share and only the keeper changes.
use super::block::{Block, Frame};
use super::world::{Changes, World};
use alloy_consensus::Header;
use alloy_primitives::{Address, B256, U256};
use revm::DatabaseRef;
use revm::bytecode::Bytecode;
use revm::state::AccountInfo;
use std::collections::VecDeque;
use std::convert::Infallible;

/// How many block hashes contracts can ask for.
pub(crate) const HASHES_KEPT: usize = 256;

/// World and head, always of the same block.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) world: World,
    pub(crate) head: Header,
    /// Hashes of the newest blocks, the head's last.
    hashes: VecDeque<B256>,
}

impl State {
    /// The state after a block, with the hashes of it and the blocks before, oldest first.
    pub(crate) fn new(world: World, head: Header, hashes: impl IntoIterator<Item = B256>) -> Self {
        Self { world, head, hashes: hashes.into_iter().collect() }
    }

    /// The hash of the newest block.
    pub(crate) fn head_hash(&self) -> B256 {
        self.hashes.back().copied().unwrap_or_default()
    }

    /// The frame of the block that would come next.
    pub(crate) fn next_frame(&self, now: u64, mix: B256) -> Frame {
        Frame { parent: self.head_hash(), number: self.head.number + 1, timestamp: now.max(self.head.timestamp), mix }
    }

    /// Takes over a block that is on disk.
    pub(crate) fn advance(&mut self, block: &Block, changes: Changes) {
        self.world.apply(changes);
        self.head = block.header.clone();
        self.hashes.push_back(block.hash);
        if self.hashes.len() > HASHES_KEPT {
            self.hashes.pop_front();
        }
    }
}

impl DatabaseRef for State {
    type Error = Infallible;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        Ok(self.world.account(address).map(|account| AccountInfo {
            balance: account.balance,
            nonce: account.nonce,
            code_hash: account.code_hash,
            code: None,
            ..AccountInfo::default()
        }))
    }

    fn code_by_hash_ref(&self, hash: B256) -> Result<Bytecode, Infallible> {
        Ok(self.world.code(hash))
    }

    fn storage_ref(&self, address: Address, slot: U256) -> Result<U256, Infallible> {
        Ok(self.world.slot(address, slot))
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, Infallible> {
        let back = self.head.number.checked_sub(number).and_then(|back| usize::try_from(back).ok());
        let place = back.and_then(|back| self.hashes.len().checked_sub(back + 1));
        Ok(place.and_then(|place| self.hashes.get(place)).copied().unwrap_or_default())
    }
}
