#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
use super::store::Tried;
use super::*;
use gleaner_wire::api::JobState;
use gleaner_wire::webhook::DeliveryState;
use gleaner_wire::{Amount, JobId};

fn job(id: u64, requester: &str) -> JobSummary {
    JobSummary {
        id: JobId(id),
        name: "j".to_owned(),
        requester: requester.to_owned(),
        state: JobState::Done,
        tasks: 1,
        done: 1,
        known: 0,
        running: 0,
        retried: 0,
        spent: Amount(0),
        price_max: Amount(1),
        submitted_at: Millis(10),
        ended_at: Some(Millis(20)),
    }
}

fn hook(events: &[JobEvent], requester: Option<&str>) -> Hook {
    let (url, requester) = ("https://example.com/".to_owned(), requester.map(str::to_owned));
    Hook { id: 0, url, events: events.to_vec(), requester, created: 5, of: None }
}

#[test]
fn an_event_waits_once_for_each_who_wants_it_and_survives_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("webhooks.db");
    let mut store = Store::open(&path).unwrap();
    let all = store.make("ada", "s1", &hook(&JobEvent::ALL, None)).unwrap().unwrap();
    let bobs = store.make("bob", "s2", &hook(&[JobEvent::Done], Some("bob"))).unwrap().unwrap();
    let hooks = store.hooks().unwrap();
    let events = [
        (JobEvent::Submitted, Millis(10), job(1, "ada")),
        (JobEvent::Done, Millis(20), job(1, "ada")),
        (JobEvent::Done, Millis(20), job(2, "bob")),
        (JobEvent::Done, Millis(1), job(3, "bob")),
    ];
    store.happened(&hooks, &events, 100).unwrap();
    // What is looked for after a restart was put down already.
    store.happened(&hooks, &events, 101).unwrap();
    drop(store);
    let mut store = Store::open(&path).unwrap();
    assert_eq!((store.waiting().unwrap(), store.seen().unwrap()), (4, 101));
    assert_eq!(store.log(bobs, u64::MAX, 10).unwrap().len(), 1, "before it was made, or another's: not told");
    let due = store.due(100, &[], 10).unwrap();
    assert_eq!(due.iter().map(|due| due.hook).collect::<Vec<_>>(), [all, bobs], "one at a time for each");
    assert!(store.due(99, &[], 10).unwrap().is_empty() && store.due(100, &[all, bobs], 10).unwrap().is_empty());
    let tried = Tried { state: DeliveryState::Delivered, at: 110, due: None, status: Some(204), error: None };
    store.tried(due[0].id, all, &tried).unwrap();
    assert_eq!(store.list("ada", 0, 10).unwrap()[0].waiting, 2);
    assert!(!store.remove(all, "bob").unwrap(), "it is not his");
    assert!(store.remove(all, "ada").unwrap());
    assert_eq!(store.waiting().unwrap(), 1, "what waited for it is gone with it");
}

#[test]
fn nobody_has_more_webhooks_than_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("webhooks.db")).unwrap();
    for _ in 0..store::PER_OWNER_MAX {
        assert!(store.make("ada", "s", &hook(&JobEvent::ALL, None)).unwrap().is_some());
    }
    assert!(store.make("ada", "s", &hook(&JobEvent::ALL, None)).unwrap().is_none());
    assert!(store.make("bob", "s", &hook(&JobEvent::ALL, None)).unwrap().is_some());
}
