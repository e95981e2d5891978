//! The contracts' behaviours, played on the embedded chain and on anvil: same results, events and balances.
mod world;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::SolEvent;
use gleaner_chain::contracts::{Court, Escrow, Vouchers};
use gleaner_chain::market::{Ballot, Stage, State};
use gleaner_chain::voucher::{self, Payee, Payer};
use gleaner_wire::Amount;
use world::{World, address, gln, named, order, settlement, wall_clock};

/// Plays a scenario on both chains and compares the transcripts line by line.
macro_rules! on_both_chains {
    ($name:ident, $scenario:expr) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            let now = wall_clock();
            let mut here = World::embedded(now).await;
            $scenario(&mut here).await;
            here.check_histories().await;
            let mut there = World::anvil(now).await;
            $scenario(&mut there).await;
            there.check_histories().await;
            for (here, there) in here.transcript.iter().zip(&there.transcript) {
                assert_eq!(here, there);
            }
            assert_eq!(here.transcript.len(), there.transcript.len());
        }
    };
}

on_both_chains!(money_comes_in_and_goes_out_to_the_last_unit, deposits);
on_both_chains!(an_approved_settlement_pays_85_to_15_at_once, approved);
on_both_chains!(an_unapproved_settlement_waits_for_its_window, proposed);
on_both_chains!(a_dead_hub_can_freeze_money_only_until_the_deadline, released);
on_both_chains!(orders_cannot_be_replayed_forged_or_overdrawn, refused_orders);
on_both_chains!(a_batch_goes_on_past_what_fails, batches);
on_both_chains!(a_committee_decides_and_the_loser_pays, disputed);
on_both_chains!(a_dispute_without_votes_gives_the_money_back, undecided);
on_both_chains!(an_accused_provider_is_slashed_by_a_verdict_only, accused);
on_both_chains!(stake_unbonds_after_its_delay, unbonding);
on_both_chains!(vouchers_are_redeemed_by_the_last_word, vouchers);
on_both_chains!(a_vote_changes_the_platform_share, governance);
on_both_chains!(rewards_are_claimed_with_a_proof, node_rewards);

/// Puts money into Escrow and stakes for the hub and the providers.
async fn prepare(world: &mut World) {
    let deposit = world.market.deposit_with_permit(&named("requester"), gln(100)).await.expect("signed");
    world.must("requester", deposit).await;
    for (name, amount) in [("hub", gln(200)), ("ann", gln(20)), ("ben", gln(20))] {
        let stake = world.market.stake_with_permit(&named(name), amount).await.expect("signed");
        world.must(name, stake).await;
    }
    for name in ["ann", "ben"] {
        world.must(name, world.market.allow(address("hub"), gln(15))).await;
    }
}

async fn free(world: &World, name: &str) -> Amount {
    world.market.escrow_balance(address(name)).await.expect("read")
}

async fn treasury(world: &World) -> Amount {
    world.market.escrow_balance(world.market.deployment.timelock).await.expect("read")
}

async fn deposits(world: &mut World) {
    let deposit = world.market.deposit_with_permit(&named("requester"), Amount(1)).await.expect("signed");
    world.must("requester", deposit).await;
    let escrow = world.market.deployment.escrow;
    world.refused("ann", world.market.deposit(gln(1)), "ERC20InsufficientAllowance").await;
    world.must("ann", world.market.approve(escrow, gln(3))).await;
    world.must("ann", world.market.deposit(gln(1))).await;
    world.must("ann", world.market.deposit_for(address("ben"), gln(2))).await;
    world.refused("ann", world.market.withdraw(Amount(1_000_000_001)), "NotCovered").await;
    world.must("ann", world.market.withdraw(Amount(1))).await;
    world.must("ann", world.market.withdraw_to(address("cleo"), Amount(999_999_999))).await;
    assert_eq!(free(world, "ann").await, Amount::ZERO);
    assert_eq!(free(world, "ben").await, gln(2));
    world.refused("ann", world.market.withdraw_to(Address::ZERO, Amount::ZERO), "BadReceiver").await;
    let newest = world.market.node.height().await.expect("read");
    let history = world.market.history(address("ann"), 0, newest).await.expect("read");
    let kinds: Vec<String> = history.iter().map(|entry| format!("{:?} {}", entry.kind, entry.amount)).collect();
    assert_eq!(kinds, ["Received 10000", "Deposited 1", "Sent 2", "Withdrawn 0.000000001", "Withdrawn 0.999999999"]);
}

