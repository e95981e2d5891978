//! Images from datasets and from a registry.

use crate::cell::engine_config;
use crate::podman::Podman;
use crate::registry::Registry;
use gleaner_sandbox::{Engine, EngineConfig, Error, Groups, Image, ImageSource};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

async fn engine(config: EngineConfig) -> Engine {
    let groups = Arc::new(Groups::open(&config.worker).unwrap());
    Engine::connect(config, groups).await.unwrap()
}

async fn image(engine: &Engine, source: ImageSource) -> Result<Image, Error> {
    engine.image(&source, LIMIT, &mut |_| {}).await
}

/// Unpacks an archive into a layout.
fn layout(archive: &Path) -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("layout");
    fs::create_dir(&folder).unwrap();
    assert!(Command::new("tar").arg("-C").arg(&folder).arg("-xf").arg(archive).status().unwrap().success());
    (home, folder)
}

fn largest_blob(layout: &Path) -> PathBuf {
    let blobs = fs::read_dir(layout.join("blobs/sha256")).unwrap().flatten();
    blobs.max_by_key(|blob| blob.metadata().unwrap().len()).unwrap().path()
}

#[tokio::test]
async fn image_from_a_dataset_is_loaded_once_and_is_the_same_from_folder_and_archive() {
    let podman = Podman::start();
    let archive = podman.archive();
    let (home, folder) = layout(&archive);
    let engine = engine(engine_config(&podman.host(), home.path())).await;
    let first = image(&engine, ImageSource::Layout(folder)).await.unwrap();
    assert!(!first.cached && first.bytes > 0);
    let second = image(&engine, ImageSource::Archive(archive)).await.unwrap();
    assert!(second.cached);
    assert_eq!(first.id, second.id);
    let held = engine.images().await.unwrap();
    assert_eq!(held.iter().map(|held| &held.id).collect::<Vec<_>>(), [&first.id]);
}

#[tokio::test]
async fn layout_that_is_not_what_its_digests_say_is_refused() {
    let podman = Podman::start();
    let archive = podman.archive();
    let home = tempfile::tempdir().unwrap();
    let engine = engine(engine_config(&podman.host(), home.path())).await;

    let (_kept, folder) = layout(&archive);
    let index = fs::read_to_string(folder.join("index.json")).unwrap();
    let digest = index.split("sha256:").nth(1).unwrap()[..64].to_owned();
    let manifest = folder.join("blobs/sha256").join(digest);
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, format!("{text} ")).unwrap();
    assert!(matches!(image(&engine, ImageSource::Layout(folder)).await, Err(Error::Image(_))));

    let (_kept, folder) = layout(&archive);
    let layer = largest_blob(&folder);
    let mut bytes = fs::read(&layer).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&layer, bytes).unwrap();
    assert!(image(&engine, ImageSource::Layout(folder)).await.is_err(), "a layer was changed");

    let (_kept, folder) = layout(&archive);
    let layer = largest_blob(&folder);
    fs::remove_file(&layer).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &layer).unwrap();
    assert!(matches!(image(&engine, ImageSource::Layout(folder)).await, Err(Error::Image(_))));
    assert!(engine.images().await.unwrap().is_empty());
}

#[tokio::test]
async fn least_used_images_make_room_and_the_owners_own_stay() {
    let podman = Podman::start();
    let home = tempfile::tempdir().unwrap();
    podman.import("localhost/owners:1");
    let archive = |name: &str| podman.archive_of(name, &serde_json::json!({ "Env": [format!("N={name}")] }));
    let (one, two) = (archive("one"), archive("two"));
    let room = fs::metadata(&one).unwrap().len() * 3 / 2;
    let config = EngineConfig { images_bytes_max: room, ..engine_config(&podman.host(), home.path()) };
    let engine = engine(config).await;
    let first = image(&engine, ImageSource::Archive(one)).await.unwrap();
    let second = image(&engine, ImageSource::Archive(two)).await.unwrap();
    let held: Vec<_> = engine.images().await.unwrap().into_iter().map(|held| held.id).collect();
    assert_eq!(held, [second.id]);
    assert_ne!(held, [first.id]);
    let all = podman.run(&["images", "--format", "{{.Repository}}"]);
    assert!(all.contains("localhost/owners"), "{all}");
    let owners = podman.run(&["images", "--quiet", "--no-trunc", "localhost/owners:1"]);
    assert!(matches!(engine.remove_image(&owners).await, Err(Error::Refused(_))));
}

