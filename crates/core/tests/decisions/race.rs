//! Races: who may take a task too, who is paid, and how much is wasted.
use crate::audits;
use crate::network::{Network, array, job, offer, output};
use gleaner_core::{Event, Params};
use gleaner_wire::api::{JobState, MarketView};
use gleaner_wire::job_file::JobFile;
use gleaner_wire::market::{Market, Mode};
use gleaner_wire::{Amount, JobId, Millis, Outcome, StartAttempt, WorkerId};

fn race(count: u32) -> JobFile {
    let market = Market { mode: Mode::Race, ..Market::default() };
    JobFile { market, ..job(vec![array("a", count)]) }
}

fn market(network: &Network, id: JobId) -> MarketView {
    network.core.job_view(id).expect("it is there").market
}

/// Two workers that have answered so many questions of a second.
fn answered(count: u32) -> (Network, WorkerId, WorkerId) {
    let mut network = Network::new();
    let one = network.join(offer("one", 1000, 1_000_000));
    let two = network.join(offer("two", 1000, 1_000_000));
    network.submit("ada", &race(count));
    network.run_all(1000);
    (network, one, two)
}

fn beats(network: &mut Network, held: &[&(WorkerId, StartAttempt)]) {
    for (worker, start) in held {
        network.apply(Event::LeasesRenewed { worker: *worker, held: vec![start.attempt] });
    }
}

/// A question that its first worker is slow with, until another one takes it too.
fn raced(count: u32) -> (Network, JobId, (WorkerId, StartAttempt), (WorkerId, StartAttempt)) {
    let (mut network, ..) = answered(count);
    let id = network.submit("ada", &race(1));
    let first = network.started_one();
    for _ in 0..40 {
        network.wait(100);
        beats(&mut network, &[&first]);
        if let Some(second) = network.started().pop() {
            return (network, id, first, second);
        }
    }
    panic!("nobody else takes it");
}

#[test]
fn the_first_answer_is_paid_and_the_other_attempt_is_called_off() {
    let (mut network, id, (slow, first), (quick, second)) = raced(60);
    assert_ne!(slow, quick);
    assert_eq!(first.index, second.index);
    let (before, earned) = (network.earned(slow), network.earned(quick));
    network.deliver(quick, &second, 1000);
    assert_eq!(network.state(id), JobState::Done);
    assert!(network.cancelled().contains(&first.attempt));
    assert!(network.earned(quick) > earned);
    network.deliver(slow, &first, 1);
    assert_eq!(network.earned(slow), before, "the second answer is worth nothing");
    assert_eq!(network.core.job_summary(id).expect("it is there").spent, Amount(1_000_000));
    let view = market(&network, id);
    assert_eq!(view.hedges, 1);
    assert!((2_000_000..3_500_000).contains(&view.wasted_micros), "{view:?}");
    let totals = network.core.totals();
    assert!(totals.race_wasted_micros * 10 <= totals.race_paid_micros, "{totals:?}");
}

#[test]
fn the_first_worker_may_win_after_all() {
    let (mut network, id, (slow, first), (quick, second)) = raced(60);
    let earned = network.earned(quick);
    network.deliver(slow, &first, 200);
    assert_eq!(network.state(id), JobState::Done);
    assert!(network.cancelled().contains(&second.attempt));
    assert_eq!(network.earned(quick), earned);
    let wasted = market(&network, id).wasted_micros;
    assert!((200_000..300_000).contains(&wasted), "{wasted}: no more than the second has run");
}

#[test]
fn nobody_is_hedged_before_the_first_should_be_done() {
    let (mut network, ..) = answered(60);
    network.submit("ada", &race(1));
    let first = network.started_one();
    network.wait(950);
    assert!(network.started().is_empty(), "all took a second so far");
    network.deliver(first.0, &first.1, 1);
    assert_eq!(network.core.totals().hedges, 0);
}

#[test]
fn while_too_little_was_paid_nothing_may_be_wasted() {
    let (mut network, ..) = answered(10);
    let id = network.submit("ada", &race(1));
    let first = network.started_one();
    for _ in 0..60 {
        network.wait(100);
        beats(&mut network, &[&first]);
    }
    assert!(network.started().is_empty(), "a tenth of ten seconds is less than is at risk");
    assert_eq!(market(&network, id).hedges, 0);
}

