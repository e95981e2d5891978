//! The table of `gleaner sim proof`: which worlds are run, and what they must show.
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use gleaner_core::proof::Policy;
use serde::Serialize;

use super::setting::{Kind, Lazy, Setting};
use super::tally::Outcome;
use super::world;

/// A world and what came out of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Which part of the table it is in.
    pub group: Group,
    /// What its liars do, in words.
    pub name: String,
    /// The world.
    pub setting: Setting,
    /// What came out.
    pub outcome: Outcome,
    /// What it must not exceed, if anything.
    pub goal: Option<Goal>,
    /// Whether it does not.
    pub holds: bool,
}

/// A part of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Liars that lie rarely or often, alone, together, or once they are trusted.
    Lying,
    /// Other ways to cheat, and machines that differ.
    Other,
    /// What it would be like without something.
    Without,
    /// Tasks that cost more beside what a verdict takes.
    Dear,
    /// More and more liars, until it breaks.
    Limit,
}

/// What a world must show: shares in millionths. That cheating loses money, and that no honest worker is slashed, is part of
/// every goal; beyond a fifth of liars it is all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Goal {
    /// The most wrong results that are paid.
    pub wrong_paid_max: Option<u32>,
    /// The most work for audits.
    pub overhead_max: Option<u32>,
}

impl Goal {
    /// What is asked for with so many liars, in thousandths.
    fn of(liars: u32) -> Option<Self> {
        match liars {
            0 => None,
            1..=100 => Some(Self { wrong_paid_max: Some(500), overhead_max: Some(60_000) }),
            101..=200 => Some(Self { wrong_paid_max: Some(2000), overhead_max: Some(100_000) }),
            _ => Some(Self { wrong_paid_max: None, overhead_max: None }),
        }
    }

    fn holds(self, outcome: &Outcome) -> bool {
        self.wrong_paid_max.is_none_or(|most| outcome.wrong_paid < most)
            && self.overhead_max.is_none_or(|most| outcome.overhead <= most)
            && outcome.false_slashings == 0
            && outcome.profit_micro < 0
    }
}

/// Everything that the table shows, with this many tasks in each world.
pub fn rows(jobs: u64, seed: u64) -> Vec<(Group, String, Setting)> {
    let mut all = Vec::new();
    for liars in [50, 100, 200, 300] {
        for (lying, one_in) in [("always", 1), ("1 in 4", 4), ("1 in 20", 20)] {
            let alone = Setting::new(liars, one_in);
            let league = Setting { league: true, ..alone };
            all.push((Group::Lying, format!("lie {lying}, alone"), alone));
            all.push((Group::Lying, format!("lie {lying}, colluding"), league));
            let patient = Setting { patient: true, ..alone };
            all.push((Group::Lying, format!("lie {lying}, alone, trust first"), patient));
            all.push((
                Group::Lying,
                format!("lie {lying}, colluding, trust first"),
                Setting { patient: true, ..league },
            ));
        }
    }
    for liars in [50, 100, 200, 300] {
        all.extend(other(liars));
    }
    for liars in [100, 200] {
        all.extend(without(liars));
    }
    for (minutes, name) in [(1, "a minute"), (10, "ten minutes"), (60, "an hour"), (240, "four hours")] {
        let patient = Setting { patient: true, league: true, minutes, ..Setting::new(100, 1) };
        all.push((Group::Dear, format!("tasks of {name}"), patient));
    }
    for liars in [100, 200, 250, 300, 330, 360, 400, 450, 500] {
        let league = Setting { league: true, besieged: true, ..Setting::new(liars, 4) };
        all.push((Group::Limit, "lie 1 in 4, colluding, back at once".to_owned(), league));
        let patient = Setting { patient: true, one_in: 1, ..league };
        all.push((Group::Limit, "lie always, trust first, back at once".to_owned(), patient));
    }
    all.into_iter().map(|(group, name, setting)| (group, name, Setting { jobs, seed, ..setting })).collect()
}

/// Other ways to cheat, and machines that legitimately differ.
fn other(liars: u32) -> Vec<(Group, String, Setting)> {
    let patient = Setting { patient: true, league: true, ..Setting::new(liars, 1) };
    let quarter = Setting { one_in: 4, ..patient };
    let lazy = |sees| Some(Lazy { share: liars, sees });
    let named = [
        ("beside as many lazy auditors, blind", Setting { lazy: lazy(false), ..quarter }),
        ("a stake split over five", Setting { sybils: 5, ..patient }),
        ("numbers with noise", Setting { devices: Kind::Noisy, ..quarter }),
        ("a diverging and a rare device class", Setting { devices: Kind::Diverging, ..quarter }),
        ("drop out when drawn", Setting { drops: true, ..quarter }),
    ];
    named.map(|(name, setting)| (Group::Other, name.to_owned(), setting)).into()
}

