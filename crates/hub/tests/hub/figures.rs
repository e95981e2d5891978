//! The network in figures, and what machines earned.
use crate::place::Place;
use crate::worker::Worker;
use gleaner_wire::figures::{EarningsView, StatusHistory};
use reqwest::StatusCode;
use std::time::Duration;

/// How long something may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The figures, once a look at the network has counted so many workers.
async fn status_with_workers(place: &Place, online: u64) -> StatusHistory {
    let url = format!("{}/api/v1/status", place.api.url);
    let looking = async {
        loop {
            let answer = place.api.client.get(&url).send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::OK);
            let status: StatusHistory = answer.json().await.unwrap();
            if status.now.workers.online >= online && status.now.tasks.done >= 2 {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.expect("the hub looks every few seconds")
}

#[tokio::test]
async fn everybody_sees_what_the_network_has_and_does() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let mut idle = Worker::join(&place.api, 2).await;
    place.api.submit_array(20, 1).await;
    tokio::join!(async { worker.work(1).await }, async { idle.work(1).await });
    // No token is asked for.
    let status = status_with_workers(&place, 2).await;
    assert_eq!((status.now.workers.known, status.now.workers.online), (2, 2));
    let region = &status.now.regions[0];
    assert_eq!((region.region.as_str(), region.workers, region.slots), ("here", 2, 8));
    assert!(status.now.tasks.done >= 2 && status.now.jobs.submitted == 1);
    assert!(status.now.classes.iter().any(|class| class.class.to_string().starts_with("cpu-wasm")));
}

async fn earnings(place: &Place, worker: u32, query: &str) -> EarningsView {
    let path = format!("/api/v1/machines/{worker}/earnings{query}");
    place.api.get(&path).send().await.unwrap().json().await.unwrap()
}

#[tokio::test]
async fn a_machines_earnings_are_what_its_jobs_paid_also_after_a_kill() {
    let mut place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let first = place.api.submit_array(50, 1).await.job;
    worker.work(50).await;
    let second = place.api.submit_array(30, 2).await.job;
    worker.work(10).await;
    let id = worker.id.0;
    let paid = |views: &[gleaner_wire::api::JobView]| -> (u64, u64, u64) {
        let tallies = views.iter().flat_map(|view| &view.workers);
        tallies.fold((0, 0, 0), |(gross, net, done), tally| {
            (gross + tally.gross.0, net + tally.earned.0, done + tally.done)
        })
    };
    let views = [place.api.job(first).await, place.api.job(second).await];
    let (gross, net, done) = paid(&views);
    let shown = earnings(&place, id, "").await;
    assert!(gross > net && net > 0 && done >= 60);
    assert_eq!((shown.total.gross.0, shown.total.net.0, shown.total.tasks), (gross, net, done));
    place.kill_and_start().await;
    let again = earnings(&place, id, "").await;
    assert_eq!((again.total.gross.0, again.total.net.0), (gross, net));
    let nothing = earnings(&place, id, "?to=1000").await;
    assert_eq!((nothing.items.len(), nothing.total.net.0), (0, 0));
    for (path, status) in [
        ("/api/v1/machines/77/earnings", StatusCode::NOT_FOUND),
        ("/api/v1/machines/0/earnings?from=9&to=3", StatusCode::BAD_REQUEST),
        ("/api/v1/machines/0/earnings?limit=0", StatusCode::BAD_REQUEST),
    ] {
        assert_eq!(place.api.get(path).send().await.unwrap().status(), status, "{path}");
    }
}
