// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Auditors} from "../src/Auditors.sol";
import {Books} from "../src/Books.sol";
import {Court} from "../src/Court.sol";
import {Escrow} from "../src/Escrow.sol";
import {ICourt} from "../src/interfaces/ICourt.sol";
import {IEscrow} from "../src/interfaces/IEscrow.sol";
import {IParameters} from "../src/interfaces/IParameters.sol";
import {IStake} from "../src/interfaces/IStake.sol";
import {Names} from "../src/Names.sol";
import {Stake} from "../src/Stake.sol";
import {Market} from "./Market.sol";

/// A contract wallet that says yes to every signature, and tries to take money out while it is asked.
contract GreedyWallet {
    Escrow private immutable escrow;
    bool private immutable insists;

    constructor(Escrow escrow_, bool insists_) {
        escrow = escrow_;
        insists = insists_;
    }

    function isValidSignature(bytes32, bytes calldata) external returns (bytes4) {
        uint256 free = escrow.balanceOf(address(this));
        (bool done,) = address(escrow).call(abi.encodeCall(Books.withdraw, (free)));
        require(done || !insists, "not paid");
        return this.isValidSignature.selector;
    }
}

/// @title What hostile hubs, requesters, providers, auditors and wallets cannot do, and what they can
contract AttacksTest is Market {
    function setUp() public override {
        super.setUp();
        enrollAuditors(AUDITORS);
    }

    // ── a hostile hub ────────────────────────────────────────────────────────────────────────────────────────

    function test_hub_cannot_take_more_than_the_cap() public {
        bytes32 id = locked();
        IEscrow.Settlement memory s = settlementOf(id, hub, CAP + 1);
        vm.prank(hub);
        vm.expectPartialRevert(Escrow.AboveCap.selector);
        escrow.settle(s, "");
        s = settlementOf(id, hub, type(uint256).max, hub, 1);
        vm.prank(hub);
        vm.expectRevert();
        escrow.settle(s, "");
    }

    function test_hub_that_pays_itself_is_challenged_and_loses() public {
        uint256 before = balance(requester);
        bytes32 id = running();
        propose(settlementOf(id, hub, CAP));
        IEscrow.Settlement memory fair = settlementOf(id, provider, 30 * GLN);
        vm.prank(requester);
        uint256 dispute = escrow.challenge(id, fair);
        drawn(dispute);
        decide(dispute, 2, 3);
        escrow.conclude(id, fair);
        vm.assertEq(balance(provider), 25.5e9);
        vm.assertEq(balance(requester), before - 30 * GLN + 0.25e9);
        vm.assertEq(stake.stakeOf(hub), 499.5e9);
    }

    /// What a requester risks that neither watches nor has anybody watch: the cap of its order, never the bond and
    /// never anything beside it. Its client watches, and the window is long enough to be away for a while.
    function test_hub_that_pays_itself_gets_the_cap_of_a_requester_that_sleeps() public {
        uint256 before = balance(requester);
        uint256 hubBefore = balance(hub);
        bytes32 id = running();
        IEscrow.Settlement memory s = settlementOf(id, hub, CAP);
        propose(s);
        vm.warp(block.timestamp + 1 days);
        escrow.finalize(s);
        vm.assertEq(balance(requester), before - CAP);
        vm.assertEq(balance(hub), hubBefore + 85 * GLN);
    }

    function test_hub_that_disappears_freezes_money_until_the_deadline_only() public {
        uint256 before = balance(requester);
        bytes32 id = running();
        vm.warp(block.timestamp + 7 days + 1);
        vm.prank(stranger);
        escrow.release(id);
        vm.assertEq(balance(requester), before);
    }

    function test_hub_cannot_use_an_approval_for_another_order_or_twice() public {
        bytes32 one = locked();
        bytes32 two = locked();
        IEscrow.Settlement memory s = settlementOf(one, provider, CAP);
        bytes memory approval = approvalOf(s);
        settleApproved(s);
        vm.startPrank(hub);
        vm.expectPartialRevert(Escrow.WrongState.selector);
        escrow.settle(s, approval);
        s.order = two;
        vm.expectPartialRevert(Escrow.BadSignature.selector);
        escrow.settle(s, approval);
        vm.stopPrank();
    }

    function test_hub_cannot_pass_an_order_off_as_an_approval() public {
        bytes32 id = locked();
        IEscrow.Settlement memory s = settlementOf(id, hub, CAP);
        bytes memory signature = signed("requester", id);
        vm.prank(hub);
        vm.expectPartialRevert(Escrow.BadSignature.selector);
        escrow.settle(s, signature);
    }

    function test_another_hub_cannot_touch_an_order() public {
        bytes32 id = running();
        IEscrow.Settlement memory s = settlementOf(id, stranger, CAP);
        bytes memory approval = approvalOf(s);
        vm.startPrank(stranger);
        vm.expectPartialRevert(Escrow.NotTheHub.selector);
        escrow.settle(s, "");
        vm.expectPartialRevert(Escrow.NotTheHub.selector);
        escrow.settle(s, approval);
        vm.stopPrank();
    }

    /// An accusation does not take the accused's voice: it may still challenge what the hub proposes.
    function test_hub_cannot_silence_a_provider_by_accusing_it() public {
        bytes32 id = running();
        vm.prank(hub);
        court.accuse(id, provider, keccak256("nothing"));
        propose(settlementOf(id, hub, CAP));
        IEscrow.Settlement memory fair = settlementOf(id, provider, CAP);
        vm.prank(provider);
        escrow.challenge(id, fair);
        assertState(id, IEscrow.State.Disputed);
    }

    function test_hub_that_unbonds_keeps_what_its_orders_need() public {
        bytes32 id = running();
        vm.startPrank(hub);
        vm.expectPartialRevert(Stake.NotFree.selector);
        stake.unbond(500 * GLN);
        stake.unbond(499 * GLN);
        vm.stopPrank();
        vm.assertEq(stake.lockOf(id, hub), 1 * GLN);
    }

    // ── a hostile requester ──────────────────────────────────────────────────────────────────────────────────

    function test_requester_cannot_withdraw_what_is_locked() public {
        locked();
        uint256 free = balance(requester);
        vm.startPrank(requester);
        vm.expectPartialRevert(Books.NotCovered.selector);
        escrow.withdraw(free + 1);
        vm.expectPartialRevert(Books.NotCovered.selector);
        vouchers.open(provider, free + 1, 0);
        escrow.withdraw(free);
        vm.stopPrank();
    }

    function test_requester_cannot_revoke_what_is_locked() public {
        IEscrow.Order memory order = newOrder();
        bytes32 id = lock(order);
        vm.prank(requester);
        vm.expectPartialRevert(Escrow.NonceUsed.selector);
        escrow.revoke(order.nonce);
        assertState(id, IEscrow.State.Locked);
    }

    function test_requester_that_challenges_without_reason_loses_of_its_bond() public {
        uint256 before = balance(requester);
        bytes32 id = running();
        IEscrow.Settlement memory fair = settlementOf(id, provider, 80 * GLN);
        propose(fair);
        IEscrow.Settlement memory nothing;
        nothing.order = id;
        vm.prank(requester);
        uint256 dispute = escrow.challenge(id, nothing);
        drawn(dispute);
        decide(dispute, 1, 3);
        escrow.conclude(id, fair);
        vm.assertEq(balance(provider), 68 * GLN);
        vm.assertEq(balance(requester), before - 80 * GLN - BOND / 2);
    }

    function test_requester_cannot_take_an_approval_back_by_getting_code() public {
        bytes32 id = locked();
        IEscrow.Settlement memory s = settlementOf(id, provider, CAP);
        bytes memory approval = approvalOf(s);
        vm.etch(requester, hex"60006000fd");
        vm.prank(hub);
        escrow.settle(s, approval);
        assertState(id, IEscrow.State.Settled);
    }

    // ── a hostile provider ───────────────────────────────────────────────────────────────────────────────────

    function test_provider_cannot_leave_before_a_verdict() public {
        bytes32 id = running();
        vm.prank(hub);
        uint256 dispute = court.accuse(id, provider, keccak256("evidence"));
        settleApproved(settlementOf(id, second, CAP));
        vm.prank(provider);
        vm.expectPartialRevert(Stake.NotFree.selector);
        stake.unbond(100 * GLN);
        drawn(dispute);
        decide(dispute, 2, 3);
        vm.assertEq(stake.stakeOf(provider), 99.5e9);
    }

    function test_provider_that_is_not_engaged_cannot_challenge() public {
        bytes32 id = locked();
        propose(settlementOf(id, second, CAP));
        IEscrow.Settlement memory s = settlementOf(id, provider, CAP);
        vm.prank(provider);
        vm.expectPartialRevert(Escrow.NotAParty.selector);
        escrow.challenge(id, s);
    }

    function test_unbonding_stake_is_out_of_reach() public {
        bytes32 id = running();
        vm.prank(provider);
        stake.unbond(99 * GLN);
        setParameter(Names.SLASH_SHARE_BPS, 10_000);
        vm.prank(hub);
        uint256 dispute = court.accuse(id, provider, keccak256("evidence"));
        drawn(dispute);
        decide(dispute, 2, 3);
        vm.assertEq(stake.stakeOf(provider), 0);
        vm.warp(block.timestamp + 7 days);
        vm.prank(provider);
        vm.assertEq(stake.claim(), 99 * GLN);
    }

    // ── hostile auditors ─────────────────────────────────────────────────────────────────────────────────────

    function test_a_minority_of_auditors_decides_nothing() public {
        bytes32 id = running();
        propose(settlementOf(id, provider, CAP));
        IEscrow.Settlement memory other = settlementOf(id, second, CAP);
        vm.prank(second);
        uint256 dispute = escrow.challenge(id, other);
        drawn(dispute);
        (uint8[] memory rulings, bytes[] memory signatures) = votesFor(dispute, 2, 2);
        vm.expectPartialRevert(Court.NoMajority.selector);
        court.decide(dispute, rulings, signatures);
    }

    function test_the_only_auditors_on_a_list_decide_nothing_alone() public {
        for (uint256 i = 2; i < AUDITORS; ++i) {
            vm.prank(account(auditorName(i)));
            court.resign();
        }
        uint256 before = balance(requester);
        bytes32 id = running();
        propose(settlementOf(id, hub, CAP));
        IEscrow.Settlement memory fair = settlementOf(id, provider, 30 * GLN);
        vm.prank(requester);
        uint256 dispute = escrow.challenge(id, fair);
        vm.assertEq(drawn(dispute).length, 0);
        (,,, bytes32 subject,,,,,,) = court.disputeState(dispute);
        uint8[] memory rulings = new uint8[](1);
        bytes[] memory signatures = new bytes[](1);
        rulings[0] = 1;
        signatures[0] = signed(auditorName(0), court.voteDigest(dispute, subject, 1));
        vm.expectPartialRevert(Court.NotDrawn.selector);
        court.decide(dispute, rulings, signatures);
        vm.warp(block.timestamp + 1 days + 1);
        court.expire(dispute);
        escrow.release(id);
        vm.assertEq(balance(requester), before, "the requester has everything back");
        vm.assertEq(balance(hub), 1_000 * GLN, "the hub has nothing of it");
    }

    function test_hub_cannot_enrol_judges_for_a_dispute_that_exists() public {
        for (uint256 i = 0; i < AUDITORS; ++i) {
            vm.prank(account(auditorName(i)));
            court.resign();
        }
        bytes32 id = running();
        propose(settlementOf(id, hub, CAP));
        IEscrow.Settlement memory fair = settlementOf(id, provider, 30 * GLN);
        vm.prank(requester);
        uint256 dispute = escrow.challenge(id, fair);
        vm.prank(account(auditorName(0)));
        vm.expectPartialRevert(Auditors.DrawPending.selector);
        court.enroll();
        drawn(dispute);
        for (uint256 i = 0; i < AUDITORS; ++i) {
            vm.prank(account(auditorName(i)));
            court.enroll();
        }
        vm.roll(vm.getBlockNumber() + 2);
        vm.expectPartialRevert(Court.AlreadyDrawn.selector);
        court.draw(dispute);
    }

    function test_auditors_cannot_have_a_draw_repeated_until_it_suits_them() public {
        for (uint256 i = 5; i < AUDITORS; ++i) {
            vm.prank(account(auditorName(i)));
            court.resign();
        }
        bytes32 id = running();
        propose(settlementOf(id, provider, CAP));
        IEscrow.Settlement memory other = settlementOf(id, second, CAP);
        vm.prank(second);
        uint256 dispute = escrow.challenge(id, other);
        address first = account(auditorName(0));
        vm.prank(first);
        stake.unbond(50 * GLN);
        vm.assertEq(drawn(dispute).length, 0);
        vm.prank(first);
        stake.cancelUnbond();
        vm.roll(vm.getBlockNumber() + 2);
        vm.expectPartialRevert(Court.AlreadyDrawn.selector);
        court.draw(dispute);
    }

    // ── presence ─────────────────────────────────────────────────────────────────────────────────────────────

    /// Somebody has five auditors on the list, leaves a dispute of its own undrawn so that nobody can renew, and opens
    /// the one it cares about in the very moment in which the list moves again, its own auditors renewed.
    function test_a_dispute_left_undrawn_does_not_make_the_others_lapse() public {
        for (uint256 i = AUDITORS; i < AUDITORS + 5; ++i) {
            address own = fund(auditorName(i), 0, 50 * GLN);
            vm.prank(own);
            court.enroll();
        }
        bytes32 bait = running();
        vm.prank(hub);
        uint256 undrawn = court.accuse(bait, provider, keccak256("bait"));
        bytes32 id = running();
        vm.warp(block.timestamp + 1 days + 1);
        court.expire(undrawn);
        renewAuditors(AUDITORS, AUDITORS + 5);
        vm.prank(hub);
        uint256 dispute = court.accuse(id, provider, keccak256("evidence"));
        setParameter(Names.COMMITTEE_SIZE, 11);
        vm.assertEq(drawn(dispute).length, 11, "the others are as likely as its own");
    }

    function test_who_knows_the_seed_gains_nothing_by_putting_the_draw_off() public {
        vm.warp(block.timestamp + 12 hours);
        renewAuditors(3, AUDITORS);
        vm.warp(block.timestamp + 12 hours - 1);
        bytes32 id = running();
        vm.prank(hub);
        uint256 dispute = court.accuse(id, provider, keccak256("evidence"));
        uint256 opened = vm.snapshotState();
        address[] memory atOnce = drawn(dispute);
        vm.revertToState(opened);
        vm.warp(block.timestamp + 1 days);
        address[] memory late = drawn(dispute);
        vm.assertEq(keccak256(abi.encode(late)), keccak256(abi.encode(atOnce)), "the same committee");
        vm.assertEq(late.length, 5);
    }

    function test_who_knows_the_seed_cannot_bring_its_lapsed_auditors_back() public {
        vm.warp(block.timestamp + 1 days + 1);
        bytes32 id = running();
        vm.prank(hub);
        uint256 dispute = court.accuse(id, provider, keccak256("evidence"));
        for (uint256 i = 0; i < AUDITORS; ++i) {
            vm.prank(account(auditorName(i)));
            vm.expectPartialRevert(Auditors.DrawPending.selector);
            court.renew();
        }
        vm.assertEq(drawn(dispute).length, 0);
    }

    /// A known limit: presence says that a machine is there, not that it will vote.
    function test_auditors_that_renew_and_stay_silent_leave_a_dispute_undecided() public {
        bytes32 id = running();
        vm.prank(hub);
        uint256 dispute = court.accuse(id, provider, keccak256("evidence"));
        vm.assertEq(drawn(dispute).length, 5);
        vm.warp(block.timestamp + 12 hours);
        renewAuditors(0, AUDITORS);
        vm.warp(block.timestamp + 12 hours + 1);
        court.expire(dispute);
        vm.assertEq(stake.stakeOf(provider), 100 * GLN);
    }

    /// The other side of the same rule, a known limit: without auditors, work can be had for nothing.
    function test_where_auditors_are_missing_a_requester_can_refuse_to_pay() public {
        for (uint256 i = 0; i < AUDITORS; ++i) {
            vm.prank(account(auditorName(i)));
            court.resign();
        }
        uint256 before = balance(requester);
        bytes32 id = running();
        propose(settlementOf(id, provider, 80 * GLN));
        IEscrow.Settlement memory nothing = settlementOf(id, provider, 0);
        vm.prank(requester);
        uint256 dispute = escrow.challenge(id, nothing);
        vm.warp(block.timestamp + 1 days + 1);
        court.expire(dispute);
        escrow.release(id);
        vm.assertEq(balance(requester), before);
        vm.assertEq(balance(provider), 0);
    }

    function test_votes_of_another_court_do_not_count() public {
        bytes32 id = running();
        propose(settlementOf(id, provider, CAP));
        IEscrow.Settlement memory other = settlementOf(id, second, CAP);
        vm.prank(second);
        uint256 dispute = escrow.challenge(id, other);
        drawn(dispute);
        Court twin = new Court(
            IParameters(address(parameters)), IStake(address(stake)), IEscrow(address(escrow)), rewards
        );
        address[] memory members = court.committee(dispute);
        uint8[] memory rulings = new uint8[](3);
        bytes[] memory signatures = new bytes[](3);
        for (uint256 i = 0; i < 3; ++i) {
            rulings[i] = 2;
            signatures[i] = signed(nameOf(members[i]), twin.voteDigest(dispute, id, 2));
        }
        vm.expectPartialRevert(Court.NotOnCommittee.selector);
        court.decide(dispute, rulings, signatures);
    }

    // ── signatures ───────────────────────────────────────────────────────────────────────────────────────────

    function test_order_for_another_chain_is_refused() public {
        IEscrow.Order memory order = newOrder();
        bytes memory signature = signed("requester", escrow.orderId(order));
        vm.chainId(block.chainid + 1);
        vm.prank(hub);
        vm.expectPartialRevert(Escrow.BadSignature.selector);
        escrow.lock(order, signature);
    }

    function test_order_for_another_contract_is_refused() public {
        Escrow twin = new Escrow(
            token, IParameters(address(parameters)), IStake(address(stake)), ICourt(address(court)), address(vouchers)
        );
        IEscrow.Order memory order = newOrder();
        bytes memory signature = signed("requester", twin.orderId(order));
        vm.prank(hub);
        vm.expectPartialRevert(Escrow.BadSignature.selector);
        escrow.lock(order, signature);
    }

    function test_a_turned_signature_is_refused() public {
        IEscrow.Order memory order = newOrder();
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(keyOf("requester"), escrow.orderId(order));
        uint256 n = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141;
        bytes memory turned = abi.encodePacked(r, bytes32(n - uint256(s)), v == 27 ? uint8(28) : uint8(27));
        vm.prank(hub);
        vm.expectPartialRevert(Escrow.BadSignature.selector);
        escrow.lock(order, turned);
    }

    function test_nobody_signs_for_the_zero_address() public {
        IEscrow.Order memory order = newOrder(0, 0);
        order.requester = address(0);
        vm.startPrank(hub);
        vm.expectPartialRevert(Escrow.BadSignature.selector);
        escrow.lock(order, new bytes(65));
        vm.expectPartialRevert(Escrow.BadSignature.selector);
        escrow.lock(order, "");
        vm.stopPrank();
    }

    function testFuzz_a_changed_order_is_refused(uint8 field, uint256 value) public {
        IEscrow.Order memory order = newOrder();
        bytes32 before = keccak256(abi.encode(order));
        bytes memory signature = signed("requester", escrow.orderId(order));
        field = field % 6;
        if (field == 0) order.job = bytes32(value);
        if (field == 1) order.cap = bound(value, 0, CAP);
        if (field == 2) order.bond = bound(value, BOND, 2 * BOND);
        if (field == 3) order.deadline = uint64(bound(value, block.timestamp + 1, block.timestamp + 90 days));
        if (field == 4) order.policy = bytes32(value);
        if (field == 5) order.nonce = value;
        vm.assume(keccak256(abi.encode(order)) != before);
        vm.prank(hub);
        vm.expectPartialRevert(Escrow.BadSignature.selector);
        escrow.lock(order, signature);
    }

    function test_a_wallet_cannot_take_its_money_while_it_is_asked() public {
        GreedyWallet wallet = new GreedyWallet(escrow, false);
        IEscrow.Order memory order = orderOf(address(wallet));
        vm.prank(hub);
        bytes32 id = escrow.lock(order, hex"00");
        assertState(id, IEscrow.State.Locked);
        vm.assertEq(balance(address(wallet)), 0);
        vm.assertEq(token.balanceOf(address(wallet)), 0);
        GreedyWallet insisting = new GreedyWallet(escrow, true);
        order = orderOf(address(insisting));
        vm.prank(hub);
        vm.expectPartialRevert(Escrow.BadSignature.selector);
        escrow.lock(order, hex"00");
    }

    // ── every lock ends ──────────────────────────────────────────────────────────────────────────────────────

    /// Whatever the parties do or leave undone, at deadline + challenge window + two voting windows a stranger
    /// brings the order to its end, and nothing is left locked.
    function testFuzz_a_stranger_can_end_every_order_in_time(uint8 path, uint32 when, uint8 ruling) public {
        bytes32 id = running();
        uint256 latest = block.timestamp + 7 days + 1 days + 2 days + 2;
        vm.warp(bound(when, block.timestamp, block.timestamp + 7 days));
        IEscrow.Settlement memory s = settlementOf(id, provider, 80 * GLN);
        IEscrow.Settlement memory other = settlementOf(id, second, 70 * GLN);
        uint256 dispute = 0;
        if (path % 4 >= 1) propose(s);
        if (path % 4 >= 2) {
            vm.warp(block.timestamp + 1 days - 1);
            if (path % 32 >= 8) renewAuditors(0, AUDITORS);
            vm.prank(path % 8 >= 4 ? requester : second);
            dispute = escrow.challenge(id, other);
        }
        if (path % 4 == 3) {
            vm.warp(block.timestamp + 1 days);
            bool seated = drawn(dispute).length != 0;
            vm.assertTrue(seated || path % 32 < 8, "auditors that are present sit");
            if (seated && ruling % 3 != 0) decide(dispute, ruling % 3, 3);
        }
        vm.warp(latest);
        vm.startPrank(stranger);
        IEscrow.State state = stateOf(id);
        if (state == IEscrow.State.Locked) escrow.release(id);
        if (state == IEscrow.State.Proposed) escrow.finalize(s);
        if (state == IEscrow.State.Disputed) {
            (ICourt.Status status, uint8 ruled) = court.outcome(dispute);
            if (status == ICourt.Status.Decided) {
                escrow.conclude(id, ruled == 1 ? s : other);
            } else {
                court.expire(dispute);
                escrow.release(id);
            }
        }
        vm.stopPrank();
        state = stateOf(id);
        vm.assertTrue(state == IEscrow.State.Settled || state == IEscrow.State.Released);
        vm.assertEq(stake.lockedOf(hub) + stake.lockedOf(provider) + stake.lockedOf(second), 0);
        vm.assertEq(balance(address(court)), 0);
    }

    function orderOf(address wallet) private returns (IEscrow.Order memory order) {
        order = newOrder();
        order.requester = wallet;
        token.approve(address(escrow), CAP + BOND);
        escrow.depositFor(wallet, CAP + BOND);
    }
}
