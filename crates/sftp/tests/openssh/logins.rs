//! Who comes in, and who does not.

use crate::client::Hub;

#[test]
fn the_right_key_or_password_opens_the_folder() {
    let hub = Hub::start();
    assert!(hub.login_by_key("ada", "ada").status.success());
    assert!(hub.login_by_password("ada", "correct horse").status.success());
}

#[test]
fn a_wrong_key_or_password_opens_nothing() {
    let hub = Hub::start();
    for output in [
        hub.login_by_key("ada", "stranger"),
        hub.login_by_key("ada", "bob"),
        hub.login_by_key("nobody", "ada"),
        hub.login_by_password("ada", "wrong horse"),
        hub.login_by_password("bob", "correct horse"),
    ] {
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(complaint.contains("Permission denied"), "{complaint}");
    }
    assert!(!hub.inbox("ada").exists() && !hub.inbox("nobody").exists());
}

#[test]
fn a_stopped_server_ends_its_connections() {
    let mut hub = Hub::start();
    std::fs::create_dir_all(hub.local("")).expect("the folder is ours");
    std::fs::write(hub.local("film"), vec![0; 10_000_000]).expect("the folder is ours");
    let mut child = hub.spawn("ada", &["-l", "8000"], "put film\n");
    let uploaded = hub.inbox("ada").join("film");
    crate::client::eventually("the upload has begun", || uploaded.exists());
    hub.stop();
    assert!(!child.wait().expect("it ends").success());
}
