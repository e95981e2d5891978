//! Seeding is metered: the receiver signs how much it got, and who sends stops when receipts stay away.
//!
//! A receipt counts all bytes of one session, so only the highest is kept. Who sends shows it to the hub, together with
//! the grant by which the receiver fetched: a [`Claim`]. How far sending may run ahead of receipts
//! begins with one step and grows with what was receipted, because a fast line over a long way has many megabytes under
//! way; what a receiver can take without a receipt stays a small part of what it has signed for.
use super::grant::{self, Authority, Right, Signed, SignedGrant};
use ed25519_dalek::SigningKey;
use gleaner_wire::{Hash, Millis, WorkerKey};
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
/// Claims that wait for the hub; beyond that those of new sessions are dropped.
const CLAIMS_MAX: usize = 65_536;
/// How long after its grant has run out a receipt can be claimed: the hub may be away for a while.
pub const CLAIM_TIME: Millis = Millis(24 * 3600 * 1000);

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

/// What who has sent shows the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// What allowed the receiver to fetch.
    pub grant: SignedGrant,
    /// What it has signed for.
    pub receipt: SignedReceipt,
}

impl Claim {
    /// Whether `sender` has sent this to somebody whom this hub had granted the dataset.
    pub fn check(&self, authority: &Authority, sender: &WorkerKey, now: Millis) -> Result<(), Refused> {
        let Receipt { root, sender: named, receiver, .. } = self.receipt.receipt;
        let grant = self.grant.grant;
        if named != *sender || receiver == *sender || grant.root != root || !self.receipt.is_genuine() {
            return Err(Refused::Signature);
        }
        // It held when the chunks were fetched; by now it may have run out.
        authority.check(&self.grant, &receiver, Right::Fetch, grant.until)?;
        if now > grant.until.after(CLAIM_TIME) {
            return Err(Refused::Grant(grant::Refused::Late));
        }
        Ok(())
    }

