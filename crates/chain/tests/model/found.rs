//! How a run begins: everything deployed, tokens in eight hands, schedules for some of them.
use super::Committees;
use super::trace::Trace;
use super::world::{GLN, PEOPLE, World};
use alloy_primitives::{Address, U256};
use gleaner_chain::Node;
use gleaner_chain::account::{Account, Draft};
use gleaner_chain::contracts::Vesting;
use gleaner_chain::deploy::{Deployment, deploy};
use gleaner_chain::genesis::{Genesis, Receiver};
use gleaner_chain::market::{Call, Market};
use gleaner_chain::model::{
    Action, Calendar, Deed, Economy, Founding, LICENCES, LIQUIDITY, MONTH, Moment, Pool, REWARDS, Rules, Schedule,
    TREASURY, Terms, VESTING, Who,
};
use gleaner_chain::node::Receipt;
use gleaner_chain::sender::{Policy, Sender};
use gleaner_wire::Amount;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;
use std::time::Duration;

const PURSE: u64 = 10_000 * GLN;
const GAS: u64 = 8_000_000;
/// The first moment of 2040: every run begins then, so that what is signed is the same on every chain.
const BEGINNING: u64 = 2_208_988_800;

/// Odd numbers, so that every share has something to round. Windows end half an hour beside all steps of time, so that
/// a few seconds more or less change nothing.
fn numbers(committees: Committees) -> [(&'static str, u64); 20] {
    [
        ("platformShareBps", 1_499),
        ("slashShareBps", 4_999),
        ("bondShareBps", 501),
        ("rewardCapBps", 1_201),
        ("minimumStake", 10 * GLN),
        ("hubStake", 15 * GLN + 1),
        ("workLock", 1_000_000_007),
        ("hubLock", 999_999_937),
        ("challengeWindow", 9_000),
        ("votingWindow", 12_600),
        ("unbondingDelay", 16_200),
        ("committeeSize", committees.size()),
        ("emissionPerEpoch", 7 * GLN + 3),
        ("epochLength", 23_400),
        ("orderDurationMax", 90_000),
        ("votingDelay", 1_800),
        ("votingPeriod", 10_800),
        ("timelockDelay", 5_400),
        ("proposalThreshold", 5_000 * GLN),
        ("quorumPercent", 1),
    ]
}

/// A small supply, so that the people here have enough votes; some schedules are theirs.
fn genesis(committees: Committees, people: &[Account]) -> Genesis {
    let mut genesis = Genesis::preset("hub").expect("a preset");
    for (name, value) in numbers(committees) {
        genesis.put(name, value).expect("a number");
    }
    genesis.supply = "2000000".into();
    genesis.licences.count = 6;
    for (name, person) in [("private", 0), ("community round", 3), ("team", 4)] {
        let entry = genesis.allocations.iter_mut().find(|entry| entry.name == name).expect("an allocation");
        entry.to = Receiver::Account(people[person].address());
    }
    genesis
}

/// What the model has to know of a genesis file. When it was carried out is read from the chain.
fn founding(genesis: &Genesis, people: &[Account], launch: u64, first_epoch: u64) -> Founding {
    let pool = Pool { count: genesis.licences.count, share: genesis.licence_share().0 };
    let mut tokens: BTreeMap<Who, u64> = (0..PEOPLE).map(|who| (Who(who), PURSE)).collect();
    let mut schedules = Vec::new();
    for entry in &genesis.allocations {
        let total = genesis.amount(entry).0;
        let beneficiary = match entry.to {
            Receiver::Treasury => TREASURY,
            Receiver::Rewards => REWARDS,
            Receiver::Licences => {
                *tokens.entry(LICENCES).or_default() += pool.count * pool.share;
                *tokens.entry(TREASURY).or_default() += total - pool.count * pool.share;
                continue;
            }
            Receiver::Liquidity => {
                *tokens.entry(LIQUIDITY).or_default() += total - u64::from(PEOPLE) * PURSE;
                continue;
            }
            Receiver::Account(account) => {
                let place = people.iter().position(|person| person.address() == account);
                Who(place.expect("one of the people") as u16)
            }
        };
        *tokens.entry(VESTING).or_default() += total;
        schedules.push(Schedule {
            beneficiary,
            start: launch,
            total,
            at_launch: Amount(total).basis_points(entry.launch_bps).0,
            cliff: entry.cliff_months,
            duration: entry.duration_months,
            released: 0,
        });
    }
    let votes = genesis.governance;
    Founding {
        terms: Terms::of(&genesis.parameters).expect("known parameters"),
        tokens,
        schedules,
        pool,
        calendar: Calendar { genesis: first_epoch, length: genesis.parameters["epochLength"] },
        rules: Rules {
            delay: votes.voting_delay,
            period: votes.voting_period,
            timelock: votes.timelock_delay,
            threshold: votes.proposal_threshold,
            quorum: votes.quorum_percent,
        },
    }
}

impl World {
    pub async fn found(node: Node, seed: u64, committees: Committees) -> Self {
        let height = node.height().await.expect("a height");
        let now = node.block(height).await.expect("an answer").expect("a block").timestamp;
        node.advance(BEGINNING - now).await.expect("a chain for tests");
        let accounts: Vec<_> = (0..PEOPLE).map(|who| Account::from_words(&format!("person {who}"))).collect();
        let genesis = genesis(committees, &accounts);
        let liquidity = Account::from_words("liquidity");
        let market = Market::new(node.clone(), deployed(node, &genesis, liquidity.address()).await);
        let at = &market.deployment;
        for account in &accounts {
            let given = send(&market, &liquidity, &market.transfer(account.address(), Amount(PURSE))).await;
            assert!(given.success, "tokens are given");
            for spender in [at.escrow, at.stake, at.vesting] {
                assert!(send(&market, account, &market.approve(spender, Amount(u64::MAX))).await.success, "approved");
            }
        }
        let first = market.read(at.vesting, &Vesting::scheduleCall { id: U256::ZERO }).await.expect("a schedule");
        let (first_epoch, _) = market.epoch_span(0).await.expect("a span");
        let mut world = Self {
            seed,
            committees,
            rng: StdRng::seed_from_u64(seed),
            model: Economy::new(founding(&genesis, &accounts, first.start, first_epoch)),
            market,
            accounts,
            at: Moment::default(),
            orders: Vec::new(),
            proposals: Vec::new(),
            // Always behind the chain's clock, so that no deadline can be taken for the end of a window.
            nominal: BEGINNING - 1,
            liquidity: liquidity.address(),
            steps: 0,
            trace: Trace::default(),
        };
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

    /// The first vote gives out licences, which nobody else can; most have a month behind them when it is done.
    pub async fn vote_for_licences(&mut self) {
        for who in (0..PEOPLE).map(Who) {
            // The votes of one go to another.
            let to = if who == Who(6) { Who(5) } else { who };
            self.act(who, Action::Delegate { to }).await;
        }
        self.wait(3_600).await;
        let deeds: Vec<Deed> = [0, 4, 7].map(|who| Deed::Mint { to: Who(who) }).to_vec();
        self.proposals.push(deeds.clone());
        self.act(Who(5), Action::Propose { number: 0, deeds }).await;
        self.wait(3_600).await;
        for who in [0, 1, 3, 5] {
            self.act(Who(who), Action::Cast { proposal: 0, support: 1 }).await;
        }
        self.wait(3 * 3_600).await;
        self.act(Who(1), Action::Queue { proposal: 0 }).await;
        self.wait(2 * 3_600).await;
        self.act(Who(1), Action::Execute { proposal: 0 }).await;
        assert_eq!(self.model.licences.len(), 3, "the vote has passed");
        if !self.seed.is_multiple_of(3) {
            self.wait(MONTH).await;
            for schedule in 0..self.model.schedules.len() as u64 {
                self.act(Who(2), Action::ReleaseVested { schedule }).await;
            }
        }
    }
}

async fn deployed(node: Node, genesis: &Genesis, liquidity: Address) -> Deployment {
    let sender = Sender { node, policy: Policy::EMBEDDED };
    let deployer = Account::from_words("deployer");
    deploy(&sender, &deployer, genesis, liquidity).await.unwrap_or_else(|error| panic!("not deployed: {error:?}"))
}

/// Sends with plenty of gas, so that what the contracts refuse is in a block too.
pub async fn send(market: &Market, account: &Account, call: &Call) -> Receipt {
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
