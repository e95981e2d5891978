//! Signed transactions that are sent to a chain against the clock, and the proof that they did what they should.
use super::Error;
use super::stage::{Closed, Copy, blocks};
use super::timing::{Stopwatch, Timing};
use crate::account::Signed;
use crate::embedded::Chain;
use crate::node::SendError;
use alloy_consensus::TxEnvelope;
use alloy_consensus::transaction::Recovered;
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, B256, Bytes, Log};
use futures_util::future::try_join_all;
use futures_util::{StreamExt, TryStreamExt, stream};

/// A transaction that waits to be sent.
#[derive(Clone, Debug)]
pub(super) struct Ready {
    pub(super) raw: Bytes,
    pub(super) hash: B256,
    pub(super) recovered: Recovered<TxEnvelope>,
}

impl Ready {
    pub(super) fn new(signed: Signed, sender: Address) -> Result<Self, Error> {
        let envelope = TxEnvelope::decode_2718_exact(&signed.raw)
            .map_err(|error| Error::worthless(format!("a transaction of our own cannot be read: {error}")))?;
        Ok(Self { raw: signed.raw, hash: signed.hash, recovered: Recovered::new_unchecked(envelope, sender) })
    }

    async fn send(self, chain: &Chain, checked: bool) -> Result<B256, SendError> {
        match checked {
            true => chain.send_raw(self.raw).await,
            false => chain.send_recovered(self.recovered).await,
        }
    }
}

/// What is to be sent.
#[derive(Clone, Debug)]
pub(super) struct Script {
    /// Lanes are sent side by side, what is in one of them in order. An account is in one lane only.
    pub(super) lanes: Vec<Vec<Ready>>,
    /// The event that shows that something was done, and how often it must come.
    pub(super) proof: (B256, u64),
}

/// How a script is played.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// Whether blocks are synced to disk before they are acknowledged.
    pub(super) sync: bool,
    /// Whether signatures are checked, as for anybody outside the process.
    pub(super) checked: bool,
    /// How many transactions of each lane are under way at a time.
    pub(super) at_once: usize,
}

impl Script {
    /// One lane that proves nothing.
    pub(super) fn plain(lane: Vec<Ready>) -> Self {
        Self { lanes: vec![lane], proof: (B256::ZERO, 0) }
    }

    /// How often its event stands in these logs.
    pub(super) fn proofs<'a>(&self, logs: impl IntoIterator<Item = &'a Log>) -> u64 {
        logs.into_iter().filter(|log| log.data.topics().first() == Some(&self.proof.0)).count() as u64
    }

    /// Fails unless everything was done.
    pub(super) fn demand(&self, transactions: usize, proofs: u64) -> Result<(), Error> {
        let (wanted, sent) = (self.proof.1, self.lanes.iter().map(Vec::len).sum::<usize>());
        match transactions == sent && proofs == wanted {
            true => Ok(()),
            false => Err(Error::worthless(format!(
                "{transactions} of {sent} transactions succeeded, and {proofs} of {wanted} things were done"
            ))),
        }
    }

    /// Sends everything; returns when the last is in a block.
    pub(super) async fn send(&self, chain: &Chain, checked: bool, at_once: usize) -> Result<(), Error> {
        let lanes = self.lanes.iter().map(|lane| {
            let (chain, lane) = (chain.clone(), lane.clone());
            tokio::spawn(async move {
                let sent = stream::iter(lane).map(|ready| ready.send(&chain, checked)).buffered(at_once);
                sent.try_for_each(|_| std::future::ready(Ok(()))).await
            })
        });
        let ended = try_join_all(lanes).await.map_err(|error| Error::worthless(error.to_string()))?;
        Ok(ended.into_iter().collect::<Result<(), SendError>>()?)
    }

    /// Plays it on a copy of a prepared chain.
    pub(super) async fn play(&self, closed: &Closed, manner: Manner) -> Result<Timing, Error> {
        let copy = closed.copy(manner.sync).await?;
        let watch = Stopwatch::start();
        self.send(&copy.chain, manner.checked, manner.at_once).await?;
        let timing = watch.stop();
        self.look(&copy).await?;
        Ok(timing)
    }

    async fn look(&self, copy: &Copy) -> Result<(), Error> {
        let blocks = blocks(&copy.chain, copy.height + 1).await?;
        let outcomes = || blocks.iter().flat_map(|block| &block.outcomes).filter(|outcome| outcome.success);
        self.demand(outcomes().count(), self.proofs(outcomes().flat_map(|outcome| &outcome.logs)))
    }
}
