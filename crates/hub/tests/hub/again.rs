//! A hub that starts again.
use crate::place::{Place, config};
use crate::worker::{Worker, done_with};
use gleaner_core::Params;
use gleaner_wire::api::JobState;

#[tokio::test]
async fn what_was_acknowledged_survives_a_kill() {
    let mut place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(10, 9).await.job;
    let starts = worker.starts().await;
    let batch = worker.finish(vec![done_with(&starts[0])]).await;
    worker.acknowledged(batch).await;
    let before = place.api.job(job).await;
    let ledger = place.api.json("/api/v1/ledger").await;
    place.kill_and_start().await;
    let after = place.api.job(job).await;
    assert_eq!((after.summary.done, after.summary.spent), (1, before.summary.spent));
    assert_eq!(place.api.json("/api/v1/ledger").await, ledger);
    assert_eq!(place.api.submit_array(10, 9).await.job, job, "the same submission is still the same job");
}

#[tokio::test]
async fn attempts_that_a_worker_still_holds_are_adopted_not_restarted() {
    let mut place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(3, 1).await.job;
    let starts = worker.starts().await;
    place.kill_and_start().await;
    worker.connection.closed().await;
    let held = starts.iter().map(|start| start.attempt).collect();
    let mut worker = Worker::rejoin(&place.api, 1, held).await;
    let batch = worker.finish(starts.iter().map(done_with).collect()).await;
    let more = worker.acknowledged(batch).await;
    let again = more.iter().any(|start| starts.iter().any(|earlier| earlier.index == start.index));
    assert!(!again, "{starts:?} were adopted, so {more:?} must be others");
    let summary = place.api.job(job).await.summary;
    assert_eq!((summary.done, summary.retried), (starts.len() as u64, 0));
}

#[tokio::test]
async fn results_that_were_not_acknowledged_are_taken_when_they_are_sent_again() {
    let mut place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(1, 1).await.job;
    let start = worker.starts().await.remove(0);
    let batch = worker.finish(vec![done_with(&start)]).await;
    worker.acknowledged(batch).await;
    let spent = place.api.job(job).await.summary.spent;
    place.kill_and_start().await;
    // The worker did not hear the acknowledgement, so it says everything again.
    let mut worker = Worker::rejoin(&place.api, 1, vec![start.attempt]).await;
    worker.send_batch(batch, vec![done_with(&start)]).await;
    worker.acknowledged(batch).await;
    let summary = place.api.job(job).await.summary;
    assert_eq!((summary.done, summary.spent), (1, spent));
}

#[tokio::test]
async fn a_clean_stop_and_many_starts_keep_ended_jobs_and_their_results() {
    let mut place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(5000, 1).await.job;
    worker.work(5000).await;
    for _ in 0..3 {
        place.stop_and_start().await;
        let view = place.api.job(job).await;
        assert_eq!((view.summary.state.clone(), view.summary.done), (JobState::Done, 5000));
        let path = format!("/api/v1/jobs/{job}/results?from=4095&limit=3");
        let page: gleaner_wire::api::ResultsPage = place.api.get(&path).send().await.unwrap().json().await.unwrap();
        let indices: Vec<_> = page.results.iter().map(|result| result.index).collect();
        assert_eq!((indices, page.next), (vec![4095, 4096, 4097], Some(4098)));
    }
    let jobs = place.api.json("/api/v1/jobs").await;
    assert_eq!(jobs["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn starting_credit_is_given_once() {
    let mut place = Place::new().await;
    place.api.submit_array(1, 1).await;
    for key in 2..5 {
        place.kill_and_start().await;
        place.api.submit_array(1, key).await;
    }
    assert_eq!(place.api.json("/api/v1/ledger").await["issued"], "100");
}

#[tokio::test]
async fn a_second_hub_on_the_same_folder_is_refused_with_the_firsts_process() {
    let place = Place::new().await;
    let refused = gleaner_hub::start(config(place.dir(), Params::default())).await;
    let text = refused.err().unwrap().to_string();
    assert!(text.contains(&format!("process {}", std::process::id())), "{text}");
    assert!(place.api.health().await.accepting);
}

#[tokio::test]
async fn an_address_that_others_reach_is_refused_unless_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path(), Params::default());
    config.listen = "0.0.0.0:0".parse().unwrap();
    let text = gleaner_hub::start(config).await.err().unwrap().to_string();
    assert!(text.contains("--allow-remote"), "{text}");
}