async fn approved(world: &mut World) {
    prepare(world).await;
    let (order, id, signature) = order(world, 10_000_000_007, 600_000_000, 1);
    let ask = Escrow::orderIdCall { order: (&order).into() };
    let theirs = world.market.read(world.market.deployment.escrow, &ask).await.expect("read");
    assert_eq!(theirs, id, "Rust and the contract reckon the same id");
    world.must("hub", world.market.lock(&order, signature)).await;
    assert_eq!(world.market.order_state(id).await.expect("read").state, State::Locked);
    world.must("hub", world.market.engage(id, vec![address("ann"), address("ben"), address("cleo")])).await;
    let settled = settlement(id, &[("ann", 7_000_000_003), ("ben", 1), ("ann", 6)]);
    let digest = Escrow::approvalDigestCall { id, settlement: settled.hash() };
    let digest = world.market.read(world.market.deployment.escrow, &digest).await.expect("read");
    assert_eq!(digest, settled.approval_digest(&world.market.domain()));
    let forged = settled.approve(&world.market.domain(), &named("hub"));
    world.refused("hub", world.market.settle(&settled, forged), "BadSignature").await;
    let approval = settled.approve(&world.market.domain(), &named("requester"));
    world.refused("ann", world.market.settle(&settled, approval.clone()), "NotTheHub").await;
    world.must("hub", world.market.settle(&settled, approval.clone())).await;
    // 15 % of each payout, rounded down: of 7000000003 it is 1050000000, of 1 and 6 nothing.
    assert_eq!(free(world, "ann").await, Amount(5_950_000_003 + 6));
    assert_eq!(free(world, "ben").await, Amount(1));
    assert_eq!(treasury(world).await, Amount(1_050_000_000));
    assert_eq!(free(world, "requester").await, Amount(gln(100).0 - 7_000_000_010));
    world.refused("hub", world.market.settle(&settled, approval), "WrongState").await;
    world.must("ann", world.market.withdraw(Amount(5_950_000_009))).await;
}

async fn proposed(world: &mut World) {
    prepare(world).await;
    let (order, id, signature) = order(world, 1_000, 50, 1);
    world.must("hub", world.market.lock(&order, signature)).await;
    let proposal = settlement(id, &[("ann", 400), ("ben", 500)]);
    world.refused("hub", world.market.settle(&settlement(id, &[("ann", 1_001)]), Bytes::new()), "AboveCap").await;
    world.must("hub", world.market.settle(&proposal, Bytes::new())).await;
    world.refused("cleo", world.market.finalize(&proposal), "WindowOpen").await;
    world.refused("hub", world.market.settle(&proposal, Bytes::new()), "WrongState").await;
    world.refused("cleo", world.market.accept(&proposal), "NotTheRequester").await;
    world.wait(86_401).await;
    let other = settlement(id, &[("ann", 900)]);
    world.refused("cleo", world.market.finalize(&other), "WrongSettlement").await;
    world.must("cleo", world.market.finalize(&proposal)).await;
    assert_eq!((free(world, "ann").await, free(world, "ben").await), (Amount(340), Amount(425)));
    let (mut order, ..) = self::order(world, 10, 5, 2);
    order.deadline = world.now + 10 * 86_400;
    let domain = world.market.domain();
    let (id, signature) = (order.id(&domain), order.sign(&domain, &named("requester")));
    world.must("hub", world.market.lock(&order, signature)).await;
    let proposal = settlement(id, &[("ann", 10)]);
    world.must("hub", world.market.settle(&proposal, Bytes::new())).await;
    world.must("requester", world.market.accept(&proposal)).await;
}

async fn released(world: &mut World) {
    prepare(world).await;
    let (order, id, signature) = order(world, gln(60).0, gln(3).0, 1);
    world.must("hub", world.market.lock(&order, signature)).await;
    world.must("hub", world.market.engage(id, vec![address("ann")])).await;
    world.refused("dan", world.market.release(id), "DeadlineAhead").await;
    world.refused("requester", world.market.withdraw(gln(38)), "NotCovered").await;
    world.wait(86_400 * 2).await;
    world.refused("hub", world.market.settle(&settlement(id, &[("ann", 1)]), Bytes::new()), "DeadlinePassed").await;
    world.must("dan", world.market.release(id)).await;
    assert_eq!(free(world, "requester").await, gln(100));
    world.refused("dan", world.market.release(id), "WrongState").await;
    world.must("requester", world.market.withdraw(gln(100))).await;
}

