use crate::network::{Network, job, offer, task};
use gleaner_core::ledger::Account;
use gleaner_core::{ChainTerms, Closing, Effect, Event, Params, Ticket};
use gleaner_wire::api::JobState;
use gleaner_wire::job_file::JobFile;
use gleaner_wire::{Address, Amount, Hash, JobId, Millis, Offer, Order, SignedOrder, WorkerId};

pub const REQUESTER: Address = Address([7; 20]);
const PROVIDER: Address = Address([8; 20]);

pub fn network() -> Network {
    let params = Params { orders: true, stake_min: Amount::gln(10), ..Params::default() };
    Network::with(params)
}

pub fn order(network: &Network) -> Order {
    Order {
        requester: REQUESTER,
        hub: Address([9; 20]),
        job: Hash([1; 32]),
        cap: Amount::gln(10),
        bond: Amount::ZERO,
        deadline: (network.now.0 + 3 * 3_600_000) / 1000,
        policy: Hash([0; 32]),
        nonce: 5,
    }
}

fn submit(network: &mut Network, order: Order) -> Result<JobId, String> {
    submit_file(network, order, 5, &job(vec![task("a")]))
}

pub fn submit_file(network: &mut Network, order: Order, submission: u64, file: &JobFile) -> Result<JobId, String> {
    let graph = gleaner_core::plan::plan(file).expect("it makes sense");
    let order = Some(SignedOrder { order, signature: vec![] });
    let (ticket, requester) = (Ticket(submission), REQUESTER.to_string());
    let effects =
        network.effects_of(Event::JobSubmitted { ticket, submission: submission.into(), requester, graph, order });
    let answer = effects.iter().find_map(|effect| match effect {
        Effect::AcceptJob { job, .. } => Some(Ok(*job)),
        Effect::RefuseJob { reason, .. } => Some(Err(reason.clone())),
        _ => None,
    });
    answer.expect("a submission is answered")
}

fn staked(name: &str) -> Offer {
    Offer { provider: Some(PROVIDER), ..offer(name, 1000, 1_000_000) }
}

fn joined(network: &mut Network) -> WorkerId {
    network.apply(Event::StakeSeen { provider: PROVIDER, stake: Amount::gln(10) });
    network.join(staked("a"))
}

#[test]
fn a_job_starts_when_its_lock_is_seen_and_not_before() {
    let mut network = network();
    joined(&mut network);
    let placed = order(&network);
    let id = submit(&mut network, placed).expect("it is taken");
    assert_eq!(network.state(id), JobState::Ordered);
    assert!(network.started().is_empty(), "nothing runs unpaid");
    let waits = network.core.explain(id).expect("it is there").waiting;
    assert_eq!(waits[0].reasons[0].code, "order_unlocked");
    network.apply(Event::OrderLocked { job: id, share_points: 1500 });
    assert_eq!(network.started().len(), 1);
    assert_eq!(network.core.balance(&Account::Order(id)), Amount::gln(10));
}

#[test]
fn a_lock_that_fails_ends_the_job_with_the_reason() {
    let mut network = network();
    let placed = order(&network);
    let id = submit(&mut network, placed).expect("it is taken");
    network.apply(Event::OrderRefused { job: id, reason: "too little money".into() });
    assert!(matches!(network.state(id), JobState::Failed { reason, .. } if reason == "too little money"));
    network.apply(Event::OrderLocked { job: id, share_points: 1500 });
    assert!(network.state(id).has_ended(), "a late lock does not wake it");
}

#[test]
fn orders_that_do_not_fit_the_job_are_refused() {
    let mut network = network();
    let right = order(&network);
    let wrong = [
        (Order { requester: PROVIDER, ..right.clone() }, "another requester"),
        (Order { nonce: 6, ..right.clone() }, "another submission"),
        (Order { cap: Amount::gln(9), ..right.clone() }, "9 GLN"),
        (Order { deadline: right.deadline - 1, ..right }, "must last until"),
    ];
    for (order, words) in wrong {
        let reason = submit(&mut network, order).expect_err(words);
        assert!(reason.contains(words), "{reason}");
    }
    let unsigned = network.try_submit(&REQUESTER.to_string(), &job(vec![task("a")]));
    assert!(unsigned.expect_err("no order").contains("signed order"));
}

#[test]
fn a_settled_order_leaves_the_books_empty() {
    let mut network = network();
    let worker = joined(&mut network);
    let placed = order(&network);
    let id = submit(&mut network, placed).expect("it is taken");
    // A share that a later vote changes does not change this job's.
    network.apply(Event::OrderLocked { job: id, share_points: 2000 });
    let stake_min = Amount::gln(10);
    let terms = ChainTerms { share_points: 100, stake_min, work_lock: Amount::gln(1), slash_points: 5000 };
    network.apply(Event::TermsSeen(terms));
    let (_, start) = network.started_one();
    network.deliver(worker, &start, 2000);
    let receipts = network.core.receipts(id, 0, 10);
    assert_eq!((receipts.len(), receipts[0].gross, receipts[0].provider), (1, Amount(2_000_000), PROVIDER));
    let bills = network.core.bills(id);
    assert_eq!((bills[0].gross, bills[0].net), (Amount(2_000_000), Amount(1_600_000)));
    network.apply(Event::JobArchived { job: id });
    let rest = Amount(Amount::gln(10).0 - 2_000_000);
    network.apply(Event::OrderClosed(Closing {
        job: id,
        requester: REQUESTER.to_string(),
        booked: vec![(worker, Amount(1_600_000))],
        fee: Amount(400_000),
        rest,
        paid: vec![(worker, Amount(1_600_000))],
    }));
    let books = network.core.ledger_view();
    let names: Vec<_> = books.accounts.keys().collect();
    assert_eq!(names, ["requester:ada", "requester:bob"], "what other requesters have here stays");
    let view = network.core.worker_view(worker).expect("it is there");
    assert_eq!((view.earned, view.settled), (Amount(1_600_000), Amount(1_600_000)));
    assert_eq!(network.core.totals().closings_wrong, 0);
}

