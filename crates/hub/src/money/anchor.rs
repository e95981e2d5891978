//! Anchors: the root of a round goes to the chain, and the block after it gives the round's seed.
//!
//! A round may be anchored twice, by a crash at the wrong moment or a re-organisation. The first beacon that the docket
//! keeps is the one that counts, so that there is one seed for each round whatever happens.
use super::{Money, Trouble};
use gleaner_chain::beacon::{self, Beacon, Found};
use gleaner_chain::outbox::Status;
use gleaner_chain::primitives::B256;
use gleaner_wire::Hash;
use std::time::Duration;

/// The wait after a step that failed.
const AFTER_TROUBLE: Duration = Duration::from_secs(2);
/// How many blocks later an anchor that was in a block, and is in none now, is sent again.
const LOST_AFTER_BLOCKS: u64 = 32;
/// Anchors of one round that are sent at most; each of them failed or was lost before the next.
const ANCHORS_MAX: u32 = 1_000;

/// What is to be done about a round now.
enum Step {
    Ready(Box<Beacon>),
    Wait,
}

impl Money {
    /// Anchors the root of a round and waits for its beacon. An outage of the chain is waited out; a round that was
    /// anchored before, perhaps by a process that ended, is found again.
    pub(crate) async fn anchor(&self, round: u64, root: Hash) -> Beacon {
        loop {
            let pause = match self.anchor_step(round, root).await {
                Ok(Step::Ready(beacon)) => return *beacon,
                Ok(Step::Wait) => self.pace,
                Err(trouble) => {
                    self.report(&trouble);
                    AFTER_TROUBLE
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// The beacon of a round, if it has one.
    pub(crate) fn beacon(&self, round: u64) -> Result<Option<Beacon>, Trouble> {
        Ok(self.docket.beacon(round)?)
    }

    async fn anchor_step(&self, round: u64, root: Hash) -> Result<Step, Trouble> {
        if let Some(beacon) = self.docket.beacon_of(round, root)? {
            return Ok(Step::Ready(Box::new(beacon)));
        }
        let call = beacon::call(self.account.address(), root);
        for number in 0..ANCHORS_MAX {
            let key = format!("anchor:{round}:{root}:{number}");
            match self.desk.status(&key)? {
                None => {
                    self.desk.send_once(&key, &call)?;
                    return Ok(Step::Wait);
                }
                Some(Status::Waiting | Status::Underway { .. }) => return Ok(Step::Wait),
                Some(Status::Failed { reason }) => {
                    let next = format!("anchor:{round}:{root}:{}", number + 1);
                    if self.desk.status(&next)?.is_none() {
                        self.desk.send_once(&next, &call)?;
                        return Err(Trouble::Anchor { round, reason });
                    }
                }
                Some(Status::Done { transaction, block }) => {
                    if let Some(step) = self.look_for_beacon(round, root, transaction, block).await? {
                        return Ok(step);
                    }
                }
            }
        }
        Err(Trouble::Anchor { round, reason: "it was tried too often".to_owned() })
    }

    /// The beacon of an anchor that is in a block; none if a re-organisation has lost it for good.
    async fn look_for_beacon(
        &self,
        round: u64,
        root: Hash,
        transaction: B256,
        block: u64,
    ) -> Result<Option<Step>, Trouble> {
        let node = &self.market.node;
        match beacon::fetch(node, transaction, root, self.confirmations).await? {
            Found::Beacon(found) => {
                let kept = self.docket.keep_beacon(round, root, &found)?;
                tracing::debug!(round, block, seed = %kept.seed, "a round has its seed");
                Ok(Some(Step::Ready(Box::new(kept))))
            }
            Found::NotYet { .. } => {
                self.nudge().await?;
                Ok(Some(Step::Wait))
            }
            Found::Nowhere if node.height().await? <= block.saturating_add(LOST_AFTER_BLOCKS) => Ok(Some(Step::Wait)),
            Found::Nowhere => Ok(None),
        }
    }
}