async fn refused_orders(world: &mut World) {
    prepare(world).await;
    let (first, _, signature) = order(world, 1_000, 50, 1);
    world.refused("ann", world.market.lock(&first, signature.clone()), "NotTheHub").await;
    let (dearer, ..) = order(world, 1_001, 50, 1);
    world.refused("hub", world.market.lock(&dearer, signature.clone()), "BadSignature").await;
    let elsewhere = gleaner_chain::order::Domain { chain_id: 1, ..world.market.domain() };
    let replayed = first.sign(&elsewhere, &named("requester"));
    world.refused("hub", world.market.lock(&first, replayed), "BadSignature").await;
    let (low, _, low_signature) = order(world, 1_000, 49, 2);
    world.refused("hub", world.market.lock(&low, low_signature), "BondTooSmall").await;
    let (dear, _, dear_signature) = order(world, gln(100).0, gln(5).0, 3);
    world.refused("hub", world.market.lock(&dear, dear_signature), "NotCovered").await;
    world.must("hub", world.market.lock(&first, signature.clone())).await;
    world.refused("hub", world.market.lock(&first, signature), "NonceUsed").await;
    world.must("requester", world.market.revoke(U256::from(9))).await;
    let (revoked, _, revoked_signature) = order(world, 1, 0, 9);
    world.refused("hub", world.market.lock(&revoked, revoked_signature), "NonceUsed").await;
    let (mut late, ..) = order(world, 1, 0, 10);
    late.deadline = world.now - 10;
    let late_signature = late.sign(&world.market.domain(), &named("requester"));
    world.refused("hub", world.market.lock(&late, late_signature), "BadDeadline").await;
}

async fn batches(world: &mut World) {
    prepare(world).await;
    let orders: Vec<_> = (0..5).map(|nonce| order(world, 1_000, 50, nonce)).collect();
    let mut batch: Vec<_> = orders.iter().map(|(order, _, signature)| (order.clone(), signature.clone())).collect();
    batch[2].1 = Bytes::from(vec![27; 65]);
    let receipt = world.must("hub", world.market.lock_many(&batch)).await;
    let failed = receipt.logs.iter().filter(|log| log.data.topics()[0] == Escrow::LockFailed::SIGNATURE_HASH);
    assert_eq!(failed.count(), 1);
    let domain = world.market.domain();
    let settle = |id: B256, approved: bool| {
        let settled = settlement(id, &[("ann", 100)]);
        let approval = if approved { settled.approve(&domain, &named("requester")) } else { Bytes::new() };
        (settled, approval)
    };
    let settlements: Vec<_> = orders.iter().enumerate().map(|(place, (_, id, _))| settle(*id, place != 4)).collect();
    let receipt = world.must("hub", world.market.settle_many(&settlements)).await;
    let failed = receipt.logs.iter().filter(|log| log.data.topics()[0] == Escrow::SettleFailed::SIGNATURE_HASH);
    assert_eq!(failed.count(), 1);
    assert_eq!(free(world, "ann").await, Amount(3 * 85));
    world.wait(86_401).await;
    let all: Vec<_> = settlements.into_iter().map(|(settlement, _)| settlement).collect();
    world.must("dan", world.market.finalize_many(&all)).await;
    assert_eq!(free(world, "ann").await, Amount(4 * 85));
}

/// Five auditors, drawn and asked to rule.
async fn enroll_auditors(world: &mut World) {
    for name in AUDITORS {
        let stake = world.market.stake_with_permit(&named(name), gln(20)).await.expect("signed");
        world.must(name, stake).await;
        world.must(name, world.market.enroll()).await;
    }
}

const AUDITORS: [&str; 5] = ["cleo", "dan", "eve", "fay", "gus"];

/// Draws the committee. The seed is a block's hash, which differs between chains: all five sit, in another order.
async fn draw(world: &mut World, dispute: U256) {
    world.wait(1).await;
    world.wait(1).await;
    world.unordered = true;
    world.must("dan", world.market.draw(dispute)).await;
    world.unordered = false;
}

