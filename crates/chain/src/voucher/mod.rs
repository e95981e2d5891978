//! Small payments, many a second: hash chains that one signature anchors, redeemed on the chain by the last word alone.
//!
//! A payer signs an anchor, the tip of a chain of hashes, and pays by showing the word before: one hash to check, no
//! signature. When a chain is used up, the next anchor's base says what was paid so far.
//!
//! What is trusted: only the Vouchers contract, and that a channel's money was seen on the chain. Who serves before it
//! is paid can lose one step, and so can who pays before it is served. A payee that crashes can lose what it had not
//! written down, at most what it chose as its limit. A payer that crashes loses nothing: it asks the payee for the last
//! word, which nobody can invent.
mod payee;
mod payer;
mod rate;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::{Eip712Domain, SolStruct, SolValue};
use gleaner_wire::Amount;
use serde::{Deserialize, Serialize};

pub use payee::{Channel, Payee};
pub use payer::Payer;
pub use rate::{Load, Rate, measure};

use crate::account::{self, Account};

mod typed {
    //! The anchor as the contract names it.
    alloy_sol_types::sol! {
        struct Anchor { bytes32 channel; uint256 base; bytes32 tip; uint256 step; uint32 steps; }
    }
}

/// The longest chain that the contract takes.
pub const STEPS_MAX: u32 = 1024;

/// The contract that anchors are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domain {
    /// The chain.
    pub chain_id: u64,
    /// The Vouchers contract on it.
    pub vouchers: Address,
}

impl Domain {
    /// The id of a channel.
    pub fn channel(&self, payer: Address, payee: Address, nonce: U256) -> B256 {
        keccak256((U256::from(self.chain_id), self.vouchers, payer, payee, nonce).abi_encode())
    }
}

/// The beginning of a chain of payments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The channel it pays from.
    pub channel: B256,
    /// What had been paid before.
    pub base: Amount,
    /// The hash that all words lead to.
    pub tip: B256,
    /// What each word pays.
    pub step: Amount,
    /// How many words there are.
    pub steps: u32,
}

impl Anchor {
    /// What the payer signs.
    pub fn digest(&self, domain: &Domain) -> B256 {
        let anchor = typed::Anchor {
            channel: self.channel,
            base: U256::from(self.base.0),
            tip: self.tip,
            step: U256::from(self.step.0),
            steps: self.steps,
        };
        let chain_id = Some(U256::from(domain.chain_id));
        let name = Some("Gleaner Vouchers".into());
        let typed = Eip712Domain::new(name, Some("1".into()), chain_id, Some(domain.vouchers), None);
        anchor.eip712_signing_hash(&typed)
    }

    /// The payer's signature.
    pub fn sign(&self, domain: &Domain, payer: &Account) -> Bytes {
        payer.sign_digest(self.digest(domain))
    }

    /// What has been paid in all once the word with this index is out; nothing if that is beyond any amount.
    pub fn total(&self, index: u32) -> Option<Amount> {
        self.step.0.checked_mul(index.into()).and_then(|sum| sum.checked_add(self.base.0)).map(Amount)
    }
}

/// Everything that the payee needs to redeem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Voucher {
    /// The chain's beginning.
    pub anchor: Anchor,
    /// The payer's signature of it.
    pub signature: Bytes,
    /// How many words have been shown.
    pub index: u32,
    /// The last of them.
    pub word: B256,
}

/// One payment as it goes over the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment {
    /// The channel.
    pub channel: B256,
    /// A new anchor, when the last chain was used up.
    pub anchor: Option<(Anchor, Bytes)>,
    /// The place of the word.
    pub index: u32,
    /// The word.
    pub word: B256,
}

/// Why a payment is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The channel was not announced.
    #[error("the channel is not known")]
    Unknown,
    /// Its payer is leaving.
    #[error("the channel is being closed by its payer")]
    Closing,
    /// No anchor came before.
    #[error("no anchor has been given")]
    NoAnchor,
    /// The anchor names another channel, another step, too many steps, or less than was paid already.
    #[error("the anchor does not go on from what was paid: {0}")]
    Anchor(&'static str),
    /// The payer did not sign it.
    #[error("the anchor is not signed by the channel's payer")]
    Signature,
    /// The word is not further down the chain than the last one, or beyond its end.
    #[error("the word does not come after the last one")]
    Order,
    /// The word does not lead to the last one.
    #[error("the word is not of this chain")]
    Word,
    /// The channel does not hold that much.
    #[error("the channel does not hold that much money")]
    Unfunded,
}

