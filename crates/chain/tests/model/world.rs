//! A chain with everything deployed, eight people on it, and the model beside it.
use super::Committees;
use alloy_primitives::{Address, B256, U256, keccak256};
use gleaner_chain::account::{Account, Draft};
use gleaner_chain::deploy::{Deployment, deploy};
use gleaner_chain::genesis::Genesis;
use gleaner_chain::market::{Call, Market, words};
use gleaner_chain::model::{Action, Economy, Holding, Moment, Order, Refusal, Settlement, Terms, Who};
use gleaner_chain::node::{CallError, Receipt};
use gleaner_chain::sender::{Policy, Sender};
use gleaner_chain::{Node, order};
use gleaner_wire::Amount;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub const PEOPLE: u16 = 8;
/// The last people keep to auditing, mostly.
pub const AUDITORS: u16 = 3;
pub const GLN: u64 = Amount::UNITS_PER_GLN;
const PURSE: u64 = 10_000 * GLN;
const GAS: u64 = 8_000_000;

pub struct World {
    pub seed: u64,
    pub committees: Committees,
    pub rng: StdRng,
    pub market: Market,
    pub accounts: Vec<Account>,
    pub model: Economy,
    pub at: Moment,
    /// Orders that were ever written down; the place is the number.
    pub orders: Vec<Order>,
    steps: u32,
    log: Vec<String>,
}

/// What happened, without anything that differs from chain to chain.
#[derive(Debug, PartialEq, Eq)]
pub struct Trace {
    log: Vec<String>,
    tokens: BTreeMap<Who, u64>,
    books: BTreeMap<Who, u64>,
    stakes: BTreeMap<Who, (u64, u64)>,
}

impl Trace {
    /// The kinds of actions that succeeded.
    pub fn done(&self) -> BTreeSet<String> {
        let done = self.log.iter().filter_map(|line| line.strip_suffix(" Ok(())"));
        done.filter_map(|line| line.split(' ').nth(1)).map(str::to_owned).collect()
    }

    /// A run in which hardly anything is tried, or hardly anything succeeds, would prove little.
    pub fn expect_variety(&self) {
        let kinds = self.done();
        let refusals: BTreeSet<&str> = self.log.iter().filter_map(|line| line.split_once("Err(")?.1.into()).collect();
        assert!(kinds.len() >= 15, "only these succeeded: {kinds:?}");
        assert!(refusals.len() >= 8, "only these were refused: {refusals:?}");
    }
}

impl World {
    pub async fn found(node: Node, seed: u64, committees: Committees) -> Self {
        // Odd numbers, so that every share has something to round. Windows end half an hour beside all steps of time,
        // so that a few seconds more or less change nothing.
        let numbers = [
            ("platformShareBps", 1_499),
            ("slashShareBps", 4_999),
            ("bondShareBps", 501),
            ("minimumStake", 10 * GLN),
            ("workLock", 1_000_000_007),
            ("hubLock", 999_999_937),
            ("challengeWindow", 9_000),
            ("votingWindow", 12_600),
            ("unbondingDelay", 16_200),
            ("committeeSize", committees.size() as u64),
            ("orderDurationMax", 90_000),
        ];
        let mut genesis = Genesis::preset("hub").expect("a preset");
        for (name, value) in numbers {
            genesis.put(name, value).expect("a parameter");
        }
        let number = |name: &str| numbers.iter().find(|entry| entry.0 == name).expect("listed").1;
        let terms = Terms {
            platform_share: number("platformShareBps"),
            slash_share: number("slashShareBps"),
            bond_share: number("bondShareBps"),
            minimum_stake: number("minimumStake"),
            work_lock: number("workLock"),
            hub_lock: number("hubLock"),
            challenge_window: number("challengeWindow"),
            voting_window: number("votingWindow"),
            unbonding_delay: number("unbondingDelay"),
            committee_size: committees.size(),
            order_duration_max: number("orderDurationMax"),
        };
        let liquidity = Account::from_words("liquidity");
        let market = Market::new(node.clone(), deployed(node, &genesis, liquidity.address()).await);
        let accounts: Vec<_> = (0..PEOPLE).map(|who| Account::from_words(&format!("person {who}"))).collect();
        for account in &accounts {
            let given = send(&market, &liquidity, &market.transfer(account.address(), Amount(PURSE))).await;
            assert!(given.success, "tokens are given");
            for spender in [market.deployment.escrow, market.deployment.stake] {
                assert!(send(&market, account, &market.approve(spender, Amount(u64::MAX))).await.success, "approved");
            }
        }
        let model = Economy::new(terms, (0..PEOPLE).map(|who| (Who(who), PURSE)).collect());
        let rng = StdRng::seed_from_u64(seed);
        let (at, orders, log) = (Moment::default(), Vec::new(), Vec::new());
        let mut world = Self { seed, committees, rng, market, accounts, model, at, orders, steps: 0, log };
        world.look_at_the_clock(None).await;
        world
    }

    /// Enough money and stake for something to happen, with some stakes on either side of the minimum.
    pub async fn warm_up(&mut self) {
        let stakes = [40, 40, 40, 9, 12, 40, 14, 40];
        for (who, stake) in (0..PEOPLE).map(Who).zip(stakes) {
            self.act(who, Action::Deposit { amount: 1_000 * GLN }).await;
            self.act(who, Action::Stake { amount: stake * GLN }).await;
            for hub in (0..3).map(Who) {
                self.act(who, Action::Allow { hub, limit: 3 * GLN }).await;
            }
            if who.0 >= self.first_auditor().0 {
                self.act(who, Action::Enroll).await;
            }
        }
    }

