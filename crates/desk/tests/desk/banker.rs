//! Somebody who is no account of the desk: with the faucet's tokens, straight on the chain of the hub.
use std::time::Duration;

use gleaner_chain::market::Call;
use gleaner_chain::order::{Order, Payout, Settlement};
use gleaner_chain::primitives::{Address, B256, U256};
use gleaner_chain::{Account, wallet};
use gleaner_client::{Client, Token};
use gleaner_requester::Purse;
use gleaner_wire::Amount;

use crate::place::Place;

const PAUSE: Duration = Duration::from_millis(100);

pub struct Banker {
    pub purse: Purse,
}

impl Banker {
    pub async fn of(place: &Place) -> Self {
        let hub = place.folder.path().join("hub");
        let token = Token::read(&hub.join("api.token")).expect("a token");
        let client = Client::new(&place.url(), token, "banker").expect("a client");
        let account = wallet::own(&hub.join("chain/faucet.json")).expect("a wallet");
        Self { purse: Purse::of(&client, account).await.expect("a chain") }
    }

    pub async fn send(&self, call: &Call) {
        self.purse.send(call).await.expect("it counts");
    }

    /// Stakes, so that orders can be locked.
    pub async fn stake(&self, amount: Amount) {
        let call = self.purse.market.stake_with_permit(&self.purse.account, amount).await.expect("a permit");
        self.send(&call).await;
    }

    pub async fn now(&self) -> u64 {
        self.purse.market.now().await.expect("a clock")
    }

    /// Waits until the chain's clock is past a moment, and makes a block then.
    pub async fn block_after(&self, moment: u64) {
        while self.now().await <= moment {
            tokio::time::sleep(PAUSE).await;
        }
        self.send(&self.purse.market.transfer(self.purse.account.address(), Amount(1))).await;
    }

    /// Locks an order of somebody's, as their hub, and says what it is called.
    pub async fn lock(&self, requester: &Account, cap: Amount, deadline: u64) -> B256 {
        let order = Order {
            requester: requester.address(),
            hub: self.purse.account.address(),
            job: B256::repeat_byte(1),
            cap,
            bond: cap,
            deadline,
            policy: B256::ZERO,
            nonce: U256::from(deadline),
        };
        let domain = self.purse.market.domain();
        self.send(&self.purse.market.lock(&order, order.sign(&domain, requester))).await;
        order.id(&domain)
    }

    /// Pays a provider out of an order, with the requester's approval.
    pub async fn settle(&self, order: B256, requester: &Account, provider: Address, gross: Amount) {
        let payouts = vec![Payout { provider, gross }];
        let settlement = Settlement { order, receipts_root: B256::repeat_byte(2), payouts };
        let approval = settlement.approve(&self.purse.market.domain(), requester);
        self.send(&self.purse.market.settle(&settlement, approval)).await;
    }
}

/// The wallet that the desk keeps for somebody.
pub fn wallet_of(place: &Place, name: &str) -> Account {
    let own = gleaner_desk::folder_of(&place.folder.path().join("hub/desk"), name);
    gleaner_requester::open(&own.join("wallet.json"), None).expect("a wallet").account
}
