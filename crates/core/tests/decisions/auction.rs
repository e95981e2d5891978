use crate::network::{Network, array, job, offer, task};
use crate::orders;
use gleaner_core::ledger::Account;
use gleaner_core::{Effect, Event, Params};
use gleaner_wire::api::{JobState, WorkerView};
use gleaner_wire::job_file::{JobFile, TaskFile};
use gleaner_wire::market::{Market, Mode, Tier};
use gleaner_wire::{
    Address, Amount, AuctionId, Cause, Invitation, JobId, Millis, Offer, OpenedBid, Order, Outcome, SealedBid,
    WorkerId, WorkerKey, seal_bid,
};

fn auctioned(tasks: Vec<TaskFile>) -> JobFile {
    JobFile { market: Market { mode: Mode::Auction, ..Market::default() }, ..job(tasks) }
}

/// What a bidder does with its invitations.
#[derive(Clone, Copy)]
enum Conduct {
    Bids(u64),
    /// Seals one price and opens with another.
    Changes(u64, u64),
    NeverOpens(u64),
    Declines,
    Silent,
}

fn opened(auction: AuctionId, price: u64) -> OpenedBid {
    OpenedBid { auction, device: 0, price: Amount(price), nonce: [7; 32] }
}

fn view(network: &Network, worker: WorkerId) -> WorkerView {
    network.core.worker_view(worker).expect("it is there")
}

impl Network {
    fn invitations(&mut self) -> Vec<(WorkerId, Invitation)> {
        let effects = self.take_effects(|effect| matches!(effect, Effect::InviteBid { .. }));
        let invited = effects.into_iter().filter_map(|effect| match effect {
            Effect::InviteBid { worker, auction, device } => {
                Some((worker, self.core.invitation(worker, auction, device)?))
            }
            _ => None,
        });
        invited.collect()
    }

    fn key(&self, worker: WorkerId) -> WorkerKey {
        view(self, worker).key
    }

    /// Workers bid as they are told, until no more are invited. What must end by time is waited for.
    fn bid(&mut self, conduct: &[(WorkerId, Conduct)]) {
        let of =
            |worker: WorkerId| conduct.iter().find(|(who, _)| *who == worker).map_or(Conduct::Silent, |(_, how)| *how);
        for _ in 0..1000 {
            let invitations = self.invitations();
            if invitations.is_empty() {
                return;
            }
            for (worker, invitation) in &invitations {
                let (auction, device) = (invitation.auction, invitation.device);
                let seal = match of(*worker) {
                    Conduct::Bids(price) | Conduct::Changes(price, _) | Conduct::NeverOpens(price) => {
                        Some(seal_bid(&opened(auction, price), &self.key(*worker)))
                    }
                    Conduct::Declines => None,
                    Conduct::Silent => continue,
                };
                self.apply(Event::BidsSealed { worker: *worker, bids: vec![SealedBid { auction, device, seal }] });
            }
            self.wait_if(conduct.iter().any(|(_, how)| matches!(how, Conduct::Silent)));
            for effect in self.take_effects(|effect| matches!(effect, Effect::AskReveal { .. })) {
                let Effect::AskReveal { worker, auction, .. } = effect else { continue };
                let price = match of(worker) {
                    Conduct::Bids(price) | Conduct::Changes(_, price) => price,
                    Conduct::NeverOpens(_) | Conduct::Declines | Conduct::Silent => continue,
                };
                self.apply(Event::BidsOpened { worker, bids: vec![opened(auction, price)] });
            }
            self.wait_if(conduct.iter().any(|(_, how)| matches!(how, Conduct::NeverOpens(_))));
            for effect in self.take_effects(|effect| matches!(effect, Effect::DrawLot { .. })) {
                let Effect::DrawLot { auction } = effect else { continue };
                self.apply(Event::LotDrawn { auction, seed: 5 });
            }
        }
        panic!("auctions never end");
    }

    fn wait_if(&mut self, waits: bool) {
        if waits {
            self.wait(400);
        }
    }

    fn codes(&self, id: JobId) -> Vec<String> {
        let view = self.core.explain(id).expect("it is there");
        view.waiting.iter().flat_map(|waiting| waiting.reasons.iter().map(|reason| reason.code.clone())).collect()
    }
}

