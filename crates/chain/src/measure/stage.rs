//! A chain with the contracts on it, to prepare what is to be measured, and copies of it to measure on.
use super::Error;
use super::play::{Ready, Script};
use crate::account::{Account, Draft};
use crate::deploy;
use crate::embedded::{Block, CHAIN_ID, Chain, Options};
use crate::genesis::Genesis;
use crate::market::{Call, Market};
use crate::node::Node;
use crate::sender::Sender;
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, U256};
use tempfile::TempDir;

/// Gas that every transaction may use. One on Ethereum may use 16,777,216, so what is measured here fits there too.
const GAS_MAX: u64 = 16_000_000;
/// Transactions of a preparation that are under way at a time.
const PREPARED_AT_ONCE: usize = 1_000;

/// A chain that things are prepared on.
pub(super) struct Stage {
    folder: TempDir,
    chain: Chain,
    pub(super) market: Market,
    /// Has more tokens than any measurement needs.
    pub(super) faucet: Account,
    nonces: HashMap<Address, u64>,
}

impl Stage {
    /// A fresh chain with all contracts.
    pub(super) async fn open() -> Result<Self, Error> {
        let folder = tempfile::tempdir()?;
        let chain = Chain::open(&Options { sync: false, ..Options::testing(folder.path()) })?;
        let faucet = Account::from_words("who gives to those who are measured");
        let deployer = Account::from_words("who deploys for a measurement");
        let genesis = Genesis::preset("hub")?.with_timings("local")?;
        let sender = Sender::new(Node::Embedded(chain.clone()), CHAIN_ID);
        let deployment = deploy::deploy(&sender, &deployer, &genesis, faucet.address()).await?;
        let market = Market::new(sender.node, deployment);
        Ok(Self { folder, chain, market, faucet, nonces: HashMap::default() })
    }

    /// Signs a call with the account's next number.
    pub(super) fn sign(&mut self, account: &Account, call: &Call) -> Result<Ready, Error> {
        let nonce = self.nonces.entry(account.address()).or_default();
        let draft = Draft {
            chain_id: CHAIN_ID,
            nonce: *nonce,
            to: Some(call.to),
            value: U256::ZERO,
            data: call.data.clone(),
            gas: GAS_MAX,
            fee_max: 0,
            priority: 0,
        };
        *nonce += 1;
        Ready::new(account.sign(&draft), account.address())
    }

    /// Takes back the numbers of what an account signed and will not send, so that others can be signed instead.
    pub(super) fn forget(&mut self, account: &Account, count: u64) {
        *self.nonces.entry(account.address()).or_default() -= count;
    }

    /// Has calls carried out, in order; returns the gas of each. All of them must succeed.
    pub(super) async fn perform(&mut self, acts: &[(&Account, Call)]) -> Result<Vec<u64>, Error> {
        let ready: Vec<Ready> =
            acts.iter().map(|(account, call)| self.sign(account, call)).collect::<Result<_, _>>()?;
        let before = self.chain.height().await?;
        let hashes: Vec<_> = ready.iter().map(|ready| ready.hash).collect();
        Script::plain(ready).send(&self.chain, true, PREPARED_AT_ONCE).await?;
        let mut gas: HashMap<B256, u64> = HashMap::default();
        for block in blocks(&self.chain, before + 1).await? {
            for (sent, outcome) in block.transactions.iter().zip(&block.outcomes) {
                if outcome.success {
                    gas.insert(sent.hash(), outcome.gas_used);
                }
            }
        }
        let used = hashes.iter().map(|hash| gas.get(hash).copied());
        used.collect::<Option<_>>().ok_or_else(|| Error::worthless("a transaction of the preparation was refused"))
    }

    /// Ends the preparation; what was prepared can be copied.
    pub(super) fn close(self) -> Closed {
        Closed { folder: self.folder }
    }
}

/// A prepared chain on disk that nobody has open.
pub(super) struct Closed {
    folder: TempDir,
}

/// A copy of a prepared chain, to be used once.
pub(super) struct Copy {
    pub(super) chain: Chain,
    /// The number of its last block.
    pub(super) height: u64,
    _folder: TempDir,
}

impl Closed {
    /// A copy, as it was when it was closed.
    pub(super) async fn copy(&self, sync: bool) -> Result<Copy, Error> {
        let folder = tempfile::tempdir()?;
        for entry in std::fs::read_dir(self.folder.path())? {
            let entry = entry?;
            std::fs::copy(entry.path(), folder.path().join(entry.file_name()))?;
        }
        let chain = Chain::open(&Options { sync, ..Options::testing(folder.path()) })?;
        let height = chain.height().await?;
        Ok(Copy { chain, height, _folder: folder })
    }
}

/// All blocks from this one on.
pub(super) async fn blocks(chain: &Chain, from: u64) -> Result<Vec<Block>, Error> {
    let mut blocks = Vec::new();
    for number in from..=chain.height().await? {
        let block = chain.full_block(number).await?;
        blocks.push(block.ok_or_else(|| Error::worthless(format!("block {number} is missing")))?);
    }
    Ok(blocks)
}
