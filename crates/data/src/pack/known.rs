//! The walk and the index, side by side: both are in the same order, so each is read once.
use std::collections::VecDeque;

use super::Error;
use super::shop::Shop;
use crate::index::{Dataset, Known, Stamp};

const PAGE: usize = 1000;

/// Where the index stands beside a walk.
pub(super) struct KnownFiles {
    dataset: Dataset,
    page: VecDeque<Known>,
}

impl KnownFiles {
    pub(super) fn new(shop: &Shop<'_>, dataset: Dataset) -> Result<Self, Error> {
        let page = shop.index().known_after(dataset, &[], PAGE)?.into();
        Ok(Self { dataset, page })
    }

    /// How a file was when it was pushed, if it was. Files before it that the walk did not meet are gone.
    pub(super) fn find(&mut self, shop: &Shop<'_>, path: &[u8]) -> Result<Option<Stamp>, Error> {
        while let Some(next) = self.page.front() {
            if next.path.as_slice() > path {
                return Ok(None);
            }
            let known = self.next(shop)?.expect("it was just there");
            if known.path == path {
                return Ok(Some(known.stamp));
            }
            shop.index().forget_file(self.dataset, &known.path)?;
        }
        Ok(None)
    }

    /// Forgets all that the walk did not meet.
    pub(super) fn finish(&mut self, shop: &Shop<'_>) -> Result<(), Error> {
        while let Some(known) = self.next(shop)? {
            shop.index().forget_file(self.dataset, &known.path)?;
        }
        Ok(())
    }

    /// The next page is read as soon as one is used up: then nothing that this very run remembers lies ahead of it.
    fn next(&mut self, shop: &Shop<'_>) -> Result<Option<Known>, Error> {
        let Some(known) = self.page.pop_front() else { return Ok(None) };
        if self.page.is_empty() {
            self.page = shop.index().known_after(self.dataset, &known.path, PAGE)?.into();
        }
        Ok(Some(known))
    }
}
