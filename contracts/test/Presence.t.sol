// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Auditors} from "../src/Auditors.sol";
import {Names} from "../src/Names.sol";
import {Disputes} from "./Disputes.sol";

/// @title Which auditors count as present
contract PresenceTest is Disputes {
    uint256 private constant WINDOW = 1 days;

    function auditorAt(uint256 i) private returns (address) {
        return account(auditorName(i));
    }

    function isDrawn(address[] memory members, address auditor) private pure returns (bool) {
        for (uint256 i = 0; i < members.length; ++i) {
            if (members[i] == auditor) return true;
        }
        return false;
    }

    function test_an_auditor_is_present_for_a_voting_window_after_it_was_heard_of() public {
        address first = auditorAt(0);
        vm.assertEq(court.presentUntil(first), START + WINDOW);
        vm.warp(START + 1 hours);
        renewAuditors(0, 1);
        vm.assertEq(court.presentUntil(first), START + 1 hours + WINDOW);
        vm.assertEq(court.presentUntil(auditorAt(1)), START + WINDOW, "for itself alone");
        vm.assertEq(court.presentUntil(stranger), 0);
        vm.prank(first);
        court.resign();
        vm.assertEq(court.presentUntil(first), 0);
    }

    function test_the_voting_window_that_holds_says_who_is_present() public {
        setParameter(Names.VOTING_WINDOW, 1 hours);
        vm.assertEq(court.presentUntil(auditorAt(0)), START + 1 hours);
        vm.warp(START + 1 hours + 1);
        vm.assertEq(drawn(challenged(requester)).length, 0);
        setParameter(Names.VOTING_WINDOW, 1 days);
        vm.assertEq(drawn(challenged(requester)).length, 5);
    }

    function test_renewing_is_announced() public {
        vm.expectEmit(address(court));
        emit Auditors.Renewed(auditorAt(0));
        renewAuditors(0, 1);
    }

    // ── the draw ─────────────────────────────────────────────────────────────────────────────────────────────

    function test_lapsed_auditors_are_not_seated() public {
        vm.warp(START + 12 hours);
        renewAuditors(0, 5);
        vm.warp(START + WINDOW + 1);
        address[] memory members = drawn(challenged(requester));
        vm.assertEq(members.length, 5);
        for (uint256 i = 0; i < 5; ++i) {
            vm.assertTrue(isDrawn(members, auditorAt(i)), "all who are present");
        }
        vm.assertEq(stake.lockedOf(auditorAt(5)) + stake.lockedOf(auditorAt(6)), 0, "nobody who has lapsed");
    }

    function test_lapsed_auditors_do_not_make_up_the_number() public {
        vm.warp(START + 12 hours);
        renewAuditors(0, 4);
        vm.warp(START + WINDOW + 1);
        vm.assertEq(drawn(challenged(requester)).length, 0);
        for (uint256 i = 0; i < AUDITORS; ++i) {
            vm.assertEq(stake.lockedOf(auditorAt(i)), 0, "nobody sits");
        }
    }

    function test_auditors_are_present_to_the_last_second() public {
        keepAuditors(5);
        vm.warp(START + WINDOW);
        vm.assertEq(drawn(challenged(requester)).length, 5);
        vm.warp(START + WINDOW + 1);
        vm.assertEq(drawn(challenged(requester)).length, 0);
    }

    function test_a_lapsed_auditor_that_renews_is_seated_again() public {
        keepAuditors(5);
        vm.warp(START + 30 days);
        vm.assertEq(drawn(challenged(requester)).length, 0);
        renewAuditors(0, 5);
        vm.assertEq(drawn(challenged(requester)).length, 5);
    }

    function test_seats_are_kept_by_who_lapses() public {
        uint256 dispute = challenged(requester);
        vm.warp(START + WINDOW);
        address[] memory members = drawn(dispute);
        vm.warp(START + 2 * WINDOW);
        decide(dispute, 2, 3);
        vm.assertGt(balance(members[0]), 0, "its vote counts");
    }

    function testFuzz_only_present_auditors_are_seated(uint256 seed) public {
        uint256[AUDITORS] memory heard;
        for (uint256 i = 0; i < AUDITORS; ++i) {
            heard[i] = START;
        }
        for (uint256 hour = 1; hour <= 36; ++hour) {
            vm.warp(START + hour * 1 hours);
            uint256 i = (seed >> (hour * 4)) % 16;
            if (i >= AUDITORS) continue;
            renewAuditors(i, i + 1);
            heard[i] = vm.getBlockTimestamp();
        }
        uint256 present = 0;
        for (uint256 i = 0; i < AUDITORS; ++i) {
            if (heard[i] + WINDOW >= vm.getBlockTimestamp()) ++present;
        }
        address[] memory members = drawn(challenged(requester));
        vm.assertEq(members.length, present < 5 ? 0 : 5);
        for (uint256 i = 0; i < AUDITORS; ++i) {
            if (!isDrawn(members, auditorAt(i))) continue;
            vm.assertGe(heard[i] + WINDOW, vm.getBlockTimestamp());
        }
    }

    // ── renewing ─────────────────────────────────────────────────────────────────────────────────────────────

    function test_nobody_renews_while_a_draw_is_pending() public {
        uint256 dispute = challenged(requester);
        address first = auditorAt(0);
        vm.prank(first);
        vm.expectPartialRevert(Auditors.DrawPending.selector);
        court.renew();
        drawn(dispute);
        renewAuditors(0, 1);
    }

    function test_only_auditors_renew() public {
        refuseRenewal(stranger);
        address first = auditorAt(0);
        vm.prank(first);
        court.resign();
        refuseRenewal(first);
        address second_ = auditorAt(1);
        vm.warp(START + WINDOW + 1);
        court.evict(second_);
        refuseRenewal(second_);
    }

    function refuseRenewal(address who) private {
        vm.prank(who);
        vm.expectPartialRevert(Auditors.NotEnrolled.selector);
        court.renew();
    }

    /// A machine renews a few times in every voting window, and pays for it on a chain of others.
    /// forge-config: default.isolate = true
    function test_gas_of_renewing() public {
        vm.warp(START + 1 hours);
        renewAuditors(0, 1);
        uint256 gas = vm.lastCallGas().gasTotalUsed;
        emit log_named_uint("gas of renewing", gas);
        vm.assertLt(gas, 35_000);
    }

    // ── the clock ────────────────────────────────────────────────────────────────────────────────────────────

    function test_nobody_lapses_while_the_list_stands_still() public {
        keepAuditors(5);
        vm.warp(START + 12 hours);
        uint256 dispute = challenged(requester);
        vm.warp(START + 12 hours + WINDOW);
        vm.assertEq(court.presentUntil(auditorAt(0)), START + 2 * WINDOW, "it moves on with the time");
        vm.assertEq(drawn(dispute).length, 5);
        vm.assertEq(court.presentUntil(auditorAt(0)), START + 2 * WINDOW, "and goes on from there");
        vm.warp(START + 2 * WINDOW);
        vm.assertEq(court.presentUntil(auditorAt(0)), START + 2 * WINDOW);
        vm.expectPartialRevert(Auditors.NoReasonToEvict.selector);
        court.evict(auditorAt(0));
        vm.warp(START + 2 * WINDOW + 1);
        court.evict(auditorAt(0));
    }

    function test_the_list_stands_still_from_the_first_of_several_disputes_to_the_last_draw() public {
        keepAuditors(5);
        vm.warp(START + 12 hours);
        uint256 one = challenged(requester);
        vm.warp(START + 24 hours);
        uint256 two = challenged(requester);
        drawn(one);
        vm.warp(START + 36 hours);
        vm.assertEq(drawn(two).length, 5);
        vm.assertEq(court.presentUntil(auditorAt(0)), START + 48 hours, "half a window was left at the first");
    }

    function test_an_expired_wait_lets_the_clock_go_on() public {
        vm.warp(START + 12 hours);
        uint256 dispute = challenged(requester);
        vm.warp(START + 12 hours + WINDOW + 1);
        court.expire(dispute);
        vm.assertEq(court.presentUntil(auditorAt(0)), START + 2 * WINDOW + 1);
        vm.warp(START + 24 hours + WINDOW + 2);
        vm.assertEq(drawn(challenged(requester)).length, 0);
    }

    function test_who_enrols_after_the_list_stood_still_has_a_whole_window() public {
        uint256 dispute = challenged(requester);
        vm.warp(START + 20 hours);
        drawn(dispute);
        vm.prank(second);
        court.enroll();
        vm.assertEq(court.presentUntil(second), START + 20 hours + WINDOW);
        vm.warp(START + 30 hours);
        renewAuditors(0, 1);
        vm.assertEq(court.presentUntil(auditorAt(0)), START + 30 hours + WINDOW);
    }

    // ── eviction ─────────────────────────────────────────────────────────────────────────────────────────────

    function test_a_lapsed_auditor_is_evicted_by_anybody_and_may_come_back() public {
        address first = auditorAt(0);
        vm.warp(START + WINDOW);
        vm.expectPartialRevert(Auditors.NoReasonToEvict.selector);
        court.evict(first);
        vm.warp(START + WINDOW + 1);
        vm.prank(stranger);
        court.evict(first);
        vm.assertFalse(court.isAuditor(first));
        vm.expectPartialRevert(Auditors.NotEnrolled.selector);
        court.evict(first);
        vm.prank(first);
        court.enroll();
        vm.assertEq(court.presentUntil(first), START + WINDOW + 1 + WINDOW);
    }

    function test_nobody_is_evicted_while_a_draw_is_pending() public {
        vm.warp(START + WINDOW + 1);
        challenged(requester);
        address first = auditorAt(0);
        vm.expectPartialRevert(Auditors.DrawPending.selector);
        court.evict(first);
    }

    function test_who_takes_the_place_of_an_evicted_one_keeps_its_own_time() public {
        vm.warp(START + 12 hours);
        renewAuditors(6, 7);
        vm.warp(START + WINDOW + 1);
        court.evict(auditorAt(0));
        vm.assertEq(court.auditors()[0], auditorAt(6), "the last one moves");
        vm.assertEq(court.presentUntil(auditorAt(6)), START + 12 hours + WINDOW);
    }

    /// A draw looks at 64 auditors. Those who are gone use the looks up until somebody evicts them.
    function test_evicting_the_lapsed_leaves_the_looks_to_the_present() public {
        address[] memory gone = new address[](100);
        for (uint256 i = 0; i < gone.length; ++i) {
            gone[i] = fund(string.concat("gone ", vm.toString(i)), 0, 10 * GLN);
            vm.prank(gone[i]);
            court.enroll();
        }
        vm.warp(START + 12 hours);
        renewAuditors(0, AUDITORS);
        vm.warp(START + WINDOW + 1);
        vm.assertGt(shortDraws(), 0, "they are in the way");
        for (uint256 i = 0; i < gone.length; ++i) {
            court.evict(gone[i]);
        }
        vm.assertEq(shortDraws(), 0);
    }

    /// How many of a few draws come out short.
    function shortDraws() private returns (uint256 short) {
        uint256 before = vm.snapshotState();
        uint256 dispute = challenged(requester);
        uint256 anchor = vm.getBlockNumber() + 1;
        vm.roll(anchor + 1);
        for (uint256 i = 0; i < 10; ++i) {
            uint256 ready = vm.snapshotState();
            vm.setBlockhash(anchor, keccak256(abi.encode("block", i)));
            court.draw(dispute);
            if (court.committee(dispute).length == 0) ++short;
            vm.revertToState(ready);
        }
        vm.revertToState(before);
    }
}
