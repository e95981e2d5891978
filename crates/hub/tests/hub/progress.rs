//! How a job goes: its attempts by worker and time, and its graph.
use crate::place::{Api, Place};
use crate::worker::{Worker, done_with};
use gleaner_wire::progress::{AttemptState, AttemptsView, GraphView};
use gleaner_wire::{Cause, Finished, JobId, Micros, Outcome};
use reqwest::StatusCode;
use serde_json::json;

async fn attempts(api: &Api, job: JobId, query: &str) -> AttemptsView {
    api.get(&format!("/api/v1/jobs/{job}/attempts{query}")).send().await.unwrap().json().await.unwrap()
}

fn states(view: &AttemptsView) -> Vec<(AttemptState, Option<Cause>)> {
    view.items.iter().map(|item| (item.state, item.cause)).collect()
}

#[tokio::test]
async fn attempts_say_who_tried_what_when_and_why_there_also_after_a_restart() {
    let mut place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(2, 1).await.job;
    let mut starts = worker.starts().await;
    while starts.len() < 2 {
        starts.extend(worker.starts().await);
    }
    let running = attempts(&place.api, job, "").await;
    assert_eq!(states(&running), [(AttemptState::Running, None), (AttemptState::Running, None)]);
    let one = &running.items[0];
    assert_eq!((one.worker, one.worker_name.as_str(), one.task.as_str()), (worker.id, "worker-1", "element[1]"));
    assert!(one.why.contains("the best idle device"), "{}", one.why);
    assert!(one.started_at.0 > 0 && one.ended_at.is_none());

    // A killed hub knows what ran from its journal.
    place.kill_and_start().await;
    let again = attempts(&place.api, job, "").await;
    assert_eq!(states(&again).len(), 2);
    let held = starts.iter().map(|start| start.attempt).collect();
    let mut worker = Worker::rejoin(&place.api, 1, held).await;
    let broken = Outcome::Failed { cause: Cause::DeviceFault, detail: "the driver is gone".to_owned() };
    let broken = Finished { attempt: starts[0].attempt, ran: Micros(5), outcome: broken };
    let batch = worker.finish(vec![broken, done_with(&starts[1])]).await;
    worker.acknowledged(batch).await;
    let view = attempts(&place.api, job, "").await;
    let of = |attempt| view.items.iter().find(|item| item.attempt == attempt).unwrap();
    assert_eq!(
        (of(starts[0].attempt).state, of(starts[0].attempt).cause),
        (AttemptState::Failed, Some(Cause::DeviceFault))
    );
    assert_eq!(of(starts[1].attempt).state, AttemptState::Done);
    assert!(of(starts[1].attempt).ended_at >= Some(of(starts[1].attempt).started_at));

    // The rest is called off with the job, and all of it is there after the job has been archived and the hub restarted.
    let cancelled = place.api.post(&format!("/api/v1/jobs/{job}/cancel")).send().await.unwrap();
    assert_eq!(cancelled.status(), StatusCode::OK);
    let ended = attempts(&place.api, job, "").await;
    assert!(ended.items.iter().all(|item| item.ended_at.is_some()), "{ended:?}");
    place.stop_and_start().await;
    assert_eq!(attempts(&place.api, job, "").await, ended);
}

#[tokio::test]
async fn of_many_attempts_the_newest_are_listed_and_the_others_counted() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(2500, 1).await.job;
    worker.work(2500).await;
    let view = attempts(&place.api, job, "").await;
    assert_eq!((view.items.len(), view.not_listed), (2000, 500));
    let view = attempts(&place.api, job, "?limit=3").await;
    assert_eq!((view.items.len(), view.not_listed), (3, 2497));
    let wrong = place.api.get(&format!("/api/v1/jobs/{job}/attempts?limit=0")).send().await.unwrap();
    assert_eq!(wrong.status(), StatusCode::BAD_REQUEST);
    assert_eq!(wrong.json::<serde_json::Value>().await.unwrap()["at"], "limit");
    let missing = place.api.get("/api/v1/jobs/77/attempts").send().await.unwrap();
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_graph_shows_what_waits_for_what_while_it_runs_and_afterwards() {
    let place = Place::new().await;
    let program = place.api.store(b"a program").await.to_string();
    let job = json!({ "name": "chain", "task": [
        { "name": "cut", "runtime": "wasm", "program": program, "each": "1..3" },
        { "name": "join", "runtime": "wasm", "program": program, "input": [{ "name": "cuts", "from": "cut" }] },
    ]});
    let sent = place.api.send(&job, 5).await.json::<gleaner_wire::api::Submitted>().await.unwrap();
    let graph = async || -> GraphView {
        let path = format!("/api/v1/jobs/{}/graph", sent.job);
        place.api.get(&path).send().await.unwrap().json().await.unwrap()
    };
    let before = graph().await;
    assert_eq!(before.edges.iter().map(|edge| (edge.from, edge.to)).collect::<Vec<_>>(), [(0, 1)]);
    let counts = |view: &GraphView| -> Vec<_> {
        view.nodes.iter().map(|node| (node.counts.queued, node.counts.blocked, node.counts.done)).collect()
    };
    assert_eq!(counts(&before), [(3, 0, 0), (0, 1, 0)]);
    let mut worker = Worker::join(&place.api, 1).await;
    worker.work(4).await;
    let after = graph().await;
    assert_eq!(counts(&after), [(0, 0, 3), (0, 0, 1)]);
    assert_eq!(after.edges, before.edges, "an ended job keeps its edges");
    assert_eq!(after.nodes[1].name, "join");
}
