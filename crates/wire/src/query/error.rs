//! Mistakes in queries, with the place of each.
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::ops::Range;

use super::Field;

/// Spelling mistakes in a field's name that are forgiven with a proposal.
const MISTAKES_MAX: usize = 2;

/// Why a text is no query. Shown as a line, the query, and carets under the mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    query: String,
    /// Where, in characters.
    columns: Range<usize>,
    what: String,
    help: Option<String>,
}

impl QueryError {
    /// A mistake at a place in bytes.
    pub(super) fn new(query: &str, place: Range<usize>, what: impl Into<String>) -> Self {
        let column = |at: usize| query.char_indices().take_while(|(start, _)| *start < at).count();
        // Whatever would move the cursor is shown as a space, so that carets stand where they should.
        let shown = query.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let (what, help) = (what.into(), None);
        Self { query: shown, columns: column(place.start)..column(place.end), what, help }
    }

    #[must_use]
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Where the mistake is: columns in characters, from 0.
    pub fn columns(&self) -> Range<usize> {
        self.columns.clone()
    }

    /// What is wrong, in one line.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to do about it.
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        if !self.query.is_empty() {
            let carets = "^".repeat(self.columns.len().max(1));
            write!(f, "\n  | {}\n  | {}{carets}", self.query, " ".repeat(self.columns.start))?;
        }
        match &self.help {
            Some(help) => write!(f, " {help}"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for QueryError {}

/// A value that does not fit its field.
pub struct Wrong {
    pub what: String,
    pub help: String,
}

impl Wrong {
    pub fn at(self, text: &str, place: Range<usize>) -> QueryError {
        QueryError::new(text, place, self.what).help(self.help)
    }
}

/// The field that a word names.
pub(super) fn field(text: &str, place: Range<usize>) -> Result<Field, QueryError> {
    let word = &text[place.clone()];
    if let Some(field) = Field::ALL.into_iter().find(|field| field.word() == word) {
        return Ok(field);
    }
    let near = Field::ALL.into_iter().map(|field| (distance(word, field.word()), field));
    let near = near.min_by_key(|(distance, _)| *distance).filter(|(distance, _)| *distance <= MISTAKES_MAX);
    let help = match near {
        Some((_, field)) => format!("did you mean `{}`?", field.word()),
        None => format!("fields are {}", join(Field::ALL.map(Field::word))),
    };
    let shown: String = word.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let letters = word.chars().any(char::is_alphanumeric);
    let what = if letters { format!("there is no field `{shown}`") } else { format!("`{shown}` begins no term") };
    Err(QueryError::new(text, place, what).help(help))
}

pub(super) fn join<const N: usize>(words: [&str; N]) -> String {
    words.map(|word| word.to_string()).join(", ")
}

/// How many letters must be put in, taken out or changed to make one word of another.
fn distance(one: &str, other: &str) -> usize {
    let other: alloc::vec::Vec<char> = other.chars().collect();
    let mut row: alloc::vec::Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut diagonal = core::mem::replace(&mut row[0], at + 1);
        for (column, expected) in other.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *expected);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

impl Field {
    /// A term that makes sense.
    pub(super) const fn example(self) -> &'static str {
        match self {
            Self::Memory => "memory>=24GiB",
            Self::Device => "device=nvidia",
            Self::Region => "region=eu",
            Self::Price => "price<0.4",
            Self::Score => "score>=80",
            Self::Runtime => "runtime=container",
            Self::State => "state=available",
            Self::Name => "name=\"my worker\"",
            Self::Owner => "owner=0x… with 40 digits",
            Self::Managed => "managed=no",
            Self::Slots => "slots>=4",
        }
    }
}