async fn rule(world: &mut World, dispute: U256, rulings: &[(&str, u8)]) -> (Vec<u8>, Vec<Bytes>) {
    let state = world.market.dispute_state(dispute).await.expect("read");
    let mut votes = Vec::new();
    for (name, ruling) in rulings {
        let call = Court::voteDigestCall { dispute, subject: state.subject, ruling: *ruling };
        let digest = world.market.read(world.market.deployment.court, &call).await.expect("read");
        votes.push((address(name), *ruling, named(name).sign_digest(digest)));
    }
    votes.sort_by_key(|(account, ..)| *account);
    votes.into_iter().map(|(_, ruling, signature)| (ruling, signature)).unzip()
}

async fn disputed(world: &mut World) {
    prepare(world).await;
    enroll_auditors(world).await;
    let (order, id, signature) = order(world, 1_000, 101, 1);
    world.must("hub", world.market.lock(&order, signature)).await;
    world.must("hub", world.market.engage(id, vec![address("ann"), address("ben")])).await;
    let proposal = settlement(id, &[("ann", 1_000)]);
    world.must("hub", world.market.settle(&proposal, Bytes::new())).await;
    let counter = settlement(id, &[("ben", 400)]);
    world.refused("cleo", world.market.challenge(&counter), "NotAParty").await;
    world.must("requester", world.market.challenge(&counter)).await;
    let dispute = world.market.order_state(id).await.expect("read").dispute;
    world.refused("dan", world.market.draw(dispute), "TooEarly").await;
    draw(world, dispute).await;
    let (rulings, signatures) = rule(world, dispute, &[("cleo", 2), ("dan", 2)]).await;
    world.refused("ben", world.market.decide(dispute, rulings, signatures), "NoMajority").await;
    let (rulings, signatures) = rule(world, dispute, &[("cleo", 2), ("dan", 2), ("eve", 2), ("fay", 1)]).await;
    world.refused("ben", world.market.conclude(&counter), "NotDecided").await;
    world.must("ben", world.market.decide(dispute, rulings.clone(), signatures.clone())).await;
    world.refused("ben", world.market.decide(dispute, rulings, signatures), "NotOpen").await;
    world.refused("ben", world.market.conclude(&proposal), "WrongSettlement").await;
    world.must("ben", world.market.conclude(&counter)).await;
    // The hub's lock is 1 GLN; half of it is taken: half to the requester, the rest to three auditors.
    assert_eq!(world.market.stake_of(address("hub")).await.expect("read"), Amount(gln(200).0 - 500_000_000));
    assert_eq!(free(world, "cleo").await, Amount(250_000_000 / 3));
    assert_eq!(free(world, "fay").await, Amount::ZERO);
    assert_eq!(free(world, "ben").await, Amount(340));
    assert_eq!(free(world, "requester").await, Amount(gln(100).0 - 400 + 250_000_000));
}

async fn undecided(world: &mut World) {
    prepare(world).await;
    enroll_auditors(world).await;
    let (order, id, signature) = order(world, 1_000, 100, 1);
    world.must("hub", world.market.lock(&order, signature)).await;
    world.must("hub", world.market.engage(id, vec![address("ann")])).await;
    world.must("hub", world.market.settle(&settlement(id, &[("ben", 1_000)]), Bytes::new())).await;
    world.must("ann", world.market.challenge(&settlement(id, &[("ann", 1_000)]))).await;
    let dispute = world.market.order_state(id).await.expect("read").dispute;
    draw(world, dispute).await;
    world.refused("eve", world.market.expire(dispute), "TooEarly").await;
    world.wait(86_401).await;
    world.refused("eve", world.market.release(id), "NotDecided").await;
    world.must("eve", world.market.expire(dispute)).await;
    world.must("eve", world.market.release(id)).await;
    assert_eq!(free(world, "requester").await, gln(100));
    assert_eq!(world.market.free_stake_of(address("ann")).await.expect("read"), gln(20));
}

