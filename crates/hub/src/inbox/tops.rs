//! What in the inbox has changed, is being written, or was sealed. Nothing here outlives the hub: one that starts looks
//! at the folders.
use gleaner_uploads::Top;
use gleaner_wire::DataRef;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long something has to be left alone before it is sealed.
pub(super) const CALM: Duration = Duration::from_secs(3);
/// The most tops that are remembered.
const TOPS_MAX: usize = 10_000;

/// How far a top is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It has changed.
    Waiting,
    /// It is being sealed.
    Sealing,
    /// It is a dataset.
    Ready(DataRef),
    /// It did not become one, and why.
    Failed(String),
}

struct State {
    writers: usize,
    due: Option<Instant>,
    stage: Stage,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Tops {
    states: Mutex<BTreeMap<Top, State>>,
    files: Mutex<BTreeSet<String>>,
    bell: Notify,
}

/// One file is written: its top waits, and nobody else writes the same.
pub(crate) struct Writing {
    tops: Arc<Tops>,
    top: Top,
    file: String,
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.tops.files.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.file);
        self.tops.update(&self.top, |state| {
            state.writers -= 1;
            state.due = Some(Instant::now() + CALM);
        });
    }
}

impl Tops {
    fn states(&self) -> MutexGuard<'_, BTreeMap<Top, State>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False if too many others wait.
    fn update(&self, top: &Top, update: impl FnOnce(&mut State)) -> bool {
        let mut states = self.states();
        if states.len() >= TOPS_MAX && !states.contains_key(top) {
            states.retain(|_, state| state.writers > 0 || state.due.is_some() || state.stage == Stage::Sealing);
            if states.len() >= TOPS_MAX {
                return false;
            }
        }
        let state = states.entry(top.clone()).or_insert(State { writers: 0, due: None, stage: Stage::Waiting });
        update(state);
        drop(states);
        self.bell.notify_one();
        true
    }

    /// A top has changed and is quiet already. False if too many others wait.
    pub(crate) fn settled(&self, top: &Top) -> bool {
        self.update(top, |state| {
            state.due = Some(Instant::now());
            state.stage = Stage::Waiting;
        })
    }

    /// A file of a top is about to be written; none if somebody does that already, or too much is going on.
    pub(crate) fn write(self: &Arc<Self>, top: &Top, file: String) -> Option<Writing> {
        if !self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(file.clone()) {
            return None;
        }
        let is_noted = self.update(top, |state| {
            state.writers += 1;
            state.stage = Stage::Waiting;
        });
        if !is_noted {
            self.files.lock().unwrap_or_else(PoisonError::into_inner).remove(&file);
            return None;
        }
        Some(Writing { tops: Arc::clone(self), top: top.clone(), file })
    }

    /// How far a top is, if anything has happened to it.
    pub(super) fn stage(&self, top: &Top) -> Option<Stage> {
        self.states().get(top).map(|state| state.stage.clone())
    }

    /// Waits for a top that has been quiet for long enough. Meant for one caller.
    pub(super) async fn next(&self) -> Top {
        loop {
            let rung = self.bell.notified();
            match self.take() {
                Ok(top) => return top,
                Err(Some(at)) => drop(tokio::time::timeout_at(at, rung).await),
                Err(None) => rung.await,
            }
        }
    }

    fn take(&self) -> Result<Top, Option<Instant>> {
        let mut states = self.states();
        let quiet = states.iter_mut().filter(|(_, state)| state.writers == 0);
        let first = quiet.filter_map(|(top, state)| Some((state.due?, top, state))).min_by_key(|(due, ..)| *due);
        match first {
            None => Err(None),
            Some((due, ..)) if due > Instant::now() => Err(Some(due)),
            Some((_, top, state)) => {
                (state.due, state.stage) = (None, Stage::Sealing);
                Ok(top.clone())
            }
        }
    }

    /// A top is not sealed now after all, and waits until it is noted again.
    pub(super) fn put_off(&self, top: &Top) {
        if let Some(state) = self.states().get_mut(top).filter(|state| state.stage == Stage::Sealing) {
            state.stage = Stage::Waiting;
        }
    }

    /// What became of a top. Changed meanwhile, it goes on waiting.
    pub(super) fn done(&self, top: &Top, stage: Option<Stage>) {
        let mut states = self.states();
        match (states.get_mut(top), stage) {
            (Some(state), Some(stage)) if state.stage == Stage::Sealing => state.stage = stage,
            (Some(state), None) if state.stage == Stage::Sealing && state.writers == 0 => {
                states.remove(top);
            }
            (Some(_) | None, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_uploads::User;

    fn top(name: &str) -> Top {
        Top::new(User::parse("ada").expect("a name"), name.as_bytes()).expect("a top")
    }

    #[test]
    fn nothing_is_sealed_while_it_is_written() {
        let tops = Arc::new(Tops::default());
        let writing = tops.write(&top("scene"), "a".into()).expect("nobody else writes");
        assert!(tops.write(&top("scene"), "a".into()).is_none(), "one at a time");
        assert_eq!(tops.take(), Err(None));
        drop(writing);
        assert!(matches!(tops.take(), Err(Some(_))), "it is not calm yet");
        assert!(tops.settled(&top("scene")));
        assert_eq!(tops.take(), Ok(top("scene")));
        assert_eq!(tops.stage(&top("scene")), Some(Stage::Sealing));
    }

    #[test]
    fn what_changes_while_it_is_sealed_is_sealed_again() {
        let tops = Arc::new(Tops::default());
        tops.settled(&top("scene"));
        assert_eq!(tops.take(), Ok(top("scene")));
        tops.settled(&top("scene"));
        tops.done(&top("scene"), Some(Stage::Failed("no room".into())));
        assert_eq!(tops.stage(&top("scene")), Some(Stage::Waiting));
        assert_eq!(tops.take(), Ok(top("scene")));
    }
}
