//! Aligned columns for people; programs use `--json`.
use console::style;

use crate::words::plain;

/// How a column is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Rows under headings.
pub struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(columns: impl IntoIterator<Item = (&'static str, Align)>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row. Control characters of names from outside are taken out here.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let row: Vec<String> = cells.into_iter().map(|cell| plain(&cell)).collect();
        assert_eq!(row.len(), self.columns.len(), "a row has a cell for each column");
        self.rows.push(row);
    }

    /// The lines, without a newline at the end.
    pub fn render(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.chain([self.columns[column].0.chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |cells: &[&str]| {
            let padded = cells.iter().zip(&self.columns).zip(&widths).map(|((cell, (_, align)), width)| match align {
                Align::Left => format!("{cell:<width$}"),
                Align::Right => format!("{cell:>width$}"),
            });
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let heading = line(&self.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        let mut lines = vec![style(heading).dim().to_string()];
        lines.extend(self.rows.iter().map(|row| line(&row.iter().map(String::as_str).collect::<Vec<_>>())));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new([("NAME", Align::Left), ("DONE", Align::Right)]);
        table.row(["ada".to_owned(), "12".to_owned()]);
        table.row(["grace\x1b[31m".to_owned(), "123456".to_owned()]);
        let text = console::strip_ansi_codes(&table.render()).into_owned();
        assert_eq!(text, "NAME          DONE\nada             12\ngrace?[31m  123456");
    }
}
