//! The journal by itself.
use super::*;
use gleaner_core::ledger::Account;
use gleaner_wire::Amount;

fn deposit(amount: u64) -> Batch {
    let events = vec![Event::Deposited { account: Account::Platform, amount: Amount(amount) }];
    Batch { events, ..Batch::at(Millis(amount)) }
}

fn apply(core: &mut Core, batch: Batch) {
    for event in batch.events {
        core.apply(batch.at, event, &mut Vec::new());
    }
}

#[test]
fn a_replay_from_any_snapshot_gives_the_same_state() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("hub.db");
    let (mut journal, recovered) = Journal::open(&path, &Params::default()).unwrap();
    let mut core = recovered.core;
    for amount in 1..=50 {
        journal.append(&deposit(amount)).unwrap();
        apply(&mut core, deposit(amount));
        if amount % 20 == 0 {
            journal.snapshot(Millis(amount), &core).unwrap();
        }
    }
    let rows: u64 = journal.db.query_row("SELECT count(*) FROM journal", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 30, "rows up to the last snapshot but one are gone");
    drop(journal);
    let (_, recovered) = Journal::open(&path, &Params::default()).unwrap();
    assert_eq!(recovered.core.snapshot(), core.snapshot());
    assert_eq!(recovered.at, Millis(50));
}

#[test]
fn a_second_writer_is_fenced_off_by_the_number_of_the_row() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("hub.db");
    let (mut first, _) = Journal::open(&path, &Params::default()).unwrap();
    let (mut second, _) = Journal::open(&path, &Params::default()).unwrap();
    first.append(&deposit(1)).unwrap();
    let error = second.append(&deposit(2)).unwrap_err();
    assert!(matches!(error, Error::Fenced) && !error.may_pass(), "{error}");
    first.append(&deposit(3)).unwrap();
}

#[test]
fn a_batch_that_finds_no_room_leaves_nothing_and_can_be_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("hub.db");
    let (mut journal, _) = Journal::open(&path, &Params::default()).unwrap();
    let pages: u32 = journal.db.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    journal.db.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    let name = "x".repeat(100_000);
    let batch = || Batch { requesters: vec![name.clone()], ..deposit(1) };
    let error = journal.append(&batch()).unwrap_err();
    assert!(error.may_pass(), "{error}");
    journal.db.pragma_update_and_check(None, "max_page_count", 1_000_000, |_| Ok(())).unwrap();
    journal.append(&batch()).unwrap();
    drop(journal);
    let (_, recovered) = Journal::open(&path, &Params::default()).unwrap();
    assert_eq!((recovered.last, recovered.requesters.len()), (1, 1));
    assert_eq!(recovered.core.balance(&Account::Platform), Amount(1));
}