async fn accused(world: &mut World) {
    prepare(world).await;
    enroll_auditors(world).await;
    let (order, id, signature) = order(world, 1_000, 100, 1);
    world.must("hub", world.market.lock(&order, signature)).await;
    world.must("hub", world.market.engage(id, vec![address("ann"), address("ben")])).await;
    let evidence = keccak256("what was seen");
    world.refused("ben", world.market.accuse(id, address("ann"), evidence), "NotAParty").await;
    world.refused("requester", world.market.accuse(id, address("cleo"), evidence), "NothingLocked").await;
    world.must("requester", world.market.accuse(id, address("ann"), evidence)).await;
    world.refused("requester", world.market.accuse(id, address("ann"), evidence), "AlreadyAccused").await;
    let settled = settlement(id, &[("ben", 10)]);
    let approval = settled.approve(&world.market.domain(), &named("requester"));
    world.must("hub", world.market.settle(&settled, approval)).await;
    assert_eq!(world.market.lock_of(id, address("ann")).await.expect("read"), gln(1), "held for the verdict");
    let dispute = U256::ONE;
    draw(world, dispute).await;
    let (rulings, signatures) = rule(world, dispute, &[("cleo", 2), ("dan", 2), ("eve", 2)]).await;
    world.must("dan", world.market.decide(dispute, rulings, signatures)).await;
    assert_eq!(world.market.stake_of(address("ann")).await.expect("read"), Amount(gln(20).0 - 500_000_000));
    assert_eq!(world.market.free_stake_of(address("ann")).await.expect("read"), Amount(gln(20).0 - 500_000_000));
}

async fn unbonding(world: &mut World) {
    prepare(world).await;
    world.refused("ann", world.market.unbond(gln(21)), "NotFree").await;
    world.must("ann", world.market.unbond(gln(5))).await;
    world.refused("ann", world.market.claim_stake(), "NotReady").await;
    world.must("ann", world.market.cancel_unbond()).await;
    world.must("ann", world.market.unbond(gln(20))).await;
    world.wait(7 * 86_400 + 1).await;
    world.must("ann", world.market.claim_stake()).await;
    world.refused("ann", world.market.claim_stake(), "NothingUnbonding").await;
    assert_eq!(world.market.token_balance(address("ann")).await.expect("read"), gln(10_000));
}

async fn vouchers(world: &mut World) {
    prepare(world).await;
    let domain =
        voucher::Domain { chain_id: world.market.deployment.chain_id, vouchers: world.market.deployment.vouchers };
    let (payer, payee) = (address("requester"), address("ann"));
    world.must("requester", world.market.open_channel(payee, Amount(20_000), U256::from(5))).await;
    let channel = domain.channel(payer, payee, U256::from(5));
    let state = world.market.channel_state(channel).await.expect("read");
    assert_eq!((state.payer, state.amount), (payer, Amount(20_000)), "Rust and the contract reckon the same id");
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let step = Amount(7);
    let mut pays = Payer::open(&path("payer"), domain, named("requester"), channel, state.amount, step).expect("open");
    let mut takes = Payee::open(&path("payee"), domain, Amount(100)).expect("open");
    let known = voucher::Channel { id: channel, payer: state.payer, funds: state.amount, step };
    takes.announce(known).expect("announced");
    for _ in 0..1_500 {
        takes.accept(&pays.pay(1).expect("paid")).expect("taken");
    }
    let last = takes.voucher(channel).expect("a voucher").clone();
    // The seed of a chain is drawn, so its digest is compared here and not by the transcript.
    let anchor = Vouchers::Anchor {
        channel,
        base: U256::from(last.anchor.base.0),
        tip: last.anchor.tip,
        step: U256::from(7),
        steps: last.anchor.steps,
    };
    let digest = Vouchers::anchorDigestCall { anchor };
    let digest = world.market.read(world.market.deployment.vouchers, &digest).await.expect("read");
    assert_eq!(digest, last.anchor.digest(&domain));
    world.refused("ben", world.market.redeem(&last), "NotThePayee").await;
    let mut further = last.clone();
    further.index += 1;
    world.refused("ann", world.market.redeem(&further), "BadWord").await;
    world.must("ann", world.market.redeem(&last)).await;
    assert_eq!(free(world, "ann").await, Amount(10_500 - 1_575));
    world.refused("ann", world.market.redeem(&last), "NothingToRedeem").await;
    world.must("requester", world.market.start_close(channel)).await;
    world.refused("requester", world.market.finish_close(channel), "WindowOpen").await;
    takes.accept(&pays.pay(10).expect("paid")).expect("taken");
    let last = takes.voucher(channel).expect("a voucher").clone();
    world.must("ann", world.market.redeem(&last)).await;
    world.wait(86_401).await;
    world.must("dan", world.market.finish_close(channel)).await;
    assert_eq!(free(world, "requester").await, Amount(gln(100).0 - 10_570));
}