#[test]
fn the_best_bid_wins_and_is_paid_by_the_second() {
    let mut network = Network::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| network.join(offer(name, 1000, 1000)));
    let id = network.submit("ada", &auctioned(vec![task("t")]));
    assert!(network.started().is_empty(), "nothing is placed before bids are in");
    assert_eq!(network.codes(id)[0], "auction_open");
    network.bid(&[(a, Conduct::Bids(700)), (b, Conduct::Bids(300)), (c, Conduct::Bids(500))]);
    let (worker, start) = network.started_one();
    assert_eq!(worker, b);
    let why = network.core.explain(id).expect("it is there").running[0].why.clone();
    assert!(why.contains("its bid of 0.0000003 GLN a second won the auction with 3 bids"), "{why}");
    assert!(why.contains("so it is paid 0.0000005 GLN a second"), "{why}");
    network.deliver(b, &start, 2000);
    assert_eq!(network.state(id), JobState::Done);
    let view = network.core.job_view(id).expect("it is there");
    assert_eq!(view.summary.spent, Amount(1000), "two seconds at the second price");
    assert_eq!((view.awards[0].bid, view.awards[0].price, view.awards[0].bids), (Amount(300), Amount(500), 3));
}

#[test]
fn a_faster_worker_may_ask_for_more() {
    let mut network = Network::new();
    let (slow, fast) = (network.join(offer("slow", 1000, 2000)), network.join(offer("fast", 4000, 2000)));
    network.submit("ada", &auctioned(vec![task("t")]));
    network.bid(&[(slow, Conduct::Bids(300)), (fast, Conduct::Bids(900))]);
    assert_eq!(network.started_one().0, fast);
}

#[test]
fn an_unreliable_worker_must_ask_for_less() {
    let mut network = Network::new();
    let (a, b) = (network.join(offer("a", 1000, 1000)), network.join(offer("b", 1000, 1000)));
    for _ in 0..3 {
        let posted = network.submit("ada", &job(vec![array("p", 2)]));
        for (worker, start) in network.started() {
            match worker == a {
                true => network.finish(worker, start.attempt, 0, Outcome::Cancelled),
                false => network.deliver(worker, &start, 1000),
            }
        }
        network.apply(Event::JobCancelled { job: posted });
        network.wait(40_000);
        network.apply(Event::LeasesRenewed { worker: a, held: vec![] });
        network.apply(Event::LeasesRenewed { worker: b, held: vec![] });
        network.started();
    }
    assert!(view(&network, a).reliability_per_mille < 700, "{}", view(&network, a).reliability_per_mille);
    network.submit("ada", &auctioned(vec![task("t")]));
    network.bid(&[(a, Conduct::Bids(290)), (b, Conduct::Bids(300))]);
    assert_eq!(network.started_one().0, b);
}

#[test]
fn an_array_is_sold_in_lots_and_every_task_is_awarded_once() {
    let mut network = Network::new();
    let workers: Vec<_> = (0..6).map(|at| network.join(offer(&format!("w{at}"), 1000, 1000))).collect();
    let bids: Vec<_> = (0..).zip(&workers).map(|(at, worker)| (*worker, Conduct::Bids(100 + at * 50))).collect();
    let id = network.submit("ada", &auctioned(vec![array("t", 20)]));
    for _ in 0..20 {
        network.bid(&bids);
        for (worker, start) in network.started() {
            network.deliver(worker, &start, 100);
            network.bid(&bids);
        }
    }
    assert_eq!(network.state(id), JobState::Done);
    let view = network.core.job_view(id).expect("it is there");
    let mut tasks: Vec<_> = view.awards.iter().map(|award| award.task.clone()).collect();
    tasks.sort();
    tasks.dedup();
    assert_eq!((view.awards.len(), tasks.len()), (20, 20));
    let lot: Vec<_> = view.awards.iter().filter(|award| award.bids == 6).collect();
    assert_eq!(lot.len(), 5, "one auction gives out a task less than it has bids");
    assert!(lot.iter().all(|award| award.price == Amount(350)), "all are paid by the one that lost");
    assert!(network.core.totals().auctions_opened <= 16, "{}", network.core.totals().auctions_opened);
}

