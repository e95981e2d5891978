#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
use super::*;

fn key(scope: &str) -> Key {
    Key { scope: scope.to_owned(), key: "k1".to_owned() }
}

#[test]
fn the_same_request_gets_the_same_answer_also_from_the_next_hub() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("answers.db");
    let answers = Answers::open(&path).unwrap();
    let (request, other) = (Hash([1; 32]), Hash([2; 32]));
    let Known::New(turn) = answers.begin(key("faucet ada"), request).unwrap() else { panic!("it is new") };
    assert!(matches!(answers.begin(key("faucet ada"), request).unwrap(), Known::Busy));
    let answer = Answer { status: 201, location: Some("/api/v1/jobs/1".to_owned()), body: b"{}".to_vec() };
    turn.answered(&answer);
    drop(answers);
    let answers = Answers::open(&path).unwrap();
    let Known::Answered(known) = answers.begin(key("faucet ada"), request).unwrap() else { panic!("it is known") };
    assert_eq!(known, answer);
    assert!(matches!(answers.begin(key("faucet ada"), other).unwrap(), Known::Other));
    assert!(matches!(answers.begin(key("faucet bob"), other).unwrap(), Known::New(_)), "a key is its sender's own");
}

#[test]
fn a_key_of_a_refused_request_can_be_used_again_and_one_that_broke_off_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let answers = Answers::open(&dir.path().join("answers.db")).unwrap();
    let (request, other) = (Hash([1; 32]), Hash([2; 32]));
    let Known::New(turn) = answers.begin(key("a"), request).unwrap() else { panic!("it is new") };
    turn.refused();
    let Known::New(turn) = answers.begin(key("a"), other).unwrap() else { panic!("it is free") };
    // As if the hub had been killed before it answered.
    drop(turn);
    assert!(matches!(answers.begin(key("a"), request).unwrap(), Known::Other));
    assert!(matches!(answers.begin(key("a"), other).unwrap(), Known::New(_)));
}
