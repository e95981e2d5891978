//! A measured figure beside the floor or the peer that was measured in the same run.
use serde::Serialize;

use crate::table::{Align, Table};

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// What was measured.
    pub name: String,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// What it is compared with.
    pub floor_name: &'static str,
    /// The value of that, in the same unit.
    pub floor: f64,
    /// The value divided by the floor.
    pub ratio: f64,
    /// What the project aims at, in words.
    pub goal: Option<&'static str>,
}

impl Figure {
    /// A figure and its floor.
    pub fn rate(name: impl Into<String>, value: f64, unit: &'static str, floor_name: &'static str, floor: f64) -> Self {
        Self { name: name.into(), value, unit, floor_name, floor, ratio: value / floor, goal: None }
    }

    /// The same with a goal.
    pub fn goal(mut self, goal: &'static str) -> Self {
        self.goal = Some(goal);
        self
    }
}

/// The figures as a table.
pub fn table(figures: &[Figure]) -> String {
    let columns = [
        ("FIGURE", Align::Left),
        ("VALUE", Align::Right),
        ("UNIT", Align::Left),
        ("FLOOR OR PEER IN THE SAME RUN", Align::Left),
        ("VALUE", Align::Right),
        ("RATIO", Align::Right),
        ("GOAL", Align::Left),
    ];
    let mut table = Table::new(columns);
    for figure in figures {
        table.row([
            figure.name.clone(),
            number(figure.value),
            figure.unit.to_owned(),
            figure.floor_name.to_owned(),
            number(figure.floor),
            number(figure.ratio),
            figure.goal.unwrap_or("").to_owned(),
        ]);
    }
    table.render()
}

/// A number with three significant digits, or in whole with separators where it is large.
fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 1000.0 {
        let whole = format!("{value:.0}");
        let digits: Vec<char> = whole.chars().rev().collect();
        let groups: Vec<String> = digits.chunks(3).map(|group| group.iter().collect()).collect();
        return groups.join(",").chars().rev().collect();
    }
    let decimals = if size >= 100.0 {
        0
    } else if size >= 10.0 {
        1
    } else if size >= 1.0 {
        2
    } else {
        3
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_readable() {
        let shown: Vec<_> = [1_234_567.0, 999.6, 64.25, 3.9, 0.0123].into_iter().map(number).collect();
        assert_eq!(shown, ["1,234,567", "1000", "64.2", "3.90", "0.012"]);
    }
}