#[tokio::test]
async fn image_larger_than_all_images_may_be_is_refused_and_leaves_nothing() {
    let podman = Podman::start();
    let home = tempfile::tempdir().unwrap();
    let archive = podman.archive();
    let config = EngineConfig { images_bytes_max: 100 << 10, ..engine_config(&podman.host(), home.path()) };
    let engine = engine(config).await;
    let refused = image(&engine, ImageSource::Archive(archive)).await;
    assert!(matches!(&refused, Err(Error::Image(why)) if why.contains("at most 102400 bytes")), "{refused:?}");
    assert!(engine.images().await.unwrap().is_empty());
    assert_eq!(podman.run(&["images", "--quiet"]), "");
}

#[tokio::test]
async fn image_that_wants_what_it_may_not_have_is_refused_and_leaves_nothing() {
    let podman = Podman::start();
    let home = tempfile::tempdir().unwrap();
    let engine = engine(engine_config(&podman.host(), home.path())).await;
    let many: serde_json::Map<_, _> = (0..40).map(|n| (format!("/data{n}"), serde_json::json!({}))).collect();
    let odd = serde_json::json!({ "/data,rw": {} });
    for (name, volumes) in [("many", serde_json::Value::Object(many)), ("odd", odd)] {
        let archive = podman.archive_of(name, &serde_json::json!({ "Volumes": volumes }));
        let refused = image(&engine, ImageSource::Archive(archive)).await;
        assert!(matches!(&refused, Err(Error::Image(why)) if why.contains("volume")), "{name}: {refused:?}");
        assert!(engine.images().await.unwrap().is_empty(), "{name}");
        assert_eq!(podman.run(&["images", "--quiet"]), "", "{name} stays in the engine");
    }
}

/// Somebody may be reading the folder at the same time, and would take what is unpacked there for a part of the dataset.
#[tokio::test]
async fn archive_is_unpacked_elsewhere_than_beside_itself() {
    let podman = Podman::start();
    let home = tempfile::tempdir().unwrap();
    let engine = engine(engine_config(&podman.host(), home.path())).await;
    let dataset = tempfile::tempdir().unwrap();
    let archive = dataset.path().join("image.tar");
    fs::copy(podman.archive(), &archive).unwrap();
    // Nothing can be made in it, not even for a moment.
    assert!(Command::new("mount").args(["--bind", "-o", "ro"]).args([dataset.path(); 2]).status().unwrap().success());
    let had = image(&engine, ImageSource::Archive(archive)).await;
    assert!(Command::new("umount").arg(dataset.path()).status().unwrap().success());
    assert!(!had.unwrap().cached);
    let unpacked = home.path().join("unpacked-images");
    assert_eq!(fs::read_dir(unpacked).unwrap().count(), 0, "and nothing of it is left");
}

#[tokio::test]
async fn tag_is_resolved_to_its_digest_and_the_digest_fetched_once() {
    let registry = Registry::start();
    let podman = Podman::start_with(&registry.configuration());
    registry.fill(&podman, "box:1");
    let home = tempfile::tempdir().unwrap();
    let engine = engine(engine_config(&podman.host(), home.path())).await;
    let mut heard = 0;
    let source = ImageSource::Registry(registry.name("box:1"));
    let by_tag = engine.image(&source, LIMIT, &mut |_| heard += 1).await.unwrap();
    assert!(heard > 0, "no progress was shown");
    assert!(!by_tag.cached);
    let digest = by_tag.digest.clone().unwrap();
    assert!(digest.starts_with(&format!("{}@sha256:", registry.name("box"))), "{digest}");
    let by_digest = image(&engine, ImageSource::Registry(digest.clone())).await.unwrap();
    assert!(by_digest.cached);
    assert_eq!((by_digest.id, by_digest.digest), (by_tag.id.clone(), Some(digest.clone())));
    engine.remove_image(&by_tag.id).await.unwrap();
    let again = image(&engine, ImageSource::Registry(digest)).await.unwrap();
    assert!(!again.cached);
    let other = format!("{}@sha256:{}", registry.name("box"), "0".repeat(64));
    assert!(image(&engine, ImageSource::Registry(other)).await.is_err());
}

#[tokio::test]
async fn registry_that_never_answers_has_its_own_time_limit() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let podman = Podman::start_with(&format!("[[registry]]\nlocation = \"{address}\"\ninsecure = true\n"));
    let home = tempfile::tempdir().unwrap();
    let engine = engine(engine_config(&podman.host(), home.path())).await;
    let source = ImageSource::Registry(format!("{address}/box:1"));
    let ended = engine.image(&source, Duration::from_secs(1), &mut |_| {}).await;
    assert!(matches!(ended, Err(Error::PullTimeUp { seconds: 1, .. })), "{ended:?}");
}
