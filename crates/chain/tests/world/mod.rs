//! A deployed market on either kind of chain, with accounts that have money, and a transcript of what happened.
#![allow(dead_code, clippy::allow_attributes, reason = "each test uses its own part of the world")]
#[path = "../anvil/mod.rs"]
pub mod anvil;

use alloy_primitives::{Address, B256, Bytes, U256};
use gleaner_chain::account::Account;
use gleaner_chain::deploy::{self, Deployment};
use gleaner_chain::embedded::{Chain, Options};
use gleaner_chain::genesis::Genesis;
use gleaner_chain::market::{Call, Market};
use gleaner_chain::node::{Node, Receipt};
use gleaner_chain::order::{Order, Payout, Settlement};
use gleaner_chain::remote::Remote;
use gleaner_chain::sender::{Failure, Policy, Sender};
use gleaner_wire::Amount;
use std::time::Duration;

/// For anvil: a patient sender would make slow tests.
pub const POLICY: Policy = Policy {
    confirmations: 1,
    poll: Duration::from_millis(10),
    bump_after: Duration::from_secs(30),
    fee_max: 1_000_000_000_000,
    patience: Duration::from_secs(60),
};

/// A market to try things on.
pub struct World {
    pub market: Market,
    pub sender: Sender,
    pub faucet: Account,
    pub transcript: Vec<String>,
    /// The same for both chains of one test, so that ids are equal.
    pub now: u64,
    /// Whether the order of an action's logs is left to chance.
    pub unordered: bool,
    keep: Keep,
}

enum Keep {
    Folder(tempfile::TempDir),
    Anvil(anvil::Anvil),
}

pub fn gln(whole: u64) -> Amount {
    Amount::gln(whole)
}

/// The account of a name, the same on every chain.
pub fn named(name: &str) -> Account {
    Account::from_words(name)
}

pub fn address(name: &str) -> Address {
    named(name).address()
}

pub fn wall_clock() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs()
}

