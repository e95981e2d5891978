//! Posted prices: every device has a standing price for a second, and the best one that fits takes the task at it.
use super::mode::Rules;

/// Tasks are given out at standing prices, which is what modes do where they say nothing else.
pub(crate) struct Posted;

impl Rules for Posted {}
