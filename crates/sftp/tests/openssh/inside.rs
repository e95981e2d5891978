//! Nothing leads out of a user's folder, and there is nothing to use but SFTP.

use std::os::unix::fs::symlink;
use std::process::Stdio;

use crate::client::{Hub, contents};

/// A user's folder with links out of it, which no client can make.
fn hub_with_links_out() -> Hub {
    let hub = Hub::start();
    std::fs::create_dir_all(hub.local("")).expect("the folder is ours");
    std::fs::write(hub.local("mine"), "mine").expect("the folder is ours");
    hub.succeed("ada", "put mine\nmkdir deep\n");
    hub.succeed("bob", "put mine\n");
    let inbox = hub.inbox("ada");
    symlink("../secret", inbox.join("file-link")).expect("the folder is ours");
    symlink("..", inbox.join("folder-link")).expect("the folder is ours");
    symlink(inbox.parent().expect("it has one").join("secret"), inbox.join("absolute-link")).expect("it is ours");
    hub
}

#[test]
fn no_command_reaches_out_of_the_folder() {
    let hub = hub_with_links_out();
    let root = hub.inbox("ada").parent().expect("it has one").to_path_buf();
    let before = contents(&root.join("bob-inbox"));
    for command in [
        "get ../secret stolen",
        "get /../secret stolen",
        "get deep/../../secret stolen",
        "get file-link stolen",
        "get absolute-link stolen",
        "get folder-link/secret stolen",
        "get folder-link/bob-inbox/mine stolen",
        "get /etc/passwd stolen",
        "ls folder-link/bob-inbox",
        "cd folder-link",
        "put mine file-link",
        "put mine folder-link/planted",
        "put mine ../planted",
        "mkdir ../planted",
        "mkdir folder-link/planted",
        "rm ../secret",
        "rm folder-link/secret",
        "rmdir ../bob-inbox",
        "rename mine ../bob-inbox/planted",
        "rename folder-link/bob-inbox/mine mine2",
        "chmod 777 file-link",
        "ln -s ../secret planted-link",
        "ln -s /etc/passwd planted-link",
        "ln -s ../../secret deep/planted-link",
    ] {
        hub.fail("ada", format!("{command}\n"));
        assert!(!hub.local("stolen").exists(), "{command}");
        assert_eq!(std::fs::read(root.join("secret")).expect("it is there"), b"of the hub", "{command}");
        assert!(!root.join("planted").exists(), "{command}");
        assert_eq!(contents(&root.join("bob-inbox")), before, "{command}");
    }
    assert!(root.join("ada-inbox/planted-link").symlink_metadata().is_err());
}

#[test]
fn users_see_their_own_files_only() {
    let hub = hub_with_links_out();
    hub.succeed("bob", "rm mine\n");
    assert!(hub.succeed("ada", "ls -1\n").contains("mine"));
    assert!(!hub.succeed("bob", "ls -1\n").contains("deep"));
    assert!(hub.succeed("ada", "pwd\n").contains("directory: /"));
}

#[test]
fn a_link_cannot_be_moved_to_where_it_points_out() {
    let hub = Hub::start();
    hub.succeed("ada", "mkdir deep\nln -s ../mine deep/link\n");
    hub.fail("ada", "rename deep/link link\n");
    assert!(hub.inbox("ada").join("deep/link").symlink_metadata().is_ok());
}

#[test]
fn there_is_nothing_but_sftp() {
    let hub = Hub::start();
    let mut attempts: Vec<(&[&str], &[&str])> = vec![(&[], &["ls"]), (&[], &[]), (&["-tt"], &["ls"])];
    attempts.push((&["-s"], &["shell"]));
    attempts.push((&["-W", "127.0.0.1:22"], &[]));
    for (options, words) in attempts {
        let mut ssh = hub.command("ssh", "ada");
        ssh.args(options).arg("ada@127.0.0.1").args(words).stdin(Stdio::null());
        let output = ssh.output().expect("ssh is missing: scripts/test installs Debian's openssh-client");
        assert_eq!(output.status.code(), Some(255), "{options:?} {words:?}");
        assert!(output.stdout.is_empty(), "{options:?} {words:?}");
    }
    let forwarded = ["-o", "ExitOnForwardFailure=yes", "-N", "-R", "0:127.0.0.1:22", "ada@127.0.0.1"];
    let output = hub.command("ssh", "ada").args(forwarded).output().expect("it ends");
    assert_eq!(output.status.code(), Some(255));
}