#[test]
fn without_bids_a_task_goes_by_posted_prices_and_says_so() {
    let mut network = Network::new();
    let (a, b) = (network.join(offer("a", 1000, 700)), network.join(offer("b", 1000, 300)));
    let id = network.submit("ada", &auctioned(vec![array("t", 4)]));
    network.bid(&[(a, Conduct::Declines), (b, Conduct::Silent)]);
    let started = network.started();
    assert_eq!(started.len(), 2, "both take one by their posted price");
    let why = network.core.explain(id).expect("it is there").running[0].why.clone();
    assert!(why.starts_with("nobody bid for it in time, so it went by posted prices: the best idle device"), "{why}");
    assert_eq!(network.codes(id)[0], "auction_waits", "the others are sold when a device is idle");
    assert_eq!(network.core.totals().auctions_without_bids, 1);
    for (worker, start) in &started {
        network.deliver(*worker, start, 1000);
    }
    assert_eq!(network.core.job_summary(id).expect("it is there").spent, Amount(1000));
}

#[test]
fn a_bid_alone_is_paid_its_standing_price() {
    let mut network = Network::new();
    let a = network.join(offer("a", 1000, 700));
    let id = network.submit("ada", &auctioned(vec![task("t")]));
    network.bid(&[(a, Conduct::Bids(10))]);
    let (worker, start) = network.started_one();
    network.deliver(worker, &start, 1000);
    assert_eq!(network.core.job_summary(id).expect("it is there").spent, Amount(700));
}

#[test]
fn another_price_that_is_asked_meanwhile_changes_nothing_about_a_bid() {
    for asked in [10, 700, 90_000] {
        let mut network = Network::new();
        let a = network.join(offer("a", 1000, 700));
        let id = network.submit("ada", &auctioned(vec![task("t")]));
        let auction = network.invitations()[0].1.auction;
        let seal = Some(seal_bid(&opened(auction, 600), &network.key(a)));
        network.apply(Event::BidsSealed { worker: a, bids: vec![SealedBid { auction, device: 0, seal }] });
        network.apply(Event::Repriced { worker: a, prices: vec![Amount(asked)] });
        network.apply(Event::BidsOpened { worker: a, bids: vec![opened(auction, 600)] });
        let (worker, start) = network.started_one();
        network.deliver(worker, &start, 1000);
        assert_eq!(
            network.core.job_summary(id).expect("it is there").spent,
            Amount(700),
            "alone, by its standing price"
        );
    }
}

#[test]
fn a_bid_above_the_standing_price_or_opened_with_another_price_does_not_count() {
    let mut network = Network::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| network.join(offer(name, 1000, 1000)));
    network.submit("ada", &auctioned(vec![task("t")]));
    network.bid(&[(a, Conduct::Bids(1001)), (b, Conduct::Changes(900, 100)), (c, Conduct::Bids(999))]);
    assert_eq!(network.started_one().0, c);
}

#[test]
fn whoever_never_opens_its_bids_is_put_on_probation_in_the_end() {
    let mut network = Network::new();
    let (a, b) = (network.join(offer("a", 1000, 1000)), network.join(offer("b", 1000, 1000)));
    for _ in 0..6 {
        network.submit("ada", &auctioned(vec![task("t")]));
        network.bid(&[(a, Conduct::NeverOpens(1)), (b, Conduct::Bids(500))]);
        let (worker, start) = network.started_one();
        assert_eq!(worker, b);
        network.deliver(b, &start, 1000);
    }
    assert_eq!(view(&network, a).state, gleaner_wire::State::Probation);
}

