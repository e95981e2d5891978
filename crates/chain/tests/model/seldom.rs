//! What random walks seldom reach, step by step.
use super::trace::Trace;
use super::world::World;
use super::{Committees, start};
use gleaner_chain::Node;
use gleaner_chain::model::{Action, Deed, Refusal, Sharing, Who};

const HOUR: u64 = 3_600;

impl World {
    async fn refused(&mut self, who: u16, action: Action, refusal: Refusal) {
        self.act(Who(who), action).await;
        let said = self.trace.log.last().expect("something was done");
        assert!(said.ends_with(&format!("Err({refusal:?})")), "{said}");
    }

    async fn done(&mut self, who: u16, action: Action) {
        self.act(Who(who), action).await;
        let said = self.trace.log.last().expect("something was done");
        assert!(said.ends_with("Ok(())"), "{said}");
    }

    /// A vote that passes, up to its execution.
    async fn pass(&mut self, deeds: &[Deed]) -> u32 {
        let proposal = self.proposals.len() as u32;
        self.proposals.push(deeds.to_vec());
        self.wait(HOUR).await;
        self.done(5, Action::Propose { number: proposal, deeds: deeds.to_vec() }).await;
        self.wait(HOUR).await;
        self.refused(1, Action::Cast { proposal, support: 3 }, Refusal::GovernorInvalidVoteType).await;
        for who in [0, 1, 3, 5] {
            self.done(who, Action::Cast { proposal, support: 1 }).await;
        }
        self.wait(3 * HOUR).await;
        self.done(1, Action::Queue { proposal }).await;
        self.refused(2, Action::Execute { proposal }, Refusal::TimelockUnexpectedOperationState).await;
        self.wait(2 * HOUR).await;
        proposal
    }

    async fn votes_that_cannot_be_carried_out(&mut self) {
        let set = |parameter, value| Deed::Set { parameter, value };
        let wrong = [
            (vec![set("noSuchNumber", 1)], Refusal::UnknownParameter),
            (vec![set("committeeSize", 4)], Refusal::CommitteeMustBeOdd),
            (vec![set("platformShareBps", 100), set("slashShareBps", 10_001)], Refusal::OutOfBounds),
            (vec![Deed::Mint { to: Who(2) }; 4], Refusal::AllMinted),
        ];
        for (deeds, refusal) in wrong {
            let proposal = self.pass(&deeds).await;
            self.refused(4, Action::Execute { proposal }, refusal).await;
        }
        let proposal = self.pass(&vec![Deed::Mint { to: Who(2) }; 3]).await;
        self.done(4, Action::Execute { proposal }).await;
        self.refused(4, Action::Execute { proposal }, Refusal::GovernorUnexpectedProposalState).await;
    }

    async fn claims(&mut self) {
        let sharing = Sharing { shares: vec![(Who(3), 5), (Who(4), 7)], total: 12 };
        let claim = |proved| Action::ClaimReward { epoch: 0, account: Who(3), amount: 5, proved };
        self.done(0, Action::Publish { epoch: 0, sharing: sharing.clone() }).await;
        self.refused(6, claim(true), Refusal::WindowOpen).await;
        self.wait(3 * HOUR).await;
        self.refused(6, claim(false), Refusal::WrongProof).await;
        self.done(6, claim(true)).await;
        self.refused(3, claim(true), Refusal::AlreadyClaimed).await;
        self.done(0, Action::Publish { epoch: 1, sharing: sharing.clone() }).await;
        self.refused(0, Action::Contest { epoch: 1, sharing: Sharing::default() }, Refusal::OwnPublication).await;
        self.refused(1, Action::Contest { epoch: 1, sharing }, Refusal::SameAsPublished).await;
        self.done(1, Action::Contest { epoch: 1, sharing: Sharing::default() }).await;
        self.refused(2, Action::ConcludeEpoch { epoch: 1 }, Refusal::Undecided).await;
        self.wait(4 * HOUR).await;
        self.done(2, Action::Expire { dispute: 1 }).await;
        self.done(2, Action::ConcludeEpoch { epoch: 1 }).await;
        self.refused(2, Action::FinishEpoch { epoch: 1 }, Refusal::WrongState).await;
    }

