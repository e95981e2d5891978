//! What does not fit in a receipt.
use std::fmt;

/// One thing that does not fit, with both values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A value is another one than what the rest makes it.
    #[error("{what} is {says}, but {reason} makes it {reckoned}")]
    Differs {
        /// Which value.
        what: String,
        /// What the receipt says.
        says: String,
        /// What follows from the rest.
        reckoned: String,
        /// From what.
        reason: String,
    },
    /// A value is one that it cannot be.
    #[error("{what} is {says}; it must be {rule}")]
    Impossible {
        /// Which value.
        what: String,
        /// What the receipt says.
        says: String,
        /// What it could be.
        rule: String,
    },
    /// A signature is not by the one that it should be by.
    #[error("{what} bears the signature {signature}, which {signer} did not make over it")]
    Signature {
        /// What should be signed.
        what: String,
        /// The beginning of the signature.
        signature: String,
        /// By whom it should be.
        signer: String,
    },
    /// A leaf is not in its tree.
    #[error("{what} ({leaf}) is not at place {place} of {count} under the root {root}")]
    Path {
        /// What should be in the tree.
        what: String,
        /// Its leaf.
        leaf: String,
        /// Where it should be.
        place: u32,
        /// How many leaves the tree should have.
        count: u32,
        /// The root.
        root: String,
    },
    /// A fault of one of several receipts.
    #[error("receipt {number}: {fault}")]
    Of {
        /// Which receipt of the job.
        number: u64,
        /// What does not fit in it.
        fault: Box<Fault>,
    },
}

/// Gathers faults, so that all of them are told and not the first one only.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    found: Vec<Fault>,
}

impl Faults {
    /// Two values that must be the same.
    pub(crate) fn same<T: PartialEq + fmt::Display>(
        &mut self,
        what: &str,
        says: &T,
        reckoned: &T,
        reason: impl FnOnce() -> String,
    ) {
        if says != reckoned {
            self.differs(what, says, reckoned, reason());
        }
    }

    /// Two values that are not the same.
    pub(crate) fn differs(
        &mut self,
        what: impl Into<String>,
        says: impl fmt::Display,
        reckoned: impl fmt::Display,
        reason: impl Into<String>,
    ) {
        let (says, reckoned) = (says.to_string(), reckoned.to_string());
        self.found.push(Fault::Differs { what: what.into(), says, reckoned, reason: reason.into() });
    }

    /// A value that cannot be.
    pub(crate) fn impossible(&mut self, what: impl Into<String>, says: impl fmt::Display, rule: impl Into<String>) {
        self.found.push(Fault::Impossible { what: what.into(), says: says.to_string(), rule: rule.into() });
    }

    /// Any fault.
    pub(crate) fn push(&mut self, fault: Fault) {
        self.found.push(fault);
    }

    /// The faults that were found.
    pub(crate) fn into_found(self) -> Vec<Fault> {
        self.found
    }
}

/// An amount with its unit.
pub(crate) fn money(amount: gleaner_wire::Amount) -> String {
    format!("{amount} GLN")
}

/// Something that may be missing.
pub(crate) fn or_nothing<T: fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |value| value.to_string())
}
