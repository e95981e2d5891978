//! A journal that is not what was written.
use crate::place::{Place, config};
use crate::worker::Worker;
use gleaner_core::Params;
use rusqlite::Connection;

async fn stopped_place() -> Place {
    let mut place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    place.api.submit_array(50, 1).await;
    worker.work(50).await;
    drop(place.hub.take());
    place
}

async fn refusal(place: &Place) -> String {
    let refused = gleaner_hub::start(config(place.dir(), Params::default())).await;
    refused.err().expect("the hub does not start").to_string()
}

#[tokio::test]
async fn an_altered_row_is_refused_with_its_number() {
    let place = stopped_place().await;
    let db = Connection::open(place.dir().join("hub.db")).unwrap();
    let mut events: Vec<u8> = db.query_row("SELECT events FROM journal WHERE seq = 3", [], |row| row.get(0)).unwrap();
    *events.last_mut().unwrap() ^= 1;
    assert_eq!(db.execute("UPDATE journal SET events = ?1 WHERE seq = 3", [events]).unwrap(), 1);
    drop(db);
    let text = refusal(&place).await;
    assert!(text.contains("row 3 was altered"), "{text}");
}

#[tokio::test]
async fn a_row_moved_in_time_is_refused() {
    let place = stopped_place().await;
    let db = Connection::open(place.dir().join("hub.db")).unwrap();
    db.execute("UPDATE journal SET at_ms = at_ms + 1 WHERE seq = 2", []).unwrap();
    drop(db);
    let text = refusal(&place).await;
    assert!(text.contains("row 2 was altered"), "{text}");
}

#[tokio::test]
async fn a_missing_row_is_refused() {
    let place = stopped_place().await;
    let db = Connection::open(place.dir().join("hub.db")).unwrap();
    db.execute("DELETE FROM journal WHERE seq = 2", []).unwrap();
    drop(db);
    let text = refusal(&place).await;
    assert!(text.contains("row 2 is missing"), "{text}");
}

#[tokio::test]
async fn a_journal_of_another_format_is_refused() {
    let place = stopped_place().await;
    let db = Connection::open(place.dir().join("hub.db")).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    let text = refusal(&place).await;
    assert!(text.contains("format is 99"), "{text}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused() {
    let place = stopped_place().await;
    std::fs::write(place.dir().join("hub.db"), [b'x'; 8192]).unwrap();
    let text = refusal(&place).await;
    assert!(text.contains("not a database"), "{text}");
}

#[tokio::test]
async fn a_torn_last_snapshot_is_made_up_for_by_the_one_before() {
    let mut place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(50, 1).await.job;
    worker.work(50).await;
    place.hub.take().unwrap().stop().await;
    let db = Connection::open(place.dir().join("hub.db")).unwrap();
    let torn = "UPDATE snapshot SET core = substr(core, 1, length(core) / 2) \
                WHERE seq = (SELECT max(seq) FROM snapshot) AND seq > 0";
    assert_eq!(db.execute(torn, []).unwrap(), 1);
    drop(db);
    place.start().await;
    assert_eq!(place.api.job(job).await.summary.done, 50);
}