async fn governance(world: &mut World) {
    let faucet = world.faucet.clone();
    world.sender.send(&faucet, &world.market.delegate(faucet.address())).await.expect("delegated");
    let proposal = world.market.parameter_change("platformShareBps", U256::from(1_000), "A tenth").expect("a name");
    world.refused("ann", world.market.propose(&proposal), "GovernorInsufficientProposerVotes").await;
    world.wait(1).await;
    world.sender.send(&faucet, &world.market.propose(&proposal)).await.expect("proposed");
    let id = world.market.proposal_id(&proposal).await.expect("read");
    assert_eq!(world.market.proposal_stage(id).await.expect("read"), Stage::Pending);
    world.wait(86_402).await;
    world.sender.send(&faucet, &world.market.cast(id, Ballot::For)).await.expect("cast");
    world.wait(7 * 86_400 + 2).await;
    world.must("ann", world.market.queue(&proposal)).await;
    world.refused("ann", world.market.execute(&proposal), "TimelockUnexpectedOperationState").await;
    world.wait(2 * 86_400 + 2).await;
    assert_eq!(world.market.terms().await.expect("read").share_points, 1_500);
    world.must("ann", world.market.execute(&proposal)).await;
    assert_eq!(world.market.terms().await.expect("read").share_points, 1_000);
    let listed = world.market.proposals().await.expect("read");
    assert_eq!((listed.len(), listed[0].stage), (1, Stage::Executed));
    assert_eq!(listed[0].votes_for, Amount(gln(50_000_000).0 - 9 * gln(10_000).0));
}

async fn node_rewards(world: &mut World) {
    prepare(world).await;
    let (order, id, signature) = order(world, gln(10).0, gln(1).0, 1);
    world.must("hub", world.market.lock(&order, signature)).await;
    let settled = settlement(id, &[("ann", 6_000_000_000), ("ben", 3_000_000_000)]);
    let approval = settled.approve(&world.market.domain(), &named("requester"));
    world.must("hub", world.market.settle(&settled, approval)).await;
    world.wait(32 * 86_400).await;
    let schedule = rewards_schedule(world).await;
    world.must("dan", world.market.release_vested(schedule)).await;
    let shares = world.market.epoch_shares(0).await.expect("reckoned");
    assert_eq!(shares.total, Amount(1_350_000_000), "15 % of the paid work");
    world.refused("ann", world.market.publish_rewards(0, shares.root(), shares.total), "TooLittleStake").await;
    world.must("hub", world.market.publish_rewards(0, shares.root(), shares.total)).await;
    let (amount, proof) = shares.claim(address("ann")).expect("a share");
    let claim = world.market.claim_reward(0, address("ann"), amount, proof.clone());
    world.refused("dan", claim.clone(), "WindowOpen").await;
    world.wait(86_401).await;
    let greedy = world.market.claim_reward(0, address("ann"), Amount(amount.0 + 1), proof);
    world.refused("ann", greedy, "WrongProof").await;
    world.must("dan", claim.clone()).await;
    world.refused("dan", claim, "AlreadyClaimed").await;
    let paid = Amount(gln(10_000).0 - gln(20).0 + 900_000_000);
    assert_eq!(world.market.token_balance(address("ann")).await.expect("read"), paid);
    assert_eq!(world.market.epoch_state(0).await.expect("read").claimed, Amount(900_000_000));
}

/// The schedule that feeds the rewards.
async fn rewards_schedule(world: &World) -> u64 {
    use gleaner_chain::contracts::Vesting;
    let vesting = world.market.deployment.vesting;
    let count = world.market.read(vesting, &Vesting::countCall {}).await.expect("read");
    for id in 0..count.to::<u64>() {
        let schedule = world.market.read(vesting, &Vesting::scheduleCall { id: U256::from(id) }).await.expect("read");
        if schedule.beneficiary == world.market.deployment.rewards {
            return id;
        }
    }
    panic!("nothing vests for the rewards");
}
