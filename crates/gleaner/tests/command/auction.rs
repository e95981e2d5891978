//! A task that is sold by auction to real workers, one of which asks by the command of its owner.
use crate::network::Network;
use crate::programs;
use gleaner_wire::Amount;
use gleaner_wire::Micros;
use gleaner_wire::api::JobState;

const JOB: &str = "name = \"long\"\n[market]\nmode = \"auction\"\n[[task]]\nname = \"train\"\nruntime = \"wasm\"\n\
    program = \"program.wasm\"\nargs = [\"1\"]\n";
const OPTIONS: [&str; 7] = ["--no-gpu", "--cpu-slots", "1", "--no-containers", "--no-blender", "--price", "3.6 GLN/h"];

/// A hub that waits long for bids: on a busy machine even a short command takes its time.
fn patient() -> Network {
    let options = ["--chain", "none", "--trust-workers", "--bid-time", "20s"];
    Network::with(|_| options.map(str::to_owned).into(), 0)
}

#[test]
fn the_cheapest_of_three_bids_wins_and_is_paid_by_the_second() {
    let mut network = patient();
    let url = network.url();
    // Far enough apart that what the machines measured of themselves does not matter.
    let script = "grep -q '\"task\":\"train\"' && echo 0.00001 GLN";
    for bid in ["fixed", script, "echo 0.0001 GLN"] {
        let options: Vec<&str> = OPTIONS.into_iter().chain(["--bid", bid]).collect();
        network.start_worker_with(&url, &options, &[]);
    }
    network.wait_for_workers(3);
    network.write("program.wasm", programs::patterned(4000, 10));
    let job = network.submit("job.toml", JOB);
    let _attending = network.attend(job);
    network.wait_for_job(job, |view| view.summary.running == 1 || view.summary.state.has_ended());
    let explained = network.run(&["job", "explain", &job.to_string()]).succeeded().stdout;
    assert!(explained.contains("its bid of 0.00001 GLN a second won the auction with 3 bids"), "{explained}");
    let view = network.wait_for_job(job, |view| view.summary.state.has_ended());
    assert_eq!(view.summary.state, JobState::Done, "{view:?}");
    let [award] = &view.awards[..] else { panic!("{:?}", view.awards) };
    assert_eq!((award.worker.as_str(), award.bid, award.bids), ("worker-2", Amount(10_000), 3));
    // It is paid what makes its score the second one: about ten times its bid, as the machines are much alike.
    let second = award.second.expect("there were others");
    let expected = u128::from(award.bid.0) * u128::from(second.0) / u128::from(award.score.0);
    assert!(u128::from(award.price.0).abs_diff(expected) * 20 < expected, "{award:?}");
    assert!(award.price > award.bid && second > award.score, "{award:?}");
    let tally = &view.workers[0];
    assert_eq!(tally.gross, award.price.per_second_over(Micros(tally.ran_micros)), "{tally:?}");
    let shown = network.run(&["job", "show", &job.to_string()]).succeeded().stdout;
    assert!(shown.contains("SECOND SCORE") && shown.contains("worker-2"), "{shown}");
}

#[test]
fn a_task_that_nobody_bids_for_goes_by_posted_prices() {
    let mut network = Network::start(0);
    let url = network.url();
    let options: Vec<&str> = OPTIONS.into_iter().chain(["--bid", "exit 1"]).collect();
    network.start_worker_with(&url, &options, &[]);
    network.wait_for_workers(1);
    network.write("program.wasm", programs::patterned(2000, 10));
    let job = network.submit("job.toml", JOB);
    let _attending = network.attend(job);
    network.wait_for_job(job, |view| view.summary.running == 1 || view.summary.state.has_ended());
    let explained = network.run(&["job", "explain", &job.to_string()]).succeeded().stdout;
    assert!(explained.contains("nobody bid for it in time, so it went by posted prices"), "{explained}");
    let view = network.wait_for_job(job, |view| view.summary.state.has_ended());
    assert_eq!((view.summary.state, view.awards.len()), (JobState::Done, 0));
    let tally = &view.workers[0];
    assert_eq!(tally.gross, Amount(1_000_000).per_second_over(Micros(tally.ran_micros)));
}
