//! Images by their tags: asked for at a real registry, and never where strangers must not lead the desk.
use serde_json::{Value, json};

use crate::place::Place;
use crate::registry::Registry;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The digest of `{}`.
const EMPTY: &str = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";

/// A job of one task in this image.
fn job(image: &str) -> String {
    format!(
        "name = \"x\"\n[[task]]\nname = \"a\"\nruntime = \"container\"\nneeds.memory = \"64MiB\"\n\
         [task.container]\nimage = \"{image}\"\ncommand = [\"true\"]\n"
    )
}

/// Brings an image of nothing to a registry, under a tag; another one for each mark. Returns its digest.
async fn push(place: &Place, registry: &Registry, tag: &str, mark: &str) -> String {
    let base = format!("http://{}/v2/tools", registry.address);
    let begun = place.http.post(format!("{base}/blobs/uploads/")).send().await.expect("answered");
    let at = begun.headers()["location"].to_str().expect("an address").to_owned();
    let put = place.http.put(format!("{at}&digest={EMPTY}")).header("content-type", "application/octet-stream");
    let put = put.body("{}").send().await.expect("answered");
    assert_eq!(put.status(), 201, "{}", put.text().await.expect("a body"));
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "layers": [], "annotations": { "mark": mark },
        "config": { "mediaType": "application/vnd.oci.image.config.v1+json", "digest": EMPTY, "size": 2 },
    });
    let put = place.http.put(format!("{base}/manifests/{tag}")).header("content-type", MANIFEST);
    let put = put.body(manifest.to_string()).send().await.expect("answered");
    assert_eq!(put.status(), 201, "{put:?}");
    put.headers()["docker-content-digest"].to_str().expect("a digest").to_owned()
}

/// Whether the hub has written down a job that runs in this image.
fn is_known(place: &Place, digest: &str) -> bool {
    let hex = digest.strip_prefix("sha256:").expect("a digest");
    let wanted = hex.parse::<gleaner_wire::Hash>().expect("a digest").0;
    let files = ["hub.db", "hub.db-wal"].map(|file| std::fs::read(place.folder.path().join("hub").join(file)));
    files.into_iter().flatten().any(|bytes| bytes.windows(wanted.len()).any(|some| some == wanted))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_with_an_image_by_its_tag_is_quoted_and_ordered_with_what_the_tag_stood_for() {
    let (place, registry) = (Place::with_private_registries().await, Registry::start());
    let first = push(&place, &registry, "1", "first").await;
    let ada = place.as_person("ada");
    let job = job(&registry.name("tools:1"));
    let quoted = ada.post("/desk/quote", &json!({ "job": job })).await.ok().json();
    assert_eq!(quoted["tasks"], 1);
    // The tag is given to another image; who has seen the quote gets what it was for.
    let second = push(&place, &registry, "1", "second").await;
    assert_ne!(first, second);
    let wanted = |quote: &Value| json!({ "job": job, "quote": quote });
    ada.post_with_key("/desk/jobs", "seen", &wanted(&quoted["quote"])).await.ok();
    assert!(is_known(&place, &first) && !is_known(&place, &second), "what was quoted is ordered");
    ada.post_with_key("/desk/jobs", "anew", &wanted(&Value::Null)).await.ok();
    assert!(is_known(&place, &second), "who has seen no quote gets what the tag stands for now");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_registry_does_not_have_or_does_not_answer_is_said() {
    let (place, registry) = (Place::with_private_registries().await, Registry::start());
    let ada = place.as_person("ada");
    let quote = async |image: &str| ada.post("/desk/quote", &json!({ "job": job(image) })).await;
    let gone = quote(&registry.name("tools:gone")).await.refused(422, "image-unknown");
    assert!(gone.contains("tools:gone") && gone.contains("@sha256:"), "{gone}");
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address");
    let silent = quote(&format!("{free}/tools:1")).await.refused(503, "registry");
    assert!(silent.contains(&free.to_string()) && silent.contains("try again"), "{silent}");
    quote("no name").await.refused(422, "job-refused");
    let submitted = ada.submit("k", &job(&registry.name("tools:gone")), None).await;
    submitted.refused(422, "image-unknown");
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_cannot_lead_the_desk_to_its_neighbours() {
    let (place, registry) = (Place::new().await, Registry::start());
    push(&place, &registry, "1", "first").await;
    let ada = place.as_person("ada");
    let address = registry.address.clone();
    let here = address.replace("127.0.0.1", "localhost");
    let hosts = [address, here, "10.0.0.1:5000".to_owned(), "169.254.169.254".to_owned()];
    for host in hosts {
        let wanted = json!({ "job": job(&format!("{host}/tools:1")) });
        let refused = ada.post("/desk/quote", &wanted).await.refused(422, "job-refused");
        assert!(refused.contains("no public address"), "{host}: {refused}");
    }
}
