//! Whether the hub takes anything new, and if not, why and what to do.
use std::sync::RwLock;

/// The hub's own state, readable from every task.
#[derive(Default)]
pub(crate) struct Status {
    refusing: RwLock<Option<String>>,
}

impl Status {
    /// The reason why nothing new is taken, if so.
    pub(crate) fn refusing(&self) -> Option<String> {
        self.refusing.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Refuses from now on, with this reason.
    pub(crate) fn refuse(&self, reason: String) {
        *self.refusing.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(reason);
    }

    /// Takes new things again.
    pub(crate) fn accept(&self) {
        *self.refusing.write().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }
}
