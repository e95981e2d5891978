// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Auditors} from "../src/Auditors.sol";
import {Court} from "../src/Court.sol";
import {Names} from "../src/Names.sol";
import {Disputes} from "./Disputes.sol";

/// @title Who is an auditor, and who is drawn
contract DrawTest is Disputes {
    // ── auditors ─────────────────────────────────────────────────────────────────────────────────────────────

    function test_enrolling_needs_free_stake_and_happens_once() public {
        vm.prank(stranger);
        vm.expectPartialRevert(Auditors.StakeTooSmall.selector);
        court.enroll();
        address first = account(auditorName(0));
        vm.prank(first);
        vm.expectPartialRevert(Auditors.AlreadyEnrolled.selector);
        court.enroll();
        vm.prank(first);
        court.resign();
        vm.assertFalse(court.isAuditor(first));
        vm.assertEq(court.auditors().length, AUDITORS - 1);
        vm.prank(first);
        vm.expectPartialRevert(Auditors.NotEnrolled.selector);
        court.resign();
        vm.prank(first);
        court.enroll();
        vm.assertTrue(court.isAuditor(first));
    }

    function test_everybody_can_resign_in_any_order() public {
        uint256[4] memory order = [uint256(3), 0, 6, 1];
        for (uint256 i = 0; i < order.length; ++i) {
            address auditor = account(auditorName(order[i]));
            vm.prank(auditor);
            court.resign();
        }
        address[] memory left = court.auditors();
        vm.assertEq(left.length, 3);
        for (uint256 i = 0; i < left.length; ++i) {
            vm.prank(left[i]);
            court.resign();
        }
        vm.assertEq(court.auditors().length, 0);
    }

    function test_an_auditor_without_stake_is_evicted_by_anybody() public {
        address first = account(auditorName(0));
        vm.expectPartialRevert(Auditors.NoReasonToEvict.selector);
        court.evict(first);
        vm.prank(first);
        stake.unbond(41 * GLN);
        court.evict(first);
        vm.assertFalse(court.isAuditor(first));
    }

    function test_nobody_joins_or_leaves_while_a_draw_is_pending() public {
        uint256 dispute = challenged(requester);
        address first = account(auditorName(0));
        vm.prank(first);
        vm.expectPartialRevert(Auditors.DrawPending.selector);
        court.resign();
        vm.prank(hub);
        vm.expectPartialRevert(Auditors.DrawPending.selector);
        court.enroll();
        drawn(dispute);
        vm.prank(first);
        court.resign();
    }

    // ── the draw ─────────────────────────────────────────────────────────────────────────────────────────────

    function test_a_committee_is_drawn_two_blocks_later_and_once() public {
        uint256 dispute = challenged(requester);
        vm.expectPartialRevert(Court.TooEarly.selector);
        court.draw(dispute);
        vm.roll(vm.getBlockNumber() + 1);
        vm.expectPartialRevert(Court.TooEarly.selector);
        court.draw(dispute);
        vm.roll(vm.getBlockNumber() + 1);
        court.draw(dispute);
        address[] memory members = court.committee(dispute);
        vm.assertEq(members.length, 5);
        for (uint256 i = 0; i < members.length; ++i) {
            vm.assertTrue(court.isAuditor(members[i]));
            vm.assertEq(stake.lockOf(court.seatOf(dispute), members[i]), 1 * GLN);
            if (i > 0) vm.assertTrue(members[i - 1] < members[i], "rising");
        }
        vm.expectPartialRevert(Court.AlreadyDrawn.selector);
        court.draw(dispute);
    }

    function test_too_few_auditors_are_no_committee_and_the_dispute_expires() public {
        keepAuditors(4);
        uint256 start = balance(requester);
        uint256 dispute = challenged(requester);
        vm.assertEq(drawn(dispute).length, 0);
        vm.assertEq(stake.lockedOf(account(auditorName(0))), 0, "nobody sits");
        vm.expectPartialRevert(Court.NotDrawn.selector);
        court.decide(dispute, new uint8[](0), new bytes[](0));
        vm.warp(block.timestamp + 1 days + 1);
        court.expire(dispute);
        escrow.release(current);
        vm.assertEq(balance(requester), start);
        vm.assertEq(balance(provider), 0);
        assertNothingLocked();
    }

    function test_as_many_auditors_as_seats_are_a_committee() public {
        keepAuditors(5);
        vm.assertEq(drawn(challenged(requester)).length, 5);
    }

    function test_parties_do_not_make_up_the_number() public {
        keepAuditors(4);
        address[3] memory involved = [hub, provider, second];
        for (uint256 i = 0; i < involved.length; ++i) {
            vm.prank(involved[i]);
            court.enroll();
        }
        vm.assertEq(drawn(challenged(requester)).length, 0);
        vm.assertEq(stake.lockedOf(provider), 1 * GLN, "only for the order");
    }

    function test_auditors_without_free_stake_do_not_make_up_the_number() public {
        keepAuditors(6);
        uint256 dispute = challenged(requester);
        for (uint256 i = 0; i < 2; ++i) {
            vm.prank(account(auditorName(i)));
            stake.unbond(41 * GLN);
        }
        vm.assertEq(drawn(dispute).length, 0);
        for (uint256 i = 0; i < 6; ++i) {
            vm.assertEq(stake.lockOf(court.seatOf(dispute), account(auditorName(i))), 0, "nobody sits");
        }
    }

    function test_parties_and_engaged_providers_are_never_drawn() public {
        address[4] memory involved = [requester, hub, provider, second];
        token.approve(address(stake), 10 * GLN);
        stake.stakeFor(requester, 10 * GLN);
        for (uint256 i = 0; i < involved.length; ++i) {
            vm.prank(involved[i]);
            court.enroll();
        }
        setParameter(Names.COMMITTEE_SIZE, AUDITORS);
        address[] memory members = drawn(challenged(requester));
        vm.assertEq(members.length, AUDITORS);
        for (uint256 i = 0; i < members.length; ++i) {
            for (uint256 j = 0; j < involved.length; ++j) {
                vm.assertNotEq(members[i], involved[j]);
            }
        }
    }

    function test_an_old_seed_is_replaced_by_a_new_one() public {
        uint256 dispute = challenged(requester);
        vm.roll(vm.getBlockNumber() + 300);
        court.draw(dispute);
        vm.assertEq(court.committee(dispute).length, 0);
        vm.assertEq(drawn(dispute).length, 5);
    }

    function test_a_draw_that_finds_too_few_is_not_repeated() public {
        keepAuditors(4);
        uint256 dispute = challenged(requester);
        vm.assertEq(drawn(dispute).length, 0);
        vm.assertEq(court.undrawn(), 0, "others may enrol");
        vm.prank(account(auditorName(4)));
        court.enroll();
        vm.roll(vm.getBlockNumber() + 2);
        vm.expectPartialRevert(Court.AlreadyDrawn.selector);
        court.draw(dispute);
        vm.assertEq(drawn(challenged(requester)).length, 5, "the next dispute has its committee");
    }

    function test_a_draw_that_finds_nobody_seats_nobody() public {
        keepAuditors(0);
        uint256 dispute = challenged(requester);
        vm.assertEq(drawn(dispute).length, 0);
        vm.assertEq(court.undrawn(), 0);
    }

    function test_every_auditor_is_drawn_about_as_often() public {
        uint256 dispute = challenged(requester);
        uint256 block_ = vm.getBlockNumber();
        vm.roll(block_ + 2);
        uint256[AUDITORS] memory times;
        for (uint256 i = 0; i < 100; ++i) {
            uint256 snapshot = vm.snapshotState();
            vm.setBlockhash(block_ + 1, keccak256(abi.encode("block", i)));
            court.draw(dispute);
            address[] memory members = court.committee(dispute);
            for (uint256 j = 0; j < members.length; ++j) {
                for (uint256 k = 0; k < AUDITORS; ++k) {
                    if (members[j] == vm.addr(keyOf(auditorName(k)))) ++times[k];
                }
            }
            vm.revertToState(snapshot);
        }
        // 100 draws of 5 of 7: 71.4 on average with a deviation of 4.5.
        for (uint256 k = 0; k < AUDITORS; ++k) {
            vm.assertGt(times[k], 55, "drawn too rarely");
            vm.assertLt(times[k], 88, "drawn too often");
        }
    }
}
