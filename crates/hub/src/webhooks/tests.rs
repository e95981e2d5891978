#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
use super::store::{Tried, UNDERWAY_PER_OWNER_MAX, Underway};
use super::*;
use gleaner_wire::api::JobState;
use gleaner_wire::webhook::DeliveryState;
use gleaner_wire::{Amount, JobId};
use std::collections::HashSet;

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
    Hook { id: 0, url, events: events.to_vec(), requester, created: 5, token: None, of: None }
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
    let none = HashSet::new();
    let due = store.due(100, &[], &none, 10).unwrap().0;
    assert_eq!(due.iter().map(|due| due.hook).collect::<Vec<_>>(), [all, bobs], "one at a time for each");
    let (early, next) = store.due(99, &[], &none, 10).unwrap();
    assert!(early.is_empty() && next == Some(100));
    assert!(store.due(100, &[], &HashSet::from([all, bobs]), 10).unwrap().0.is_empty());
    let underway = [Underway { hook: all, owner: "ada".to_owned() }];
    assert_eq!(store.due(100, &underway, &none, 10).unwrap().0.len(), 1, "one at a time for each");
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

#[test]
fn whoever_answers_slowly_keeps_only_its_own_webhooks_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("webhooks.db")).unwrap();
    for _ in 0..store::PER_OWNER_MAX {
        store.make("tarpit", "s", &hook(&JobEvent::ALL, None)).unwrap().unwrap();
    }
    let adas = store.make("ada", "s", &hook(&JobEvent::ALL, None)).unwrap().unwrap();
    let hooks = store.hooks().unwrap();
    // Far more of one owner's events are due, and for longer, than are looked at together.
    let (others, last) = (hooks.len() - 1, hooks.len() - 1);
    for id in 0..100 {
        store.happened(&hooks[..others], &[(JobEvent::Done, Millis(20), job(id, "tarpit"))], 50).unwrap();
    }
    store.happened(&hooks[last..], &[(JobEvent::Done, Millis(20), job(900, "ada"))], 100).unwrap();
    let due = store.due(200, &[], &HashSet::new(), 16).unwrap().0;
    assert_eq!(due.iter().filter(|due| due.owner == "tarpit").count(), UNDERWAY_PER_OWNER_MAX);
    assert!(due.iter().any(|due| due.hook == adas));
    let underway: Vec<_> = due.into_iter().map(|due| Underway { hook: due.hook, owner: due.owner }).collect();
    let (due, next) = store.due(200, &underway, &HashSet::new(), 16).unwrap();
    assert!(due.is_empty() && next.is_none(), "all that is left waits for requests of its own owner");
}
