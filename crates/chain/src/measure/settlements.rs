//! Settlements that their requesters have approved, in batches.
use super::crew::{Booked, Crew, SETTLED};
use super::play::{Manner, Script};
use super::stage::Stage;
use super::{Error, Timing, machine};

/// Transactions of the hub that are under way at a time: as many as its outbox sends.
pub(super) const AT_ONCE: usize = 16;
/// Who is paid, in turn.
const PROVIDERS: usize = 20;

/// How long it takes to settle a number of orders.
#[derive(Clone, Copy, Debug)]
pub struct Settlements {
    /// Orders in each transaction.
    pub batch: usize,
    /// How many there were.
    pub orders: u64,
    /// On revm alone.
    pub alone: Timing,
    /// On the chain, on disk but not synced.
    pub unsynced: Timing,
    /// On the chain, synced.
    pub synced: Timing,
}

/// Settles the same orders, of one task and one provider each, in batches of every size.
pub async fn settlements(orders: usize, batches: &[usize]) -> Result<Vec<Settlements>, Error> {
    let mut stage = Stage::open().await?;
    let mut crew = Crew::gather(&mut stage, PROVIDERS).await?;
    let booked = crew.order(&stage, orders, 1);
    crew.lock(&mut stage, &booked).await?;
    let mut scripts = Vec::new();
    for batch in batches {
        scripts.push((*batch, script(&mut stage, &crew, &booked, *batch)?));
    }
    let closed = stage.close();
    let mut measured = Vec::new();
    for (batch, script) in scripts {
        let manner = |sync| Manner { sync, checked: true, at_once: AT_ONCE };
        measured.push(Settlements {
            batch,
            orders: script.proof.1,
            alone: machine::alone(&closed, &script).await?,
            unsynced: script.play(&closed, manner(false)).await?,
            synced: script.play(&closed, manner(true)).await?,
        });
    }
    Ok(measured)
}

fn script(stage: &mut Stage, crew: &Crew, booked: &[Booked], batch: usize) -> Result<Script, Error> {
    let mut lane = Vec::new();
    for part in booked.chunks(batch.max(1)) {
        let settled = part.iter().map(|booked| Ok(booked.approved(stage, booked.settlement(&booked.receipts(1))?)));
        let settled: Vec<_> = settled.collect::<Result<_, Error>>()?;
        let call = stage.market.settle_many(&settled);
        lane.push(stage.sign(&crew.hub, &call)?);
    }
    // The next script starts from the same chain.
    stage.forget(&crew.hub, lane.len() as u64);
    Ok(Script { lanes: vec![lane], proof: (SETTLED, booked.len() as u64) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_same_orders_are_settled_in_every_batch_size() {
        let measured = settlements(7, &[1, 5]).await.expect("measured");
        assert_eq!(measured.iter().map(|one| (one.batch, one.orders)).collect::<Vec<_>>(), [(1, 7), (5, 7)]);
        for Settlements { orders, alone, unsynced, synced, .. } in measured {
            for timing in [alone, unsynced, synced] {
                assert!(timing.per_second(orders) > 0.1 && timing.per_second(orders) < 1_000_000.0, "{timing:?}");
            }
        }
    }
}
