//! Live state for pages: what they watch over a WebSocket or as server-sent events.
use crate::people::Somebody;
use crate::place::{Api, PATIENCE, Place};
use crate::worker::{Worker, done_with};
use futures_util::{SinkExt, StreamExt};
use gleaner_wire::live::{LiveEvent, Numbered};
use gleaner_wire::progress::AttemptState;
use reqwest::StatusCode;
use serde_json::json;
use std::collections::VecDeque;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

struct Page(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Page {
    async fn open(api: &Api, query: &str, token: bool) -> Self {
        let url = format!("{}/api/v1/live{query}", api.url.replace("http:", "ws:"));
        let mut request = url.into_client_request().unwrap();
        if token {
            request.headers_mut().insert("authorization", format!("Bearer {}", api.token).parse().unwrap());
        }
        Self(connect_async(request).await.unwrap().0)
    }

    async fn say(&mut self, text: &str) {
        self.0.send(Message::text(text)).await.unwrap();
    }

    async fn next(&mut self) -> Numbered {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.0.next()).await;
            match next.expect("an event") {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).unwrap(),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The topics that it watches now, and the codes of those that were refused.
    async fn watching(&mut self) -> (Vec<String>, Vec<String>) {
        loop {
            if let LiveEvent::Watching { topics, refused } = self.next().await.event {
                return (topics, refused.into_iter().map(|refused| refused.code).collect());
            }
        }
    }
}

/// Server-sent events, as a browser reads them.
struct Stream {
    response: reqwest::Response,
    text: String,
}

impl Stream {
    async fn open(api: &Api, query: &str, seen: Option<u64>) -> Self {
        let mut request = api.get(&format!("/api/v1/live/events{query}"));
        if let Some(seen) = seen {
            request = request.header("last-event-id", seen);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new() }
    }

    async fn next(&mut self) -> Numbered {
        loop {
            if let Some((event, rest)) =
                self.text.split_once("\n\n").map(|(one, rest)| (one.to_owned(), rest.to_owned()))
            {
                self.text = rest;
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
                let Some(data) = field("data: ") else { continue };
                let read: Numbered = serde_json::from_str(&data).unwrap();
                assert_eq!(field("id: ").unwrap(), read.seq.to_string());
                let kind: serde_json::Value = serde_json::from_str(&data).unwrap();
                assert_eq!(field("event: ").unwrap(), kind["event"].as_str().unwrap());
                return read;
            }
            let piece = tokio::time::timeout(PATIENCE, self.response.chunk()).await.expect("an event");
            self.text += std::str::from_utf8(&piece.unwrap().expect("it goes on")).unwrap();
        }
    }
}

#[tokio::test]
async fn a_page_hears_of_what_it_watches_and_nothing_else() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(3, 1).await.job;
    let other = place.api.submit_array(1, 2).await.job;
    let mut page = Page::open(&place.api, "", true).await;
    page.say(&format!(r#"{{"watch": ["job:{job}", "everything"]}}"#)).await;
    assert_eq!(page.watching().await, (vec![format!("job:{job}")], vec!["bad-request".to_owned()]));
    worker.work(4).await;
    let (mut done, mut ended) = (0, false);
    while done < 3 || !ended {
        match page.next().await.event {
            LiveEvent::Job(summary) => {
                assert_eq!(summary.id, job, "not of job {other}");
                ended = summary.state.has_ended();
            }
            LiveEvent::Attempts { job: of, items, more } => {
                assert_eq!((of, more), (job, 0));
                done += items.iter().filter(|change| change.state == AttemptState::Done).count();
            }
            event => panic!("{event:?}"),
        }
    }
    page.say("nonsense").await;
    assert_eq!(page.watching().await.1, ["bad-request"]);
    page.say(r#"{"watch": ["workers"]}"#).await;
    assert_eq!(page.watching().await.0, ["workers"]);
    drop(worker);
    let LiveEvent::Worker { name, state, .. } = page.next().await.event else { panic!("no worker") };
    assert_eq!((name.as_str(), state), ("worker-1", gleaner_wire::State::Offline));
}

#[tokio::test]
async fn strangers_watch_the_network_and_no_jobs() {
    let place = Place::new().await;
    let mut page = Page::open(&place.api, "?watch=network,jobs,job:1,workers", false).await;
    let (topics, refused) = page.watching().await;
    assert_eq!((topics, refused), (vec!["network".to_owned()], vec!["unauthorized".to_owned(); 3]));
    loop {
        match page.next().await.event {
            LiveEvent::Status(status) => {
                assert_eq!(status.workers.online, 0);
                break;
            }
            LiveEvent::Prices { .. } => {}
            event => panic!("{event:?}"),
        }
    }
    let stranger =
        place.api.client.get(format!("{}/api/v1/live/events?watch=jobs", place.api.url)).send().await.unwrap();
    assert_eq!(stranger.status(), StatusCode::UNAUTHORIZED);
    let wrong = place.api.get("/api/v1/live/events").send().await.unwrap();
    assert_eq!(wrong.status(), StatusCode::BAD_REQUEST);
    assert_eq!(wrong.json::<serde_json::Value>().await.unwrap()["at"], "watch");
}

#[tokio::test]
async fn server_sent_events_go_on_after_the_last_that_was_seen_or_say_that_some_were_missed() {
    let mut place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let mut stream = Stream::open(&place.api, "?watch=jobs", None).await;
    let LiveEvent::Watching { topics, .. } = stream.next().await.event else { panic!("no word") };
    assert_eq!(topics, ["jobs"]);
    let job = place.api.submit_array(1, 1).await.job;
    let seen = stream.next().await;
    assert!(matches!(&seen.event, LiveEvent::Job(summary) if summary.id == job), "{seen:?}");
    drop(stream);
    let starts = worker.starts().await;
    let batch = worker.finish(starts.iter().map(done_with).collect()).await;
    worker.acknowledged(batch).await;
    let mut stream = Stream::open(&place.api, "?watch=jobs", Some(seen.seq)).await;
    let mut kinds = VecDeque::new();
    loop {
        let event = stream.next().await;
        assert!(event.seq > seen.seq);
        match event.event {
            LiveEvent::Job(summary) if summary.state.has_ended() => break,
            LiveEvent::Job(_) | LiveEvent::Watching { .. } => kinds.push_back(event.seq),
            other => panic!("{other:?}"),
        }
    }
    drop(stream);
    place.kill_and_start().await;
    let mut stream = Stream::open(&place.api, "?watch=jobs", Some(seen.seq)).await;
    let event = stream.next().await;
    assert!(matches!(event.event, LiveEvent::Missed { count: None }), "another hub cannot know: {event:?}");
    assert!(event.seq > seen.seq, "numbers grow over restarts");
}

#[tokio::test]
async fn a_thousand_pages_hear_of_one_worker() {
    const PAGES: usize = 1000;
    let place = Place::new().await;
    let mut pages = Vec::new();
    for _ in 0..PAGES {
        pages.push(Page::open(&place.api, "?watch=workers", true).await);
    }
    for page in &mut pages {
        assert_eq!(page.watching().await.0, ["workers"]);
    }
    let worker = Worker::join(&place.api, 1).await;
    let mut ids = Vec::new();
    for page in &mut pages {
        let event = page.next().await;
        assert!(matches!(&event.event, LiveEvent::Worker { id, .. } if *id == worker.id), "{event:?}");
        ids.push(event.seq);
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "all of them heard the same event");
    let metrics = place.api.get("/metrics").send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains(&format!("gleaner_live_watchers {PAGES}")), "they are counted");
}

#[tokio::test]
async fn a_token_that_may_not_read_watches_what_everybody_may() {
    let place = Place::new().await;
    let owner = Somebody::sign_up(&place.api, "owner", &["requester", "provider"]).await;
    let (reads, submits) =
        (owner.token(&json!({ "read": true })).await, owner.token(&json!({ "submit": true, "provide": true })).await);
    let mut page = Page::open(&reads.as_api(), "?watch=jobs,network", true).await;
    assert_eq!(page.watching().await, (vec!["jobs".to_owned(), "network".to_owned()], Vec::new()));
    let mut page = Page::open(&submits.as_api(), "?watch=jobs,network", true).await;
    assert_eq!(page.watching().await, (vec!["network".to_owned()], vec!["unauthorized".to_owned()]));
}
