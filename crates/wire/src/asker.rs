//! In whose name a request is made that a room beside the hub answers. Who that is has been checked before.
use alloc::string::String;

use crate::Amount;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// The account: what names it for ever, and says nothing else.
    pub account: String,
    /// What people call it.
    pub name: String,
    /// What it may spend in this way, if that is limited.
    pub limit: Option<SpendLimit>,
}

/// What may be spent with one token, in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpendLimit {
    /// The token: what names it for ever, and does not open anything.
    pub token: String,
    /// The most.
    pub max: Amount,
}
