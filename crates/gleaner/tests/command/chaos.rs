//! SIGKILL of the hub and of workers at 50 random moments of one job: the result bytes stay what they are.

use std::time::Duration;

use crate::network::Network;
use crate::programs;
use gleaner_wire::api::JobState;

const KILLS: u32 = 50;
const TASKS: u64 = 4000;
const BYTES: u32 = 500;
const WORKERS: usize = 3;
const PAUSE_MS_MAX: u64 = 600;

const JOB: &str = r#"
name = "chaos"
budget = { price_max = "50 GLN" }
[[task]]
name = "part"
runtime = "wasm"
program = "program.wasm"
args = ["{index}"]
each = "1..TASKS"
"#;

/// A small generator (xorshift), so that a run can be repeated by its seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn fifty_kills_change_no_byte_of_the_results() {
    let seed = std::env::var("GLEANER_SEED")
        .map_or_else(|_| u64::from(std::process::id()), |seed| seed.parse().expect("a number"));
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut network = Network::start(WORKERS);
    network.write("program.wasm", programs::patterned(200, BYTES));
    let job = network.submit("job.toml", &JOB.replace("TASKS", &TASKS.to_string()));
    // Its owner stays: with all workers that had the keys dead, nobody else could give them to new ones.
    let _attending = network.attend(job);
    let mut hub_kills = 0;
    for kill in 0..KILLS {
        // The moments are random, so there is nothing to wait for but time.
        std::thread::sleep(Duration::from_millis(chance.below(PAUSE_MS_MAX)));
        if chance.below(3) == 0 {
            network.kill_hub();
            network.start_hub();
            hub_kills += 1;
        } else {
            let victim = usize::try_from(chance.below(WORKERS as u64)).expect("small");
            network.workers.remove(victim).kill();
            network.start_worker();
        }
        let view = network.ask(async |client| client.job(job).await.expect("the hub answers"));
        assert_eq!(view.summary.state, JobState::Running, "at kill {kill}; repeat with GLEANER_SEED={seed}");
    }
    let view = network.wait_for_job(job, |view| view.summary.state.has_ended());
    assert_eq!(view.summary.state, JobState::Done, "repeat with GLEANER_SEED={seed}");
    assert!(hub_kills > 0 && hub_kills < KILLS, "both kinds were killed; repeat with GLEANER_SEED={seed}");
    network.run(&["job", "fetch", &job.to_string(), "--out", "out"]).succeeded();
    for index in 0..TASKS {
        let bytes = network.read(&format!("out/part/{index}"));
        assert!(bytes == programs::pattern(index + 1, BYTES), "part {index}; repeat with GLEANER_SEED={seed}");
    }
}
