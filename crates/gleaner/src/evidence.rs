//! What an auditor makes of the document with which somebody is accused.
//!
//! Most of it can be reckoned from the document alone. Two things a hub could make up: the blocks that its jurors were drawn by,
//! and jurors. So a node of the chain is asked for the blocks, and what those have to lose who outvoted the accused.
use gleaner_chain::beacon;
use gleaner_chain::market::{Kind, Market, ReadError};
use gleaner_chain::primitives::{self, B256};
use gleaner_receipt::{Evidence, guilty_by_document};
use gleaner_wire::{Address, Amount, Hash};

/// What a document must show.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    /// The order's id on the chain.
    pub order: B256,
    /// The provider that is accused.
    pub provider: primitives::Address,
    /// The document; its hash is the one on the chain.
    pub document: &'a [u8],
}

/// Whether the document shows that this provider delivered something wrong for this order, or why nobody can tell. An error is
/// the chain's, which may be asked again.
pub async fn verify(market: &Market, charge: &Charge<'_>) -> Result<Result<bool, String>, ReadError> {
    let (order, provider) = (Hash(charge.order.0), Address(charge.provider.into_array()));
    match guilty_by_document(&order, &provider, charge.document) {
        Ok(Some(evidence)) => is_confirmed(market, &evidence).await.map(Ok),
        Ok(None) => Ok(Ok(false)),
        Err(why) => Ok(Err(why)),
    }
}

