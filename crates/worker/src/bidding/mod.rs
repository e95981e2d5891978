//! Bids for tasks that are sold by auction: what the owner's policy asks, sealed, kept, and opened when the hub asks.
mod policy;
mod script;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gleaner_machine::Bid;
use gleaner_wire::{Amount, AuctionId, Invitation, OpenedBid, SealedBid, ToHub, WorkerKey, seal_bid};
use tokio::sync::{Notify, Semaphore};

/// How long a sealed bid is kept: no auction takes so long.
const KEPT_TIME: Duration = Duration::from_secs(60);
/// Sealed bids that are kept.
const KEPT_MAX: usize = 4096;
/// Messages that wait for the hub; older ones are of auctions that are over.
const WAITING_MAX: usize = 64;
/// Invitations that are thought about at a time.
const AT_A_TIME: usize = 4;

/// The bids of a worker.
pub struct Bidding {
    key: WorkerKey,
    policy: Bid,
    /// What each device must earn in a second to pay for its electricity.
    floors: Mutex<Vec<Option<Amount>>>,
    sealed: Mutex<BTreeMap<(AuctionId, u16), (OpenedBid, Instant)>>,
    waiting: Mutex<VecDeque<ToHub>>,
    news: Notify,
    turns: Semaphore,
}

impl Bidding {
    /// Bids of the worker with this key, by this policy.
    pub fn new(key: WorkerKey, policy: Bid, floors: Vec<Option<Amount>>) -> Self {
        Self {
            key,
            policy,
            floors: Mutex::new(floors),
            sealed: Mutex::default(),
            waiting: Mutex::default(),
            news: Notify::new(),
            turns: Semaphore::new(AT_A_TIME),
        }
    }

    /// What each device must earn is known better.
    pub fn set_floors(&self, floors: Vec<Option<Amount>>) {
        *self.floors() = floors;
    }

    /// What each device must earn in a second, as far as that is known.
    pub fn least(&self) -> Vec<Option<Amount>> {
        self.floors().clone()
    }

    /// Answers invitations in the time that each allows; `is_free` says which devices may work.
    pub async fn answer(self: Arc<Self>, invitations: Vec<Invitation>, is_free: impl Fn(u16) -> bool) {
        let mut bids = Vec::with_capacity(invitations.len());
        for invitation in &invitations {
            let (auction, device) = (invitation.auction, invitation.device);
            let price = if is_free(device) { self.price(invitation).await } else { None };
            bids.push(SealedBid { auction, device, seal: price.and_then(|price| self.seal(auction, device, price)) });
        }
        self.say(ToHub::Bids(bids));
    }

    /// What is asked for a task; none if the owner does not want it.
    async fn price(&self, invitation: &Invitation) -> Option<Amount> {
        let floor = self.floors().get(usize::from(invitation.device)).copied().flatten();
        let told = match &self.policy {
            Bid::Fixed | Bid::Market => None,
            Bid::Script(command) => {
                let _turn = self.turns.acquire().await.ok()?;
                match script::run(command, invitation).await {
                    Ok(price) => Some(price),
                    Err(error) => {
                        tracing::warn!(%error, "the owner's command made no bid");
                        return None;
                    }
                }
            }
        };
        policy::price(&self.policy, invitation, floor, told)
    }

    /// Seals a bid and keeps what opens it; nothing without chance.
    fn seal(&self, auction: AuctionId, device: u16, price: Amount) -> Option<gleaner_wire::Hash> {
        let mut nonce = [0; 32];
        getrandom::fill(&mut nonce).ok()?;
        let bid = OpenedBid { auction, device, price, nonce };
        let mut sealed = self.sealed();
        if sealed.len() >= KEPT_MAX {
            sealed.retain(|_, (_, at)| at.elapsed() < KEPT_TIME);
        }
        if sealed.len() >= KEPT_MAX {
            return None;
        }
        sealed.insert((auction, device), (bid, Instant::now()));
        Some(seal_bid(&bid, &self.key))
    }