/// What it is worth that nobody can tell an audit from paid work.
fn without(liars: u32) -> Vec<(Group, String, Setting)> {
    let patient = Setting { patient: true, league: true, ..Setting::new(liars, 1) };
    let lazy = Some(Lazy { share: liars, sees: true });
    let named = [
        ("liars who see which tasks are audits", Setting { sees_audits: true, ..patient }),
        ("beside lazy auditors who see audits and answers", Setting { lazy, ..patient }),
    ];
    named.map(|(name, setting)| (Group::Without, name.to_owned(), setting)).into()
}

/// Runs a world, and says whether it shows what it must.
pub fn run(group: Group, name: &str, setting: &Setting) -> Row {
    let outcome = world::run(setting, &Policy::default());
    let goal = Goal::of(setting.liars).filter(|_| matches!(group, Group::Lying | Group::Other));
    let holds = goal.is_none_or(|goal| goal.holds(&outcome));
    Row { group, name: name.to_owned(), setting: *setting, outcome, goal, holds }
}

/// Runs these worlds on so many threads; the order stays.
pub fn run_all(worlds: &[(Group, String, Setting)], threads: usize) -> Vec<Row> {
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, worlds.len().max(1)) {
            scope.spawn(|| {
                while let Some((at, (group, name, setting))) = pick(worlds, &next) {
                    let row = run(*group, name, setting);
                    rows.lock().expect("no thread panics while it holds the rows").insert(at, row);
                }
            });
        }
    });
    rows.into_inner().expect("no thread panics while it holds the rows").into_values().collect()
}

fn pick<'a, T>(all: &'a [T], next: &AtomicUsize) -> Option<(usize, &'a T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    all.get(at).map(|one| (at, one))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those of the table that are run in full here; the others only by the command.
    fn shown(liars: u32, only: impl Fn(&Group, &str) -> bool) -> Vec<Row> {
        let mut worlds = rows(1_000_000, 1);
        worlds.retain(|(group, name, setting)| setting.liars == liars && only(group, name));
        assert!(!worlds.is_empty());
        run_all(&worlds, 2)
    }

    #[test]
    fn liars_up_to_one_in_five_who_build_trust_first_stay_within_the_goals() {
        for row in
            [100, 200].into_iter().flat_map(|liars| shown(liars, |_, name| name.contains("always, colluding, trust")))
        {
            assert!(row.goal.is_some() && row.holds, "{row:?}");
        }
    }

    #[test]
    fn other_ways_to_cheat_stay_within_the_goals() {
        for row in shown(100, |group, _| *group == Group::Other) {
            assert!(row.goal.is_some() && row.holds, "{row:?}");
        }
    }

    #[test]
    fn who_lies_always_is_out_after_the_first_round() {
        let rows = shown(200, |_, name| name == "lie always, alone");
        let outcome = rows[0].outcome;
        assert!(rows[0].holds && outcome.tasks_until_out <= 8 && outcome.wrong_paid < 10, "{outcome:?}");
    }

    #[test]
    fn seeing_audits_is_worth_something_to_liars() {
        let blind = shown(100, |_, name| name == "lie always, colluding, trust first");
        let seeing = shown(100, |_, name| name == "liars who see which tasks are audits");
        assert!(seeing[0].outcome.wrong_each_milli > blind[0].outcome.wrong_each_milli);
    }

    #[test]
    fn whatever_a_task_costs_cheating_is_a_loss_and_only_the_work_for_it_grows() {
        let rows = shown(100, |group, _| *group == Group::Dear);
        assert!(rows.iter().all(|row| row.outcome.profit_micro < 0 && row.outcome.false_slashings == 0), "{rows:?}");
        let overhead: Vec<u32> = rows.iter().map(|row| row.outcome.overhead).collect();
        assert!(overhead.is_sorted() && overhead[0] < 60_000 && overhead[3] > 500_000, "{overhead:?}");
    }

    #[test]
    fn half_of_all_in_one_league_is_too_much() {
        let rows = shown(500, |_, name| name == "lie 1 in 4, colluding, back at once");
        assert!(rows[0].outcome.false_slashings > 0 && rows[0].outcome.wrong_paid > 10_000, "{:?}", rows[0]);
    }

    #[test]
    fn a_seed_gives_the_same_world_every_time() {
        let setting = Setting { jobs: 50_000, devices: Kind::Diverging, ..Setting::new(200, 4) };
        let run = |seed| world::run(&Setting { seed, ..setting }, &Policy::default());
        assert_eq!(run(5), run(5));
        assert_ne!(run(5), run(6));
    }
}
