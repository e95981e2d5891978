#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
use super::board::Board;
use super::*;
use gleaner_wire::live::Numbered;
use gleaner_wire::{JobId, State, WorkerId};

fn live() -> Live {
    Live::new(1000).0
}

fn worker(running: u64) -> LiveEvent {
    LiveEvent::Worker { id: WorkerId(1), name: "one".to_owned(), state: State::Available, running }
}

/// Posts at once, without the task in between.
fn post(live: &Live, running: u64) {
    let topics = [Topic::Workers, Topic::Worker(WorkerId(1))];
    if live.wants(&topics) {
        live.shared.board().post(worker(running), About::Worker(WorkerId(1)), topics.map(Some));
    }
}

async fn next(mailbox: &Mailbox) -> Result<Numbered, Option<u64>> {
    match mailbox.next().await {
        Next::Event(event) => {
            let read: Numbered = serde_json::from_str(&event.json).unwrap();
            assert_eq!(read.seq, event.id);
            Ok(read)
        }
        Next::Missed { count, .. } => Err(count),
    }
}

fn running(event: &Numbered) -> u64 {
    match &event.event {
        LiveEvent::Worker { running, .. } => *running,
        other => panic!("{other:?}"),
    }
}

async fn watching(live: &Live, topics: &[Topic], after: Option<u64>) -> Mailbox {
    let mailbox = live.mailbox(Viewer::Operator, None).unwrap();
    live.watch(&mailbox, topics.to_vec(), Vec::new(), after);
    mailbox
}

#[tokio::test]
async fn a_listener_hears_what_it_watches_and_each_event_once() {
    let live = live();
    let mailbox = watching(&live, &[Topic::Workers, Topic::Worker(WorkerId(1))], None).await;
    let other = watching(&live, &[Topic::Job(JobId(1))], None).await;
    post(&live, 1);
    post(&live, 2);
    let LiveEvent::Watching { topics, .. } = next(&mailbox).await.unwrap().event else { panic!("no word") };
    assert_eq!(topics, ["workers", "worker:1"]);
    assert_eq!(running(&next(&mailbox).await.unwrap()), 1);
    assert_eq!(running(&next(&mailbox).await.unwrap()), 2);
    assert!(matches!(next(&other).await.unwrap().event, LiveEvent::Watching { .. }));
    live.watch(&other, vec![Topic::Workers], Vec::new(), None);
    post(&live, 3);
    assert!(matches!(next(&other).await.unwrap().event, LiveEvent::Watching { .. }));
    assert_eq!(running(&next(&other).await.unwrap()), 3, "it hears of what it watches now");
}

#[tokio::test]
async fn who_comes_back_hears_what_it_missed_or_that_it_did() {
    let live = live();
    let mailbox = watching(&live, &[Topic::Workers], None).await;
    post(&live, 1);
    next(&mailbox).await.unwrap();
    let seen = next(&mailbox).await.unwrap().seq;
    drop(mailbox);
    // The topic lingers, so this is kept.
    post(&live, 2);
    let again = watching(&live, &[Topic::Workers], Some(seen)).await;
    assert_eq!(running(&next(&again).await.unwrap()), 2);
    let watching_id = next(&again).await.unwrap().seq;
    // Nobody watched jobs, and one moved on.
    assert!(!live.wants(&[Topic::Jobs]));
    let jobs = watching(&live, &[Topic::Jobs], Some(watching_id)).await;
    assert_eq!(next(&jobs).await.unwrap_err(), None);
    // A number of a hub that is no more, or of none that ever was.
    for after in [7, u64::MAX / 2] {
        let stranger = watching(&live, &[Topic::Workers], Some(after)).await;
        assert_eq!(next(&stranger).await.unwrap_err(), None, "after {after}");
    }
}

#[tokio::test]
async fn a_slow_listener_is_told_how_many_it_missed() {
    let live = live();
    let mailbox = watching(&live, &[Topic::Workers], None).await;
    for number in 0..200 {
        post(&live, number);
    }
    let mut missed = 0;
    let mut heard = 0;
    while missed + heard < 201 {
        match next(&mailbox).await {
            Ok(_) => heard += 1,
            Err(count) => missed += count.unwrap(),
        }
    }
    assert!(missed > 100 && heard > 0, "{missed} missed, {heard} heard");
}

#[tokio::test]
async fn strangers_hear_of_the_network_only() {
    assert!(Viewer::Public.may_watch(Topic::Network));
    for topic in [Topic::Jobs, Topic::Job(JobId(1)), Topic::Workers, Topic::Worker(WorkerId(1))] {
        assert!(!Viewer::Public.may_watch(topic));
    }
    assert!(!Viewer::Public.sees(&About::Requester("ada".to_owned())));
    let account = Viewer::Account { requesters: ["ada".to_owned()].into(), workers: [WorkerId(3)].into() };
    assert!(account.may_watch(Topic::Jobs) && account.sees(&About::Anybody));
    assert!(account.sees(&About::Requester("ada".to_owned())) && account.sees(&About::Worker(WorkerId(3))));
    assert!(!account.sees(&About::Requester("eve".to_owned())) && !account.sees(&About::Worker(WorkerId(4))));
}

#[tokio::test]
async fn mailboxes_are_counted_and_given_back() {
    let live = live();
    let one = watching(&live, &[Topic::Network], None).await;
    assert_eq!(live.watchers(), 1);
    drop(one);
    assert_eq!(live.watchers(), 0);
    let mut board = Board::new(1);
    board.tidy();
    assert_eq!(board.watched(), 0);
}

#[tokio::test]
async fn one_address_does_not_take_every_place() {
    let live = live();
    let take = |address: [u8; 4]| live.mailbox(Viewer::Public, Some(address.into()));
    let mut taken: Vec<_> = (0..PER_ADDRESS_MAX).map(|_| take([192, 0, 2, 7]).unwrap()).collect();
    assert_eq!(take([192, 0, 2, 7]).err(), Some(Full::Address));
    assert!(take([192, 0, 2, 8]).is_ok(), "others do not feel it");
    taken.pop();
    let again = take([192, 0, 2, 7]);
    assert!(again.is_ok() && take([192, 0, 2, 7]).is_err(), "a place that is given back can be taken again");
    // One household has as many addresses of IPv6 as it wants, and the hub's own machine is trusted.
    let of = |last: u16| live.mailbox(Viewer::Public, Some([0x2001, 0xdb8, 0, 1, 0, 0, 0, last].into()));
    let household: Vec<_> = (0..).map(of).take_while(Result::is_ok).collect();
    assert_eq!(household.len(), PER_ADDRESS_MAX);
    let here: Vec<_> = (0..=PER_ADDRESS_MAX).map(|_| take([127, 0, 0, 1]).unwrap()).collect();
    assert_eq!(live.watchers(), taken.len() + 1 + household.len() + here.len());
    drop((taken, again, household, here));
    assert!(live.shared.addresses.lock().unwrap().is_empty());
}
