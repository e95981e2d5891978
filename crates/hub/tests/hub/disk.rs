//! A disk that is full: a small file system of its own, in a mount namespace of its own.
use crate::place::{Api, config};
use crate::worker::{Worker, done_with};
use gleaner_core::Params;
use std::path::Path;
use std::process::Command;

/// Set inside the namespace: where the small file system is mounted.
const FOLDER: &str = "GLEANER_TEST_SMALL_DISK";
const NAME: &str = "disk::a_full_disk_stops_the_hub_taking_anything_new_and_loses_nothing";

#[tokio::test]
async fn a_full_disk_stops_the_hub_taking_anything_new_and_loses_nothing() {
    match std::env::var_os(FOLDER) {
        Some(dir) => fill(Path::new(&dir)).await,
        None => run_in_namespace(),
    }
}

/// Runs this test again where it may mount a file system.
fn run_in_namespace() {
    let dir = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=4m small \"$0\" && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", mount]).arg(dir.path());
    command.arg(std::env::current_exe().unwrap()).args(["--exact", NAME, "--nocapture"]).env(FOLDER, dir.path());
    let status = command.status().expect("`unshare` of util-linux is needed: apt-get install util-linux");
    assert!(
        status.success(),
        "the test on the full disk failed, or no user namespace could be made \
         (try `unshare --user --map-root-user --mount true`; sysctl kernel.unprivileged_userns_clone=1 allows it)"
    );
}

async fn fill(dir: &Path) {
    let hub = gleaner_hub::start(config(dir, Params::default())).await.unwrap();
    let api = Api::of(&hub);
    let mut worker = Worker::join(&api, 1).await;
    let job = api.submit_array(100, 1).await.job;
    let starts = worker.starts().await;
    fill_up(dir);

    let batch = worker.finish(starts.iter().map(done_with).collect()).await;
    let health = api.until(false).await;
    let reason = health.reason.unwrap();
    assert!(reason.contains("disk is full") && reason.contains("free some space"), "{reason}");
    let unready = api.get("/readyz").send().await.unwrap();
    assert_eq!(unready.status(), 503);
    assert!(unready.text().await.unwrap().contains("free some space"));
    assert_eq!(api.get("/healthz").send().await.unwrap().status(), 200, "it is alive all the same");
    let refused = api
        .send(
            &crate::place::array(1, &gleaner_wire::DataRef::from(gleaner_wire::BlobRef::of(b"a program")).to_string()),
            2,
        )
        .await;
    assert_eq!(refused.status(), 503);
    assert!(refused.text().await.unwrap().contains("free some space"));
    assert_eq!(api.job(job).await.summary.done, 0, "reads go on, and nothing is half applied");
    let chunk = api.post("/api/v1/chunks").body(crate::place::gift(&[&[1; 9999]]));
    assert_eq!(chunk.send().await.unwrap().status(), 507);

    std::fs::remove_file(dir.join("filler")).unwrap();
    worker.acknowledged(batch).await;
    api.until(true).await;
    let view = api.job(job).await;
    assert_eq!((view.summary.done, view.summary.retried), (starts.len() as u64, 0));
    api.submit_array(1, 2).await;
    drop(hub);
    let hub = gleaner_hub::start(config(dir, Params::default())).await.unwrap();
    assert_eq!(Api::of(&hub).job(job).await.summary.done, starts.len() as u64);
    hub.stop().await;
}

/// Takes every last byte, and the write-ahead log's own room as well.
fn fill_up(dir: &Path) {
    use std::io::Write;
    let mut filler = std::fs::File::create(dir.join("filler")).unwrap();
    for size in [65_536, 4096, 1] {
        while filler.write_all(&vec![0; size]).is_ok() {}
    }
}
