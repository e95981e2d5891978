//! Object storage, for real: moto's S3 server on loopback.
use super::world::{KIB, MIB, chunk, holds, ids, on_disk};
use gleaner_data::store::{Bucket, Chunk, Error, Options, Place, Store, Verify};
use gleaner_wire::Hash;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const START_SECONDS_MAX: u64 = 60;
const BUCKET: &str = "granary";

/// The server; it ends with this.
struct Moto {
    process: Child,
    port: u16,
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Moto {
    /// Installs and starts it. An error says why there is none: no way to the package registry.
    fn start() -> Result<Self, String> {
        let program = installed()?;
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let moto = Self { process, port };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed().as_secs() < START_SECONDS_MAX, "moto does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(moto.ask("PUT", &format!("/{BUCKET}")).starts_with("HTTP/1.1 200"), "moto makes a bucket");
        Ok(moto)
    }

    fn ask(&self, method: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let signed = "Authorization: AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/s3/aws4_request";
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{signed}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Sizes of the objects in the bucket, by name.
    fn objects(&self) -> Vec<(String, u64)> {
        let listed = self.ask("GET", &format!("/{BUCKET}?list-type=2"));
        let fields = |tag: &str| -> Vec<String> {
            let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
            let after = listed.split(&open).skip(1);
            after.map(|text| text.split(&close).next().unwrap().to_owned()).collect()
        };
        fields("Key").into_iter().zip(fields("Size").iter().map(|size| size.parse().unwrap())).collect()
    }

    fn bucket(&self) -> Bucket {
        Bucket {
            endpoint: format!("http://127.0.0.1:{}", self.port),
            region: "us-east-1".to_owned(),
            name: BUCKET.to_owned(),
            prefix: "hub".to_owned(),
            access_key: "key".to_owned(),
            secret_key: "a secret word".to_owned(),
        }
    }

    fn options(&self, limit: u64) -> Options {
        Options { place: Place::S3(self.bucket()), segment_bytes: 8 * MIB, ..Options::with_limit(limit) }
    }
}

/// The server's program, in a virtual environment that is kept between runs.
fn installed() -> Result<PathBuf, String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("moto");
    let program = folder.join("bin/moto_server");
    if program.exists() {
        return Ok(program);
    }
    let run = |command: &mut Command| {
        let output = command.output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(said) }
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder)).expect("python3 makes a virtual environment");
    let pip = Command::new(folder.join("bin/pip")).args(["install", "--quiet", "moto[server]"]).output().unwrap();
    let said = String::from_utf8_lossy(&pip.stderr).into_owned();
    if pip.status.success() {
        return Ok(program);
    }
    let unreachable = ["NewConnectionError", "No matching distribution", "ReadTimeout", "ProxyError", "Max retries"];
    assert!(unreachable.iter().any(|sign| said.contains(sign)), "pip failed: {said}");
    Err(format!("pip cannot reach its registry: {}", said.lines().last().unwrap_or_default()))
}

fn chunks(seeds: std::ops::Range<u64>) -> Vec<Chunk> {
    seeds.map(|seed| chunk(seed, 100 * KIB + usize::try_from(seed).unwrap())).collect()
}

#[test]
fn full_segments_go_to_object_storage_and_everything_works_as_on_disk() {
    let moto = match Moto::start() {
        Ok(moto) => moto,
        Err(reason) => {
            println!("skipped: object storage: {reason}");
            return;
        }
    };
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_with(dir.path(), moto.options(40 * MIB)).unwrap();
    let first = chunks(0..300);
    store.pin("kept", &ids(&first[..40])).unwrap();
    store.remember(Hash::of(b"set"), ids(&first)).unwrap();
    first.chunks(20).for_each(|batch| assert_eq!(store.put(batch.to_vec()).unwrap(), 20));
    store.offload().unwrap();
    let objects = moto.objects();
    assert_eq!(
        (objects.len(), on_disk(dir.path()).0),
        (3, 1),
        "what is full is there, what grows is here: {objects:?}"
    );
    assert!(objects.iter().all(|(_, size)| (7 * MIB..=8 * MIB).contains(size)), "{objects:?}");

    // By ranges, in any order, across objects and the file that grows.
    let mut asked = ids(&first);
    asked.reverse();
    let found = store.get_many(&asked, Verify::Here).unwrap();
    assert!(found.iter().zip(first.iter().rev()).all(|(found, chunk)| found.as_ref() == Some(&chunk.bytes)));

    // Eviction makes room by removing and compacting objects; what is pinned stays.
    for batch in chunks(1000..1600).chunks(20) {
        store.put(batch.to_vec()).unwrap();
        assert!(store.usage().taken <= 40 * MIB, "{:?}", store.usage());
    }
    store.offload().unwrap();
    assert!(first[..40].iter().all(|chunk| holds(&store, chunk)));
    let held = store.has_many(&ids(&first)).unwrap();
    assert!(!held.is_full());
    assert_eq!(store.holdings(&Hash::of(b"set")).unwrap().unwrap(), held);
    let usage = store.usage();
    let total: u64 = moto.objects().iter().map(|(_, size)| size).sum();
    assert!(total <= usage.taken && usage.taken <= total + 9 * MIB, "{total} in the bucket, {usage:?}");

    // An object that nobody knows goes, as a file would; the rest is read and found good.
    let folder = moto.objects()[0].0.rsplit_once('/').unwrap().0.to_owned();
    moto.ask("PUT", &format!("/{BUCKET}/{folder}/00000000000fffff"));
    let checked = store.check(|_| {}).unwrap();
    assert_eq!((checked.bad.len(), checked.orphans, checked.miscounted), (0, 1, 0), "{checked:?}");
    drop(store);
    let Err(error) = Store::open(dir.path(), 40 * MIB) else { panic!("opened without its bucket") };
    assert!(matches!(error, Error::NoBucket { .. }), "{error}");
    let store = Store::open_with(dir.path(), moto.options(40 * MIB)).unwrap();
    assert_eq!(store.usage(), usage);

    // A lost object: its chunks are named and can be stored again.
    moto.ask("DELETE", &format!("/{BUCKET}/{}", moto.objects()[0].0));
    let lost = store.check(|_| {}).unwrap().bad;
    assert!(!lost.is_empty() && store.has_many(&lost).unwrap().count() == 0);
    assert_eq!(store.check(|_| {}).unwrap().bad, []);

    // While the service is away puts are taken, reads of objects say what is wrong, and nothing is dropped.
    let options = moto.options(40 * MIB);
    drop(moto);
    let count = store.usage().chunks;
    // Some of them are still here; which, depends on when segments became full.
    let far = ids(&chunks(1000..1600));
    let error = far.iter().find_map(|id| store.get(id, Verify::Here).err()).expect("some are far away");
    assert!(matches!(error, Error::Objects { .. }) && error.to_string().contains("nothing was lost"), "{error}");
    assert_eq!(store.put(chunks(5000..5002)).unwrap(), 2);
    assert_eq!(store.usage().chunks, count + 2);
    assert!(!format!("{:?}", options.place).contains("secret word"));
}
