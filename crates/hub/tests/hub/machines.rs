//! Machines as their owners see and set them.
use crate::people::Somebody;
use crate::place::Place;
use crate::worker::Worker;
use gleaner_wire::machine::{DeviceReading, MachineReport, MachineSettings, MachineView, MachinesPage, PricePolicy};
use gleaner_wire::{Amount, ByteSize, ToHub, ToWorker};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

fn report(price: PricePolicy, hours: &str) -> MachineReport {
    let device = DeviceReading {
        load_percent: Some(70),
        celsius: Some(61),
        memory_used: Some(ByteSize::mib(512)),
        milliwatts: Some(120_500),
        energy_per_hour: Some(Amount(36_000_000)),
    };
    MachineReport { devices: vec![device], price, hours: hours.to_owned(), energy: Some(Amount(7)), paired: true }
}

/// An account with a machine, which has told how it does.
async fn owner_with_machine(place: &Place) -> (Somebody, Worker) {
    let owner = Somebody::sign_up(&place.api, "owner", &["requester", "provider"]).await;
    let token = owner.token(&json!({ "provide": true })).await;
    let mut worker = Worker::join_with_token(&token.as_api(), 1).await;
    worker.connection.send(&ToHub::Machine(report(PricePolicy::Market, ""))).await;
    (owner, worker)
}

