//! kill -9 of whoever pushes a folder, and of the hub that takes it, at random moments.
use super::actor::say;
use super::child::Actor;
use super::house::*;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What the line allows, so that there are moments to be killed at.
const LINE: u64 = 20_000_000;
const PUSHER_KILLS: u32 = 12;
const HUB_KILLS: u32 = 10;

pub async fn play(role: &str, folder: &Path, port: u16) {
    match role {
        "up" => {
            let (pushing, control) = push(folder, cache_at(&format!("http://127.0.0.1:{port}")));
            control.set_limit(Some(LINE));
            say("begins");
            pushing.await.unwrap().unwrap();
            say("done");
        }
        "hub" => {
            let _hub = Hub::at(folder, port);
            say("begins");
            std::future::pending().await
        }
        other => panic!("no such role: {other}"),
    }
}

fn moment(chance: &mut u64, most_ms: u64) -> Duration {
    *chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    Duration::from_millis((*chance >> 33) % most_ms)
}

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    furnish(&home.path().join("data"), 4, 12, 1000);
    home
}

async fn start(role: &'static str, folder: &Path, port: u16) -> Actor {
    let folder = folder.to_owned();
    let begin = move || {
        let mut actor = Actor::start(role, 0, &folder, port);
        assert_eq!(actor.hear().as_deref(), Some("begins"));
        actor
    };
    tokio::task::spawn_blocking(begin).await.unwrap()
}

async fn kill(actor: Actor) {
    tokio::task::spawn_blocking(move || actor.kill()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_whose_push_is_killed_again_and_again_is_sent_once() {
    let (hub, home) = (Hub::new(), home());
    let port = hub.url.rsplit(':').next().unwrap().parse().unwrap();
    let (mut chance, mut kills) = (u64::from(port), 0);
    for _ in 0..PUSHER_KILLS {
        let mut actor = start("up", home.path(), port).await;
        // The moment is what the test is about, so there is no event to wait for.
        tokio::time::sleep(moment(&mut chance, 400)).await;
        kills += u32::from(actor.is_running());
        kill(actor).await;
    }
    let (pushing, _) = push(home.path(), hub.cache());
    let packed = pushing.await.unwrap().unwrap();
    let (taken, stored) = (hub.door.taken.bytes.load(Ordering::Relaxed), hub.store.usage().bytes);
    println!("{kills} kills of the pusher: {taken} bytes were sent for {stored}");
    assert!(taken * 100 <= stored * 102, "{taken} bytes were sent for {stored}, with {kills} kills");
    let checked = hub.store.check(|_| {}).unwrap();
    assert_eq!((checked.bad.len(), checked.orphans, checked.miscounted), (0, 0, 0), "{checked:?}");
    let out = home.path().join("out");
    pull(&packed, out.clone(), vec![hub.cache()]).0.await.unwrap().unwrap();
    assert_eq!(files(&home.path().join("data")), files(&out));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_is_killed_again_and_again_gets_the_folder_and_little_of_it_twice() {
    let (home, kept) = (home(), tempfile::tempdir().unwrap());
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut actor = start("hub", kept.path(), port).await;
    let (pushing, control) = push(home.path(), cache_at(&format!("http://127.0.0.1:{port}")));
    control.set_limit(Some(LINE));
    let (mut chance, mut kills) = (u64::from(port), 0);
    for _ in 0..HUB_KILLS {
        tokio::time::sleep(moment(&mut chance, 500)).await;
        if pushing.is_finished() {
            break;
        }
        kill(actor).await;
        kills += 1;
        actor = start("hub", kept.path(), port).await;
    }
    let packed = pushing.await.unwrap().unwrap();
    let pushed = *control.progress().borrow();
    kill(actor).await;
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    let each = pushed.again as f64 / f64::from(kills.max(1)) / LINE as f64;
    println!(
        "{kills} kills of the hub: {} bytes again, of {}, {each:.3} s of the line for each",
        pushed.again, pushed.bytes
    );
    // How large a share that is depends on how often one is killed: what counts is what a kill costs. With one kill in
    // half a minute, half a second of the line is under 2 %.
    assert!(kills > 0 && each < 0.5, "{pushed:?}, {each:.2} s of the line for each of {kills} kills");
    let hub = Arc::new(Hub::at(kept.path(), 0));
    let checked = hub.store.check(|_| {}).unwrap();
    assert_eq!((checked.bad.len(), checked.orphans, checked.miscounted), (0, 0, 0), "{checked:?}");
    let out = home.path().join("out");
    pull(&packed, out.clone(), vec![hub.cache()]).0.await.unwrap().unwrap();
    assert_eq!(files(&home.path().join("data")), files(&out));
}
