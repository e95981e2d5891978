//! What auditing costs: work beside the work that is paid, against the rate of audits that no record lowers.
use anyhow::{Result, bail};
use gleaner_core::proof::{Policy, WHOLE};
use gleaner_sim::proof::{Group, Setting, run};

use super::figure::Figure;

/// How many of a thousand workers lie, and the project's aim for them.
const LIARS: [(u32, Option<&str>); 3] = [(0, None), (100, Some("at most 6 %")), (200, Some("at most 10 %"))];

/// Measures worlds of this many tasks.
pub fn measure(jobs: u64) -> Result<Vec<Figure>> {
    let percent = |share: u32| f64::from(share) * 100.0 / f64::from(WHOLE);
    let floor = percent(Policy::default().floor);
    let mut figures = Vec::new();
    for (liars, goal) in LIARS {
        let setting = Setting { jobs, league: true, patient: true, ..Setting::new(liars, 4) };
        let row = run(Group::Lying, "audit overhead", &setting);
        if !row.holds {
            bail!("a world with {} % liars does not keep its goal; `gleaner sim proof` shows which", liars / 10);
        }
        let name = format!("audit overhead, {} % liars", liars / 10);
        let figure =
            Figure::rate(name, percent(row.outcome.overhead), "%", "rate of a worker with a long record", floor);
        figures.push(match goal {
            Some(goal) => figure.goal(goal),
            None => figure,
        });
    }
    Ok(figures)
}
