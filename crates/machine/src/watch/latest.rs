//! What a thread of its own reads again and again, so that whoever looks never waits for the reading.
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The last that was read, by a thread that ends after this is dropped.
pub(super) struct Latest<T>(Arc<Shared<T>>);

struct Shared<T> {
    read: Mutex<Option<(Instant, T)>>,
    changed: Condvar,
}

impl<T> Shared<T> {
    fn read(&self) -> MutexGuard<'_, Option<(Instant, T)>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone + Send + 'static> Latest<T> {
    /// Reads now and then, with a pause between.
    pub(super) fn start(name: &str, pause: Duration, mut read: impl FnMut() -> T + Send + 'static) -> Self {
        let shared = Arc::new(Shared { read: Mutex::new(None), changed: Condvar::new() });
        let told: Weak<Shared<T>> = Arc::downgrade(&shared);
        let reading = move || {
            while told.strong_count() > 0 {
                let value = read();
                let Some(shared) = told.upgrade() else { return };
                *shared.read() = Some((Instant::now(), value));
                shared.changed.notify_all();
                drop(shared);
                std::thread::sleep(pause);
            }
        };
        // Where no thread can be had, nothing is ever known, which is told like any other ignorance.
        let _ = std::thread::Builder::new().name(name.to_owned()).spawn(reading);
        Self(shared)
    }

    /// What was read last; `None` if that is older than `age_max`, or nothing was read yet.
    pub(super) fn get(&self, age_max: Duration) -> Option<T> {
        self.0.read().as_ref().filter(|(at, _)| at.elapsed() <= age_max).map(|(_, value)| value.clone())
    }

    /// Waits for the first reading, for a bounded time.
    pub(super) fn wait(&self, time_max: Duration) {
        let waited = self.0.changed.wait_timeout_while(self.0.read(), time_max, |read| read.is_none());
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn a_reading_that_never_ends_is_not_waited_for() {
        let (sender, values) = mpsc::channel();
        let latest = Latest::start("test", Duration::ZERO, move || values.recv().unwrap_or(0));
        assert_eq!(latest.get(LONG), None, "nothing was read yet, and nobody waits");
        sender.send(7).expect("it reads");
        latest.wait(LONG);
        assert_eq!(latest.get(LONG), Some(7), "what was read last, while the next reading hangs");
    }

    #[test]
    fn what_is_old_is_not_known() {
        let (sender, values) = mpsc::channel();
        let latest = Latest::start("test", Duration::ZERO, move || values.recv().unwrap_or(0));
        sender.send(7).expect("it reads");
        latest.wait(LONG);
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(latest.get(Duration::from_millis(1)), None);
    }
}