    fn session(&self) -> (Hash, WorkerKey, u64) {
        let Receipt { root, receiver, session, .. } = self.receipt.receipt;
        (root, receiver, session)
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
    /// The receiver had no grant for it.
    #[error("the receiver of the receipt had no grant for it")]
    Grant(#[from] grant::Refused),
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
    grant: Option<SignedGrant>,
    reported: u64,
}

/// Who sends: what every receiver got, and what it signed for.
#[derive(Debug, Default)]
pub struct Meter {
    accounts: BTreeMap<(Hash, WorkerKey), Account>,
    claims: BTreeMap<(Hash, WorkerKey, u64), Claim>,
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

    /// The receiver has shown this.
    pub fn granted(&mut self, grant: SignedGrant) {
        self.grant = Some(grant);
    }

    /// What can be claimed, if that is much more than the last time.
    pub fn due(&mut self) -> Option<Claim> {
        let due = self.signed - self.reported >= STEP_BYTES;
        if due { self.claim() } else { None }
    }

    /// What can be claimed.
    fn claim(&mut self) -> Option<Claim> {
        self.reported = self.signed;
        Some(Claim { grant: self.grant?, receipt: self.last? })
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
    pub fn close(&mut self, root: Hash, receiver: WorkerKey, session: &mut Session) {
        if session.sent == 0 {
            return;
        }
        let account = self.accounts.entry((root, receiver)).or_default();
        account.sent += session.sent;
        account.signed += session.signed;
        if let Some(claim) = session.claim() {
            self.report(claim);
        }
        if self.accounts.len() > ACCOUNTS_MAX {
            let least = self.accounts.iter().min_by_key(|(_, account)| account.sent).map(|(key, _)| *key);
            least.and_then(|key| self.accounts.remove(&key));
        }
    }

    /// Keeps a claim for the hub, unless a higher one of its session is here.
    pub fn report(&mut self, claim: Claim) {
        let (session, bytes) = (claim.session(), claim.receipt.receipt.bytes);
        let known = self.claims.get(&session).map(|known| known.receipt.receipt.bytes);
        if known.map_or(self.claims.len() < CLAIMS_MAX, |known| known < bytes) {
            self.claims.insert(session, claim);
        }
    }

    /// What the hub is to be shown, at most so many.
    pub fn take_claims(&mut self, count_max: usize) -> Vec<Claim> {
        let taken = std::iter::from_fn(|| self.claims.pop_first());
        taken.take(count_max).map(|(_, claim)| claim).collect()
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

    fn hub() -> SigningKey {
        SigningKey::from_bytes(&[3; 32])
    }

    fn grant(hub: &SigningKey, peer: WorkerKey) -> SignedGrant {
        grant::Grant { root: ROOT, peer, right: Right::Fetch, until: Millis(1000) }.sign(hub)
    }

    fn receipts(meter: &mut Meter) -> Vec<SignedReceipt> {
        meter.take_claims(99).into_iter().map(|claim| claim.receipt).collect()
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
        session.granted(grant(&hub(), receiver));
        let mut meter = Meter::default();
        meter.close(ROOT, receiver, &mut session);
        assert_eq!(receipts(&mut meter), [receipt(50)]);
    }

    #[test]
    fn a_long_session_is_claimed_before_it_ends_and_the_highest_receipt_is_what_counts() {
        let (_, receiver, sender) = keys();
        let (mut session, mut meter) = (Session::default(), Meter::default());
        session.granted(grant(&hub(), receiver));
        session.sent(3 * STEP_BYTES);
        let mut take = |session: &mut Session, bytes| {
            session.take(receipt(bytes), &ROOT, &sender, &receiver).expect("a good receipt");
            session.due().into_iter().for_each(|claim| meter.report(claim));
            receipts(&mut meter)
        };
        assert_eq!(take(&mut session, STEP_BYTES - 1), []);
        assert_eq!(take(&mut session, STEP_BYTES + 5), [receipt(STEP_BYTES + 5)]);
        assert_eq!(take(&mut session, STEP_BYTES + 6), []);
        meter.close(ROOT, receiver, &mut session);
        let taken = meter.take_claims(9);
        assert_eq!(taken[0].receipt, receipt(STEP_BYTES + 6));
        session.sent(1);
        session.take(receipt(STEP_BYTES + 7), &ROOT, &sender, &receiver).expect("a good receipt");
        meter.report(session.claim().expect("there"));
        meter.report(taken[0]);
        assert_eq!(
            receipts(&mut meter),
            [receipt(STEP_BYTES + 7)],
            "a claim that comes back does not replace a higher one"
        );
    }

    #[test]
    fn a_claim_holds_for_its_sender_with_a_grant_of_this_hub_and_not_for_ever() {
        let (_, receiver, sender) = keys();
        let authority = Authority::new(public(&hub()));
        let good = Claim { grant: grant(&hub(), receiver), receipt: receipt(9) };
        let check = |claim: &Claim, sender, now| claim.check(&authority, sender, Millis(now));
        assert_eq!(check(&good, &sender, 1000), Ok(()));
        assert_eq!(check(&good, &sender, 1000 + CLAIM_TIME.0), Ok(()), "the grant has run out since");
        assert_eq!(check(&good, &sender, 1001 + CLAIM_TIME.0), Err(Refused::Grant(grant::Refused::Late)));
        assert_eq!(check(&good, &WorkerKey([9; 32]), 1000), Err(Refused::Signature), "somebody else's receipt");
        let mut more = good;
        more.receipt.receipt.bytes += 1;
        assert_eq!(check(&more, &sender, 1000), Err(Refused::Signature), "a forged one");
        let other_hub = Claim { grant: grant(&SigningKey::from_bytes(&[9; 32]), receiver), ..good };
        assert_eq!(check(&other_hub, &sender, 1000), Err(Refused::Grant(grant::Refused::Signature)));
        let stolen = Claim { grant: grant(&hub(), WorkerKey([4; 32])), ..good };
        assert_eq!(check(&stolen, &sender, 1000), Err(Refused::Grant(grant::Refused::Peer)));
    }

    #[test]
    fn who_breaks_off_again_and_again_without_signing_is_not_served() {
        let (_, receiver, _) = keys();
        let mut meter = Meter::default();
        for _ in 0..LOST_BYTES_MAX / STEP_BYTES {
            let mut session = Session::default();
            session.sent(STEP_BYTES);
            meter.close(ROOT, receiver, &mut session);
            assert!(!meter.is_owing(&ROOT, &receiver));
        }
        let mut session = Session::default();
        session.sent(1);
        meter.close(ROOT, receiver, &mut session);
        assert!(meter.is_owing(&ROOT, &receiver));
    }
}
