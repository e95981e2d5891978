//! Cuts a query into words, operators and values, and remembers where each stood.
use alloc::format;
use alloc::string::String;
use core::ops::Range;

use super::error::{QueryError, join};
use super::{Field, Operator};

/// Reads a query from left to right. Places are in bytes.
pub struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Takes characters while they satisfy a condition; where they stood.
    fn take(&mut self, wanted: impl Fn(char) -> bool) -> Range<usize> {
        let from = self.at;
        self.at += self.rest().find(|c| !wanted(c)).unwrap_or(self.rest().len());
        from..self.at
    }

    /// The next word of a field, or whatever stands in its place; none at the end.
    pub fn next_word(&mut self) -> Option<Range<usize>> {
        self.skip_space();
        let first = self.rest().chars().next()?;
        let word = self.take(|c| c.is_alphanumeric() || c == '_' || c == '-');
        if word.is_empty() {
            self.at += first.len_utf8();
        }
        Some(word.start..self.at)
    }

    /// The operator after a field.
    pub fn operator(&mut self, field: Field, word: Range<usize>) -> Result<(Operator, Range<usize>), QueryError> {
        self.skip_space();
        let from = self.at;
        let signs = self.take(|c| "=!<>~:".contains(c));
        let found = Operator::ALL.into_iter().find(|operator| self.text[signs.clone()] == *operator.sign());
        if let Some(operator) = found {
            return Ok((operator, signs));
        }
        if signs.is_empty() {
            let what = format!("`{}` is compared with nothing", field.word());
            let help = format!(
                "write one of {} after it, such as `{}`",
                join(Operator::ALL.map(Operator::sign)),
                field.example()
            );
            return Err(QueryError::new(self.text, word, what).help(help));
        }
        let what = format!("`{}` is no operator", &self.text[from..self.at]);
        Err(QueryError::new(self.text, signs, what)
            .help(format!("use one of {}", join(Operator::ALL.map(Operator::sign)))))
    }

    /// The value after an operator.
    pub fn value(&mut self, field: Field, operator: Range<usize>) -> Result<(String, Range<usize>), QueryError> {
        self.skip_space();
        if self.rest().starts_with('"') {
            return self.quoted();
        }
        let place = self.take(|c| !c.is_whitespace() && c != '"');
        if place.is_empty() {
            let what = format!("`{}` is compared with nothing", field.word());
            return Err(QueryError::new(self.text, operator, what).help(format!("such as `{}`", field.example())));
        }
        Ok((self.text[place.clone()].into(), place))
    }

    /// A value in quotes; `\"` and `\\` stand for themselves.
    fn quoted(&mut self) -> Result<(String, Range<usize>), QueryError> {
        let from = self.at;
        let mut value = String::new();
        let mut escaped = false;
        for (offset, c) in self.rest().char_indices().skip(1) {
            match (escaped, c) {
                (false, '\\') => escaped = true,
                (false, '"') => {
                    self.at = from + offset + 1;
                    return Ok((value, from..self.at));
                }
                (_, c) => {
                    value.push(c);
                    escaped = false;
                }
            }
        }
        let what = "the quotes are not closed";
        Err(QueryError::new(self.text, from..self.text.len(), what).help("end the value with \""))
    }
}
