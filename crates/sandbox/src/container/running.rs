//! The containers that run now, for whoever has to tell the worker's own processes from others'.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The containers of one engine that run now. Clones know the same.
#[derive(Debug, Clone, Default)]
pub struct RunningContainers(Arc<Mutex<BTreeSet<String>>>);

impl RunningContainers {
    /// Whether the control groups of a process, as `/proc/PID/cgroup` lists them, are those of one of these containers.
    /// Engines differ in where they put a container, and all of them name it there: `/docker/ID`, `docker-ID.scope`,
    /// `libpod-ID.scope`.
    #[must_use]
    pub fn hold(&self, groups: &str) -> bool {
        self.ids().iter().any(|id| groups.contains(id.as_str()))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids().is_empty()
    }

    fn ids(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes one before it starts; it is forgotten when what is returned is dropped.
    pub(super) fn note(&self, id: &str) -> Noted {
        self.ids().insert(id.to_owned());
        Noted { id: id.to_owned(), all: self.clone() }
    }
}

/// One that is there.
#[derive(Debug)]
pub(super) struct Noted {
    id: String,
    all: RunningContainers,
}

impl Drop for Noted {
    fn drop(&mut self) {
        self.all.ids().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4c01db0b339c4c01db0b339c4c01db0b339c4c01db0b339c4c01db0b339c4c01";

    #[test]
    fn process_of_a_container_is_known_wherever_its_engine_puts_it() {
        let containers = RunningContainers::default();
        let noted = containers.note(ID);
        for groups in [
            format!("12:devices:/docker/{ID}\n0::/docker/{ID}\n"),
            format!("0::/system.slice/docker-{ID}.scope\n"),
            format!("0::/machine.slice/libpod-{ID}.scope/container\n"),
            format!("0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope/container\n"),
            format!("0::/user.slice/user-1000.slice/user@1000.service/app.slice/docker-{ID}.scope\n"),
        ] {
            assert!(containers.hold(&groups), "{groups}");
        }
        let other = ID.replace("4c", "5d");
        for groups in ["0::/\n".to_owned(), "0::/user.slice/app.scope\n".to_owned(), format!("0::/docker/{other}\n")] {
            assert!(!containers.hold(&groups), "{groups}");
        }
        drop(noted);
        assert!(containers.is_empty() && !containers.hold(&format!("0::/docker/{ID}\n")), "it has ended");
    }
}
