//! Sums over everybody: what there is of workers where, and what jobs have paid to whom so far.
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::figures::{RegionFigure, WorkersFigure};
use gleaner_wire::{Amount, JobId, Micros, State, WorkerId};

use crate::job::Tally;
use crate::state::Core;

/// Regions that are told apart; workers name them themselves, so there may be many.
const REGIONS_MAX: usize = 64;

/// What there is of workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supply {
    /// How many.
    pub workers: WorkersFigure,
    /// Where, the most first.
    pub regions: Vec<RegionFigure>,
    /// What all of them have earned, ever.
    pub earned: Amount,
}

/// A worker's part in a job that is not archived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The job.
    pub job: JobId,
    /// The worker.
    pub worker: WorkerId,
    /// Tasks it delivered.
    pub tasks: u64,
    /// Device time of them.
    pub ran: Micros,
    /// What the requester paid.
    pub gross: Amount,
    /// What of that is the worker's.
    pub net: Amount,
}

impl Core {
    /// Counts all workers. It takes longer the more there are, so it is asked for every few seconds and not more often.
    pub fn supply(&self) -> Supply {
        let mut supply = Supply::default();
        let mut regions: BTreeMap<&str, RegionFigure> = BTreeMap::new();
        supply.workers.known = self.workers.len() as u64;
        for (worker, id) in self.workers.iter().zip((0..).map(WorkerId)) {
            supply.earned = Amount(supply.earned.0.saturating_add(self.earned(id).0));
            if worker.state == State::Offline {
                continue;
            }
            let is_busy = !worker.attempts.is_empty();
            let figure = &mut supply.workers;
            figure.online += 1;
            match worker.state {
                State::Available | State::Busy if is_busy => figure.busy += 1,
                State::Available | State::Busy => figure.idle += 1,
                State::Paused | State::Probation | State::Disqualified | State::Offline => figure.resting += 1,
            }
            let region = regions.entry(&worker.offer.region).or_default();
            region.workers += 1;
            region.busy += u64::from(is_busy);
            let seats = worker.seats.iter().map(|seat| &self.seats[seat.0 as usize]).filter(|seat| seat.offered);
            for seat in seats {
                region.slots += u64::from(seat.slots);
                region.slots_busy += u64::from(seat.in_flight.min(seat.slots));
            }
        }
        supply.regions = ranked(regions);
        supply
    }

    /// What workers have done for jobs that are not archived.
    pub fn parts(&self) -> Vec<Part> {
        let jobs = self.jobs.values();
        jobs.flat_map(|job| job.tallies.iter().map(|(worker, tally)| part(job.id, *worker, tally))).collect()
    }

    /// What workers have done for one job.
    pub fn parts_of(&self, job: JobId) -> Vec<Part> {
        let tallies = self.jobs.get(&job).into_iter().flat_map(|job| &job.tallies);
        tallies.map(|(worker, tally)| part(job, *worker, tally)).collect()
    }
}

fn part(job: JobId, worker: WorkerId, tally: &Tally) -> Part {
    Part { job, worker, tasks: tally.done, ran: tally.ran, gross: tally.gross, net: tally.earned }
}

/// The regions with the most workers first; those beyond the limit are one.
fn ranked(regions: BTreeMap<&str, RegionFigure>) -> Vec<RegionFigure> {
    let named = regions.into_iter().map(|(name, figure)| RegionFigure { region: name.into(), ..figure });
    let mut all: Vec<RegionFigure> = named.collect();
    all.sort_by(|one, other| other.workers.cmp(&one.workers).then_with(|| one.region.cmp(&other.region)));
    if all.len() > REGIONS_MAX {
        let rest = all.split_off(REGIONS_MAX - 1);
        let other = RegionFigure { region: String::from("other"), ..RegionFigure::default() };
        all.push(rest.into_iter().fold(other, |sum, one| RegionFigure {
            workers: sum.workers + one.workers,
            busy: sum.busy + one.busy,
            slots: sum.slots + one.slots,
            slots_busy: sum.slots_busy + one.slots_busy,
            ..sum
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn of_many_regions_the_smallest_are_told_together() {
        let names: Vec<String> = (0..100).map(|number| format!("region-{number:03}")).collect();
        let regions = names.iter().zip(1..).map(|(name, workers)| {
            (name.as_str(), RegionFigure { workers, slots: 2 * workers, ..RegionFigure::default() })
        });
        let ranked = ranked(regions.collect());
        assert_eq!((ranked.len(), ranked[0].workers), (REGIONS_MAX, 100));
        assert_eq!(ranked.iter().map(|region| region.workers).sum::<u64>(), 5050);
        assert_eq!(ranked[REGIONS_MAX - 1].region, "other");
    }
}
