//! The catalogue: templates that come with the program and those that people publish.
use gleaner_desk::Limits;
use serde_json::{Value, json};

use crate::place::{PROGRAM, Place};

const JOB: &str = r#"name = "{{title}}"
[[task]]
name = "square"
runtime = "wasm"
program = "code/square.wasm"
args = ["{index}"]
each = "1..{{count}}"
[[task.input]]
name = "data"
file = "{{data}}"
"#;

/// A template whose files are in the tree `work`.
fn publication() -> Value {
    json!({
        "name": "squares",
        "title": "Squares",
        "kind": "sweep",
        "about": "Squares of numbers.",
        "picture": "picture.png",
        "files": ["code/square.wasm"],
        "folder": "work",
        "job": JOB,
        "inputs": {
            "properties": {
                "title": { "type": "string", "title": "Title", "default": "squares" },
                "count": { "type": "integer", "title": "How many", "minimum": 1, "maximum": 1000 },
                "data": { "type": "file", "title": "Data" },
            },
            "required": ["count", "data"],
        },
    })
}

/// The same with something else in one place.
fn with(field: &str, value: Value) -> Value {
    let mut changed = publication();
    changed[field] = value;
    changed
}

fn png() -> Vec<u8> {
    [&b"\x89PNG\r\n\x1a\n"[..], &[0; 100]].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_comes_with_the_program_becomes_a_job_by_filling_in_a_form() {
    let place = Place::new().await;
    let ada = place.as_person("ada");
    let all = ada.get("/catalogue").await.ok().json();
    let names: Vec<_> =
        all["items"].as_array().expect("a list").iter().map(|template| template["name"].clone()).collect();
    assert_eq!(names, ["blender", "path-tracer", "train", "sweep", "primes", "words"]);
    let kinds = ada.get("/catalogue?kind=workflow").await.ok().json();
    assert_eq!(kinds["items"].as_array().map(Vec::len), Some(1));
    for template in all["items"].as_array().expect("a list") {
        let picture = template["picture"].as_str().and_then(|path| path.strip_prefix("/api/v1")).expect("a picture");
        let picture = ada.get(picture).await.ok();
        assert_eq!(picture.header("content-type"), "image/png");
        assert_eq!(template["typical"], Value::Null, "nobody ran it yet");
    }
    let rendered = ada.post("/catalogue/primes/render", &json!({ "inputs": { "tasks": 3 } })).await.ok().json();
    let job = rendered["job"].as_str().expect("a job file");
    assert!(job.contains("each = \"0..2\"") && job.contains("# {index} becomes the task's number"), "{job}");
    let quote = ada.post("/desk/quote", &json!({ "job": job })).await.ok().json();
    assert_eq!((&quote["tasks"], &quote["cap"]), (&3.into(), &"0.1".into()));
    ada.submit("k", job, None).await.ok();
    let invoice = ada.get("/desk/jobs/1/invoice").await.ok().json();
    assert_eq!(invoice["template"], "primes");
    let changed = job.replace("name = \"primes\"\n\n", "name = \"mine\"\n\n");
    ada.submit("l", &changed, None).await.ok();
    assert_eq!(ada.get("/desk/jobs/2/invoice").await.ok().json()["template"], Value::Null, "it is another job now");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_the_form_is_refused() {
    let place = Place::new().await;
    let ada = place.as_person("ada");
    for inputs in [json!({ "tasks": 0 }), json!({ "tasks": "3" }), json!({ "colour": 1 }), json!({ "price": "much" })] {
        ada.post("/catalogue/primes/render", &json!({ "inputs": inputs })).await.refused(422, "template-refused");
    }
    ada.post("/catalogue/words/render", &json!({ "inputs": {} })).await.refused(422, "template-refused");
    ada.post("/catalogue/none/render", &json!({ "inputs": {} })).await.refused(404, "not-found");
    ada.get("/catalogue/..%2f..%2fx").await.refused(404, "not-found");
}

#[tokio::test(flavor = "multi_thread")]
async fn anyone_publishes_and_others_run_it_with_their_own_files() {
    let place = Place::new().await;
    let (ada, bob) = (place.as_person("ada"), place.as_person("bob"));
    ada.put("/files/work/code/square.wasm", PROGRAM).await.ok();
    ada.put("/files/work/picture.png", png()).await.ok();
    let publication = publication();
    let published = ada.post("/catalogue", &publication).await;
    assert_eq!((published.status.as_u16(), published.header("location")), (201, "/api/v1/catalogue/squares"));
    bob.post("/catalogue", &with("name", json!("cubes"))).await.refused(404, "not-found");
    bob.put("/files/work/code/square.wasm", PROGRAM).await.ok();
    bob.put("/files/work/picture.png", png()).await.ok();
    bob.post("/catalogue", &publication).await.refused(409, "name-taken");
    let shown = bob.get("/catalogue/squares").await.ok().json();
    assert_eq!((&shown["author"], &shown["inputs"]["properties"]["data"]["type"]), (&"ada".into(), &"file".into()));
    assert_eq!(shown["job"], JOB);
    bob.put("/files/mine/data.txt", "1 2 3").await.ok();
    let inputs = json!({ "inputs": { "count": 4, "data": "mine/data.txt", "title": "\", x = \"1" } });
    let job =
        bob.post("/catalogue/squares/render", &inputs).await.ok().json()["job"].as_str().expect("a job").to_owned();
    bob.submit("k", &job, None).await.ok();
    assert_eq!(bob.get("/jobs/1").await.ok().json()["name"], "\", x = \"1");
    bob.delete("/catalogue/squares").await.refused(404, "not-found");
    assert_eq!(ada.delete("/catalogue/squares").await.status.as_u16(), 204);
    bob.get("/catalogue/squares").await.refused(404, "not-found");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_published_must_make_sense_and_hold_only_ones_own_files() {
    let place = Place::with(Limits { templates_max: 1, ..Limits::default() }, false).await;
    let ada = place.as_person("ada");
    ada.put("/files/work/code/square.wasm", PROGRAM).await.ok();
    ada.put("/files/work/picture.png", "no picture").await.ok();
    let publish = async |wanted: &Value| ada.post("/catalogue", wanted).await;
    let detail = publish(&publication()).await.refused(422, "template-refused");
    assert!(detail.contains("picture"), "{detail}");
    ada.put("/files/work/picture.png", png()).await.ok();
    for (field, value) in [
        ("files", json!(["../../x"])),
        ("files", json!(["/etc/passwd"])),
        ("files", json!(["code/none.wasm"])),
        ("picture", json!("../../../../api.token")),
        ("job", json!(JOB.replace("{{data}}", "private/diary.txt"))),
        ("job", json!("name = 7")),
        ("name", json!("Not A Name")),
        ("name", json!("../x")),
        ("inputs", json!({ "properties": {} })),
    ] {
        publish(&with(field, value)).await.refused(422, "template-refused");
    }
    publish(&with("kind", json!("spam"))).await.refused(400, "bad-request");
    publish(&with("name", json!("primes"))).await.refused(409, "name-taken");
    publish(&publication()).await.ok();
    publish(&with("about", json!("Better squares."))).await.ok();
    assert_eq!(ada.get("/catalogue/squares").await.ok().json()["about"], "Better squares.");
    publish(&with("name", json!("cubes"))).await.refused(429, "too-many");
}