#[test]
fn a_tie_is_decided_by_a_lot_that_is_drawn_outside() {
    let mut network = Network::new();
    let (a, b) = (network.join(offer("a", 1000, 1000)), network.join(offer("b", 1000, 1000)));
    let id = network.submit("ada", &auctioned(vec![task("t")]));
    let auction = network.invitations()[0].1.auction;
    for worker in [a, b] {
        let seal = Some(seal_bid(&opened(auction, 400), &network.key(worker)));
        network.apply(Event::BidsSealed { worker, bids: vec![SealedBid { auction, device: 0, seal }] });
    }
    for worker in [a, b] {
        network.apply(Event::BidsOpened { worker, bids: vec![opened(auction, 400)] });
    }
    assert!(network.started().is_empty());
    assert!(network.core.explain(id).expect("it is there").waiting[0].reasons[0].text.contains("a lot is drawn"));
    network.wait(1000);
    let asked = network.take_effects(|effect| matches!(effect, Effect::DrawLot { .. }));
    assert!(asked.len() > 1, "it is asked for until it comes");
    network.apply(Event::LotDrawn { auction, seed: 1 });
    let first = network.started_one().0;
    assert!([a, b].contains(&first));
}

#[test]
fn a_winner_that_does_not_start_loses_its_bond_to_the_requester() {
    let mut network = Network::new();
    let (a, b) = (network.join(offer("a", 1000, 1_000_000)), network.join(offer("b", 1000, 1_000_000)));
    network.submit("ada", &auctioned(vec![task("t")]));
    network.bid(&[(a, Conduct::Bids(100_000)), (b, Conduct::Bids(200_000))]);
    let (worker, start) = network.started_one();
    network.deliver(worker, &start, 1000);
    let (earned, bob) = (network.earned(a), Account::Requester("bob".into()));
    assert_eq!(earned, Amount(170_000));
    let second = network.submit("bob", &auctioned(vec![task("u")]));
    let before = network.core.balance(&bob);
    network.bid(&[(a, Conduct::Bids(100_000)), (b, Conduct::Bids(200_000))]);
    let (worker, start) = network.started_one();
    assert_eq!(worker, a);
    network.finish(a, start.attempt, 0, Outcome::Failed { cause: Cause::RefusedByOwner, detail: String::new() });
    let lost = view(&network, a).forfeited;
    let award = network.core.job_view(second).expect("it is there").awards[0].clone();
    assert_eq!(lost, Amount(award.price.0 / 10), "a tenth of a second at what it would have been paid");
    assert_eq!(network.earned(a), Amount(earned.0 - lost.0));
    assert_eq!(network.core.balance(&bob), Amount(before.0 + lost.0));
    network.bid(&[(a, Conduct::Bids(100_000)), (b, Conduct::Bids(200_000))]);
    assert_eq!(network.started_one().0, b, "the task does not go back to it while another is here");
}

#[test]
fn where_money_is_on_a_chain_a_bond_is_withheld_from_the_next_pays() {
    let mut network = orders::network();
    let [a, b] = [1, 2].map(|owner| {
        let provider = Address([owner; 20]);
        network.apply(Event::StakeSeen { provider, stake: Amount::gln(10) });
        network.join(Offer { provider: Some(provider), ..offer(&format!("of {owner}"), 1000, 1_000_000) })
    });
    let ordered = |network: &mut Network, submission: u64, file: &JobFile| {
        let order = Order { nonce: submission.into(), deadline: 1 << 40, ..orders::order(network) };
        let id = orders::submit_file(network, order, submission, file).expect("it is taken");
        network.apply(Event::OrderLocked { job: id, share_points: 1500 });
        id
    };
    let first = ordered(&mut network, 1, &auctioned(vec![task("t")]));
    network.bid(&[(a, Conduct::Bids(100_000)), (b, Conduct::Bids(200_000))]);
    let (worker, start) = network.started_one();
    assert_eq!(worker, a);
    network.finish(a, start.attempt, 0, Outcome::Failed { cause: Cause::RefusedByOwner, detail: String::new() });
    let price = network.core.job_view(first).expect("it is there").awards[0].price;
    let bond = price.0 / 10;
    network.bid(&[(b, Conduct::Bids(200_000))]);
    let (worker, start) = network.started_one();
    network.deliver(worker, &start, 1000);
    assert_eq!(view(&network, a).forfeited, Amount::ZERO, "it has not been paid anything since");
    network.leave(b);
    // A tenth of each pay at most, until all of it is withheld.
    let mut due = bond;
    for submission in 2..100 {
        let id = ordered(&mut network, submission, &job(vec![task(&format!("t{submission}"))]));
        let (worker, start) = network.started_one();
        assert_eq!(worker, a);
        network.deliver(a, &start, 5);
        let full = 1_000_000 * 5 / 1000;
        let withheld = due.min(full / 10);
        due -= withheld;
        let bill = network.core.bills(id)[0];
        assert_eq!((bill.gross, bill.worker), (Amount(full - withheld), a));
        if withheld == 0 {
            assert!(submission > 4, "it took several pays");
            assert_eq!(view(&network, a).forfeited, Amount(bond));
            return;
        }
    }
    panic!("{due} are still due");
}

