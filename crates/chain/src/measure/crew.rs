//! A hub, requesters with money and providers with stake, and the orders between them.
use super::Error;
use super::stage::Stage;
use crate::account::Account;
use crate::contracts::Escrow;
use crate::market::Call;
use crate::order::{Order, Settlement};
use crate::receipt::{Checked, Receipt};
use crate::{market, receipt};
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::SolEvent;
use gleaner_wire::{Amount, AttemptId, JobId, TaskId};

/// Orders that a hub locks, and settles, in one transaction at most.
pub(super) const BATCH_MAX: usize = 50;
/// The most that an order may cost.
const CAP: Amount = Amount(1_000_000_000);
/// What a requester loses by a false challenge of it: the share that the presets ask for.
const BOND: Amount = Amount(50_000_000);
/// What is deposited and staked for everybody: more than a measurement locks.
const ENOUGH: u64 = 100_000;
const DAY: u64 = 86_400;
const REQUESTERS: usize = 10;

/// The event that shows that an order was settled.
pub(super) const SETTLED: B256 = Escrow::Settled::SIGNATURE_HASH;

/// Who takes part.
pub(super) struct Crew {
    pub(super) hub: Account,
    requesters: Vec<Account>,
    pub(super) providers: Vec<Address>,
    deadline: u64,
    orders: u64,
}

/// An order that is locked, and who works on it.
#[derive(Clone, Debug)]
pub(super) struct Booked {
    pub(super) id: B256,
    requester: Account,
    providers: Vec<Address>,
    pub(super) order: Order,
}

impl Crew {
    /// Gives everybody money and stake. Whoever is paid later has been paid before, as in a network that runs.
    pub(super) async fn gather(stage: &mut Stage, providers: usize) -> Result<Self, Error> {
        let named = |role: &str, count: usize| -> Vec<Account> {
            (0..count).map(|number| Account::from_words(&format!("measured {role} {number}"))).collect()
        };
        let (hub, requesters, workers) = (
            Account::from_words("a hub that is measured"),
            named("requester", REQUESTERS),
            named("provider", providers),
        );
        let (market, faucet) = (stage.market.clone(), stage.faucet.clone());
        let mut acts: Vec<(&Account, Call)> = Vec::new();
        for contract in [market.deployment.escrow, market.deployment.stake] {
            acts.push((&faucet, market.approve(contract, Amount::gln(10_000_000))));
        }
        acts.push((&faucet, market.stake_for(hub.address(), Amount::gln(ENOUGH))));
        acts.push((&faucet, market.deposit_for(market.deployment.timelock, Amount::gln(1))));
        for requester in &requesters {
            acts.push((&faucet, market.deposit_for(requester.address(), Amount::gln(ENOUGH))));
        }
        for provider in &workers {
            acts.push((&faucet, market.stake_for(provider.address(), Amount::gln(ENOUGH / 10))));
            acts.push((&faucet, market.deposit_for(provider.address(), Amount::gln(1))));
            acts.push((provider, market.allow(hub.address(), Amount::gln(ENOUGH / 10))));
        }
        stage.perform(&acts).await?;
        let deadline = market.now().await? + DAY;
        Ok(Self { hub, requesters, providers: workers.iter().map(Account::address).collect(), deadline, orders: 0 })
    }

    /// Orders that are signed and not locked yet, each with so many providers, all in turn.
    pub(super) fn order(&mut self, stage: &Stage, count: usize, providers: usize) -> Vec<Booked> {
        let domain = stage.market.domain();
        let mut booked = Vec::with_capacity(count);
        for _ in 0..count {
            let number = self.orders as usize;
            let requester = self.requesters[number % self.requesters.len()].clone();
            let order = Order {
                requester: requester.address(),
                hub: self.hub.address(),
                job: B256::repeat_byte(7),
                cap: CAP,
                bond: BOND,
                deadline: self.deadline,
                policy: B256::repeat_byte(8),
                nonce: U256::from(self.orders),
            };
            let turn = (0..providers).map(|place| self.providers[(number * providers + place) % self.providers.len()]);
            booked.push(Booked { id: order.id(&domain), requester, providers: turn.collect(), order });
            self.orders += 1;
        }
        booked
    }

    /// Locks orders and the stake of who works on them, a batch in a transaction as the hub does it. Returns the gas of
    /// locking and of engaging.
    pub(super) async fn lock(&self, stage: &mut Stage, booked: &[Booked]) -> Result<(u64, u64), Error> {
        let market = stage.market.clone();
        let signed = |booked: &Booked| (booked.order.clone(), booked.order.sign(&market.domain(), &booked.requester));
        let locks = booked.chunks(BATCH_MAX).map(|part| {
            let orders: Vec<_> = part.iter().map(signed).collect();
            (&self.hub, market.lock_many(&orders))
        });
        let locks: Vec<_> = locks.collect();
        let engagements = booked.iter().map(|booked| (&self.hub, market.engage(booked.id, booked.providers.clone())));
        let engagements: Vec<_> = engagements.collect();
        let locking = stage.perform(&locks).await?.iter().sum();
        let engaging = stage.perform(&engagements).await?.iter().sum();
        for booked in [booked.first(), booked.last()].into_iter().flatten() {
            let locked = stage.market.order_state(booked.id).await?.state == market::State::Locked;
            let last = *booked.providers.last().unwrap_or(&Address::ZERO);
            if !locked || stage.market.lock_of(booked.id, last).await? == Amount::ZERO {
                return Err(Error::worthless("an order was not locked, or its provider not engaged"));
            }
        }
        Ok((locking, engaging))
    }
}

impl Booked {
    /// The receipts of so many tasks, done by the order's providers in turn.
    pub(super) fn receipts(&self, tasks: u32) -> Vec<Receipt> {
        let gross = Amount(CAP.0 / 10 * 9 / u64::from(tasks));
        let receipt = |index: u32| Receipt {
            order: self.id,
            task: TaskId { job: JobId(1), group: 0, index },
            attempt: AttemptId(u64::from(index)),
            provider: self.providers[index as usize % self.providers.len()],
            worker: B256::repeat_byte(6),
            output: alloy_primitives::keccak256(index.to_be_bytes()),
            micros: 1_000,
            checked: Checked::Accepted,
            gross,
        };
        (0..tasks).map(receipt).collect()
    }

    /// The settlement that pays these receipts.
    pub(super) fn settlement(&self, receipts: &[Receipt]) -> Result<Settlement, Error> {
        let payouts = receipt::payouts(receipts).ok_or_else(|| Error::worthless("the receipts add up to too much"))?;
        Ok(Settlement { order: self.id, receipts_root: receipt::tree(receipts).root(), payouts })
    }

    /// The same with its requester's approval.
    pub(super) fn approved(&self, stage: &Stage, settlement: Settlement) -> (Settlement, Bytes) {
        let approval = settlement.approve(&stage.market.domain(), &self.requester);
        (settlement, approval)
    }
}
