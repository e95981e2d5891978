//! The table of one line.
use super::Moves;
use super::files::Data;
use super::line::Line;
use super::stage::Cost;
use super::tool::{Tool, Way};
use std::collections::BTreeMap;

/// What each transfer took.
pub type Costs = BTreeMap<(Data, Way, Tool), Cost>;

/// By how much the product should beat rsync on small files and where packets are lost.
const OVER_RSYNC: f64 = 3.0;

/// A time that is known, or known to be longer than this.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Time {
    seconds: f64,
    is_longer: bool,
}

impl From<&Cost> for Time {
    fn from(cost: &Cost) -> Self {
        Self { seconds: cost.near.seconds, is_longer: cost.near.is_given_up() }
    }
}

/// How many times as long as the product the others took at best.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ratio {
    Is(f64),
    AtLeast(f64),
    AtMost(f64),
    Unknown,
}

impl Ratio {
    fn of(own: Option<Time>, others: impl Iterator<Item = Time>) -> Self {
        // Of two equal times the one that is known counts.
        let order =
            |one: &Time, two: &Time| one.seconds.total_cmp(&two.seconds).then(one.is_longer.cmp(&two.is_longer));
        let (Some(own), Some(best)) = (own, others.min_by(order)) else { return Self::Unknown };
        let ratio = best.seconds / own.seconds;
        match (own.is_longer, best.is_longer) {
            (false, false) => Self::Is(ratio),
            (false, true) => Self::AtLeast(ratio),
            (true, false) => Self::AtMost(ratio),
            (true, true) => Self::Unknown,
        }
    }

    fn text(self) -> String {
        match self {
            Self::Is(ratio) => format!("{ratio:.2}"),
            Self::AtLeast(ratio) => format!("> {ratio:.2}"),
            Self::AtMost(ratio) => format!("< {ratio:.2}"),
            Self::Unknown => "unknown".to_owned(),
        }
    }

    /// Whether it reaches this, if that is known.
    fn reaches(self, goal: f64) -> Option<bool> {
        match self {
            Self::Is(ratio) => Some(ratio >= goal),
            Self::AtLeast(ratio) => (ratio >= goal).then_some(true),
            Self::AtMost(ratio) => (ratio < goal).then_some(false),
            Self::Unknown => None,
        }
    }
}

/// Prints what was measured over one line.
pub fn print(line: Line, kinds: &[Data], tools: &[Tool], wanted: &Moves, costs: &Costs) {
    println!("### {}\n", line.title());
    println!("Seconds by the clock; in brackets processor seconds of both sides. Memory is the most that gleaner had.");
    if line.loses() {
        println!("Tools that wait for lost packets ran beside each other, each on a line of its own.");
    }
    let titles: Vec<&str> = tools.iter().map(|tool| tool.title()).collect();
    println!(
        "\n| what | way | {} | best other / gleaner | best rsync / gleaner | goal | client, hub |",
        titles.join(" | ")
    );
    println!("|---|---|{}---|---|---|---|", "---|".repeat(titles.len()));
    for data in kinds {
        for way in Way::BOTH {
            let cost = |tool: Tool| costs.get(&(*data, way, tool));
            let cells: Vec<String> = tools.iter().map(|tool| cell(cost(*tool))).collect();
            let title = data.title(wanted.common.sizes());
            println!("| {title} | {} | {} | {} |", way.title(), cells.join(" | "), verdict(line, *data, tools, &cost));
        }
    }
    println!();
}

fn cell(cost: Option<&Cost>) -> String {
    match cost {
        None => "none".to_owned(),
        Some(cost) if cost.near.is_given_up() => format!("> {:.0} s", cost.near.seconds.floor()),
        Some(cost) => format!("{:.2} ({:.1})", cost.near.seconds, cost.processor()),
    }
}

/// The cells behind those of the tools.
fn verdict<'a>(line: Line, data: Data, tools: &[Tool], cost: &impl Fn(Tool) -> Option<&'a Cost>) -> String {
    let own = cost(Tool::Gleaner);
    let ratio = |among: &dyn Fn(Tool) -> bool| {
        let others = tools.iter().copied().filter(|tool| *tool != Tool::Gleaner && among(*tool));
        Ratio::of(own.map(Time::from), others.filter_map(cost).map(Time::from))
    };
    let (best, rsync) = (ratio(&|_| true), ratio(&Tool::is_rsync));
    let must_beat_rsync = line.loses() || data.is_folder();
    let goal = if must_beat_rsync { format!("≥ 1, ≥ {OVER_RSYNC:.0}") } else { "≥ 1".to_owned() };
    let mut reached = vec![best.reaches(1.0)];
    reached.extend(must_beat_rsync.then(|| rsync.reaches(OVER_RSYNC)));
    let missed = if reached.contains(&Some(false)) { ", missed" } else { "" };
    let memory = own.map_or_else(String::new, |own| format!("{}, {} MiB", own.near.peak >> 20, own.far_peak >> 20));
    format!("{} | {} | {goal}{missed} | {memory}", best.text(), rsync.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(seconds: f64) -> Time {
        Time { seconds, is_longer: false }
    }

    fn longer(seconds: f64) -> Time {
        Time { seconds, is_longer: true }
    }

    #[test]
    fn the_fastest_other_counts() {
        let ratio = Ratio::of(Some(known(2.0)), [known(8.0), known(3.0), longer(60.0)].into_iter());
        assert_eq!(ratio, Ratio::Is(1.5));
        assert_eq!((ratio.reaches(1.5), ratio.reaches(1.6)), (Some(true), Some(false)));
    }

    #[test]
    fn who_was_given_up_is_slower_by_at_least_that() {
        let faster = Ratio::of(Some(known(20.0)), [longer(60.0)].into_iter());
        assert_eq!((faster.text().as_str(), faster.reaches(3.0), faster.reaches(4.0)), ("> 3.00", Some(true), None));
        let slower = Ratio::of(Some(longer(60.0)), [known(30.0)].into_iter());
        assert_eq!((slower, slower.reaches(1.0)), (Ratio::AtMost(0.5), Some(false)));
    }

    #[test]
    fn where_both_were_given_up_nothing_is_known() {
        let ratio = Ratio::of(Some(longer(60.0)), [longer(60.0)].into_iter());
        assert_eq!(ratio, Ratio::Unknown);
        assert_eq!(ratio.reaches(0.0), None);
        assert_eq!(Ratio::of(None, [known(1.0)].into_iter()), Ratio::Unknown);
    }
}