#[test]
fn the_share_of_many_small_payments_is_that_of_their_sum() {
    let mut network = network();
    let worker = joined(&mut network);
    let graph = gleaner_core::plan::plan(&job(vec![crate::network::array("a", 999)])).expect("it makes sense");
    let order = Some(SignedOrder { order: order(&network), signature: vec![] });
    let (ticket, requester) = (Ticket(1), REQUESTER.to_string());
    network.apply(Event::JobSubmitted { ticket, submission: 5, requester, graph, order });
    network.apply(Event::OrderLocked { job: JobId(1), share_points: 1500 });
    // 1 ms at 1,001 units a second is 2 units, rounded up; 15 % of each alone would round down to nothing.
    network.run_all(1);
    let bill = network.core.bills(JobId(1))[0];
    assert_eq!(bill.worker, worker);
    assert_eq!(bill.net, Amount(bill.gross.0 - bill.gross.0 * 15 / 100));
    assert_eq!(
        network.core.receipts(JobId(1), 0, 2000).iter().map(|receipt| receipt.gross.0).sum::<u64>(),
        bill.gross.0
    );
}

#[test]
fn a_worker_without_stake_is_refused_with_what_to_do() {
    let mut network = network();
    let mut refusal = |offer: Offer| network.join_refused(offer).expect("it is refused");
    assert!(refusal(offer("bare", 1000, 1)).contains("must name the account"));
    assert!(refusal(staked("poor")).contains("gleaner stake add"));
}

#[test]
fn every_worker_of_a_provider_needs_its_own_stake() {
    let mut network = network();
    let first = joined(&mut network);
    assert!(network.join_refused(staked("b")).is_some(), "one stake stands behind one worker");
    network.apply(Event::StakeSeen { provider: PROVIDER, stake: Amount::gln(20) });
    let second = network.join(staked("b"));
    network.apply(Event::StakeSeen { provider: PROVIDER, stake: Amount::gln(10) });
    assert_eq!(network.disconnected(), [second], "the newest goes first, and {first} stays");
}

#[test]
fn an_order_that_is_never_locked_ends_with_the_time_of_its_job() {
    let mut network = network();
    let placed = order(&network);
    let id = submit(&mut network, placed).expect("it is taken");
    network.wait(3_600_000);
    assert!(matches!(network.state(id), JobState::Failed { .. }));
    let effects = network.effects_of(Event::HubStarted);
    assert!(effects.contains(&Effect::ArchiveJob { job: id }));
}

#[test]
fn a_hub_that_starts_again_asks_for_open_locks_again() {
    let mut network = network();
    let placed = order(&network);
    let id = submit(&mut network, placed).expect("it is taken");
    network.now = network.now.after(Millis(5));
    assert!(network.effects_of(Event::HubStarted).contains(&Effect::LockOrder { job: id }));
}

#[test]
fn no_more_workers_than_a_settlement_can_name_work_on_an_order() {
    let mut network = network();
    network.apply(Event::StakeSeen { provider: PROVIDER, stake: Amount::gln(10_000) });
    for number in 0..230 {
        network.join(staked(&format!("w{number}")));
    }
    let graph = gleaner_core::plan::plan(&job(vec![crate::network::array("a", 500)])).expect("it makes sense");
    let order = Some(SignedOrder { order: order(&network), signature: vec![] });
    let (ticket, requester) = (Ticket(1), REQUESTER.to_string());
    network.apply(Event::JobSubmitted { ticket, submission: 5, requester, graph, order });
    network.apply(Event::OrderLocked { job: JobId(1), share_points: 1500 });
    network.run_all(10);
    assert_eq!(network.state(JobId(1)), JobState::Done);
    assert_eq!(network.core.bills(JobId(1)).len(), 200);
}

#[test]
fn the_workers_of_a_wallet_are_found_step_by_step() {
    let mut network = network();
    network.apply(Event::StakeSeen { provider: PROVIDER, stake: Amount::gln(100) });
    network.apply(Event::StakeSeen { provider: REQUESTER, stake: Amount::gln(100) });
    let first = network.join(staked("a"));
    network.join(Offer { provider: Some(REQUESTER), ..staked("b") });
    let third = network.join(staked("c"));
    let wallets = [PROVIDER].into();
    let (found, rest) = network.core.paid_to(&wallets, WorkerId(0), 2);
    assert_eq!((found, rest), (vec![first], Some(third)), "two were looked at");
    assert_eq!(network.core.paid_to(&wallets, third, 2), (vec![third], None));
    assert_eq!(network.core.paid_to(&wallets, WorkerId(u32::MAX), 2), (vec![], None));
}
