#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
use super::*;

const HOUR: u64 = 3_600_000;

fn part(job: u64, worker: u32, tasks: u64) -> Part {
    let (gross, net) = (Amount(tasks * 100), Amount(tasks * 85));
    Part { job: JobId(job), worker: WorkerId(worker), tasks, ran: Micros(tasks * 7), gross, net }
}

fn all(store: &mut Store, worker: u32) -> Vec<EarningsPoint> {
    store.earned(WorkerId(worker), (Millis(0), Millis(u64::MAX)), 100).unwrap()
}

#[test]
fn what_is_counted_twice_is_earned_once_and_lies_in_the_hour_it_was_seen() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("figures.db");
    let mut store = Store::open(&path, Millis(10 * HOUR)).unwrap();
    store.count(&[part(1, 0, 10), part(1, 1, 4)], Millis(10 * HOUR + 5), false).unwrap();
    store.count(&[part(1, 0, 10), part(1, 1, 4)], Millis(10 * HOUR + 9), false).unwrap();
    store.count(&[part(1, 0, 12), part(2, 0, 1)], Millis(11 * HOUR), false).unwrap();
    assert_eq!(store.open_jobs().unwrap(), [JobId(1), JobId(2)]);
    store.count(&[part(1, 0, 15), part(1, 1, 4)], Millis(11 * HOUR + 1), true).unwrap();
    drop(store);
    // A hub that starts again may say once more that the job has ended.
    let mut store = Store::open(&path, Millis(11 * HOUR)).unwrap();
    store.count(&[part(1, 0, 15), part(1, 1, 4)], Millis(11 * HOUR + 2), true).unwrap();
    let found: Vec<_> = all(&mut store, 0).iter().map(|point| (point.hour.0 / HOUR, point.tasks)).collect();
    assert_eq!(found, [(10, 10), (11, 6)]);
    let total = sum(&all(&mut store, 0));
    assert_eq!((total.gross, total.net, total.ran_micros), (Amount(1600), Amount(1360), 112));
    assert_eq!(sum(&all(&mut store, 1)).tasks, 4);
    assert_eq!(store.open_jobs().unwrap(), [JobId(2)]);
}

#[test]
fn old_earnings_go() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("figures.db");
    let mut store = Store::open(&path, Millis(0)).unwrap();
    store.count(&[part(1, 0, 1)], Millis(HOUR), true).unwrap();
    store.count(&[part(2, 0, 1)], Millis(500 * 24 * HOUR), true).unwrap();
    drop(store);
    let mut store = Store::open(&path, Millis(500 * 24 * HOUR)).unwrap();
    assert_eq!(all(&mut store, 0).len(), 1);
}

#[test]
fn a_day_is_kept_in_steps_of_five_minutes_and_is_there_again_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("figures.db");
    let mut store = Store::open(&path, Millis(0)).unwrap();
    let core = gleaner_core::Core::new(gleaner_core::Params::default());
    let start = 1_000 * HOUR;
    let mut last = None;
    for second in (0..30 * 3600).step_by(60) {
        last = Some(store.take(&Sample::of(&core, Millis(start + second * 1000))));
    }
    assert_eq!(last.unwrap().tasks.done_last_minute, 0);
    let history = store.history().unwrap();
    assert_eq!(history.len(), 288);
    assert!(history.windows(2).all(|pair| pair[1].at.0 - pair[0].at.0 == 300_000));
    drop(store);
    let mut store = Store::open(&path, Millis(start + 30 * HOUR)).unwrap();
    assert_eq!(store.history().unwrap().len(), 288);
}