#[test]
fn one_that_has_shown_that_it_holds_the_task_keeps_its_bond() {
    let mut network = Network::new();
    let a = network.join(offer("a", 1000, 1000));
    network.submit("ada", &auctioned(vec![array("t", 2)]));
    let bids = [(a, Conduct::Bids(100))];
    network.bid(&bids);
    let (worker, start) = network.started_one();
    network.deliver(worker, &start, 10_000);
    network.bid(&bids);
    let (worker, start) = network.started_one();
    network.apply(Event::LeasesRenewed { worker, held: vec![start.attempt] });
    let earned = network.earned(a);
    network.leave(a);
    assert_eq!((network.earned(a), view(&network, a).forfeited), (earned, Amount::ZERO));
}

#[test]
fn an_auction_never_pays_more_than_the_job_may_cost() {
    let mut network = Network::new();
    let (a, b) = (network.join(offer("a", 1000, 1_000_000_000)), network.join(offer("b", 1000, 1_000_000_000)));
    let mut file = auctioned(vec![task("t")]);
    file.budget.price_max = Some(Amount(500_000));
    let id = network.submit("ada", &file);
    network.bid(&[(a, Conduct::Bids(400_000)), (b, Conduct::Bids(900_000_000))]);
    let (worker, start) = network.started_one();
    assert_eq!(worker, a);
    network.deliver(a, &start, 1000);
    assert_eq!(network.core.job_summary(id).expect("it is there").spent, Amount(500_000));
}

#[test]
fn seats_that_bid_get_nothing_else_until_they_have_lost() {
    let mut network = Network::new();
    let (a, b) = (network.join(offer("a", 1000, 1000)), network.join(offer("b", 1000, 1000)));
    network.submit("ada", &auctioned(vec![task("t")]));
    let posted = network.submit("bob", &job(vec![array("p", 4)]));
    assert!(network.started().is_empty());
    assert_eq!(network.codes(posted), ["bids"]);
    network.bid(&[(a, Conduct::Bids(10)), (b, Conduct::Bids(20))]);
    assert_eq!(network.started().len(), 2);
}

#[test]
fn requesters_take_turns_whether_they_buy_by_auction_or_not() {
    let mut network = Network::new();
    let workers: Vec<_> = (0..4).map(|at| network.join(offer(&format!("w{at}"), 1000, 1000))).collect();
    let bids: Vec<_> = (0..).zip(&workers).map(|(at, worker)| (*worker, Conduct::Bids(100 + at))).collect();
    let sold = network.submit("ada", &auctioned(vec![array("t", 400)]));
    let posted = network.submit("bob", &job(vec![array("p", 400)]));
    for _ in 0..60 {
        network.bid(&bids);
        for (worker, start) in network.started() {
            network.deliver(worker, &start, 1000);
        }
    }
    let done = |id| network.core.job_summary(id).expect("it is there").done;
    let (sold, posted) = (done(sold), done(posted));
    assert!(sold.abs_diff(posted) * 10 <= sold + posted, "{sold} by auction, {posted} by posted prices");
}

