//! What auditors are told of open disputes, and the votes that they leave.
use super::docket::{Case, Closed, Outcome};
use super::{Money, Trouble, convert};
use gleaner_chain::market::{DisputeStage, DisputeState, Vote};
use gleaner_chain::primitives::{Address, B256, U256};
use gleaner_wire::api::{CaseStage, CaseView};
use gleaner_wire::{Amount, Hash, JobId};
use serde::{Deserialize, Serialize};
use std::sync::PoisonError;

/// An open dispute about a provider that this hub has accused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct DisputeView {
    /// Its number on the chain.
    pub dispute: u64,
    /// The job.
    pub job: JobId,
    /// The order's id on the chain, which is what votes are about.
    #[schema(value_type = String, pattern = "^0x[0-9a-f]{64}$")]
    pub subject: B256,
    /// Who accuses.
    #[schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$")]
    pub claimant: Address,
    /// Who is accused.
    #[schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$")]
    pub defendant: Address,
    /// Who decides, in rising order; empty until drawn.
    #[schema(value_type = Vec<String>)]
    pub committee: Vec<Address>,
    /// Unix seconds until which votes count.
    pub ends: u64,
    /// The hash of the document that shows the fault, at `/api/v1/evidence/HASH`.
    pub evidence: Hash,
    /// Members that have voted.
    #[schema(value_type = Vec<String>)]
    pub voted: Vec<Address>,
}

impl DisputeView {
    /// An open dispute as it stands on the chain.
    pub(super) fn of(case: &Case, dispute: U256, found: &DisputeState) -> Option<Self> {
        (found.stage == DisputeStage::Open).then(|| Self {
            dispute: dispute.saturating_to(),
            job: case.job,
            subject: found.subject,
            claimant: found.claimant,
            defendant: found.defendant,
            committee: found.committee.clone(),
            ends: found.ends,
            evidence: case.evidence,
            voted: Vec::new(),
        })
    }
}

fn case_view(closed: Closed, open: &[DisputeView]) -> CaseView {
    let Closed { case, outcome, taken, transaction } = closed;
    let Case { job, provider, evidence, dispute, .. } = case;
    let stage = match outcome {
        Some(Outcome::Slashed) => CaseStage::Slashed,
        Some(Outcome::Acquitted) => CaseStage::Acquitted,
        Some(Outcome::Undecided) => CaseStage::Undecided,
        Some(Outcome::Dropped(reason)) => CaseStage::Dropped { reason },
        None => match open.iter().find(|view| Some(view.dispute) == dispute) {
            Some(view) => {
                let count = |list: &[Address]| u32::try_from(list.len()).unwrap_or(u32::MAX);
                CaseStage::Open { seats: count(&view.committee), voted: count(&view.voted), ends: view.ends }
            }
            None => CaseStage::Waiting,
        },
    };
    let (provider, taken) =
        (gleaner_wire::Address(provider.into_array()), if stage == CaseStage::Slashed { taken } else { Amount::ZERO });
    CaseView { job, provider, evidence, dispute, stage, taken, transaction }
}

/// What became of a vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Voted {
    /// It is kept, and handed in with the others once they are a majority.
    Taken,
    /// There is no such dispute, or it has ended.
    NoDispute,
    /// Whoever it is from does not sit on the committee.
    NotAMember,
    /// It is not signed by whom it says.
    WrongSignature,
}

impl Money {
    /// The open disputes as the clerk has last seen them, with who has voted since. The chain is not asked, so that any
    /// number of auditors may look.
    pub(crate) fn disputes(&self) -> Result<Vec<DisputeView>, Trouble> {
        let mut disputes = self.disputes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for view in &mut disputes {
            view.voted = self.docket.votes(view.dispute)?.into_iter().map(|vote| vote.account).collect();
        }
        Ok(disputes)
    }

    /// What became of those who were found wrong in a job, or of a provider, as far as is known here.
    pub(crate) fn cases(
        &self,
        job: Option<JobId>,
        provider: Option<gleaner_wire::Address>,
    ) -> Result<Vec<CaseView>, Trouble> {
        let open = self.disputes()?;
        let cases = self.docket.cases(job, provider.map(convert::address))?;
        Ok(cases.into_iter().map(|closed| case_view(closed, &open)).collect())
    }

    pub(super) fn show_disputes(&self, disputes: Vec<DisputeView>) {
        *self.disputes.lock().unwrap_or_else(PoisonError::into_inner) = disputes;
    }

    /// The document with this hash that shows a fault.
    pub(crate) fn evidence(&self, hash: Hash) -> Result<Option<Vec<u8>>, Trouble> {
        Ok(self.docket.evidence(hash)?)
    }

    /// Keeps a document that shows a fault, so that auditors can fetch it.
    pub(crate) fn keep_evidence(&self, document: &[u8]) -> Result<Hash, Trouble> {
        Ok(self.docket.keep_evidence(document)?)
    }

    /// Takes the vote of a member of a committee.
    pub(crate) fn take_vote(&self, dispute: u64, vote: &Vote) -> Result<Voted, Trouble> {
        let disputes = self.disputes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(view) = disputes.into_iter().find(|view| view.dispute == dispute) else {
            return Ok(Voted::NoDispute);
        };
        if !view.committee.contains(&vote.account) {
            return Ok(Voted::NotAMember);
        }
        if !self.market.question(U256::from(dispute), view.subject).is_signed(vote) {
            return Ok(Voted::WrongSignature);
        }
        self.docket.keep_vote(dispute, vote)?;
        self.bell.ring();
        Ok(Voted::Taken)
    }
}
