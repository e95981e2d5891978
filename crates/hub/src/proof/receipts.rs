//! Receipts out of what is written down: the judged claims of a job, what workers signed, and how rounds were drawn.
use crate::journal::{self, Archive};
use crate::keeper::{Handle, Unavailable};
use crate::money::{DocketError, Money};
use crate::proof::{Round, Rounds};
use ed25519_dalek::SigningKey;
use gleaner_core::Proof;
use gleaner_receipt::{Drawn, Filed, Missing, Parts, SignedBatch, make};
use gleaner_wire::receipt::{Bytes, Ordered, Seed, Signature, TaskReceipt};
use gleaner_wire::{Address, AttemptId, Hash, JobId, SignedOrder, WorkerKey};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// Receipts made for one question at most; who wants more asks again.
pub(crate) const RECEIPTS_MAX: usize = 256;
/// Jobs whose chain of hashes is remembered.
const JOBS_REMEMBERED: usize = 64;

/// Why a receipt was not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unmade {
    /// The keeper did not answer.
    #[error(transparent)]
    Keeper(#[from] Unavailable),
    /// The archive could not be read.
    #[error("the archive of ended jobs could not be read: {0}")]
    Archive(#[from] journal::Error),
    /// What is written down of rounds could not be read.
    #[error("what is written down of rounds could not be read: {0}")]
    Rounds(#[from] rusqlite::Error),
    /// What owners have signed could not be read.
    #[error(transparent)]
    Docket(#[from] DocketError),
    /// Something that a receipt needs is not there.
    #[error(transparent)]
    Missing(#[from] Missing),
}

/// Makes receipts.
#[derive(Clone)]
pub(crate) struct Receipts {
    keeper: Handle,
    archive: Archive,
    rounds: Rounds,
    signer: SigningKey,
    money: Option<Arc<Money>>,
    /// The hashes of a job's receipts so far: each names the one before.
    chains: Arc<Mutex<HashMap<JobId, Vec<Hash>>>>,
}

impl Receipts {
    /// Makes them from these records, signed by this key.
    pub(crate) fn new(
        keeper: Handle,
        archive: Archive,
        rounds: Rounds,
        signer: SigningKey,
        money: Option<Arc<Money>>,
    ) -> Self {
        Self { keeper, archive, rounds, signer, money, chains: Arc::default() }
    }

    /// The receipts of a job in order, from `first` on.
    pub(crate) async fn of(&self, job: JobId, first: usize, count: usize) -> Result<Vec<TaskReceipt>, Unmade> {
        let mut known = self.chain(job);
        let order = self.order(job).await?;
        let mut made = Vec::new();
        let end = first.saturating_add(count.min(RECEIPTS_MAX));
        let mut next = known.len().min(first);
        while next < end {
            let proofs = self.proofs(job, next, (end - next).min(RECEIPTS_MAX)).await?;
            if proofs.is_empty() {
                break;
            }
            for proof in proofs {
                let previous = next.checked_sub(1).map(|before| known[before]);
                let receipt = self.make(&proof, next as u64, previous, order.clone()).await?;
                if next == known.len() {
                    known.push(receipt.hash);
                }
                if next >= first {
                    made.push(receipt);
                }
                next += 1;
            }
        }
        self.remember(job, known);
        Ok(made)
    }

    /// The receipt of one judged claim of a job.
    pub(crate) async fn about(&self, job: JobId, claim: AttemptId) -> Result<Option<TaskReceipt>, Unmade> {
        let mut first = 0;
        loop {
            let some = self.of(job, first, RECEIPTS_MAX).await?;
            if some.is_empty() {
                return Ok(None);
            }
            first += some.len();
            if let Some(found) = some.into_iter().find(|one| one.facts.commitment.claim.attempt == claim) {
                return Ok(Some(found));
            }
        }
    }

    async fn make(
        &self,
        proof: &Proof,
        number: u64,
        previous: Option<Hash>,
        order: Option<Ordered>,
    ) -> Result<TaskReceipt, Unmade> {
        let audit = proof.audit.iter().flat_map(|audit| audit.answers.iter());
        let senders = audit.map(|answer| (answer.key, answer.batch)).chain([(proof.worker, proof.batch)]);
        let mut batches = HashMap::new();
        for (key, batch) in senders {
            if let Some(signed) = self.archive.signed_claims(batch).await? {
                let signature = signed.signature.try_into().map(Signature);
                if let Ok(signature) = signature {
                    batches.insert((key, batch), SignedBatch { claims: signed.leaves, signature });
                }
            }
        }
        let round = match proof.draw {
            Some(_) => self.rounds.get(proof.round)?.map(drawn),
            None => None,
        };
        let batch = |key: &WorkerKey, batch: u64| batches.get(&(*key, batch)).cloned();
        let owners = self.owners(proof).await?;
        let owner = |key: &WorkerKey, provider: &Address| owners.get(&(*key, *provider)).cloned();
        let filed = Filed {
            job: order.as_ref().map_or(Hash([0; 32]), |order| order.signed.order.job),
            order,
            market: proof.market,
            class: proof.class.clone(),
            check: proof.check,
            number,
            previous,
            round,
            batch: &batch,
            owner: &owner,
        };
        Ok(make(Parts::of(proof, filed)?, &self.signer))
    }

    /// What the owners of all workers in a receipt have signed for them.
    async fn owners(&self, proof: &Proof) -> Result<BTreeMap<(WorkerKey, Address), Bytes>, Unmade> {
        let Some(money) = self.money.clone() else { return Ok(BTreeMap::new()) };
        let audit = proof.audit.as_deref();
        let jurors = audit.iter().flat_map(|audit| audit.jurors.iter().map(|juror| (juror.key, juror.provider)));
        let referees =
            audit.iter().flat_map(|audit| audit.referees.iter().map(|referee| (referee.key, referee.provider)));
        let all = jurors.chain(referees).chain([(proof.worker, proof.provider)]);
        let owned: Vec<(WorkerKey, Address)> = all.filter_map(|(key, provider)| Some((key, provider?))).collect();
        let found = tokio::task::spawn_blocking(move || money.owner_proofs(&owned)).await;
        Ok(found.map_err(|_| Unavailable::Stopped)??)
    }

    async fn proofs(&self, job: JobId, first: usize, count: usize) -> Result<Vec<Proof>, Unmade> {
        let live = self.keeper.ask(move |core| core.job_summary(job).map(|_| core.proofs(job, first, count))).await?;
        match live {
            Some(proofs) => Ok(proofs),
            None => {
                let mut proofs = self.archive.proofs(job, first as u64, 2).await?;
                proofs.truncate(count);
                Ok(proofs)
            }
        }
    }

    /// The order of a job, with its id on the chain.
    async fn order(&self, job: JobId) -> Result<Option<Ordered>, Unmade> {
        let Some(money) = &self.money else { return Ok(None) };
        let live = self.keeper.ask(move |core| core.order(job).cloned()).await?;
        let signed: Option<SignedOrder> = match live {
            Some(signed) => Some(signed),
            None => self.archive.ended_order(job).await?.map(|(ended, _)| ended.signed),
        };
        Ok(signed.map(|signed| money.ordered(signed)))
    }

    fn chain(&self, job: JobId) -> Vec<Hash> {
        self.chains.lock().unwrap_or_else(PoisonError::into_inner).get(&job).cloned().unwrap_or_default()
    }

    fn remember(&self, job: JobId, hashes: Vec<Hash>) {
        let mut chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        if chains.len() >= JOBS_REMEMBERED && !chains.contains_key(&job) {
            chains.clear();
        }
        chains.insert(job, hashes);
    }
}

fn drawn(round: Round) -> Drawn {
    let Round { leaves, seed, beacon } = round;
    Drawn { claims: leaves, source: beacon.map_or(Seed::Hub, |beacon| Seed::Chain(Bytes(beacon))), seed }
}