/// Whether the chain bears out what a document cannot show by itself.
async fn is_confirmed(market: &Market, evidence: &Evidence) -> Result<bool, ReadError> {
    let own_contract = evidence.stake.0 == market.deployment.stake.into_array();
    if !own_contract || !beacon::is_on(&market.node, &evidence.beacon).await? {
        return Ok(false);
    }
    let least = market.terms().await?.stake_min;
    for witness in &evidence.witnesses {
        if !has_stake(market, witness.0.into(), least, evidence.block).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether an account has so much stake, or had it when the jurors were drawn: it may have left since.
async fn has_stake(
    market: &Market,
    account: primitives::Address,
    least: Amount,
    block: u64,
) -> Result<bool, ReadError> {
    if market.stake_of(account).await? >= least {
        return Ok(true);
    }
    let history = market.history(account, market.deployment.block, block).await?;
    let changes = history.iter().map(|entry| match entry.kind {
        Kind::Staked => i128::from(entry.amount.0),
        Kind::Unbonding | Kind::Slashed => -i128::from(entry.amount.0),
        Kind::Received
        | Kind::Sent
        | Kind::Deposited
        | Kind::Withdrawn
        | Kind::Locked
        | Kind::Refunded
        | Kind::Earned
        | Kind::Unstaked
        | Kind::Reward
        | Kind::IntoChannel
        | Kind::OutOfChannel
        | Kind::Pledged
        | Kind::Awarded => 0,
    });
    Ok(changes.sum::<i128>() >= i128::from(least.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_chain::deploy::deploy;
    use gleaner_chain::embedded::{Chain, Options};
    use gleaner_chain::genesis::Genesis;
    use gleaner_chain::remote::Remote;
    use gleaner_chain::sender::{Call, Policy, Sender};
    use gleaner_chain::{Account, Node};
    use gleaner_receipt::sample::{self, Case, World};
    use gleaner_wire::WorkerKey;
    use gleaner_wire::receipt::TaskReceipt;
    use std::rc::Rc;
    use tokio::runtime::Runtime;

    /// A chain with all contracts, the same on every one.
    struct Court {
        runtime: Rc<Runtime>,
        market: Market,
        sender: Sender,
        _folder: tempfile::TempDir,
    }

    impl Court {
        fn new() -> Self {
            let runtime = Rc::new(Runtime::new().expect("a runtime"));
            let folder = tempfile::tempdir().expect("a folder");
            let within = runtime.enter();
            let chain = Chain::open(&Options::testing(folder.path())).expect("a chain");
            drop(within);
            let sender = Sender { node: Node::Embedded(chain), policy: Policy::EMBEDDED };
            let genesis = Genesis::preset("hub").expect("a preset");
            let deployer = Account::from_words("deployer");
            let deployment = runtime.block_on(deploy(&sender, &deployer, &genesis, faucet().address()));
            let deployment = deployment.expect("deployed");
            let market = Market::new(sender.node.clone(), deployment);
            Self { runtime, market, sender, _folder: folder }
        }

        fn send(&self, who: &Account, call: &Call) {
            self.runtime.block_on(self.sender.send(who, call)).expect("sent");
        }

        fn least(&self) -> Amount {
            self.runtime.block_on(self.market.terms()).expect("read").stake_min
        }

        fn stake(&self, who: &Account) {
            self.send(&faucet(), &self.market.transfer(who.address(), self.least()));
            let staked = self.runtime.block_on(self.market.stake_with_permit(who, self.least())).expect("signed");
            self.send(who, &staked);
        }

        /// A hub whose rounds are anchored here.
        fn hub(&self) -> World {
            let (runtime, sender) = (Rc::clone(&self.runtime), self.sender.clone());
            let draws = Box::new(move |root| runtime.block_on(sample::anchored(&sender, root)));
            let stake = Address(self.market.deployment.stake.into_array());
            World::on_contracts(&self.market.domain(), stake, draws)
        }

        /// What an auditor with this node finds against the worker.
        fn judges(&self, receipt: &TaskReceipt) -> Result<bool, String> {
            self.asked(&self.market, receipt).expect("the chain answers")
        }

        fn asked(&self, market: &Market, receipt: &TaskReceipt) -> Result<Result<bool, String>, ReadError> {
            let order = B256::from(receipt.facts.order.as_ref().expect("an order").id.0);
            let provider = receipt.facts.placement.provider.expect("an owner").0.into();
            let document = serde_json::to_vec(receipt).expect("plain data");
            self.runtime.block_on(verify(market, &Charge { order, provider, document: &document }))
        }
    }

    fn faucet() -> Account {
        Account::from_words("faucet")
    }

    /// Everybody who works or judges in made-up receipts of a refuted claim.
    fn owners() -> Vec<Account> {
        let facts = World::new().receipt(Case::Refuted).facts;
        let jurors = facts.audit.expect("audited").jurors;
        let workers: Vec<WorkerKey> = jurors.iter().map(|juror| juror.key).chain([facts.placement.worker]).collect();
        workers.iter().map(sample::owner).collect()
    }

    #[test]
    fn guilt_takes_witnesses_who_had_something_to_lose() {
        let court = Court::new();
        let unstaked = court.hub().receipt(Case::Refuted);
        assert_eq!(court.judges(&unstaked), Ok(false), "jurors that anybody can make up");
        owners().iter().for_each(|owner| court.stake(owner));
        let receipt = court.hub().receipt(Case::Refuted);
        assert_eq!(court.judges(&receipt), Ok(true));
        for owner in owners() {
            court.send(&owner, &court.market.unbond(court.least()));
        }
        assert_eq!(court.judges(&receipt), Ok(true), "they have left since");
        let late = court.hub().receipt(Case::Refuted);
        assert_eq!(court.judges(&late), Ok(false), "they had left before");
    }

    #[test]
    fn blocks_that_are_not_the_chains_show_no_guilt() {
        let (here, elsewhere) = (Court::new(), Court::new());
        for court in [&here, &elsewhere] {
            owners().iter().for_each(|owner| court.stake(owner));
        }
        assert_eq!(here.market.deployment, elsewhere.market.deployment, "all else is the same");
        let receipt = elsewhere.hub().receipt(Case::Refuted);
        assert_eq!(elsewhere.judges(&receipt), Ok(true));
        assert_eq!(here.judges(&receipt), Ok(false));
    }

    #[test]
    fn owners_who_signed_for_another_contract_have_signed_nothing() {
        let court = Court::new();
        owners().iter().for_each(|owner| court.stake(owner));
        let receipt = court.hub().receipt(Case::Refuted);
        let mut market = court.market.clone();
        market.deployment.stake = primitives::Address::repeat_byte(9);
        assert_eq!(court.asked(&market, &receipt).expect("the chain answers"), Ok(false));
    }

    #[test]
    fn a_node_that_does_not_answer_decides_nothing() {
        let court = Court::new();
        let receipt = court.hub().receipt(Case::Refuted);
        let silent = Remote::connect("http://127.0.0.1:9").expect("an address");
        let market = Market::new(Node::Remote(silent), court.market.deployment.clone());
        assert!(court.asked(&market, &receipt).is_err(), "it is asked again");
    }
}