    /// Opens the bids that are asked for.
    pub fn open(&self, asked: &[(AuctionId, u16)]) {
        let mut sealed = self.sealed();
        let opened: Vec<OpenedBid> = asked.iter().filter_map(|of| sealed.remove(of)).map(|(bid, _)| bid).collect();
        drop(sealed);
        if !opened.is_empty() {
            self.say(ToHub::Reveals(opened));
        }
    }

    /// The next message for the hub.
    pub async fn next(&self) -> ToHub {
        loop {
            if let Some(message) = self.waiting().pop_front() {
                return message;
            }
            self.news.notified().await;
        }
    }

    fn say(&self, message: ToHub) {
        let mut waiting = self.waiting();
        if waiting.len() >= WAITING_MAX {
            waiting.pop_front();
        }
        waiting.push_back(message);
        drop(waiting);
        self.news.notify_one();
    }

    fn floors(&self) -> MutexGuard<'_, Vec<Option<Amount>>> {
        self.floors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sealed(&self) -> MutexGuard<'_, BTreeMap<(AuctionId, u16), (OpenedBid, Instant)>> {
        self.sealed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<ToHub>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
pub(crate) fn invitation(auction: u64) -> Invitation {
    Invitation {
        auction: AuctionId(auction),
        device: 0,
        job: gleaner_wire::JobId(1),
        task: "train".to_owned(),
        lot: 1,
        runtime: gleaner_wire::Runtime::Wasm,
        memory: gleaner_wire::ByteSize::mib(64),
        time_ms: gleaner_wire::Millis(60_000),
        predicted: None,
        standing: Amount(1000),
        market: Amount(700),
        tier: gleaner_wire::market::Tier::OnDemand,
        within_ms: gleaner_wire::Millis(5000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_bid_is_sealed_opened_once_and_with_the_price_that_was_sealed() {
        let key = WorkerKey([4; 32]);
        let bidding = Arc::new(Bidding::new(key, Bid::Market, vec![Some(Amount(750))]));
        bidding.clone().answer(vec![invitation(1), invitation(2)], |_| true).await;
        let ToHub::Bids(bids) = bidding.next().await else { panic!("no bids") };
        assert_eq!(bids.len(), 2);
        bidding.open(&[(AuctionId(1), 0), (AuctionId(9), 0)]);
        let ToHub::Reveals(opened) = bidding.next().await else { panic!("not opened") };
        assert_eq!((opened.len(), opened[0].price), (1, Amount(750)), "the market is below the floor");
        assert_eq!(bids[0].seal, Some(seal_bid(&opened[0], &key)));
        bidding.open(&[(AuctionId(1), 0)]);
        bidding.open(&[(AuctionId(2), 0)]);
        let ToHub::Reveals(opened) = bidding.next().await else { panic!("not opened") };
        assert_eq!(opened[0].auction, AuctionId(2), "the first was opened before");
    }

    #[tokio::test]
    async fn a_draw_that_is_known_better_moves_bids() {
        let bidding = Arc::new(Bidding::new(WorkerKey([4; 32]), Bid::Market, vec![Some(Amount(750))]));
        bidding.set_floors(vec![Some(Amount(900))]);
        bidding.clone().answer(vec![invitation(1)], |_| true).await;
        let ToHub::Bids(_) = bidding.next().await else { panic!("no bids") };
        bidding.open(&[(AuctionId(1), 0)]);
        let ToHub::Reveals(opened) = bidding.next().await else { panic!("not opened") };
        assert_eq!(opened[0].price, Amount(900));
    }

    #[tokio::test]
    async fn a_device_that_its_owner_needs_does_not_bid() {
        let bidding = Arc::new(Bidding::new(WorkerKey([4; 32]), Bid::Fixed, vec![]));
        bidding.clone().answer(vec![invitation(1)], |_| false).await;
        let ToHub::Bids(bids) = bidding.next().await else { panic!("no answer") };
        assert_eq!(bids, [SealedBid { auction: AuctionId(1), device: 0, seal: None }]);
    }
}