impl World {
    pub async fn embedded(now: u64) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let chain = Chain::open(&Options::testing(folder.path())).expect("a chain");
        let sender = Sender { node: Node::Embedded(chain), policy: Policy::EMBEDDED };
        Self::deploy(sender, Keep::Folder(folder), now).await
    }

    pub async fn anvil(now: u64) -> Self {
        Self::anvil_with(now, &[]).await
    }

    /// On an anvil with other arguments.
    pub async fn anvil_with(now: u64, arguments: &[&str]) -> Self {
        let anvil = anvil::Anvil::start(arguments);
        for name in ["deployer", "faucet"].into_iter().chain(NAMES) {
            anvil.fund(address(name)).await;
        }
        let sender = Sender { node: anvil.node(), policy: POLICY };
        Self::deploy(sender, Keep::Anvil(anvil), now).await
    }

    /// The node's process.
    pub fn process(&mut self) -> &mut anvil::Anvil {
        match &mut self.keep {
            Keep::Anvil(anvil) => anvil,
            Keep::Folder(_) => panic!("the embedded chain has no process of its own"),
        }
    }

    async fn deploy(sender: Sender, keep: Keep, now: u64) -> Self {
        let genesis = Genesis::preset("hub").expect("a preset");
        let (deployer, faucet) = (named("deployer"), named("faucet"));
        let deployed = deploy::deploy(&sender, &deployer, &genesis, faucet.address()).await;
        let deployment: Deployment = deployed.unwrap_or_else(|error| panic!("deployed: {error:?}"));
        let market = Market::new(sender.node.clone(), deployment);
        let mut world = Self { market, sender, faucet, transcript: Vec::new(), now, unordered: false, keep };
        for name in NAMES {
            let give = world.market.transfer(address(name), gln(10_000));
            let faucet = world.faucet.clone();
            world.sender.send(&faucet, &give).await.expect("the faucet gives");
        }
        world.note("ready".into()).await;
        world
    }

    /// Sends and writes down what came of it.
    pub async fn does(&mut self, who: &str, call: Call) -> Result<Receipt, String> {
        let sent = self.sender.send(&named(who), &call).await;
        let said = match &sent {
            Ok(receipt) => self.say_logs(receipt),
            Err(Failure::Refused(reason)) => format!("refused: {}", self.mask_words(reason)),
            Err(error) => panic!("{who}: {error:?}"),
        };
        self.note(format!("{who}:\n  {said}")).await;
        sent.map_err(|error| error.to_string())
    }

    /// Does what must go through.
    pub async fn must(&mut self, who: &str, call: Call) -> Receipt {
        self.does(who, call).await.unwrap_or_else(|error| panic!("{who}: {error}"))
    }

    /// Does what must be refused, for this reason.
    pub async fn refused(&mut self, who: &str, call: Call, reason: &str) {
        let error = self.does(who, call).await.err().unwrap_or_else(|| panic!("{who} was not refused: {reason}"));
        assert!(error.contains(reason), "{who}: expected {reason}, got {error}");
    }

    /// Everybody's free money is what the history of their account comes to.
    pub async fn check_histories(&self) {
        let newest = self.market.node.height().await.expect("read");
        for name in NAMES {
            let history = self.market.history(address(name), 0, newest).await.expect("read");
            let lines = history.iter().map(|entry| i128::from(entry.kind.sign()) * i128::from(entry.amount.0));
            let free = self.market.escrow_balance(address(name)).await.expect("read");
            assert_eq!(lines.sum::<i128>(), i128::from(free.0), "{name}: {history:#?}");
        }
    }

    /// Lets time pass.
    pub async fn wait(&mut self, seconds: u64) {
        self.sender.node.advance(seconds).await.expect("time passes on test chains");
    }

    /// Notes an action and everybody's money after it.
    async fn note(&mut self, text: String) {
        let mut lines = vec![text];
        let at = self.market.deployment.clone();
        let contracts = [("treasury", at.timelock), ("court", at.court), ("vouchers", at.vouchers)];
        let people = NAMES.iter().map(|name| (*name, address(name)));
        for (name, account) in people.chain(contracts) {
            let market = &self.market;
            let token = market.token_balance(account).await.expect("read");
            let free = market.escrow_balance(account).await.expect("read");
            let (stake, unlocked) =
                (market.stake_of(account).await.expect("read"), market.free_stake_of(account).await.expect("read"));
            lines.push(format!("    {name} {token} {free} {stake} {unlocked}"));
        }
        self.transcript.push(lines.join("\n"));
    }

    fn say_logs(&self, receipt: &Receipt) -> String {
        let mut said: Vec<String> = receipt.logs.iter().map(|log| self.say_log(log)).collect();
        if self.unordered {
            said.sort();
        }
        said.join("\n  ")
    }

    /// A log with times made unreadable: clocks of two chains differ by seconds.
    fn say_log(&self, log: &alloy_primitives::Log) -> String {
        let topics: Vec<String> = log.data.topics().iter().map(ToString::to_string).collect();
        let words: Vec<String> = log.data.data.chunks(32).map(|word| self.mask(word)).collect();
        format!("{} {} | {}", log.address, topics.join(" "), words.join(" "))
    }

    fn is_time(&self, value: u64) -> bool {
        value.abs_diff(self.now) < 200 * 86_400
    }

    fn mask(&self, word: &[u8]) -> String {
        let value = U256::from_be_slice(word);
        match u64::try_from(value) {
            Ok(value) if self.is_time(value) => "TIME".into(),
            Ok(value) => value.to_string(),
            Err(_) => value.to_string(),
        }
    }

    fn mask_words(&self, reason: &str) -> String {
        let mask = |word: &str| match word.trim_end_matches(',').parse::<u64>() {
            Ok(value) if self.is_time(value) => "TIME".to_owned(),
            Ok(_) | Err(_) => word.to_owned(),
        };
        reason.split(' ').map(mask).collect::<Vec<_>>().join(" ")
    }
}

/// Everybody in the tests.
pub const NAMES: [&str; 9] = ["requester", "hub", "ann", "ben", "cleo", "dan", "eve", "fay", "gus"];

/// What the requester orders.
pub fn order(world: &World, cap: u64, bond: u64, nonce: u64) -> (Order, B256, Bytes) {
    let order = Order {
        requester: address("requester"),
        hub: address("hub"),
        job: B256::repeat_byte(7),
        cap: Amount(cap),
        bond: Amount(bond),
        deadline: world.now + 86_400,
        policy: B256::repeat_byte(8),
        nonce: U256::from(nonce),
    };
    let domain = world.market.domain();
    let (id, signature) = (order.id(&domain), order.sign(&domain, &named("requester")));
    (order, id, signature)
}

pub fn settlement(order: B256, payouts: &[(&str, u64)]) -> Settlement {
    let payout = |(name, gross): &(&str, u64)| Payout { provider: address(name), gross: Amount(*gross) };
    Settlement { order, receipts_root: B256::repeat_byte(9), payouts: payouts.iter().map(payout).collect() }
}

pub fn remote(url: &str) -> Node {
    Node::Remote(Remote::connect(url).expect("an address"))
}

pub async fn pause(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}
