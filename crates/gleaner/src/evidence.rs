//! What an auditor makes of the document with which somebody is accused.
use gleaner_chain::primitives::{self, B256};
use gleaner_wire::{Address, Hash};

/// What a document must show.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    /// The order's id on the chain.
    pub order: B256,
    /// The provider that is accused.
    pub provider: primitives::Address,
    /// The document; its hash is the one on the chain.
    pub document: &'a [u8],
}

/// Whether the document shows that this provider delivered something wrong for this order. Who cannot tell does not
/// vote.
pub fn verify(charge: &Charge<'_>) -> Result<bool, String> {
    let (order, provider) = (Hash(charge.order.0), Address(charge.provider.into_array()));
    gleaner_receipt::guilty_by_document(&order, &provider, charge.document)
}
