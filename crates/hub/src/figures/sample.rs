//! What is read off the core at one moment, and what is said of it.
use gleaner_core::{Core, Supply, Totals};
use gleaner_wire::Millis;
use gleaner_wire::api::PriceView;
use gleaner_wire::figures::{ChecksFigure, ClassFigure, JobsFigure, StatusView, TasksFigure};
use serde::{Deserialize, Serialize};

/// The core at one moment.
pub(crate) struct Sample {
    pub(super) at: Millis,
    totals: Totals,
    supply: Supply,
    prices: Vec<PriceView>,
}

/// What is kept of a moment. Counters are since the hub was made, so that spans are differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) at: u64,
    pub(super) workers: u64,
    pub(super) slots: u64,
    pub(super) busy: u64,
    pub(super) queued: u64,
    pub(super) jobs: u64,
    pub(super) tasks_done: u64,
    pub(super) audited: u64,
    pub(super) refuted: u64,
    pub(super) paid: u64,
}

impl Sample {
    /// Reads it.
    pub(crate) fn of(core: &Core, at: Millis) -> Self {
        Self { at, totals: core.totals(), supply: core.supply(), prices: core.prices(at) }
    }

    pub(super) fn row(&self) -> Row {
        let regions = &self.supply.regions;
        Row {
            at: self.at.0,
            workers: self.supply.workers.online,
            slots: regions.iter().map(|region| region.slots).sum(),
            busy: regions.iter().map(|region| region.slots_busy).sum(),
            queued: self.totals.tasks_queued,
            jobs: self.totals.jobs_running,
            tasks_done: self.totals.tasks_done,
            audited: self.totals.claims_audited,
            refuted: self.totals.claims_refuted,
            paid: self.supply.earned.0,
        }
    }

    /// What is said of it, with how many tasks were done in the last minute and hour.
    pub(super) fn view(&self, done_last_minute: u64, done_last_hour: u64) -> StatusView {
        let Self { at, totals, supply, prices } = self;
        let class = |price: &PriceView| ClassFigure {
            class: price.class,
            kind: price.kind,
            runtime: price.runtime,
            memory_min: price.memory_min,
            slots: price.slots,
            busy: price.busy,
            waiting: price.waiting,
            per_hour: price.per_hour,
        };
        let overhead = totals.claims_audited.saturating_mul(1000).checked_div(totals.claims_drawn);
        StatusView {
            at: *at,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            workers: supply.workers,
            classes: prices.iter().map(class).collect(),
            regions: supply.regions.clone(),
            tasks: TasksFigure {
                queued: totals.tasks_queued,
                running: totals.attempts_running,
                done: totals.tasks_done,
                done_last_minute,
                done_last_hour,
            },
            jobs: JobsFigure {
                running: totals.jobs_running,
                submitted: totals.jobs_submitted,
                done: totals.jobs_done,
                failed: totals.jobs_failed,
                cancelled: totals.jobs_cancelled,
            },
            checks: ChecksFigure {
                drawn: totals.claims_drawn,
                audited: totals.claims_audited,
                contested: totals.claims_contested,
                refuted: totals.claims_refuted,
                wrong: totals.answers_wrong,
                overhead_per_mille: overhead.unwrap_or(0),
            },
            paid: supply.earned,
        }
    }
}