    async fn contests(&mut self) {
        let sharing = Sharing { shares: vec![(Who(3), 5), (Who(4), 7)], total: 12 };
        for who in [5, 6, 7] {
            self.done(who, Action::Renew).await;
        }
        for (ruling, epoch, dispute) in [(1, 2, 2), (2, 3, 3)] {
            self.done(0, Action::Publish { epoch, sharing: sharing.clone() }).await;
            self.done(1, Action::Contest { epoch, sharing: Sharing::default() }).await;
            self.wait(HOUR).await;
            self.done(2, Action::Draw { dispute, drawn: Vec::new() }).await;
            let votes = [5, 6, 7].map(|who| (Who(who), ruling)).to_vec();
            self.done(2, Action::Decide { dispute, votes }).await;
            self.done(2, Action::ConcludeEpoch { epoch }).await;
            assert_eq!(self.model.epochs[&epoch].sharing == sharing, ruling == 1, "as the court has decided");
        }
    }

    /// Nobody lapses while a draw is pending, and everybody who is not heard of does otherwise.
    async fn presence(&mut self) {
        for who in [5, 6, 7] {
            self.done(who, Action::Renew).await;
        }
        self.refused(0, Action::Renew, Refusal::NotEnrolled).await;
        self.refused(0, Action::Evict { auditor: Who(0) }, Refusal::NotEnrolled).await;
        self.refused(0, Action::Evict { auditor: Who(6) }, Refusal::NoReasonToEvict).await;
        self.wait(2 * HOUR).await;
        self.contest(4).await;
        self.refused(5, Action::Renew, Refusal::DrawPending).await;
        self.wait(3 * HOUR).await;
        self.done(2, Action::Draw { dispute: 4, drawn: Vec::new() }).await;
        assert_eq!(self.model.disputes[&4].committee, [5, 6, 7].map(Who), "five hours, of which two count");
        let votes = [5, 6, 7].map(|who| (Who(who), 1)).to_vec();
        self.done(2, Action::Decide { dispute: 4, votes }).await;
        self.done(2, Action::ConcludeEpoch { epoch: 4 }).await;
        self.wait(HOUR).await;
        self.refused(0, Action::Evict { auditor: Who(6) }, Refusal::NoReasonToEvict).await;
        self.wait(HOUR).await;
        self.done(0, Action::Evict { auditor: Who(6) }).await;
        self.refused(6, Action::Renew, Refusal::NotEnrolled).await;
        self.done(6, Action::Enroll).await;
        self.done(7, Action::Renew).await;
        self.contest(5).await;
        self.refused(0, Action::Evict { auditor: Who(5) }, Refusal::DrawPending).await;
        self.wait(HOUR).await;
        self.done(2, Action::Draw { dispute: 5, drawn: Vec::new() }).await;
        assert!(self.model.disputes[&5].committee.is_empty(), "one of three has lapsed");
        self.wait(4 * HOUR).await;
        self.done(2, Action::Expire { dispute: 5 }).await;
        self.done(2, Action::ConcludeEpoch { epoch: 5 }).await;
    }

    async fn contest(&mut self, epoch: u64) {
        let sharing = Sharing { shares: vec![(Who(3), 5), (Who(4), 7)], total: 12 };
        self.done(0, Action::Publish { epoch, sharing }).await;
        self.done(1, Action::Contest { epoch, sharing: Sharing::default() }).await;
    }
}

pub async fn play(node: Node) -> Trace {
    let mut world = start(node, 1, Committees::Everybody).await;
    world.votes_that_cannot_be_carried_out().await;
    world.claims().await;
    world.contests().await;
    world.presence().await;
    world.compare_at_the_end().await;
    world.trace
}