/// Why payments could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The payment was refused.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The store failed.
    #[error("the store of vouchers failed")]
    Store(#[from] rusqlite::Error),
    /// The store holds something else.
    #[error("the store of vouchers is damaged: {0}")]
    Damaged(&'static str),
    /// The channel's money is used up, or would not pay another step.
    #[error("the channel is used up: {left} GLN are left, a step costs {step} GLN")]
    UsedUp {
        /// What is left.
        left: Amount,
        /// What a step costs.
        step: Amount,
    },
}

/// A word hashed so many times over.
pub(crate) fn hashed(word: B256, times: u32) -> B256 {
    (0..times).fold(word, |word, _| keccak256(word))
}

fn verify(anchor: &Anchor, domain: &Domain, payer: Address, signature: &[u8]) -> Result<(), Refused> {
    match account::recover(anchor.digest(domain), signature) {
        Ok(signer) if signer == payer => Ok(()),
        Ok(_) | Err(_) => Err(Refused::Signature),
    }
}

/// Opens a store whose rows are on disk when a transaction returns.
fn store(path: &std::path::Path, schema: &str) -> Result<rusqlite::Connection, rusqlite::Error> {
    let db = rusqlite::Connection::open(path)?;
    db.pragma_update(None, "journal_mode", "wal")?;
    db.pragma_update(None, "synchronous", "full")?;
    db.busy_timeout(std::time::Duration::from_secs(5))?;
    db.execute_batch(schema)?;
    Ok(db)
}

fn word(bytes: &[u8]) -> Result<B256, Error> {
    B256::try_from(bytes).map_err(|_| Error::Damaged("a hash of a wrong length"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pair {
        folder: tempfile::TempDir,
        domain: Domain,
        account: Account,
        channel: Channel,
    }

    fn pair(funds: u64, step: u64) -> Pair {
        let domain = Domain { chain_id: 1, vouchers: Address::repeat_byte(1) };
        let account = Account::from_words("a payer");
        let id = domain.channel(account.address(), Address::repeat_byte(2), U256::from(3));
        let channel = Channel { id, payer: account.address(), funds: Amount(funds), step: Amount(step) };
        Pair { folder: tempfile::tempdir().expect("a folder"), domain, account, channel }
    }

    impl Pair {
        fn payer(&self) -> Payer {
            let (path, channel) = (self.folder.path().join("payer"), self.channel);
            Payer::open(&path, self.domain, self.account.clone(), channel.id, channel.funds, channel.step)
                .expect("a payer")
        }

        fn payee(&self, unsynced_max: u64) -> Payee {
            let path = self.folder.path().join("payee");
            let mut payee = Payee::open(&path, self.domain, Amount(unsynced_max)).expect("a payee");
            payee.announce(self.channel).expect("announced");
            payee
        }
    }

    #[test]
    fn every_payment_counts_over_several_chains_up_to_the_last_step() {
        let pair = pair(2_500 * 7 + 3, 7);
        let (mut payer, mut payee) = (pair.payer(), pair.payee(100));
        for count in 1..=2_500 {
            assert_eq!(payee.accept(&payer.pay(1).expect("paid")).expect("taken"), Amount(7));
            assert_eq!(payee.total(pair.channel.id), Amount(7 * count));
        }
        assert!(matches!(payer.pay(1), Err(Error::UsedUp { left: Amount(3), .. })));
        let voucher = payee.voucher(pair.channel.id).expect("a voucher");
        assert_eq!(hashed(voucher.word, voucher.index), voucher.anchor.tip);
        assert_eq!(voucher.anchor.total(voucher.index), Some(Amount(17_500)));
    }

    #[test]
    fn a_payment_may_be_many_steps() {
        let pair = pair(10_000, 1);
        let (mut payer, mut payee) = (pair.payer(), pair.payee(0));
        assert_eq!(payee.accept(&payer.pay(1_000).expect("paid")).expect("taken"), Amount(1_000));
        assert_eq!(payee.accept(&payer.pay(1_000).expect("paid")).expect("taken"), Amount(24), "the chain's rest");
        assert_eq!(payee.accept(&payer.pay(1_000).expect("paid")).expect("taken"), Amount(1_000));
    }

    #[test]
    fn forged_repeated_and_unfunded_payments_are_refused() {
        let pair = pair(5, 1);
        let (mut payer, mut payee) = (pair.payer(), pair.payee(0));
        let first = payer.pay(1).expect("paid");
        let refused = |payee: &mut Payee, payment: &Payment| match payee.accept(payment) {
            Err(Error::Refused(refused)) => refused,
            other => panic!("{other:?}"),
        };
        let bare = Payment { anchor: None, ..first.clone() };
        assert_eq!(refused(&mut payee, &bare), Refused::NoAnchor);
        let (anchor, signature) = first.anchor.clone().expect("the first has its anchor");
        let dear = Anchor { base: Amount(4), ..anchor };
        let forged = Payment { anchor: Some((dear, signature.clone())), ..first.clone() };
        assert_eq!(refused(&mut payee, &forged), Refused::Signature);
        let long = Anchor { steps: 5_000, ..anchor };
        let long = Payment { anchor: Some((long, signature)), ..first.clone() };
        assert!(matches!(refused(&mut payee, &long), Refused::Anchor(_)));
        payee.accept(&first).expect("the real one is taken");
        assert_eq!(refused(&mut payee, &bare), Refused::Order);
        assert_eq!(refused(&mut payee, &Payment { index: 2, ..bare.clone() }), Refused::Word);
        assert_eq!(refused(&mut payee, &Payment { index: 99, ..bare.clone() }), Refused::Order);
        assert_eq!(refused(&mut payee, &Payment { channel: B256::ZERO, ..bare }), Refused::Unknown);
        payee.announce(Channel { funds: Amount(1), ..pair.channel }).expect("announced");
        assert_eq!(refused(&mut payee, &payer.pay(1).expect("paid")), Refused::Unfunded);
        payee.closing(pair.channel.id);
        assert_eq!(refused(&mut payee, &payer.pay(1).expect("paid")), Refused::Closing);
    }

    #[test]
    fn an_anchor_below_what_was_paid_is_refused_and_changes_nothing() {
        let pair = pair(3_000, 1);
        let (mut payer, mut payee) = (pair.payer(), pair.payee(0));
        payee.accept(&payer.pay(10).expect("paid")).expect("taken");
        let seed = B256::repeat_byte(9);
        let low = Anchor { channel: pair.channel.id, base: Amount(9), tip: hashed(seed, 5), step: Amount(1), steps: 5 };
        let signature = low.sign(&pair.domain, &pair.account);
        let payment = Payment { channel: low.channel, anchor: Some((low, signature)), index: 1, word: hashed(seed, 4) };
        assert!(payee.accept(&payment).is_err());
        assert_eq!(payee.total(pair.channel.id), Amount(10));
        payee.accept(&payer.pay(1).expect("paid")).expect("the old chain goes on");
    }

    #[test]
    fn a_payee_that_crashes_loses_at_most_its_limit() {
        let pair = pair(100_000, 1);
        let mut payer = pair.payer();
        let mut payee = pair.payee(50);
        for _ in 0..1_700 {
            payee.accept(&payer.pay(1).expect("paid")).expect("taken");
        }
        drop(payee);
        let mut again = pair.payee(50);
        let kept = again.total(pair.channel.id);
        assert!(kept.0 >= 1_650 && kept.0 <= 1_700, "{kept:?}");
        again.accept(&payer.pay(1).expect("paid")).expect("the next word covers what was lost");
        assert_eq!(again.total(pair.channel.id), Amount(1_701));
    }

    #[test]
    fn a_payer_that_crashes_goes_on_where_the_payee_is() {
        let pair = pair(100_000, 1);
        let mut payee = pair.payee(0);
        let mut payer = pair.payer();
        for _ in 0..1_500 {
            payee.accept(&payer.pay(1).expect("paid")).expect("taken");
        }
        drop(payer);
        let mut again = pair.payer();
        let voucher = payee.voucher(pair.channel.id).expect("a voucher").clone();
        assert!(again.resume(voucher.index, B256::ZERO).is_err(), "nobody can invent a word");
        again.resume(voucher.index, voucher.word).expect("resumed");
        assert_eq!(again.paid(), Amount(1_500));
        assert_eq!(payee.accept(&again.pay(1).expect("paid")).expect("taken"), Amount(1));
    }
}