/// Waits until a machine is as it should be.
async fn until(owner: &Somebody, worker: &Worker, is_so: impl Fn(&Value) -> bool) -> Value {
    let path = format!("/api/v1/machines/{}", worker.id);
    let waiting = async {
        loop {
            let view = owner.json(&path).await;
            if is_so(&view) {
                return view;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::place::PATIENCE, waiting).await.expect("the machine becomes so")
}

/// Answers what is asked to be set.
async fn answer(worker: &mut Worker, answer: impl Fn(&MachineSettings) -> Result<MachineReport, String>) {
    loop {
        match worker.connection.receive().await.expect("the connection stays") {
            ToWorker::Set { number, settings } => {
                let answer = answer(&settings);
                return worker.connection.send(&ToHub::Set { number, answer }).await;
            }
            ToWorker::Refused { reason } => panic!("{reason}"),
            _ => {}
        }
    }
}

async fn set(who: &Somebody, path: &str, said: &Value) -> (StatusCode, Value) {
    let response = who.ask(Method::PUT, path).json(said).send().await.unwrap();
    (response.status(), response.json().await.unwrap())
}

#[tokio::test]
async fn an_owner_sees_how_a_machine_does() {
    let place = Place::new().await;
    let (owner, worker) = owner_with_machine(&place).await;
    let view = until(&owner, &worker, |view| view["telemetry_at"].is_number()).await;
    let told = json!([{ "device": 0, "load": 0.7, "temperature": 61, "memory_used": 512 << 20, "watts": 120.5 }]);
    assert_eq!(view["telemetry"], told);
    assert_eq!((&view["price"], &view["hours"], &view["paired"]), (&json!("market"), &Value::Null, &json!(true)));
    assert_eq!((&view["energy_per_hour"], &view["penalties"]), (&json!("0.036"), &json!([])));
    let page: MachinesPage = serde_json::from_value(owner.json("/api/v1/machines").await).unwrap();
    assert_eq!(page.items.iter().map(|machine| machine.worker.id).collect::<Vec<_>>(), [worker.id]);
    let known: MachineView = serde_json::from_value(view).unwrap();
    drop(worker);
    let gone = owner.json(&format!("/api/v1/machines/{}", known.worker.id)).await;
    assert_eq!(gone["price"], "market", "what it asks is remembered");
}

#[tokio::test]
async fn strangers_neither_see_nor_set_a_machine() {
    let place = Place::new().await;
    let (owner, worker) = owner_with_machine(&place).await;
    until(&owner, &worker, |view| view["price"] == "market").await;
    let stranger = Somebody::sign_up(&place.api, "stranger", &["requester", "provider"]).await;
    let requester = Somebody::sign_up(&place.api, "requester", &["requester"]).await;
    let reader = owner.token(&json!({ "read": true })).await;
    assert_eq!(stranger.json("/api/v1/machines").await["items"], json!([]));
    let base = format!("/api/v1/machines/{}", worker.id);
    let routes = [
        (Method::GET, base.clone()),
        (Method::GET, format!("{base}/earnings")),
        (Method::DELETE, base.clone()),
        (Method::PUT, format!("{base}/settings")),
        (Method::POST, format!("{base}/pause")),
        (Method::POST, format!("{base}/resume")),
    ];
    for (method, path) in routes {
        let ask = async |who: &Somebody| who.ask(method.clone(), &path).json(&json!({})).send().await.unwrap().status();
        assert_eq!(ask(&stranger).await, StatusCode::NOT_FOUND, "{method} {path}");
        assert_eq!(ask(&Somebody::nobody(&place.api)).await, StatusCode::UNAUTHORIZED, "{method} {path}");
        if method != Method::GET {
            assert_eq!(ask(&reader).await, StatusCode::FORBIDDEN, "{method} {path}: it may look only");
            assert_eq!(ask(&requester).await, StatusCode::FORBIDDEN, "{method} {path}: no provider");
        }
    }
    assert_eq!(owner.json(&base).await["state"], "available", "nothing has happened to it");
}

#[tokio::test]
async fn what_an_owner_sets_is_asked_of_the_machine_which_has_the_last_word() {
    let place = Place::new().await;
    let (owner, mut worker) = owner_with_machine(&place).await;
    let path = format!("/api/v1/machines/{}/settings", worker.id);
    let said = json!({ "price": "0.36", "hours": "22:00-07:00" });
    let asking = set(&owner, &path, &said);
    let taking = answer(&mut worker, |settings| {
        assert_eq!(settings.price, Some(PricePolicy::PerHour(Amount(360_000_000))));
        assert_eq!(settings.hours.as_deref(), Some("22:00-07:00"));
        Ok(report(PricePolicy::PerHour(Amount(360_000_000)), "22:00-07:00"))
    });
    let ((status, body), ()) = tokio::join!(asking, taking);
    assert_eq!((status, body), (StatusCode::OK, json!({ "price": "0.36", "hours": "22:00-07:00" })));
    let view = owner.json(&format!("/api/v1/machines/{}", worker.id)).await;
    assert_eq!((&view["price"], &view["hours"]), (&json!("0.36"), &json!("22:00-07:00")), "known at once");

    let no_hours = json!({ "hours": null });
    let asking = set(&owner, &path, &no_hours);
    let refusing = answer(&mut worker, |settings| {
        assert_eq!((settings.price, settings.hours.as_deref()), (None, Some("")), "only what is named");
        Err("it would work at a loss".to_owned())
    });
    let ((status, body), ()) = tokio::join!(asking, refusing);
    assert_eq!((status, &body["code"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("refused")));
    assert_eq!(body["detail"], "it would work at a loss");
}

#[tokio::test]
async fn settings_that_cannot_be_are_refused_before_the_machine_hears_of_them() {
    let place = Place::new().await;
    let (owner, worker) = owner_with_machine(&place).await;
    let path = format!("/api/v1/machines/{}/settings", worker.id);
    for said in [json!({ "price": "cheap" }), json!({ "price": 3 }), json!({ "colour": "red" }), json!([])] {
        let (status, body) = set(&owner, &path, &said).await;
        assert!(status.is_client_error(), "{said}: {body}");
    }
    let (status, _) = set(&owner, &path, &json!({ "hours": "x".repeat(2000) })).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_machine_that_is_not_here_is_not_set() {
    let place = Place::new().await;
    let (owner, mut worker) = owner_with_machine(&place).await;
    worker.connection.send(&ToHub::Leaving).await;
    worker.connection.closed().await;
    until(&owner, &worker, |view| view["state"] == "offline" && view["telemetry"] == json!([])).await;
    let path = format!("/api/v1/machines/{}/settings", worker.id);
    let (status, body) = set(&owner, &path, &json!({ "price": "0.36" })).await;
    assert_eq!((status, &body["code"]), (StatusCode::CONFLICT, &json!("not-connected")));
    assert!(body["detail"].as_str().unwrap().contains("gleaner share"), "{body}");
}

#[tokio::test]
async fn an_owner_pauses_and_resumes_and_gives_a_machine_up() {
    let place = Place::new().await;
    let (owner, worker) = owner_with_machine(&place).await;
    let base = format!("/api/v1/machines/{}", worker.id);
    let (status, paused) = owner.post(&format!("{base}/pause"), &json!({})).await;
    assert_eq!((status, &paused["state"]), (StatusCode::OK, &json!("paused")));
    let (status, resumed) = owner.post(&format!("{base}/resume"), &json!({})).await;
    assert_eq!((status, &resumed["state"]), (StatusCode::OK, &json!("available")));
    assert_eq!(owner.delete(&base).await, StatusCode::NO_CONTENT);
    assert_eq!(owner.delete(&base).await, StatusCode::NOT_FOUND);
    assert_eq!(owner.json("/api/v1/machines").await["items"], json!([]));
    let all = place.api.json("/api/v1/machines").await;
    assert_eq!(all["items"].as_array().unwrap().len(), 1, "the operator still sees it");
    let released = place.api.delete(&base).send().await.unwrap();
    assert_eq!(released.status(), StatusCode::CONFLICT, "nobody has claimed it");
}

#[tokio::test]
async fn machines_are_listed_page_by_page() {
    let place = Place::new().await;
    let owner = Somebody::sign_up(&place.api, "owner", &["provider"]).await;
    let token = owner.token(&json!({ "provide": true })).await;
    let mut workers = Vec::new();
    for seed in 1..=3 {
        workers.push(Worker::join_with_token(&token.as_api(), seed).await);
        workers.push(Worker::join(&place.api, 100 + seed).await);
    }
    let mut seen = Vec::new();
    let mut path = "/api/v1/machines?limit=2".to_owned();
    for _ in 0..5 {
        let page: MachinesPage = serde_json::from_value(owner.json(&path).await).unwrap();
        seen.extend(page.items.iter().map(|machine| machine.worker.id));
        let Some(next) = page.next else { break };
        path = format!("/api/v1/machines?limit=2&cursor={next}");
    }
    let mine: Vec<_> = workers.iter().step_by(2).map(|worker| worker.id).collect();
    assert_eq!(seen, mine);
    for wrong in ["limit=0", "limit=201", "cursor=x", "colour=red"] {
        let answer = owner.ask(Method::GET, &format!("/api/v1/machines?{wrong}")).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{wrong}");
    }
}
