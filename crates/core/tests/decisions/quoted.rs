//! Quotes that bind: what is reserved, what happens beyond it, and how far off they were.
use crate::network::{Network, array, job, offer};
use gleaner_core::Event;
use gleaner_core::ledger::Account;
use gleaner_core::plan::{Graph, plan};
use gleaner_wire::api::{JobState, QuoteView, Sure};
use gleaner_wire::job_file::{JobFile, Prefer};
use gleaner_wire::{Amount, JobId, Millis, Quote};

/// A hub that has run tasks of a second before, at a thousandth of a GLN a second.
fn learned(tasks: u32) -> Network {
    let mut network = Network::new();
    network.join(offer("a", 1000, 1_000_000));
    network.submit("ada", &job(vec![array("a", tasks)]));
    network.run_all(1000);
    network
}

fn view(network: &Network, file: &JobFile) -> QuoteView {
    network.core.quote(network.now, plan(file).expect("it makes sense")).expect("it is quoted")
}

fn quote(network: &Network, file: &JobFile, prefer: Prefer) -> Quote {
    let view = view(network, file);
    let choice = view.choices.into_iter().find(|choice| choice.prefer == prefer).expect("all three are there");
    choice.offer.expect("it can be promised").quote
}

/// The job as it is submitted by a quote.
fn by(quote: &Quote, file: &JobFile) -> Graph {
    let mut graph = plan(file).expect("it makes sense");
    (graph.prefer, graph.price_max, graph.quote) = (quote.prefer, Some(quote.price), Some(quote.clone()));
    graph
}

fn spent(network: &Network, id: JobId) -> Amount {
    network.core.job_summary(id).expect("it is there").spent
}

#[test]
fn three_choices_have_ranges_that_narrow_as_more_has_run() {
    let file = job(vec![array("a", 20)]);
    let widths = [1, 2, 4, 64].map(|tasks| {
        let view = view(&learned(tasks), &file);
        assert_eq!(
            view.choices.iter().map(|choice| choice.prefer).collect::<Vec<_>>(),
            [Prefer::Cheap, Prefer::Balanced, Prefer::Fast]
        );
        let price = view.choices[1].expected.expect("known");
        assert!(price.low <= 20_000_000 && 20_000_000 <= price.high, "{price:?}");
        let time = view.choices[1].time_ms.expect("known");
        assert!(time.low < 20_000 && 20_000 < time.high, "{time:?}");
        (price.high - price.low, view.choices[1].sure)
    });
    assert!(widths.is_sorted_by(|(more, _), (less, _)| more > less), "{widths:?}");
    assert_eq!((widths[0].1, widths[3].1), (Sure::Guess, Sure::Good));
    let view = view(&learned(8), &job(vec![array("new", 20)]));
    let choice = &view.choices[0];
    assert_eq!((choice.sure, choice.expected, choice.offer.is_some()), (Sure::Unknown, None, false));
    assert_eq!(choice.why, "nothing like it has run here yet");
}

#[test]
fn an_order_by_a_quote_reserves_exactly_its_price() {
    let mut network = learned(20);
    let file = job(vec![array("a", 10)]);
    let quote = quote(&network, &file, Prefer::Cheap);
    assert!(quote.price > quote.expected && quote.price.0 < quote.expected.0 * 3 / 2, "{quote:?}");
    let before = network.core.balance(&Account::Requester("ada".into()));
    let id = network.submit_graph("ada", by(&quote, &file)).expect("it is taken");
    assert_eq!(network.core.balance(&Account::Requester("ada".into())), Amount(before.0 - quote.price.0));
    network.run_all(1000);
    assert_eq!(network.state(id), JobState::Done);
    let view = network.core.job_view(id).expect("it is there").quoted.expect("it was quoted");
    assert_eq!((view.price, view.id, view.platform_paid), (quote.price, quote.id(), Amount::ZERO));
    assert!(view.price_error_mille.expect("it is done") < 100, "{view:?}");
    let totals = network.core.totals();
    assert_eq!((totals.quote_price_errors.count, totals.quote_time_errors.count), (1, 1));
    assert_eq!(network.core.balance(&Account::Requester("ada".into())), Amount(before.0 - spent(&network, id).0));
}

#[test]
fn a_quote_binds_for_its_time_its_job_and_its_price_only() {
    let mut network = learned(20);
    let file = job(vec![array("a", 10)]);
    let quote = quote(&network, &file, Prefer::Fast);
    let refused = |network: &mut Network, graph| network.submit_graph("ada", graph).expect_err("it does not fit");
    let other = by(&quote, &job(vec![array("a", 11)]));
    assert_eq!(refused(&mut network, other), "the quote is for another job");
    let mut cheaper = by(&quote, &file);
    cheaper.price_max = Some(Amount(quote.price.0 - 1));
    assert!(refused(&mut network, cheaper).starts_with("the quote is for "));
    let mut turned = by(&quote, &file);
    turned.prefer = Prefer::Cheap;
    assert_eq!(refused(&mut network, turned), "the quote is for another job");
    network.wait(10 * 60_000 + 1);
    assert_eq!(refused(&mut network, by(&quote, &file)), "the quote has run out: ask for a new one");
    let file = JobFile { budget: gleaner_wire::job_file::Budget { price_max: Some(Amount(5)), ..file.budget }, ..file };
    assert!(view(&network, &file).choices.iter().all(|choice| choice.offer.is_none()), "over budget.price_max");
}

