//! How the waiting tasks of a group are given out just now.
use gleaner_wire::AuctionId;
use serde::{Deserialize, Serialize};

/// How the waiting tasks of a group are given out just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Sale {
    /// By posted prices.
    Posted,
    /// By auction, and none is open.
    Closed,
    /// An auction is open: nothing of the group goes elsewhere meanwhile.
    Open(AuctionId),
    /// By auction, but nobody bid for so many of them: they go by posted prices.
    FellBack(u32),
}

impl Sale {
    /// Whether a task may be given to a seat by its posted price.
    pub fn is_posted(self) -> bool {
        match self {
            Self::Posted | Self::FellBack(_) => true,
            Self::Closed | Self::Open(_) => false,
        }
    }

    pub fn is_open(self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// One more task was given out by its posted price.
    pub fn gave_posted(&mut self) {
        if let Self::FellBack(left) = self {
            *left = left.saturating_sub(1);
            if *left == 0 {
                *self = Self::Closed;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_fell_back_is_auctioned_again_after_so_many_tasks() {
        let mut sale = Sale::FellBack(2);
        assert!(sale.is_posted());
        sale.gave_posted();
        sale.gave_posted();
        assert_eq!(sale, Sale::Closed);
        sale.gave_posted();
        assert_eq!(sale, Sale::Closed);
    }
}
