//! What the parent has of its children: where they run, what they say, and what they leave on the disk.
use super::actor::{Voice, command};
use super::child::{HTTP_PORT, NUMBER, PORT, RELAY, SEED};
use super::world::{LIMIT, assert_sound, bytes_of, chunks};
use gleaner_data::net::schedule::Route;
use gleaner_data::store::Store;
use gleaner_lab::{Error, Host, Machine, Process, Side};
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{ChildStdin, Stdio};

/// Whether networks can be built here; says so if not.
pub fn possible() -> bool {
    match gleaner_lab::available() {
        Ok(()) => true,
        Err(why @ Error::Unavailable(_)) => {
            println!("skipped: {why}");
            false
        }
        Err(other) => panic!("{other}"),
    }
}

/// Chunks of the dataset, and a store that has them.
pub fn filled(count: usize) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), LIMIT).unwrap();
    for batch in chunks(SEED, count).chunks(64) {
        store.put(batch.to_vec()).unwrap();
    }
    dir
}

/// A child in its machine.
pub struct Actor {
    process: Process,
    voice: Voice,
    input: ChildStdin,
}

impl Actor {
    /// Starts one, with this key and this store, in this machine.
    pub fn start(machine: &Machine, role: &str, number: u8, folder: &Path, relay: Option<&str>) -> Self {
        let mut command = command(role, folder);
        command.env(NUMBER, number.to_string()).stdin(Stdio::piped());
        if let Some(relay) = relay {
            command.env(RELAY, relay);
        }
        let mut process = machine.start(command).unwrap();
        let voice = Voice::new(process.take_stdout().unwrap());
        let input = process.take_stdin().unwrap();
        Self { process, voice, input }
    }

    /// Starts one that serves, and waits until it does.
    pub fn serves(machine: &Machine, number: u8, folder: &Path) -> Self {
        let mut actor = Self::start(machine, "serve", number, folder, None);
        assert_eq!(actor.hear().as_deref(), Some("ready"));
        actor
    }

    /// The next thing it says, or nothing if it has ended.
    pub fn hear(&mut self) -> Option<String> {
        self.voice.hear()
    }

    pub fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    /// Waits until it has fetched this much of all.
    pub fn reaches(&mut self, percent: u64) {
        while let Some(said) = self.hear() {
            match said.strip_prefix("at ").map(str::parse::<u64>) {
                Some(Ok(now)) if now >= percent => return,
                Some(_) => {}
                None => panic!("it was to reach {percent} % and said: {said}"),
            }
        }
        panic!("it ended before {percent} %");
    }

    /// Waits until it has fetched everything.
    pub fn done(&mut self) -> Done {
        while let Some(said) = self.hear() {
            if let Some(figures) = said.strip_prefix("done ") {
                return Done::new(figures);
            }
            assert!(said.starts_with("at "), "{said}");
        }
        panic!("it ended without a word");
    }

    /// Ends one that serves: the bytes of chunks that it has sent, whether they arrived or not.
    pub fn sent(mut self) -> u64 {
        self.tell("enough");
        let said = self.hear().unwrap();
        let sent = said.strip_prefix("sent ").unwrap().parse().unwrap();
        self.end();
        sent
    }

    pub fn kill(self) {
        self.process.kill().unwrap();
    }

    pub fn end(mut self) {
        assert!(self.process.wait().unwrap().success());
    }
}

/// What a fetch says at its end.
#[derive(Debug)]
pub struct Done {
    pub bytes: u64,
    pub twice: u64,
    /// By which route how much came.
    pub routes: Vec<(Route, u64)>,
}

impl Done {
    fn new(figures: &str) -> Self {
        let mut words = figures.split(' ');
        let mut number = || words.next().unwrap().parse().unwrap();
        let (bytes, twice) = (number(), number());
        let routes = words.map(|word| {
            let (route, bytes) = word.split_once(':').unwrap();
            let known = [Route::Lan, Route::Direct, Route::Hub, Route::Relay];
            (known.into_iter().find(|known| format!("{known:?}") == route).unwrap(), bytes.parse().unwrap())
        });
        Self { bytes, twice, routes: routes.collect() }
    }

    /// What came by this route.
    pub fn by(&self, route: Route) -> u64 {
        self.routes.iter().filter(|(known, _)| *known == route).map(|(_, bytes)| bytes).sum()
    }
}

/// Two hosts that serve and fetch, and the folder of the one that fetches.
pub fn fetches(machine: &Machine, folder: &Path, count: usize, sources: &[String]) -> Actor {
    let mut actor = Actor::start(machine, &format!("fetch {count}"), 2, folder, None);
    sources.iter().for_each(|source| actor.tell(source));
    actor
}

pub fn direct(number: u8, address: Ipv4Addr) -> String {
    format!("direct {number} {address}:{PORT}")
}

pub fn cache(hub: &Host) -> String {
    format!("hub http://{}:{HTTP_PORT}", hub.address())
}

/// The bytes are the same, and nothing is orphaned.
pub fn assert_whole(done: &Done, folder: &Path, count: usize) {
    let chunks = chunks(SEED, count);
    assert_sound(folder, &chunks);
    assert_eq!(done.bytes, bytes_of(&chunks));
}

/// The same, and less than 2 % came twice.
pub fn assert_same(done: &Done, folder: &Path, count: usize) {
    assert_whole(done, folder, count);
    assert!(done.twice * 50 < done.bytes, "{} of {} bytes twice", done.twice, done.bytes);
}

/// Those who serve have handed over less than 2 % twice. Not for connections that were lost: what a sender had queued
/// for one counts as handed over, though it never left the machine.
pub fn assert_sent_once(done: &Done, sent: u64) {
    assert!(sent * 50 < done.bytes * 51, "{sent} bytes sent where {} were wanted", done.bytes);
}

/// Over the line of the one that fetches came what it wanted, headers, and what QUIC sent again because it took it for
/// lost or the connection was. How much that is depends on how busy this computer is, so it is shown; that it is nowhere
/// near a second copy holds however slow it is.
pub fn assert_line(name: &str, done: &Done, target: &Host) {
    let carried = target.link.carried(Side::Right);
    println!("{name}: {carried:?} for {done:?}");
    assert!(carried.bytes < done.bytes * 3 / 2, "{name}: {carried:?} for {done:?}");
}
