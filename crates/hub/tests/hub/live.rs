//! Live events.
use crate::people::{Shows, Somebody};
use crate::place::{Api, PATIENCE, Place};
use crate::worker::Worker;
use futures_util::StreamExt;
use gleaner_wire::api::Live;
use serde_json::json;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

struct Listener(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Listener {
    async fn open(api: &Api) -> Self {
        let url = format!("{}/api/v1/events", api.url.replace("http:", "ws:"));
        let mut request = url.into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {}", api.token).parse().unwrap());
        Self(connect_async(request).await.unwrap().0)
    }

    async fn next(&mut self) -> Live {
        let next = tokio::time::timeout(PATIENCE, self.0.next()).await;
        match next.expect("an event") {
            Some(Ok(Message::Text(text))) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_listener_hears_of_workers_and_of_a_jobs_end() {
    let place = Place::new().await;
    let mut listener = Listener::open(&place.api).await;
    let mut worker = Worker::join(&place.api, 1).await;
    let Live::Worker { name, .. } = listener.next().await else { panic!("no worker") };
    assert_eq!(name, "worker-1");
    let job = place.api.submit_array(2000, 1).await.job;
    worker.work(2000).await;
    let mut heard = 0;
    loop {
        if let Live::Job(summary) = listener.next().await {
            assert_eq!(summary.id, job);
            heard += 1;
            if summary.state.has_ended() {
                assert_eq!(summary.done, 2000);
                break;
            }
        }
    }
    assert!(heard < 100, "progress is told a few times a second, not {heard} times");
}

#[tokio::test]
async fn nobody_listens_without_a_token() {
    let place = Place::new().await;
    let url = format!("{}/api/v1/events", place.api.url.replace("http:", "ws:"));
    assert!(connect_async(url).await.is_err());
}

#[tokio::test]
async fn whoever_is_no_operator_any_more_hears_nothing() {
    let place = Place::new().await;
    let operator = Somebody::sign_up(&place.api, "the-operator", &["operator", "requester"]).await;
    let Shows::Session { cookie, .. } = &operator.shows else { panic!("no session") };
    let url = format!("{}/api/v1/events", place.api.url.replace("http:", "ws:"));
    let mut request = url.into_client_request().unwrap();
    request.headers_mut().insert("cookie", cookie.parse().unwrap());
    let mut socket = connect_async(request).await.unwrap().0;
    let id = operator.json("/api/v1/session").await["account"]["id"].to_string();
    let roles = place.api.put(&format!("/api/v1/accounts/{id}/roles")).json(&json!({ "roles": ["requester"] }));
    assert!(roles.send().await.unwrap().status().is_success());
    let ends = async { while let Some(Ok(Message::Text(_))) = socket.next().await {} };
    tokio::time::timeout(PATIENCE, ends).await.expect("the hub hangs up");
}