#[test]
fn a_tight_price_does_not_keep_tasks_from_running_side_by_side() {
    let mut network = learned(20);
    for name in ["b", "c", "d"] {
        network.join(offer(name, 1000, 1_000_000));
    }
    let file = job(vec![array("a", 4)]);
    let quote = quote(&network, &file, Prefer::Fast);
    network.submit_graph("ada", by(&quote, &file)).expect("it is taken");
    assert_eq!(network.started().len(), 4);
}

#[test]
fn an_overrun_is_the_platforms_as_far_as_it_goes_and_never_the_requesters() {
    let mut network = learned(40);
    let file = job(vec![array("a", 10)]);
    let quote = quote(&network, &file, Prefer::Balanced);
    let platform = network.core.balance(&Account::Platform);
    assert!(platform.0 > quote.price.0 / 4, "it has earned enough to go on");
    let id = network.submit_graph("ada", by(&quote, &file)).expect("it is taken");
    // A good eighth more than was promised.
    network.run_all(1350);
    assert_eq!(network.state(id), JobState::Done);
    assert_eq!(spent(&network, id), quote.price, "not a unit more");
    let view = network.core.job_view(id).expect("it is there").quoted.expect("it was quoted");
    assert_eq!(view.platform_paid, Amount(13_500_000 - quote.price.0));
    assert_eq!(network.core.totals().quote_backing, view.platform_paid);
}

#[test]
fn beyond_what_the_platform_adds_the_job_ends_and_says_so() {
    let mut network = learned(40);
    let file = job(vec![array("a", 10)]);
    let quote = quote(&network, &file, Prefer::Balanced);
    let id = network.submit_graph("ada", by(&quote, &file)).expect("it is taken");
    network.run_all(2500);
    let JobState::Failed { reason, .. } = network.state(id) else { panic!("it costs twice as much as promised") };
    assert!(reason.contains("is used up") && reason.contains("tasks left"), "{reason}");
    assert!(spent(&network, id) <= quote.price);
    let done = network.core.job_summary(id).expect("it is there").done;
    assert!((5..=7).contains(&done), "{done}");
    assert_eq!(network.core.totals().quote_price_errors.count, 0, "what did not end says nothing about the price");
}

#[test]
fn an_attempt_that_runs_on_gets_more_set_aside_until_there_is_no_more() {
    let mut network = learned(40);
    let file = job(vec![array("a", 2)]);
    let quote = quote(&network, &file, Prefer::Balanced);
    let id = network.submit_graph("ada", by(&quote, &file)).expect("it is taken");
    let (worker, start) = network.started_one();
    for _ in 0..8 {
        network.wait(250);
        network.apply(Event::LeasesRenewed { worker, held: vec![start.attempt] });
    }
    assert!(network.core.runs(start.attempt), "twice its time, with the money of the other one");
    for _ in 0..8 {
        network.wait(1000);
        network.apply(Event::LeasesRenewed { worker, held: vec![start.attempt] });
    }
    assert!(network.cancelled().contains(&start.attempt));
    let JobState::Failed { reason, .. } = network.state(id) else { panic!("there is no money for it") };
    assert!(reason.contains("is used up"), "{reason}");
    assert_eq!(spent(&network, id), Amount::ZERO, "nothing was delivered");
}

#[test]
fn a_quote_outlasts_a_restart_and_says_until_when() {
    let network = learned(20);
    let quote = quote(&network, &job(vec![array("a", 10)]), Prefer::Fast);
    assert_eq!(quote.until, network.now.after(Millis(600_000)));
}

#[test]
fn a_reserved_job_is_quoted_with_the_half_of_the_devices_that_it_may_keep() {
    let mut network = learned(64);
    for name in ["b", "c", "d"] {
        network.join(offer(name, 1000, 1_000_000));
    }
    let plain = job(vec![array("a", 8)]);
    let market = gleaner_wire::market::Market { tier: gleaner_wire::market::Tier::Reserved, ..plain.market };
    let reserved = JobFile { market, ..plain.clone() };
    let [(price, time), (firm_price, firm_time)] = [&plain, &reserved].map(|file| {
        let view = view(&network, file);
        (view.expected.expect("known").0, view.time_ms.expect("known").0)
    });
    assert_eq!(firm_price, price * 5 / 4);
    assert!(firm_time > time * 3 / 2, "{firm_time} ms beside {time} ms");
}
