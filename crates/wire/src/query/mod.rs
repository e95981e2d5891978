//! What people ask of a list of workers: `memory>=24GiB device=nvidia region=eu price<0.4 score>=80`.
//!
//! Terms are a field, an operator and a value, and all of them must hold. A text that is none is refused with the place of
//! the mistake; no text makes this panic.
mod error;
mod scan;
mod sort;
mod value;

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

pub use error::QueryError;
pub use sort::{Sort, SortBy, SortError};

use crate::api::WorkerView;
use crate::{Address, Amount, ByteSize, DeviceKind, Runtime, State};
use scan::Scanner;

/// The longest query, in bytes.
pub const QUERY_BYTES_MAX: usize = 1024;
/// The most terms of one query.
pub const TERMS_MAX: usize = 32;

/// How a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `=`
    Is,
    /// `!=`
    IsNot,
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

impl Operator {
    /// Every operator.
    pub const ALL: [Self; 6] = [Self::Is, Self::IsNot, Self::Below, Self::AtMost, Self::Above, Self::AtLeast];

    /// As it is written.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Is => "=",
            Self::IsNot => "!=",
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::AtLeast => ">=",
        }
    }

    /// Whether it holds between what is there and what was asked for.
    pub fn holds<T: Ord>(self, found: &T, asked: &T) -> bool {
        let order = found.cmp(asked);
        match self {
            Self::Is => order == Ordering::Equal,
            Self::IsNot => order != Ordering::Equal,
            Self::Below => order == Ordering::Less,
            Self::AtMost => order != Ordering::Greater,
            Self::Above => order == Ordering::Greater,
            Self::AtLeast => order != Ordering::Less,
        }
    }
}

/// What a term is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Memory of a device.
    Memory,
    /// Its kind.
    Device,
    /// The worker's region.
    Region,
    /// What a device asks for an hour of one slot, in GLN.
    Price,
    /// The score of a runtime.
    Score,
    /// A runtime.
    Runtime,
    /// The worker's state.
    State,
    /// The worker's name.
    Name,
    /// Who is paid for the worker.
    Owner,
    /// Whether the platform owns the worker.
    Managed,
    /// Tasks that a device runs at a time.
    Slots,
}

impl Field {
    /// Every field.
    pub const ALL: [Self; 11] = [
        Self::Memory,
        Self::Device,
        Self::Region,
        Self::Price,
        Self::Score,
        Self::Runtime,
        Self::State,
        Self::Name,
        Self::Owner,
        Self::Managed,
        Self::Slots,
    ];

    /// As it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Device => "device",
            Self::Region => "region",
            Self::Price => "price",
            Self::Score => "score",
            Self::Runtime => "runtime",
            Self::State => "state",
            Self::Name => "name",
            Self::Owner => "owner",
            Self::Managed => "managed",
            Self::Slots => "slots",
        }
    }

    /// Whether its values have an order.
    const fn is_ordered(self) -> bool {
        matches!(self, Self::Memory | Self::Price | Self::Score | Self::Slots)
    }
}

/// A set of kinds of devices, such as `gpu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    /// Those that a condition holds for.
    pub fn that(holds: impl Fn(DeviceKind) -> bool) -> Self {
        let kinds = DeviceKind::ALL.into_iter().filter(|kind| holds(*kind));
        Self(kinds.fold(0, |set, kind| set | 1 << kind as u8))
    }

    /// Whether a kind is among them.
    pub fn has(self, kind: DeviceKind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }
}

/// What a field is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Memory.
    Memory(ByteSize),
    /// Kinds of device.
    Device(Kinds),
    /// A region.
    Region(String),
    /// GLN for an hour.
    Price(Amount),
    /// A score.
    Score(u32),
    /// A runtime.
    Runtime(Runtime),
    /// A state.
    State(State),
    /// A name.
    Name(String),
    /// An owner.
    Owner(Address),
    /// Whether it is managed.
    Managed(bool),
    /// Slots.
    Slots(u32),
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// How.
    pub operator: Operator,
    /// With what, which says about what it is.
    pub value: Value,
}

impl Term {
    /// A condition on a field whose value came by itself, outside of a query.
    pub fn read(field: Field, operator: Operator, value: &str) -> Result<Self, QueryError> {
        let value = value::parse(field, value).map_err(|wrong| wrong.at("", 0..0))?;
        Ok(Self { operator, value })
    }
}

/// Conditions that must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The conditions, in the order in which they were written.
    pub terms: Vec<Term>,
}

impl FromStr for Query {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        if text.len() > QUERY_BYTES_MAX {
            let what = alloc::format!("the query is longer than {QUERY_BYTES_MAX} bytes");
            return Err(QueryError::new("", 0..0, what));
        }
        let mut scanner = Scanner::new(text);
        let mut terms = Vec::new();
        while let Some(word) = scanner.next_word() {
            if terms.len() >= TERMS_MAX {
                let what = alloc::format!("a query has at most {TERMS_MAX} terms");
                return Err(QueryError::new(text, word, what));
            }
            terms.push(term(text, &mut scanner, word)?);
        }
        Ok(Self { terms })
    }
}

fn term(text: &str, scanner: &mut Scanner<'_>, word: core::ops::Range<usize>) -> Result<Term, QueryError> {
    let field = error::field(text, word.clone())?;
    let (operator, at) = scanner.operator(field, word)?;
    if !field.is_ordered() && !matches!(operator, Operator::Is | Operator::IsNot) {
        let what = alloc::format!("`{}` has no order", field.word());
        return Err(QueryError::new(text, at, what).help("compare it with = or !="));
    }
    let (value, place) = scanner.value(field, at)?;
    Ok(Term { operator, value: value::parse(field, &value).map_err(|wrong| wrong.at(text, place))? })
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, term) in self.terms.iter().enumerate() {
            let gap = if at > 0 { " " } else { "" };
            let value = value::write(&term.value);
            write!(f, "{gap}{}{}{value}", value::field(&term.value).word(), term.operator.sign())?;
        }
        Ok(())
    }
}

impl Serialize for Query {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}

/// A page of workers that match a query, cheapest first unless asked otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkersPage {
    /// The workers.
    pub items: Vec<WorkerView>,
    /// Where the next page starts, if there may be more.
    pub next: Option<String>,
    /// How many match: exactly, or at most.
    pub matches: u64,
    /// Whether that is the exact number.
    pub exact: bool,
}

#[cfg(test)]
mod tests;
