//! Files up and down, whole and in pieces.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use crate::client::{Hub, contents, eventually, noise, odd_name};

fn set_mode(path: &std::path::Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

#[test]
fn a_folder_comes_back_as_it_went_up() {
    let hub = Hub::start();
    let scene = hub.local("scene");
    std::fs::create_dir_all(scene.join("textures/empty")).expect("the folder is ours");
    std::fs::write(scene.join("large"), noise(1, 5_000_001)).expect("the folder is ours");
    std::fs::write(scene.join("nothing"), "").expect("the folder is ours");
    std::fs::write(scene.join("textures").join(odd_name()), "odd").expect("the folder is ours");
    set_mode(&scene.join("nothing"), 0o755);
    set_mode(&scene.join("textures").join(odd_name()), 0o440);
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let large = std::fs::File::options().write(true).open(scene.join("large")).expect("it is ours");
    large.set_modified(old).expect("it is ours");

    hub.succeed("ada", "put -Rp scene\n");
    let quiet = hub.quiet();
    assert_eq!((quiet.folder.as_str(), quiet.name.as_deref()), ("ada-inbox", Some(&b"scene"[..])));
    assert!(quiet.interrupted.is_empty());
    assert_eq!(contents(&hub.inbox("ada").join("scene")), contents(&scene));

    std::fs::create_dir(hub.local("back")).expect("the folder is ours");
    hub.succeed("ada", "get -Rp scene back\n");
    assert_eq!(contents(&hub.local("back/scene")), contents(&scene));
}

#[test]
fn an_upload_that_was_killed_goes_on_where_it_was() {
    let hub = Hub::start();
    let mut bytes = noise(2, 6_000_000);
    std::fs::create_dir_all(hub.local("")).expect("the folder is ours");
    std::fs::write(hub.local("film"), &bytes).expect("the folder is ours");
    let uploaded = hub.inbox("ada").join("film");
    let length = || uploaded.metadata().map_or(0, |metadata| metadata.len());

    let mut child = hub.spawn("ada", &["-l", "20000"], "put film\n");
    eventually("a part is there", || length() > 500_000);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let quiet = hub.quiet();
    assert_eq!(quiet.interrupted, [b"film".to_vec()]);
    assert!(length() < 6_000_000);

    // What is there already is not sent again, so this stays.
    bytes[0] ^= 0xff;
    std::fs::write(hub.local("mark"), &bytes[..1]).expect("the folder is ours");
    let mark = std::fs::File::options().write(true).open(&uploaded).expect("it is there");
    std::os::unix::fs::FileExt::write_all_at(&mark, &bytes[..1], 0).expect("it is ours");
    hub.succeed("ada", "reput film\n");
    assert!(std::fs::read(&uploaded).expect("it is there") == bytes);
    assert!(hub.quiet().interrupted.is_empty());
}

#[test]
fn a_download_goes_on_where_it_was() {
    let hub = Hub::start();
    hub.succeed("ada", "ls\n");
    let mut bytes = noise(3, 2_000_000);
    std::fs::write(hub.inbox("ada").join("film"), &bytes).expect("the folder is ours");
    bytes[0] ^= 0xff;
    std::fs::write(hub.local("film"), &bytes[..700_000]).expect("the folder is ours");
    hub.succeed("ada", "reget film\n");
    assert!(std::fs::read(hub.local("film")).expect("it is there") == bytes);
}

#[test]
fn a_folder_of_a_thousand_files_goes_up_and_is_listed() {
    let hub = Hub::start();
    let frames = hub.local("frames");
    std::fs::create_dir_all(&frames).expect("the folder is ours");
    for frame in 0..1000 {
        std::fs::write(frames.join(format!("{frame:04}.png")), frame.to_string()).expect("the folder is ours");
    }
    hub.succeed("ada", "put -r frames\n");
    let listed = hub.succeed("ada", "ls -1 frames\n");
    let names: Vec<_> = listed.lines().filter(|line| line.ends_with(".png")).collect();
    assert_eq!(names.len(), 1000);
    assert!(names.is_sorted() && names[999].ends_with("0999.png"));
    assert_eq!(contents(&hub.inbox("ada").join("frames")).len(), 1001);
}

#[test]
fn files_are_renamed_removed_and_looked_at() {
    let hub = Hub::start();
    std::fs::create_dir_all(hub.local("")).expect("the folder is ours");
    std::fs::write(hub.local("a"), "first").expect("the folder is ours");
    hub.succeed("ada", "mkdir d\nput a d/a\nrename d/a d/b\nchmod 640 d/b\nln -s b d/link\n");
    let listed = hub.succeed("ada", "ls -l d\n");
    assert!(listed.contains("-rw-r-----"), "{listed}");
    assert!(listed.lines().any(|line| line.contains("lrwx") && line.contains("link")), "{listed}");
    hub.succeed("ada", "get d/link fetched\n");
    assert_eq!(std::fs::read(hub.local("fetched")).expect("it is there"), b"first");
    assert!(!hub.fail("ada", "rmdir d\n").is_empty());
    hub.succeed("ada", "rm d/link\nrm d/b\nrmdir d\n");
    assert_eq!(contents(&hub.inbox("ada")).len(), 1);
}
