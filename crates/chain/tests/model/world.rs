//! A chain with everything deployed, eight people on it, and the model beside it.
use super::Committees;
use super::found::send;
use super::trace::Trace;
use alloy_primitives::{Address, B256, U256, keccak256};
use gleaner_chain::account::Account;
use gleaner_chain::market::{Call, Market, words};
use gleaner_chain::model::{
    Action, COURT, Deed, ESCROW, Economy, LICENCES, LIQUIDITY, MONTH, Moment, NOBODY, Order, REWARDS, Refusal, STAKE,
    Settlement, TREASURY, VESTING, VOUCHERS, Who,
};
use gleaner_chain::node::CallError;
use gleaner_chain::order;
use gleaner_wire::Amount;
use rand::Rng;
use rand::rngs::StdRng;

pub const PEOPLE: u16 = 8;
/// The last people keep to auditing, mostly.
pub const AUDITORS: u16 = 3;
pub const GLN: u64 = Amount::UNITS_PER_GLN;
const HOUR: u64 = 3_600;

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
    /// Proposals that were ever written down; the place is the number.
    pub proposals: Vec<Vec<Deed>>,
    /// What time it would be if nothing took time but waiting: the same on every chain.
    pub nominal: u64,
    /// The account with the tokens that nobody else was given.
    pub liquidity: Address,
    pub steps: u32,
    pub trace: Trace,
}

impl World {
    pub async fn step(&mut self) {
        if self.rng.gen_bool(0.01) {
            let months = if self.rng.gen_bool(0.2) { self.rng.gen_range(6..24) } else { self.rng.gen_range(1..4) };
            return self.wait(months * MONTH).await;
        }
        if self.rng.gen_bool(0.06) {
            let hours = self.rng.gen_range(1..5);
            return self.wait(hours * HOUR).await;
        }
        let (who, action) = self.choose();
        if matches!(action, Action::Propose { .. }) {
            // Votes count that the proposer had a second ago, and seconds differ from chain to chain.
            self.wait(HOUR).await;
        }
        self.act(who, action).await;
    }

    pub async fn wait(&mut self, seconds: u64) {
        self.market.node.advance(seconds).await.expect("a chain for tests");
        self.nominal += seconds;
        self.look_at_the_clock(None).await;
        self.trace.log.push(format!("{seconds} seconds pass"));
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
        let mut events = self.events(&receipt.logs);
        if matches!(action, Action::Draw { .. }) {
            // In what order seats are taken is chance.
            events.sort_unstable();
        }
        self.trace.events.push(events);
        let expected = self.model.apply(self.at, who, &action);
        let context = format!("seed {} step {}: {who:?} {action:?}: {expected:?}", self.seed, self.steps);
        assert_eq!(receipt.success, expected.is_ok(), "{context}");
        if let Err(refusal) = expected {
            self.compare_refusal(who, &call, &action, refusal, &context).await;
        }
        self.compare(&context).await;
        self.compare_what_is_seldom(&action, &context).await;
        let name = self.name_of(&action, expected.is_ok());
        self.trace.log.push(format!("{who:?} {name} {expected:?}"));
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

    pub async fn look_at_the_clock(&mut self, block: Option<u64>) {
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

    pub fn is_person(&self, who: Who) -> bool {
        who.0 < PEOPLE
    }

    pub fn address(&self, who: Who) -> Address {
        let at = &self.market.deployment;
        match who {
            NOBODY => Address::ZERO,
            TREASURY => at.timelock,
            COURT => at.court,
            VOUCHERS => at.vouchers,
            ESCROW => at.escrow,
            STAKE => at.stake,
            VESTING => at.vesting,
            LICENCES => at.licences,
            REWARDS => at.rewards,
            LIQUIDITY => self.liquidity,
            person => self.account(person).address(),
        }
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
}
