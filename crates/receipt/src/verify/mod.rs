//! Checking a receipt: everything that follows from something else is reckoned again, and every signature is checked.
//!
//! A file for each part of a receipt. All of them look, even if one has found something.
mod audit;
mod commitment;
mod draw;
mod money;
mod order;
mod owners;
mod verdict;

pub(crate) use draw::read_beacon;

use gleaner_wire::WorkerKey;
use gleaner_wire::receipt::{TaskReceipt, VERSION, receipt_message};

use crate::fault::{Fault, Faults, or_nothing};
use crate::sign::Signatures;

/// What a receipt that holds has shown, and what it has not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// How many signatures hold.
    pub signatures: usize,
    /// What the hub alone knows, in words: for this it has to be believed.
    pub believed: Vec<String>,
}

/// Checks receipts one after the other, and each signature that stands in several of them once.
#[derive(Clone, Debug, Default)]
pub struct Verifier {
    signatures: Signatures,
    hub: Option<WorkerKey>,
}

/// Checks one receipt. It is signed by the key that it names; whose key that is, the reader has to know.
pub fn verify(receipt: &TaskReceipt) -> Result<Checked, Vec<Fault>> {
    Verifier::default().verify(receipt)
}

/// What the parts of a check share.
struct Check<'a> {
    signatures: &'a mut Signatures,
    faults: Faults,
    checked: Checked,
}

impl Verifier {
    /// The same, for receipts of the hub with this key only.
    #[must_use]
    pub fn of_hub(self, hub: WorkerKey) -> Self {
        Self { hub: Some(hub), ..self }
    }

    /// Checks one receipt.
    pub fn verify(&mut self, receipt: &TaskReceipt) -> Result<Checked, Vec<Fault>> {
        let facts = &receipt.facts;
        let mut check =
            Check { signatures: &mut self.signatures, faults: Faults::default(), checked: Checked::default() };
        if facts.version != VERSION {
            // Another version reckons by other rules, so that nothing else could be said about it.
            check.faults.impossible("the version", facts.version, format!("{VERSION} for this program"));
            return Err(check.faults.into_found());
        }
        if let Some(hub) = self.hub {
            check.faults.same("the hub's key", &facts.hub, &hub, || "the key that it must be signed by".to_owned());
        }
        check.seal(receipt);
        check.order(facts);
        check.owners(facts);
        check.claim(facts);
        check.draw(facts);
        check.audit(facts);
        check.verdict(facts);
        check.money(facts);
        let Check { faults, checked, .. } = check;
        let found = faults.into_found();
        if found.is_empty() { Ok(checked) } else { Err(found) }
    }
}

impl Check<'_> {
    /// The hash, the hub's signature of it, and the place among the job's receipts.
    fn seal(&mut self, receipt: &TaskReceipt) {
        let TaskReceipt { facts, hash, signature } = receipt;
        self.faults.same("the receipt's hash", hash, &facts.hash(), || "what it says".to_owned());
        if self.signatures.is_by(&facts.hub, &receipt_message(hash), signature) {
            self.checked.signatures += 1;
        } else {
            self.signature("the receipt", &signature.to_string(), format!("the hub's key {}", facts.hub));
        }
        if (facts.number == 0) != facts.previous.is_none() {
            let rule = if facts.number == 0 { "nothing before receipt 0" } else { "a hash after receipt 0" };
            let says = format!("{} for receipt {}", or_nothing(facts.previous), facts.number);
            self.faults.impossible("the hash of the receipt before", says, rule);
        }
    }

    fn signature(&mut self, what: impl Into<String>, signature: &str, signer: String) {
        let short = signature.chars().take(16).collect::<String>() + "…";
        self.faults.push(Fault::Signature { what: what.into(), signature: short, signer });
    }

    fn believe(&mut self, what: impl Into<String>) {
        self.checked.believed.push(what.into());
    }
}
