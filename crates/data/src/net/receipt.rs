//! Seeding is metered: the receiver signs how much it got, and who sends stops when receipts stay away.
//!
//! A receipt counts all bytes of one session, so only the highest is kept. How far sending may run ahead of receipts
//! begins with one step and grows with what was receipted, because a fast line over a long way has many megabytes under
//! way; what a receiver can take without a receipt stays a small part of what it has signed for.
use super::grant::Signed;
use ed25519_dalek::SigningKey;
use gleaner_wire::{Hash, WorkerKey};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const CONTEXT: &[u8] = b"gleaner 2026 data receipt";
/// A receiver signs at least as often as it has got this much.
pub const STEP_BYTES: u64 = 16 * 1024 * 1024;
/// Sending runs ahead of receipts by at most this much.
const AHEAD_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// One part of what was receipted that sending may run ahead.
const AHEAD_SHARE: u64 = 4;
/// What may have got lost with broken sessions before somebody is not served any more, besides a share of what it signed:
/// a machine that is killed loses a few megabytes that were on their way, and may be killed many times.
const LOST_BYTES_MAX: u64 = 256 * 1024 * 1024;
const LOST_SHARE: u64 = 16;
/// The same within one session, for requests that were stopped.
const LOST_IN_SESSION_MAX: u64 = 16 * 1024 * 1024;
/// Receivers of datasets that are kept in mind; beyond that the least sent to is forgotten.
const ACCOUNTS_MAX: usize = 65_536;

/// What a receiver has got from a sender in one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The dataset.
    pub root: Hash,
    /// Who sent.
    pub sender: WorkerKey,
    /// Who got it and signs.
    pub receiver: WorkerKey,
    /// Drawn by the receiver for each connection.
    pub session: u64,
    /// Bytes of chunks in this session so far.
    pub bytes: u64,
}

/// A receipt with the receiver's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedReceipt {
    /// What was received.
    pub receipt: Receipt,
    signature: Signed,
}

impl Receipt {
    /// Signs it with the receiver's key.
    pub fn sign(self, receiver: &SigningKey) -> SignedReceipt {
        SignedReceipt { receipt: self, signature: Signed::sign(receiver, CONTEXT, &self.message()) }
    }

    fn message(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("a receipt can be encoded")
    }
}

impl SignedReceipt {
    /// Whether the receiver that it names has signed it.
    pub fn is_genuine(&self) -> bool {
        self.signature.is_by(&self.receipt.receiver, CONTEXT, &self.receipt.message())
    }
}

/// Why a receipt is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Not by who it says, or about somebody else.
    #[error("the receipt is not signed by its receiver for this sender")]
    Signature,
    /// More than was sent, or a second session at once.
    #[error("the receipt does not fit what was sent")]
    Bytes,
}

/// What one receiver got and signed for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Account {
    sent: u64,
    signed: u64,
}

/// What one connection has sent and got receipts for.
#[derive(Clone, Debug, Default)]
pub struct Session {
    number: Option<u64>,
    sent: u64,
    signed: u64,
    lost: u64,
    last: Option<SignedReceipt>,
}

/// Who sends: what every receiver got, and what it signed for.
#[derive(Debug, Default)]
pub struct Meter {
    accounts: BTreeMap<(Hash, WorkerKey), Account>,
    receipts: Vec<SignedReceipt>,
}

impl Session {
    /// How many bytes may be sent before the next receipt.
    pub fn allowance(&self) -> u64 {
        let ahead = (self.signed / AHEAD_SHARE).clamp(STEP_BYTES, AHEAD_BYTES_MAX);
        let lost = self.lost.min(LOST_IN_SESSION_MAX + self.signed / LOST_SHARE);
        (self.signed + lost + ahead).saturating_sub(self.sent)
    }

    /// Part of this many bytes, sent for a request that was stopped, has not arrived and will not be signed for.
    pub fn lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// Bytes are on their way.
    pub fn sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// Takes a receipt for what this session sent.
    pub fn take(
        &mut self,
        signed: SignedReceipt,
        root: &Hash,
        me: &WorkerKey,
        peer: &WorkerKey,
    ) -> Result<(), Refused> {
        let Receipt { root: named, sender, receiver, session, bytes } = signed.receipt;
        if named != *root || sender != *me || receiver != *peer || !signed.is_genuine() {
            return Err(Refused::Signature);
        }
        if *self.number.get_or_insert(session) != session || bytes > self.sent {
            return Err(Refused::Bytes);
        }
        if bytes > self.signed {
            self.signed = bytes;
            self.last = Some(signed);
        }
        Ok(())
    }
}