#[test]
fn a_job_that_ends_and_a_hub_that_restarts_leave_no_auction_open() {
    let mut network = Network::with(Params { bid_ms: Millis(5000), ..Params::default() });
    let a = network.join(offer("a", 1000, 1000));
    let id = network.submit("ada", &auctioned(vec![task("t")]));
    network.apply(Event::JobCancelled { job: id });
    let posted = network.submit("ada", &job(vec![task("p")]));
    let (worker, start) = network.started_one();
    network.deliver(worker, &start, 10);
    assert_eq!(network.state(posted), JobState::Done);
    network.submit("ada", &auctioned(vec![task("t")]));
    assert_eq!(network.invitations().len(), 1);
    network.apply(Event::HubStarted);
    let again = network.join(offer("a", 1000, 1000));
    assert_eq!(again, a);
    network.bid(&[(a, Conduct::Bids(10))]);
    assert_eq!(network.started_one().0, a);
}

#[test]
fn late_and_strange_bids_change_nothing() {
    let mut network = Network::new();
    let (a, b) = (network.join(offer("a", 1000, 1000)), network.join(offer("b", 1000, 1000)));
    network.submit("ada", &auctioned(vec![task("t")]));
    let auction = network.invitations()[0].1.auction;
    let strange = |auction, device| SealedBid { auction, device, seal: None };
    let bids = vec![strange(AuctionId(99), 0), strange(auction, 9), strange(auction, u16::MAX)];
    network.apply(Event::BidsSealed { worker: a, bids });
    network.apply(Event::BidsOpened { worker: a, bids: vec![opened(auction, 5)] });
    network.apply(Event::BidsSealed { worker: WorkerId(77), bids: vec![strange(auction, 0)] });
    network.apply(Event::LotDrawn { auction, seed: 1 });
    assert!(network.started().is_empty());
    network.wait(1000);
    assert_eq!(network.started().len(), 1, "nobody bid");
    let seal = Some(seal_bid(&opened(auction, 5), &network.key(b)));
    network.apply(Event::BidsSealed { worker: b, bids: vec![SealedBid { auction, device: 0, seal }] });
}

fn tiered(tier: Tier, task: TaskFile) -> JobFile {
    JobFile { market: Market { mode: Mode::Auction, tier }, ..job(vec![task]) }
}

#[test]
fn a_soft_place_is_paid_its_part_of_the_price_that_wins() {
    let mut network = Network::new();
    let [a, b] = ["a", "b"].map(|name| network.join(offer(name, 1000, 1000)));
    let id = network.submit("ada", &tiered(Tier::Interruptible, task("t")));
    let invitations = network.core.invitation(a, AuctionId(1), 0).expect("it may bid");
    assert_eq!(invitations.tier, Tier::Interruptible);
    network.bid(&[(a, Conduct::Bids(300)), (b, Conduct::Bids(500))]);
    let (worker, start) = network.started_one();
    assert_eq!(worker, a);
    network.deliver(a, &start, 2000);
    let view = network.core.job_view(id).expect("it is there");
    assert_eq!((view.summary.spent, view.awards[0].price), (Amount(850), Amount(425)));
}

#[test]
fn a_device_that_a_reserved_job_has_won_is_kept_at_the_price_that_it_won_with() {
    let mut network = Network::new();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| network.join(offer(name, 1000, 1000)));
    let id = network.submit("ada", &tiered(Tier::Reserved, array("t", 3)));
    let bids = [(a, 300), (b, 500), (c, 700), (d, 900)].map(|(worker, price)| (worker, Conduct::Bids(price)));
    network.bid(&bids);
    let starts = network.started();
    assert_eq!(
        starts.iter().map(|(worker, _)| *worker).collect::<Vec<_>>(),
        [a, b],
        "half of the devices, and no more"
    );
    assert_eq!(network.codes(id)[0], "places_kept");
    network.deliver(a, &starts[0].1, 1000);
    let (worker, third) = network.started_one();
    assert_eq!(worker, a, "without another auction");
    let running = network.core.explain(id).expect("it is there").running;
    assert!(running.iter().any(|at| at.why.starts_with("an earlier bid won the device")), "{running:?}");
    network.deliver(a, &third, 1000);
    network.deliver(b, &starts[1].1, 2000);
    assert_eq!(network.state(id), JobState::Done);
    let spent = network.core.job_view(id).expect("it is there").summary.spent;
    assert_eq!(spent, Amount(4 * 1125), "four seconds at 125 % of the best bid that lost");
}
