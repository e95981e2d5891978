//! The order of a list of workers: `price`, `-score`, `memory`, `id`.
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

/// What a list is ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// The price of the worker's cheapest device that matches.
    #[default]
    Price,
    /// The best score of its devices that match.
    Score,
    /// The most memory of its devices that match.
    Memory,
    /// The worker's number, which is the order of first joining.
    Id,
}

impl SortBy {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Price, Self::Score, Self::Memory, Self::Id];

    const fn word(self) -> &'static str {
        match self {
            Self::Price => "price",
            Self::Score => "score",
            Self::Memory => "memory",
            Self::Id => "id",
        }
    }
}

/// The order of a list of workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sort {
    /// By what.
    pub by: SortBy,
    /// Whether the largest comes first; written with a minus.
    pub falling: bool,
}

/// A text that names no order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no order: write price, score, memory or id, with a minus before it for the largest first")]
pub struct SortError(String);

impl FromStr for Sort {
    type Err = SortError;

    fn from_str(text: &str) -> Result<Self, SortError> {
        let (word, falling) = text.strip_prefix('-').map_or((text, false), |word| (word, true));
        let by = SortBy::ALL.into_iter().find(|by| by.word() == word);
        by.map(|by| Self { by, falling }).ok_or_else(|| SortError(text.into()))
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.falling { "-" } else { "" }, self.by.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn an_order_reads_back_what_it_prints() {
        for by in SortBy::ALL {
            for falling in [false, true] {
                let sort = Sort { by, falling };
                assert_eq!(sort.to_string().parse(), Ok(sort));
            }
        }
        for text in ["", "-", "--price", "cost", "price "] {
            assert!(text.parse::<Sort>().is_err(), "{text}");
        }
    }
}
