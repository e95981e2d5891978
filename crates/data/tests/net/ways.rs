//! A folder straight to a hub and straight from it again, without a store on either end.
use super::house::*;
use super::world::*;
use axum::body::Bytes;
use axum::routing::post;
use gleaner_data::net::http::{Access, Cache};
use gleaner_data::net::{Broken, Code, Error, Update};
use gleaner_data::store::Verify;
use gleaner_data::{pack, unpack};
use gleaner_wire::Hash;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    furnish(&home.path().join("data"), 3, 8, 1500);
    home
}

fn why<'a>(error: &'a (dyn std::error::Error + Send + Sync + 'static)) -> &'a Error {
    error.downcast_ref::<Broken>().expect("it says why").why()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_goes_to_the_hub_and_comes_back_and_an_edit_sends_little() {
    let (hub, home) = (Hub::new(), home());
    let begun = Instant::now();
    let (pushing, control) = push(home.path(), hub.cache());
    let packed = pushing.await.unwrap().unwrap();
    let first = *control.progress().borrow();
    let up = begun.elapsed();
    assert_eq!((first.known, first.again, first.bytes), (0, 0, hub.door.taken.bytes.load(Ordering::Relaxed)));
    assert_eq!(hub.store.usage().chunks, first.chunks, "all of it is there, and nothing twice");

    let begun = Instant::now();
    let out = home.path().join("out");
    let (pulling, control) = pull(&packed, out.clone(), vec![hub.cache()]);
    pulling.await.unwrap().unwrap();
    let down = begun.elapsed();
    assert_eq!(files(&home.path().join("data")), files(&out));
    let came = control.progress().borrow().bytes;
    println!(
        "{} bytes: up in {up:.1?}, down in {down:.1?}, {came} of {} came so far told",
        packed.root.totals.bytes, first.bytes
    );
    assert!(came <= first.bytes + first.bytes / 50, "{came} came, of {}", first.bytes);

    let edited = home.path().join("data/large-1");
    let mut content = std::fs::read(&edited).unwrap();
    content.splice(3_000_000..3_000_000, *b"something that was not there");
    std::fs::write(&edited, content).unwrap();
    let (pushing, control) = push(home.path(), hub.cache());
    let packed = pushing.await.unwrap().unwrap();
    let second = *control.progress().borrow();
    assert!(second.bytes < 400_000, "{second:?}");
    let again = home.path().join("again");
    pull(&packed, again.clone(), vec![hub.cache()]).0.await.unwrap().unwrap();
    assert_eq!(files(&home.path().join("data")), files(&again));
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_without_an_index_sends_only_what_the_hub_lacks() {
    let (hub, home) = (Hub::new(), home());
    push(home.path(), hub.cache()).0.await.unwrap().unwrap();
    std::fs::remove_dir_all(home.path().join("index"))
        .or_else(|_| std::fs::remove_file(home.path().join("index")))
        .unwrap();
    let before = hub.door.taken.bytes.load(Ordering::Relaxed);
    let (pushing, control) = push(home.path(), hub.cache());
    pushing.await.unwrap().unwrap();
    let pushed = *control.progress().borrow();
    assert_eq!((pushed.chunks, pushed.bytes), (0, 0));
    assert_eq!(pushed.known_bytes, before);
    assert_eq!(hub.door.taken.bytes.load(Ordering::Relaxed), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_and_a_pull_are_stopped_say_so_and_go_on() {
    let (hub, home) = (Hub::new(), home());
    let (pushing, control) = push(home.path(), hub.cache());
    control.set_limit(Some(8_000_000));
    control.progress().wait_for(|pushed| pushed.bytes > 2_000_000).await.unwrap();
    control.stop();
    match pushing.await.unwrap() {
        Err(pack::Error::Sink(error)) => assert!(matches!(why(&*error), Error::Stopped), "{error}"),
        other => panic!("{other:?}"),
    }
    let (pushing, control) = push(home.path(), hub.cache());
    let packed = pushing.await.unwrap().unwrap();
    assert!(control.progress().borrow().known_bytes > 1_000_000);
    let taken = hub.door.taken.bytes.load(Ordering::Relaxed);
    let stored = hub.store.usage().bytes;
    assert!(taken * 100 <= stored * 102, "{taken} bytes were sent for {stored}");

    let out = home.path().join("out");
    let (pulling, control) = pull(&packed, out.clone(), vec![hub.cache()]);
    control.set_limit(Some(8_000_000));
    control.progress().wait_for(|progress| progress.bytes > 2_000_000).await.unwrap();
    control.stop();
    match pulling.await.unwrap() {
        Err(unpack::Error::Source(error)) => assert!(matches!(why(&*error), Error::Stopped), "{error}"),
        other => panic!("{other:?}"),
    }
    pull(&packed, out.clone(), vec![hub.cache()]).0.await.unwrap().unwrap();
    assert_eq!(files(&home.path().join("data")), files(&out));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_holds_and_can_be_lifted() {
    let (hub, home) = (Hub::new(), home());
    let (pushing, control) = push(home.path(), hub.cache());
    control.set_limit(Some(4_000_000));
    let begun = Instant::now();
    control.progress().wait_for(|pushed| pushed.bytes > 3_000_000).await.unwrap();
    // The first tenth of a second may come at once.
    assert!(begun.elapsed().as_millis() > 500, "{:?}", begun.elapsed());
    control.set_limit(None);
    pushing.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_store_no_more_is_told_so() {
    let (hub, home) = (Hub::new(), home());
    hub.door.taken.max.store(5_000_000, Ordering::Relaxed);
    let (pushing, _) = push(home.path(), hub.cache());
    match pushing.await.unwrap() {
        Err(pack::Error::Sink(error)) => assert!(matches!(why(&*error), Error::Refused(Code::TooMuch)), "{error}"),
        other => panic!("{other:?}"),
    }
    assert!(hub.store.usage().bytes <= 5_000_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_replaced_while_a_push_runs_does_not_end_it() {
    let (hub, home) = (Hub::new(), home());
    let (token, shown) = tokio::sync::watch::channel(TOKEN.to_owned());
    let cache = Arc::new(Cache::new(&hub.url, Access::Token(shown)).unwrap());
    let (pushing, control) = push(home.path(), cache);
    control.set_limit(Some(10_000_000));
    control.progress().wait_for(|pushed| pushed.bytes > 1_000_000).await.unwrap();
    *hub.door.token.lock().unwrap() = "another".to_owned();
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    token.send_replace("another".to_owned());
    control.set_limit(None);
    pushing.await.unwrap().unwrap();
}

/// A cache that has everything and tells lies.
fn liar(hub: &Hub) -> (String, tokio::runtime::Runtime) {
    let store = Arc::clone(&hub.store);
    let lie = move |body: Bytes| {
        let mut answer = Vec::new();
        for id in body.as_chunks::<32>().0 {
            let mut chunk = store.get(&Hash(*id), Verify::Here).unwrap().unwrap().to_vec();
            *chunk.last_mut().unwrap() ^= 1;
            answer.extend(u32::try_from(chunk.len()).unwrap().to_le_bytes());
            answer.extend(chunk);
        }
        async move { answer }
    };
    serve(axum::Router::new().route("/chunks/want", post(lie)), 0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lying_cache_is_not_believed_and_the_other_gives_it_all() {
    let (hub, home) = (Hub::new(), home());
    let packed = push(home.path(), hub.cache()).0.await.unwrap().unwrap();
    let (url, lying) = liar(&hub);
    let out = home.path().join("out");
    let (pulling, control) = pull(&packed, out.clone(), vec![cache_at(&url), hub.cache()]);
    pulling.await.unwrap().unwrap();
    assert_eq!(files(&home.path().join("data")), files(&out));
    assert!(!control.progress().borrow().sources.iter().any(|source| source.name == url));
    // Alone, it gives nothing.
    let (pulling, _) = pull(&packed, home.path().join("none"), vec![cache_at(&url)]);
    match pulling.await.unwrap() {
        Err(unpack::Error::Source(error)) => assert!(matches!(why(&*error), Error::NoSource { .. }), "{error}"),
        other => panic!("{other:?}"),
    }
    lying.shutdown_background();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_that_dies_in_the_middle_is_replaced_by_another() {
    let (mut one, two, home) = (Hub::new(), Hub::new(), home());
    let packed = push(home.path(), one.cache()).0.await.unwrap().unwrap();
    std::fs::remove_dir_all(home.path().join("index"))
        .or_else(|_| std::fs::remove_file(home.path().join("index")))
        .unwrap();
    push(home.path(), two.cache()).0.await.unwrap().unwrap();
    let out = home.path().join("out");
    let (pulling, control) = pull(&packed, out.clone(), vec![one.cache(), two.cache()]);
    control.set_limit(Some(15_000_000));
    control.progress().wait_for(|progress| progress.bytes > 5_000_000).await.unwrap();
    one.kill();
    control.tell(Update::Left { name: "nobody".to_owned() }).await;
    control.set_limit(None);
    pulling.await.unwrap().unwrap();
    assert_eq!(files(&home.path().join("data")), files(&out));
    let _ = LIMIT;
}
