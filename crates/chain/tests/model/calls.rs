//! Shares and proposals of the model as the contracts want them.
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::{SolCall, SolValue};
use gleaner_chain::contracts::{GleanerGovernor, Licences, Vesting};
use gleaner_chain::market::{Ballot, Call, Proposal};
use gleaner_chain::merkle::Tree;
use gleaner_chain::model::{Deed, Schedule, Sharing, Subject, Who};
use gleaner_chain::rewards::leaf;
use gleaner_wire::Amount;

use super::world::World;

impl World {
    /// What stake is locked for and courts are asked about.
    pub fn subject_id(&self, subject: Subject) -> B256 {
        let at = &self.market.deployment;
        match subject {
            Subject::Order(number) => self.order_id(number),
            Subject::Epoch(epoch) => keccak256((at.rewards, U256::from(epoch)).abi_encode()),
            Subject::Seat(dispute) => keccak256((at.court, U256::from(dispute)).abi_encode()),
        }
    }

    fn tree(&self, epoch: u64, shares: &[(Address, u64)]) -> Tree {
        Tree::new(shares.iter().map(|(account, amount)| leaf(epoch, *account, Amount(*amount))).collect())
    }

    fn by_address(&self, sharing: &Sharing) -> Vec<(Address, u64)> {
        let mut shares: Vec<_> = sharing.shares.iter().map(|(who, amount)| (self.address(*who), *amount)).collect();
        shares.sort_unstable();
        shares
    }

    pub fn root(&self, epoch: u64, sharing: &Sharing) -> B256 {
        self.tree(epoch, &self.by_address(sharing)).root()
    }

    /// The proof that belongs to the account's share, with something added if it shall be wrong.
    pub fn proof(&self, epoch: u64, account: Who, proved: bool) -> Vec<B256> {
        let sharing = self.model.epochs.get(&epoch).map(|entry| entry.sharing.clone()).unwrap_or_default();
        let shares = self.by_address(&sharing);
        let place = shares.iter().position(|(found, _)| *found == self.address(account));
        let mut proof = place.and_then(|place| self.tree(epoch, &shares).proof(place)).unwrap_or_default();
        if !proved {
            proof.push(B256::repeat_byte(7));
        }
        proof
    }

    pub fn create_schedule(&self, schedule: &Schedule) -> Call {
        let create = Vesting::createCall {
            beneficiary: self.address(schedule.beneficiary),
            start: schedule.start,
            total: U256::from(schedule.total),
            atLaunch: U256::from(schedule.at_launch),
            cliffMonths: schedule.cliff,
            durationMonths: schedule.duration,
        };
        call(self.market.deployment.vesting, &create)
    }

    pub fn assign(&self, schedule: u64, to: Who) -> Call {
        let assign = Vesting::assignCall { id: U256::from(schedule), to: self.address(to) };
        call(self.market.deployment.vesting, &assign)
    }

    pub fn release_licence(&self, licence: u64) -> Call {
        call(self.market.deployment.licences, &Licences::releaseCall { licence: U256::from(licence) })
    }

    pub fn transfer_licence(&self, licence: u64, from: Who, to: Who) -> Call {
        let (from, to) = (self.address(from), self.address(to));
        let transfer = Licences::transferFromCall { from, to, tokenId: U256::from(licence) };
        call(self.market.deployment.licences, &transfer)
    }

    /// The call that a deed is, whoever makes it.
    pub fn deed_call(&self, deed: &Deed) -> Call {
        let (market, at) = (&self.market, &self.market.deployment);
        let single = match deed {
            Deed::Set { parameter, value } => {
                market.parameter_change(parameter, U256::from(*value), "").expect("a short name")
            }
            Deed::PayTokens { to, amount } => market.treasury_payment(self.address(*to), Amount(*amount), ""),
            Deed::PayShare { to, amount } => market.platform_payment(self.address(*to), Amount(*amount), ""),
            Deed::Mint { to } => return call(at.licences, &Licences::mintCall { to: self.address(*to) }),
            Deed::Assign { schedule, to } => return self.assign(*schedule, *to),
        };
        Call { to: single.targets[0], data: single.calls[0].clone() }
    }

    /// A proposal as it is voted on; its description makes it different from all others.
    pub fn proposal(&self, number: u32) -> Proposal {
        let deeds = self.proposals.get(number as usize).map(Vec::as_slice).unwrap_or_default();
        let calls: Vec<Call> = deeds.iter().map(|deed| self.deed_call(deed)).collect();
        Proposal {
            targets: calls.iter().map(|call| call.to).collect(),
            calls: calls.into_iter().map(|call| call.data).collect(),
            description: format!("proposal {number}"),
        }
    }

    pub fn proposal_id(&self, number: u32) -> U256 {
        let Proposal { targets, calls, description } = self.proposal(number);
        let values = vec![U256::ZERO; targets.len()];
        U256::from_be_bytes(keccak256((targets, values, calls, keccak256(description)).abi_encode_params()).0)
    }

    pub fn cast(&self, proposal: u32, support: u8) -> Call {
        let id = self.proposal_id(proposal);
        match support {
            0 => self.market.cast(id, Ballot::Against),
            1 => self.market.cast(id, Ballot::For),
            2 => self.market.cast(id, Ballot::Abstain),
            _ => call(self.market.deployment.governor, &GleanerGovernor::castVoteCall { proposalId: id, support }),
        }
    }

    pub fn cancel(&self, proposal: u32) -> Call {
        let Proposal { targets, calls, description } = self.proposal(proposal);
        let cancel = GleanerGovernor::cancelCall {
            values: vec![U256::ZERO; targets.len()],
            targets,
            calldatas: calls,
            descriptionHash: keccak256(description),
        };
        call(self.market.deployment.governor, &cancel)
    }
}

fn call(to: Address, call: &impl SolCall) -> Call {
    Call { to, data: Bytes::from(call.abi_encode()) }
}
