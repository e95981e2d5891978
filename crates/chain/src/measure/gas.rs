//! Gas of settled work, from the receipts of the chain, beside that of a plain transfer.
use super::Error;
use super::crew::{Booked, Crew};
use super::stage::Stage;
use gleaner_wire::Amount;

/// What things cost.
#[derive(Clone, Debug)]
pub struct Gas {
    /// A transfer of the token between two accounts that have some.
    pub transfer: u64,
    /// Single orders.
    pub orders: Vec<OrderGas>,
    /// Orders of one task and one provider, locked and settled together.
    pub batches: Vec<BatchGas>,
}

/// What one order costs from its lock to its settlement.
#[derive(Clone, Copy, Debug)]
pub struct OrderGas {
    /// Tasks in it.
    pub tasks: u32,
    /// Providers that share them.
    pub providers: usize,
    /// Locking its money and the hub's stake.
    pub lock: u64,
    /// Locking the providers' stake.
    pub engage: u64,
    /// Paying everybody and freeing the stakes.
    pub settle: u64,
}

impl OrderGas {
    /// Everything together, for each task.
    pub fn per_task(&self) -> f64 {
        (self.lock + self.engage + self.settle) as f64 / f64::from(self.tasks)
    }
}

/// What a batch of orders costs.
#[derive(Clone, Copy, Debug)]
pub struct BatchGas {
    /// Orders in it.
    pub orders: usize,
    /// Locking all of them.
    pub lock: u64,
    /// Locking the providers' stake, order by order.
    pub engage: u64,
    /// Settling all of them.
    pub settle: u64,
}

/// Measures orders of these numbers of tasks and providers, and batches of these sizes. Everybody who takes part also
/// works on another order that stays open, as in a network that is busy.
pub async fn gas(orders: &[(u32, usize)], batches: &[usize]) -> Result<Gas, Error> {
    let most = orders.iter().map(|(_, providers)| *providers).max().unwrap_or(1);
    let mut stage = Stage::open().await?;
    let mut crew = Crew::gather(&mut stage, most).await?;
    let open = crew.order(&stage, 1, most);
    crew.lock(&mut stage, &open).await?;
    let mut measured = Gas { transfer: transfer(&mut stage, &crew).await?, orders: Vec::new(), batches: Vec::new() };
    for (tasks, providers) in orders {
        let (lock, engage, settle) = order(&mut stage, &mut crew, 1, *tasks, *providers).await?;
        measured.orders.push(OrderGas { tasks: *tasks, providers: *providers, lock, engage, settle });
    }
    for batch in batches {
        let (lock, engage, settle) = order(&mut stage, &mut crew, *batch, 1, 1).await?;
        measured.batches.push(BatchGas { orders: *batch, lock, engage, settle });
    }
    Ok(measured)
}

async fn transfer(stage: &mut Stage, crew: &Crew) -> Result<u64, Error> {
    let faucet = stage.faucet.clone();
    let call = stage.market.transfer(crew.hub.address(), Amount::gln(1));
    let gas = stage.perform(&[(&faucet, call.clone()), (&faucet, call)]).await?;
    Ok(gas[1])
}

async fn order(
    stage: &mut Stage,
    crew: &mut Crew,
    count: usize,
    tasks: u32,
    providers: usize,
) -> Result<(u64, u64, u64), Error> {
    let booked = crew.order(stage, count, providers);
    let (lock, engage) = crew.lock(stage, &booked).await?;
    let settled = |booked: &Booked| Ok(booked.approved(stage, booked.settlement(&booked.receipts(tasks))?));
    let settled = booked.iter().map(settled).collect::<Result<Vec<_>, Error>>()?;
    let call = stage.market.settle_many(&settled);
    let gas = stage.perform(&[(&crew.hub, call)]).await?;
    for booked in &booked {
        if stage.market.order_state(booked.id).await?.state != crate::market::State::Settled {
            return Err(Error::worthless("an order was not settled"));
        }
    }
    Ok((lock, engage, gas[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn gas_is_shared_by_tasks_and_by_the_orders_of_a_batch() {
        let measured = gas(&[(1, 1), (40, 1), (40, 4)], &[1, 6]).await.expect("measured");
        assert!((21_000..100_000).contains(&measured.transfer), "{measured:?}");
        let [single, many, spread] = measured.orders[..] else { panic!("three orders") };
        assert!(many.per_task() * 30.0 < single.per_task(), "{measured:?}");
        assert!(many.settle < spread.settle && many.engage < spread.engage, "{measured:?}");
        let [alone, batch] = measured.batches[..] else { panic!("two batches") };
        assert!(batch.lock < 6 * alone.lock && batch.settle < 6 * alone.settle, "{measured:?}");
        assert!(batch.orders == 6 && batch.engage > alone.engage, "{measured:?}");
    }
}