#[test]
fn a_stream_of_questions_with_a_slow_worker_wastes_less_than_its_share() {
    let (mut network, ..) = answered(40);
    let slow = network.join(offer("slow", 1000, 1_000_000));
    let id = network.submit("ada", &race(200));
    let mut open: Vec<(WorkerId, StartAttempt, u64)> = Vec::new();
    for _ in 0..4000 {
        let now = network.now.0;
        let came = network.started();
        open.extend(came.into_iter().map(|(worker, start)| {
            let takes = if worker == slow { 12_000 } else { 900 + u64::from(start.index % 5) * 50 };
            (worker, start, now + takes)
        }));
        open.retain(|(_, start, _)| network.core.runs(start.attempt));
        let due = open.iter().position(|(.., at)| *at <= now);
        if let Some(at) = due {
            let (worker, start, _) = open.remove(at);
            let ran = network.now.0 - 1_000_000;
            network.finish(worker, start.attempt, ran.min(12_000), Outcome::Done(output(1)));
            continue;
        }
        for (worker, start, _) in open.clone() {
            network.apply(Event::LeasesRenewed { worker, held: vec![start.attempt] });
        }
        network.wait(50);
        if network.state(id) == JobState::Done {
            break;
        }
    }
    assert_eq!(network.state(id), JobState::Done);
    let totals = network.core.totals();
    assert!(totals.hedges >= 1, "{totals:?}");
    assert!(totals.race_wasted_micros * 10 <= totals.race_paid_micros, "{totals:?}");
}

#[test]
fn a_race_is_explained() {
    let (network, id, ..) = raced(60);
    let running = network.core.explain(id).expect("it is there").running;
    assert!(running.iter().any(|at| at.second && at.why.starts_with("beside another one in a race")), "{running:?}");
}

/// Six workers of a hub that has every result computed again. They have answered enough for a race.
fn checked() -> Network {
    let mut params = Params { checks: true, ..Params::default() };
    params.audits.floor = 1_000_000;
    let mut network = Network::with(params);
    for name in ["ann", "ben", "cid", "dot", "eve", "fay"] {
        network.join(offer(name, 1000, 1_000_000));
    }
    network.submit("ada", &race(120));
    for seed in 0..200 {
        network.now = network.now.after(Millis(1000));
        for (worker, start) in network.started() {
            network.finish(worker, start.attempt, 1000, Outcome::Done(output(u64::from(start.index))));
        }
        if network.core.round_to_draw().is_some() {
            network.draw(seed);
        }
    }
    network
}

#[test]
fn a_lie_that_comes_first_pays_nobody_and_the_task_is_raced_anew() {
    let mut network = checked();
    let id = network.submit("ada", &race(1));
    let first = network.started_one();
    let second = (0..60).find_map(|_| {
        network.wait(100);
        beats(&mut network, &[&first]);
        network.started().pop()
    });
    let second = second.expect("somebody else takes it too");
    let ((slow, first), (liar, lie)) = (first, second);
    let (paid, earned) = (network.core.totals().race_paid_micros, network.earned(liar));
    network.finish(liar, lie.attempt, 900, Outcome::Done(output(666)));
    assert!(network.cancelled().contains(&first.attempt), "the first answer ends the race");
    assert_eq!(network.state(id), JobState::Running, "but it is a claim");
    assert_eq!(network.core.totals().race_paid_micros, paid, "and lets nothing more be wasted");
    network.finish(slow, first.attempt, 0, Outcome::Cancelled);
    audits::run(&mut network, &[liar]);
    assert_eq!(network.state(id), JobState::Done);
    assert_eq!(network.core.outputs(id, 0, 0, 1), [(0, output(0))], "the right bytes");
    assert_eq!(network.earned(liar), earned);
    let totals = network.core.totals();
    assert_eq!(totals.race_paid_micros, paid + 10_000, "the answer that was right is the one that is paid");
    assert!(totals.race_wasted_micros > 0 && totals.claims_refuted == 1, "{totals:?}");
}

#[test]
fn audits_of_a_race_are_not_raced() {
    let mut network = checked();
    network.submit("ada", &race(1));
    let (worker, start) = network.started_one();
    network.finish(worker, start.attempt, 0, Outcome::Done(output(0)));
    network.draw(1);
    let audit = network.started_one();
    let hedges = network.core.totals().hedges;
    for _ in 0..100 {
        network.wait(100);
        beats(&mut network, &[&audit]);
    }
    assert!(network.started().is_empty(), "one is enough");
    assert_eq!(network.core.totals().hedges, hedges);
}
