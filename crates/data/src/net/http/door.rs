//! Who is let in: the hub decides, by whatever it knows its callers by.
use super::{GRANT, grant_of};
use crate::net::serve::now;
use crate::net::{Authority, Right};
use axum::http::HeaderMap;
use gleaner_wire::{Hash, WorkerKey};
use std::fmt;
use std::sync::Arc;

/// Decides who is let in. It is asked with every request and must not wait for anything.
pub trait Door: Send + Sync + 'static {
    /// Whether whoever sends these headers may do this.
    fn admits(&self, headers: &HeaderMap, right: Right) -> Result<Admitted, Refusal>;

    /// Whether somebody who was let in may have this dataset, and be told who else fetches it.
    fn shares(&self, admitted: &Admitted, root: &Hash) -> Result<(), Refusal> {
        let _ = (admitted, root);
        Ok(())
    }
}

/// Somebody who was let in.
#[derive(Clone, Default)]
pub struct Admitted {
    /// Its key, if the door knows it: then it speaks for no other machine.
    pub key: Option<WorkerKey>,
    /// How much it may store; none: as much as there is room.
    pub allowance: Option<Arc<dyn Allowance>>,
}

impl fmt::Debug for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admitted").field("key", &self.key).field("limited", &self.allowance.is_some()).finish()
    }
}

/// How much somebody may store. Requests of the same caller share one.
pub trait Allowance: Send + Sync {
    /// Takes bytes that are about to be stored; not, if that is more than is left.
    fn take(&self, bytes: u64) -> bool;

    /// Gives back what was not stored after all.
    fn give_back(&self, bytes: u64);
}

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nobody that is known.
    #[error("the hub does not know who asks: show a token or a grant of this hub")]
    Unknown,
    /// Known, and not allowed to do this.
    #[error("this is not allowed with what was shown: ask the hub for a grant or a token that allows it")]
    Forbidden,
    /// Has stored as much as it may.
    #[error("the limit of what you may store on this hub is reached: remove datasets there, or ask for a higher limit")]
    NoRoom,
}

/// Lets in whoever shows a grant of this authority.
impl Door for Authority {
    fn admits(&self, headers: &HeaderMap, right: Right) -> Result<Admitted, Refusal> {
        let grant = headers.get(GRANT).and_then(|value| grant_of(value.to_str().ok()?)).ok_or(Refusal::Unknown)?;
        let checked = self.check(&grant, &grant.grant.peer, right, now());
        checked.map_err(|_| Refusal::Forbidden)?;
        Ok(Admitted { key: Some(grant.grant.peer), allowance: None })
    }
}