    pub async fn step(&mut self) {
        if self.rng.gen_bool(0.06) {
            let hours = self.rng.gen_range(1..5);
            self.market.node.advance(hours * 3_600).await.expect("a chain for tests");
            self.look_at_the_clock(None).await;
            self.log.push(format!("{hours} hours pass"));
            return;
        }
        let (who, action) = self.choose();
        self.act(who, action).await;
    }

    /// Carries an action out on both sides and compares everything.
    pub async fn act(&mut self, who: Who, mut action: Action) {
        self.steps += 1;
        let call = self.call_of(&action).await;
        let receipt = send(&self.market, self.account(who), &call).await;
        if let Action::Draw { drawn, .. } = &mut action {
            *drawn = self.drawn_in(&receipt);
        }
        self.look_at_the_clock(Some(receipt.block_number)).await;
        let expected = self.model.apply(self.at, who, &action);
        let context = format!("seed {} step {}: {who:?} {action:?}: {expected:?}", self.seed, self.steps);
        assert_eq!(receipt.success, expected.is_ok(), "{context}");
        if let Err(refusal) = expected {
            self.compare_refusal(who, &call, &action, refusal, &context).await;
        }
        self.compare(&context).await;
        let name = self.name_of(&action, expected.is_ok());
        self.log.push(format!("{who:?} {name} {expected:?}"));
    }

    /// What an action is called in the log. Draws differ in what came of them.
    fn name_of(&self, action: &Action, done: bool) -> String {
        if let (Action::Draw { dispute, drawn }, true) = (action, done) {
            let again = self.model.disputes[dispute].drawing;
            let name = if again { "DrawAgain" } else { "DrawShort" };
            return if drawn.is_empty() { name } else { "DrawWhole" }.to_owned();
        }
        let name = format!("{action:?}");
        name.split([' ', '{']).next().expect("a name").to_owned()
    }

    async fn compare_refusal(&self, who: Who, call: &Call, action: &Action, refusal: Refusal, context: &str) {
        let asked = self.market.node.call(self.address(who), call.to, call.data.clone()).await;
        let said = match asked {
            Err(CallError::Reverted { data, .. }) => words::refusal(&data),
            // One block later the draw may go ahead.
            Ok(_) if matches!(action, Action::Draw { .. }) && refusal == Refusal::TooEarly => return,
            other => panic!("{context}: the chain answers {other:?}"),
        };
        let name = said.split(':').next().expect("a name");
        assert_eq!(name, format!("{refusal:?}"), "{context}");
    }

    async fn look_at_the_clock(&mut self, block: Option<u64>) {
        let height = match block {
            Some(height) => height,
            None => self.market.node.height().await.expect("a height"),
        };
        let block = self.market.node.block(height).await.expect("an answer").expect("a block");
        self.at = Moment { now: block.timestamp, height };
    }

    pub fn account(&self, who: Who) -> &Account {
        &self.accounts[usize::from(who.0)]
    }

    pub fn address(&self, who: Who) -> Address {
        self.account(who).address()
    }

    pub fn who(&self, address: Address) -> Who {
        let place = self.accounts.iter().position(|account| account.address() == address);
        Who(place.expect("one of the people") as u16)
    }

    /// The order as it is signed; its job makes it different from all others.
    pub fn signed_order(&self, number: u32) -> order::Order {
        let order = &self.orders[number as usize];
        order::Order {
            requester: self.address(order.requester),
            hub: self.address(order.hub),
            job: keccak256(number.to_be_bytes()),
            cap: Amount(order.cap),
            bond: Amount(order.bond),
            deadline: order.deadline,
            policy: B256::ZERO,
            nonce: U256::from(order.nonce),
        }
    }

    pub fn order_id(&self, number: u32) -> B256 {
        self.signed_order(number).id(&self.market.domain())
    }

    pub fn settlement(&self, settlement: &Settlement) -> order::Settlement {
        let payouts = settlement.payouts.iter();
        order::Settlement {
            order: self.order_id(settlement.order),
            receipts_root: B256::repeat_byte(settlement.root),
            payouts: payouts
                .map(|(who, gross)| order::Payout { provider: self.address(*who), gross: Amount(*gross) })
                .collect(),
        }
    }

    pub fn into_trace(self) -> Trace {
        let stakes = |holding: &Holding| (holding.bonded, holding.locked);
        Trace {
            log: self.log,
            stakes: self.model.holdings.iter().map(|(who, holding)| (*who, stakes(holding))).collect(),
            tokens: self.model.tokens,
            books: self.model.books,
        }
    }
}

async fn deployed(node: Node, genesis: &Genesis, liquidity: Address) -> Deployment {
    let sender = Sender { node, policy: Policy::EMBEDDED };
    let deployer = Account::from_words("deployer");
    deploy(&sender, &deployer, genesis, liquidity).await.unwrap_or_else(|error| panic!("not deployed: {error:?}"))
}

/// Sends with plenty of gas, so that what the contracts refuse is in a block too.
async fn send(market: &Market, account: &Account, call: &Call) -> Receipt {
    let node = &market.node;
    let draft = Draft {
        chain_id: market.deployment.chain_id,
        nonce: node.nonce(account.address()).await.expect("a nonce"),
        to: Some(call.to),
        value: U256::ZERO,
        data: call.data.clone(),
        gas: GAS,
        fee_max: 0,
        priority: 0,
    };
    let hash = node.send_raw(account.sign(&draft).raw).await.expect("taken");
    for _ in 0..2_000 {
        if let Some(receipt) = node.receipt(hash).await.expect("an answer") {
            return receipt;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("transaction {hash} is in no block after ten seconds");
}
