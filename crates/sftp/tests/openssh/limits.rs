//! What a client may ask for is bounded, however it asks.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use crate::client::{Hub, noise};

const ROOM: u64 = 1_000_000;

#[test]
fn a_folder_takes_no_more_than_its_share() {
    let hub = Hub::with_room(ROOM);
    std::fs::create_dir_all(hub.local("")).expect("the folder is ours");
    std::fs::write(hub.local("large"), noise(4, 3_000_000)).expect("the folder is ours");
    std::fs::write(hub.local("small"), noise(5, 600_000)).expect("the folder is ours");
    hub.fail("ada", "put large\n");
    assert!(hub.inbox("ada").join("large").metadata().expect("a part came").len() <= ROOM);
    hub.fail("ada", "put small\nput small more\n");
    hub.succeed("ada", "rm large\nput small\n");
    assert_eq!(std::fs::read(hub.inbox("ada").join("small")).expect("it is there"), noise(5, 600_000));
    // The other user has room of its own.
    hub.succeed("bob", "put small\n");
}

/// A client of our own on top of `ssh -s sftp`, which does what no honest client does.
struct Raw {
    ssh: Child,
    to: ChildStdin,
    from: ChildStdout,
}

impl Raw {
    fn connect(hub: &Hub) -> Self {
        let mut ssh = hub.command("ssh", "ada");
        ssh.args(["-s", "ada@127.0.0.1", "sftp"]).stdin(Stdio::piped());
        let mut ssh = ssh.spawn().expect("ssh is missing: scripts/test installs Debian's openssh-client");
        let (to, from) = (ssh.stdin.take().expect("it is piped"), ssh.stdout.take().expect("it is piped"));
        let mut raw = Self { ssh, to, from };
        raw.send(&[1, 0, 0, 0, 3]);
        assert_eq!(raw.receive()[..5], [2, 0, 0, 0, 3]);
        raw
    }

    fn send(&mut self, packet: &[u8]) {
        self.to.write_all(&framed(packet)).expect("the server takes it");
    }

    fn receive(&mut self) -> Vec<u8> {
        let mut length = [0; 4];
        self.from.read_exact(&mut length).expect("the server answers");
        let mut packet = vec![0; u32::from_be_bytes(length) as usize];
        self.from.read_exact(&mut packet).expect("the server answers");
        packet
    }

    fn open(&mut self, name: &[u8]) -> Vec<u8> {
        self.send(&[&[3, 0, 0, 0, 1][..], &string(name), &1_u32.to_be_bytes(), &[0; 4]].concat());
        self.receive()
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.ssh.kill());
        drop(self.ssh.wait());
    }
}

fn framed(packet: &[u8]) -> Vec<u8> {
    string(packet)
}

fn string(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).expect("it is short").to_be_bytes()[..], bytes].concat()
}

fn read_request(handle: &[u8], offset: u64, length: u32) -> Vec<u8> {
    [&[5, 0, 0, 0, 2][..], &string(handle), &offset.to_be_bytes(), &length.to_be_bytes()].concat()
}

fn hub_with_film() -> (Hub, Vec<u8>) {
    let hub = Hub::start();
    hub.succeed("ada", "ls\n");
    let film = noise(6, 4_000_000);
    std::fs::write(hub.inbox("ada").join("film"), &film).expect("the folder is ours");
    (hub, film)
}

#[test]
fn answers_wait_for_a_client_that_reads_late() {
    let (hub, film) = hub_with_film();
    let mut raw = Raw::connect(&hub);
    let opened = raw.open(b"film");
    assert_eq!(opened[0], 102);
    // Far more than fits into any buffer on the way, before the first answer is read.
    let length = 200_000;
    for request in 0..500_u64 {
        raw.send(&read_request(&opened[9..], request % 20 * 200_000, length));
    }
    for request in 0..500 {
        let answer = raw.receive();
        assert_eq!(answer[0], 103);
        let start = request % 20 * 200_000;
        assert!(answer[9..] == film[start..start + 200_000], "answer {request}");
    }
}

#[test]
fn a_client_that_never_reads_is_disconnected() {
    let (hub, _) = hub_with_film();
    let mut raw = Raw::connect(&hub);
    let opened = raw.open(b"film");
    let requests = framed(&read_request(&opened[9..], 0, 200_000)).repeat(10_000);
    let mut sent = 0_usize;
    while sent < 100_000_000 && raw.to.write_all(&requests).is_ok() {
        sent += requests.len();
    }
    assert!(sent < 100_000_000);
    // Others are served as before.
    hub.succeed("ada", "ls\n");
}

#[test]
fn handles_are_counted() {
    let (hub, _) = hub_with_film();
    let mut raw = Raw::connect(&hub);
    let kinds: Vec<u8> = (0..150).map(|_| raw.open(b"film")[0]).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == 102).count(), 100);
    assert!(kinds[100..].iter().all(|kind| *kind == 101));
    // Closing one makes room for one.
    raw.send(&[&[4, 0, 0, 0, 1][..], &string(&7_u64.to_be_bytes())].concat());
    assert_eq!(raw.receive()[5..9], [0; 4]);
    assert_eq!(raw.open(b"film")[0], 102);
}

#[test]
fn a_client_that_breaks_the_protocol_is_disconnected() {
    let (hub, _) = hub_with_film();
    for packet in [&[3, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff][..], &[][..], &[1, 0, 0, 0, 3][..]] {
        let mut raw = Raw::connect(&hub);
        raw.send(packet);
        let mut rest = Vec::new();
        assert_eq!(raw.from.read_to_end(&mut rest).expect("it ends"), 0, "{packet:?}");
    }
}
