//! Node rewards from paid work to claimed tokens, against the contracts on the embedded chain.
use alloy_primitives::{Address, B256, Bytes, U256};
use gleaner_chain::deploy::deploy;
use gleaner_chain::embedded::{CHAIN_ID, Chain, Options};
use gleaner_chain::genesis::Genesis;
use gleaner_chain::market::{Call, Market};
use gleaner_chain::order::{Order, Payout, Settlement};
use gleaner_chain::rewards::Error;
use gleaner_chain::sender::{Failure, Sender};
use gleaner_chain::{Account, Node};
use gleaner_wire::Amount;

const EPOCH: u64 = 604_800;
const MONTH: u64 = 2_629_800;

struct World {
    _folder: tempfile::TempDir,
    market: Market,
    sender: Sender,
    hub: Account,
    requester: Account,
}

impl World {
    async fn found() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let node = Node::Embedded(Chain::open(&Options::testing(folder.path())).expect("a chain"));
        let sender = Sender::new(node.clone(), CHAIN_ID);
        let [deployer, liquidity, hub, requester] =
            ["deployer", "liquidity", "hub", "requester"].map(Account::from_words);
        let genesis = Genesis::preset("hub").expect("a preset");
        let deployed = deploy(&sender, &deployer, &genesis, liquidity.address()).await.expect("deployed");
        let market = Market::new(node, deployed);
        let world = Self { _folder: folder, market, sender, hub, requester };
        let (market, at) = (&world.market, &world.market.deployment);
        for account in [&world.hub, &world.requester] {
            world.send(&liquidity, &market.transfer(account.address(), Amount::gln(1_000))).await;
        }
        world.send(&world.hub, &market.approve(at.stake, Amount::gln(500))).await;
        world.send(&world.hub, &market.stake(Amount::gln(500))).await;
        world.send(&world.requester, &market.approve(at.escrow, Amount::gln(1_000))).await;
        world.send(&world.requester, &market.deposit(Amount::gln(1_000))).await;
        world
    }

    async fn send(&self, account: &Account, call: &Call) {
        self.sender.send(account, call).await.expect("it counts");
    }

    async fn refused(&self, account: &Account, call: &Call) -> String {
        match self.sender.send(account, call).await {
            Err(Failure::Refused(reason)) => reason.split(':').next().expect("a name").to_owned(),
            other => panic!("not refused: {other:?}"),
        }
    }

    async fn now(&self) -> u64 {
        let height = self.market.node.height().await.expect("a height");
        self.market.node.block(height).await.expect("an answer").expect("a block").timestamp
    }

    /// Places an order and settles it with the requester's approval.
    async fn pay(&self, nonce: u64, payouts: &[(Address, u64)]) {
        let order = Order {
            requester: self.requester.address(),
            hub: self.hub.address(),
            job: B256::repeat_byte(1),
            cap: Amount::gln(200),
            bond: Amount::gln(10),
            deadline: self.now().await + 3_600,
            policy: B256::ZERO,
            nonce: U256::from(nonce),
        };
        let domain = self.market.domain();
        let signature: Bytes = order.sign(&domain, &self.requester);
        self.send(&self.hub, &self.market.lock(&order, signature)).await;
        let payouts = payouts.iter().map(|(provider, gln)| Payout { provider: *provider, gross: Amount::gln(*gln) });
        let settlement = Settlement { order: order.id(&domain), receipts_root: B256::ZERO, payouts: payouts.collect() };
        let approval = settlement.approve(&domain, &self.requester);
        self.send(&self.hub, &self.market.settle(&settlement, approval)).await;
    }

    /// Brings what has vested to the rewards contract.
    async fn release_vested(&self) {
        let at = &self.market.deployment;
        let schedules = self.market.schedules_of(at.rewards).await.expect("schedules");
        let [id] = schedules[..] else { panic!("one schedule pays the rewards: {schedules:?}") };
        assert!(self.market.releasable(id).await.expect("an amount") > Amount::ZERO);
        self.send(&self.hub, &self.market.release_vested(id)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn paid_work_of_an_epoch_is_rewarded_once_and_only_as_published() {
    let world = World::found().await;
    let [first, second, later] = [1, 2, 3].map(Address::repeat_byte);
    world.pay(1, &[(first, 60), (second, 20), (first, 40)]).await;
    let early = world.market.epoch_shares(0).await;
    assert!(matches!(early, Err(Error::NotEnded { epoch: 0, .. })), "{early:?}");
    world.market.node.advance(EPOCH).await.expect("a chain for tests");
    world.pay(2, &[(later, 50)]).await;
    assert_eq!(world.market.epoch_shares(0).await.expect("reckoned").total, Amount::ZERO, "nothing has vested yet");
    world.market.node.advance(MONTH).await.expect("a chain for tests");
    world.release_vested().await;
    let shares = world.market.epoch_shares(0).await.expect("reckoned");
    let found: Vec<_> = shares.shares.iter().map(|share| (share.account, share.amount)).collect();
    assert_eq!(found, [(first, Amount::gln(15)), (second, Amount::gln(3))], "15 % of the work of this epoch");
    let next = world.market.epoch_shares(1).await.expect("reckoned");
    assert_eq!(next.claim(later).map(|claim| claim.0), Some(Amount(7_500_000_000)));
    let publish = world.market.publish_rewards(0, shares.root(), shares.total);
    world.send(&world.hub, &publish).await;
    assert_eq!(world.refused(&world.hub, &publish).await, "WrongState");
    let again = world.market.epoch_shares(0).await.expect("reckoned");
    assert_eq!((again.root(), again.total), (shares.root(), shares.total), "what was published comes out the same");
    assert_eq!(world.market.published_epochs().await.expect("epochs"), [0]);
    let (amount, proof) = shares.claim(first).expect("a claim");
    let claim = world.market.claim_reward(0, first, amount, proof.clone());
    assert_eq!(world.refused(&world.requester, &claim).await, "WindowOpen");
    world.market.node.advance(86_400).await.expect("a chain for tests");
    let more = world.market.claim_reward(0, first, Amount(amount.0 + 1), proof.clone());
    assert_eq!(world.refused(&world.requester, &more).await, "WrongProof");
    let elses = world.market.claim_reward(0, later, amount, proof);
    assert_eq!(world.refused(&world.requester, &elses).await, "WrongProof");
    world.send(&world.requester, &claim).await;
    assert_eq!(world.refused(&world.requester, &claim).await, "AlreadyClaimed");
    let (amount, proof) = shares.claim(second).expect("a claim");
    world.send(&world.requester, &world.market.claim_reward(0, second, amount, proof)).await;
    assert!(world.market.is_claimed(0, first).await.expect("an answer"));
    assert!(!world.market.is_claimed(0, later).await.expect("an answer"));
    assert_eq!(world.market.token_balance(first).await.expect("tokens"), Amount::gln(15));
    assert_eq!(world.market.token_balance(second).await.expect("tokens"), Amount::gln(3));
    assert_eq!(world.market.epoch_state(0).await.expect("an epoch").claimed, shares.total);
}