impl Meter {
    /// Whether a receiver has left so much unsigned that it is not served any more.
    pub fn is_owing(&self, root: &Hash, receiver: &WorkerKey) -> bool {
        let account = self.accounts.get(&(*root, *receiver)).copied().unwrap_or_default();
        account.sent - account.signed > LOST_BYTES_MAX + account.signed / LOST_SHARE
    }

    /// A session has ended: its highest receipt is kept, what was not signed for is remembered.
    pub fn close(&mut self, root: Hash, receiver: WorkerKey, session: &Session) {
        if session.sent == 0 {
            return;
        }
        let account = self.accounts.entry((root, receiver)).or_default();
        account.sent += session.sent;
        account.signed += session.signed;
        self.receipts.extend(session.last);
        if self.accounts.len() > ACCOUNTS_MAX {
            let least = self.accounts.iter().min_by_key(|(_, account)| account.sent).map(|(key, _)| *key);
            least.and_then(|key| self.accounts.remove(&key));
        }
    }

    /// The highest receipts of sessions that have ended since they were taken last.
    pub fn take_receipts(&mut self) -> Vec<SignedReceipt> {
        std::mem::take(&mut self.receipts)
    }
}

#[cfg(test)]
mod tests {
    use super::super::grant::public;
    use super::*;

    const ROOT: Hash = Hash([7; 32]);

    fn keys() -> (SigningKey, WorkerKey, WorkerKey) {
        let receiver = SigningKey::from_bytes(&[1; 32]);
        let me = public(&receiver);
        (receiver, me, WorkerKey([2; 32]))
    }

    fn receipt(bytes: u64) -> SignedReceipt {
        let (key, receiver, sender) = keys();
        Receipt { root: ROOT, sender, receiver, session: 5, bytes }.sign(&key)
    }

    #[test]
    fn sending_runs_ahead_by_one_step_and_further_with_trust() {
        let (_, receiver, sender) = keys();
        let mut session = Session::default();
        assert_eq!(session.allowance(), STEP_BYTES);
        session.sent(STEP_BYTES);
        assert_eq!(session.allowance(), 0);
        session.take(receipt(STEP_BYTES), &ROOT, &sender, &receiver).expect("a good receipt");
        assert_eq!(session.allowance(), STEP_BYTES);
        session.sent(1 << 30);
        session.take(receipt(1 << 30), &ROOT, &sender, &receiver).expect("a good receipt");
        assert_eq!(session.allowance(), AHEAD_BYTES_MAX - STEP_BYTES);
    }

    #[test]
    fn receipts_that_were_changed_or_claim_too_much_are_refused() {
        let (_, receiver, sender) = keys();
        let mut session = Session::default();
        session.sent(100);
        let take = |session: &mut Session, receipt| session.take(receipt, &ROOT, &sender, &receiver);
        assert_eq!(take(&mut session, receipt(101)), Err(Refused::Bytes));
        let mut changed = receipt(50);
        changed.receipt.bytes = 60;
        assert_eq!(take(&mut session, changed), Err(Refused::Signature));
        assert_eq!(take(&mut session, receipt(50)), Ok(()));
        assert_eq!(take(&mut session, receipt(40)), Ok(()), "an old one does no harm");
        let mut meter = Meter::default();
        meter.close(ROOT, receiver, &session);
        assert_eq!(meter.take_receipts(), [receipt(50)]);
    }

    #[test]
    fn who_breaks_off_again_and_again_without_signing_is_not_served() {
        let (_, receiver, _) = keys();
        let mut meter = Meter::default();
        for _ in 0..LOST_BYTES_MAX / STEP_BYTES {
            let mut session = Session::default();
            session.sent(STEP_BYTES);
            meter.close(ROOT, receiver, &session);
            assert!(!meter.is_owing(&ROOT, &receiver));
        }
        let mut session = Session::default();
        session.sent(1);
        meter.close(ROOT, receiver, &session);
        assert!(meter.is_owing(&ROOT, &receiver));
    }
}
