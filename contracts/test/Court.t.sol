// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Books} from "../src/Books.sol";
import {Court} from "../src/Court.sol";
import {Escrow} from "../src/Escrow.sol";
import {Disputes} from "./Disputes.sol";

/// @title Votes, verdicts and what they cost
contract CourtTest is Disputes {
    // ── the verdict on settlements ───────────────────────────────────────────────────────────────────────────

    function test_hub_that_loses_pays_the_requester_and_the_auditors() public {
        uint256 dispute = challenged(requester);
        address[] memory members = drawn(dispute);
        uint256 before = balance(requester);
        decide(dispute, 2, 3);
        // Half of the hub's lock of 1 GLN: 0.25 to the requester, the rest to three auditors.
        vm.assertEq(stake.stakeOf(hub), 499.5e9);
        vm.assertEq(balance(requester), before + BOND + 0.25e9);
        vm.assertEq(balance(members[0]), 83_333_333);
        vm.assertEq(balance(members[2]), 83_333_333);
        vm.assertEq(balance(members[3]), 0);
        vm.assertEq(balance(treasury), 1);
        vm.assertEq(balance(address(court)), 0);
        escrow.conclude(current, counter());
        vm.assertEq(balance(provider), 8.5e9);
        vm.assertEq(balance(requester), before + BOND + 0.25e9 + 90 * GLN);
        assertNothingLocked();
    }

    function test_requester_that_loses_pays_of_its_bond() public {
        uint256 dispute = challenged(requester);
        drawn(dispute);
        uint256 before = balance(requester);
        uint256 hubBefore = balance(hub);
        decide(dispute, 1, 3);
        vm.assertEq(balance(requester), before + 2.5e9);
        vm.assertEq(balance(hub), hubBefore + 1.25e9);
        vm.assertEq(stake.stakeOf(hub), 500 * GLN);
        vm.expectPartialRevert(Escrow.WrongSettlement.selector);
        escrow.conclude(current, counter());
        escrow.conclude(current, proposal());
        vm.assertEq(balance(provider), 68 * GLN);
        assertNothingLocked();
    }

    function test_provider_that_loses_pays_of_its_lock() public {
        uint256 dispute = challenged(second);
        drawn(dispute);
        uint256 before = balance(requester);
        decide(dispute, 1, 3);
        vm.assertEq(stake.stakeOf(second), 99.5e9);
        vm.assertEq(stake.stakeOf(provider), 100 * GLN);
        escrow.conclude(current, proposal());
        vm.assertEq(balance(requester), before + 20 * GLN + BOND);
        assertNothingLocked();
    }

    function test_provider_that_wins_is_paid_by_the_hub() public {
        uint256 dispute = challenged(second);
        drawn(dispute);
        decide(dispute, 2, 5);
        vm.assertEq(balance(second), 0.25e9);
        vm.assertEq(stake.stakeOf(hub), 499.5e9);
        escrow.conclude(current, counter());
        assertNothingLocked();
    }

    function test_undecided_nobody_pays_and_the_order_is_released() public {
        uint256 start = balance(requester);
        uint256 dispute = challenged(requester);
        drawn(dispute);
        vm.expectPartialRevert(Escrow.NotDecided.selector);
        escrow.release(current);
        vm.warp(block.timestamp + 1 days);
        vm.expectPartialRevert(Court.TooEarly.selector);
        court.expire(dispute);
        vm.warp(block.timestamp + 1);
        (uint8[] memory rulings, bytes[] memory signatures) = votesFor(dispute, 2, 5);
        vm.expectPartialRevert(Court.TooLate.selector);
        court.decide(dispute, rulings, signatures);
        court.expire(dispute);
        vm.expectPartialRevert(Escrow.NotDecided.selector);
        escrow.conclude(current, counter());
        escrow.release(current);
        vm.assertEq(balance(requester), start);
        vm.assertEq(stake.stakeOf(hub), 500 * GLN);
        assertNothingLocked();
    }

    function test_a_dispute_that_was_never_drawn_expires() public {
        uint256 start = balance(requester);
        uint256 dispute = challenged(requester);
        vm.warp(block.timestamp + 1 days + 1);
        vm.roll(vm.getBlockNumber() + 2);
        vm.expectPartialRevert(Court.TooLate.selector);
        court.draw(dispute);
        court.expire(dispute);
        vm.assertEq(court.undrawn(), 0);
        escrow.release(current);
        vm.assertEq(balance(requester), start);
        assertNothingLocked();
    }

    function test_challenges_come_in_time_from_those_concerned_and_say_something_else() public {
        prepare();
        bytes32 id = current;
        refuseChallenge(stranger, counter(), Escrow.NotAParty.selector);
        refuseChallenge(hub, counter(), Escrow.NotAParty.selector);
        refuseChallenge(requester, proposal(), Escrow.WrongSettlement.selector);
        refuseChallenge(requester, settlementOf(keccak256("other"), provider, 1), Escrow.WrongSettlement.selector);
        refuseChallenge(requester, settlementOf(id, provider, CAP + 1), Escrow.AboveCap.selector);
        vm.prank(requester);
        escrow.challenge(id, counter());
        refuseChallenge(second, counter(), Escrow.WrongState.selector);
        prepare();
        vm.warp(block.timestamp + 1 days);
        refuseChallenge(requester, counter(), Escrow.WindowOver.selector);
    }

    // ── votes ────────────────────────────────────────────────────────────────────────────────────────────────

    function test_a_ruling_needs_more_than_half_of_the_whole_committee() public {
        uint256 dispute = challenged(requester);
        drawn(dispute);
        (uint8[] memory rulings, bytes[] memory signatures) = votesFor(dispute, 2, 2);
        vm.expectPartialRevert(Court.NoMajority.selector);
        court.decide(dispute, rulings, signatures);
        vm.expectPartialRevert(Court.NoMajority.selector);
        court.decide(dispute, new uint8[](0), new bytes[](0));
        decide(dispute, 2, 3);
        vm.expectPartialRevert(Court.NotOpen.selector);
        court.decide(dispute, rulings, signatures);
    }

    function test_the_minority_is_not_paid() public {
        uint256 dispute = challenged(requester);
        address[] memory members = drawn(dispute);
        (uint8[] memory rulings, bytes[] memory signatures) = votesFor(dispute, 2, 5);
        rulings[1] = 1;
        signatures[1] = vote(dispute, members[1], 1);
        rulings[4] = 1;
        signatures[4] = vote(dispute, members[4], 1);
        court.decide(dispute, rulings, signatures);
        vm.assertEq(balance(members[1]) + balance(members[4]), 0);
        vm.assertEq(balance(members[0]), 83_333_333);
        vm.assertEq(balance(members[2]), 83_333_333);
        vm.assertEq(balance(members[3]), 83_333_333);
    }

    function test_a_vote_counts_once_and_only_from_the_committee() public {
        uint256 dispute = challenged(requester);
        address[] memory members = drawn(dispute);
        (uint8[] memory rulings, bytes[] memory signatures) = votesFor(dispute, 2, 3);
        bytes memory kept = signatures[1];
        signatures[1] = signatures[0];
        vm.expectPartialRevert(Court.NotOnCommittee.selector);
        court.decide(dispute, rulings, signatures);
        (,,, bytes32 subject,,,,,,) = court.disputeState(dispute);
        signatures[1] = signed("stranger", court.voteDigest(dispute, subject, 2));
        vm.expectPartialRevert(Court.NotOnCommittee.selector);
        court.decide(dispute, rulings, signatures);
        signatures[1] = signatures[2];
        signatures[2] = kept;
        vm.expectPartialRevert(Court.NotOnCommittee.selector);
        court.decide(dispute, rulings, signatures);
        vm.assertEq(members.length, 5);
    }

    function test_a_vote_is_for_one_ruling_of_one_dispute() public {
        uint256 one = challenged(requester);
        drawn(one);
        (uint8[] memory rulings, bytes[] memory signatures) = votesFor(one, 2, 3);
        for (uint256 i = 0; i < 3; ++i) {
            rulings[i] = 1;
        }
        vm.expectRevert();
        court.decide(one, rulings, signatures);
        (rulings, signatures) = votesFor(one, 2, 3);
        uint256 two = challenged(requester);
        drawn(two);
        vm.expectRevert();
        court.decide(two, rulings, signatures);
        rulings[0] = 3;
        vm.expectPartialRevert(Court.BadRuling.selector);
        court.decide(one, rulings, signatures);
        rulings[0] = 0;
        vm.expectPartialRevert(Court.BadRuling.selector);
        court.decide(one, rulings, signatures);
    }

    function test_only_escrow_and_rewards_open_disputes() public {
        vm.expectPartialRevert(Court.NotAllowed.selector);
        court.open(bytes32(0), requester, hub, address(0), 0);
    }

    // ── accusations ──────────────────────────────────────────────────────────────────────────────────────────

    function test_a_guilty_provider_pays_of_its_lock() public {
        bytes32 id = running();
        uint256 before = balance(hub);
        uint256 dispute = accuse(id, hub);
        vm.assertEq(balance(hub), before - 1 * GLN);
        drawn(dispute);
        decide(dispute, 2, 3);
        vm.assertEq(stake.stakeOf(provider), 99.5e9);
        vm.assertEq(balance(hub), before + 0.25e9);
        settleApproved(settlementOf(id, second, CAP));
        assertNothingLocked();
    }

    function test_a_false_accuser_pays_the_provider() public {
        bytes32 id = running();
        uint256 before = balance(requester);
        uint256 dispute = accuse(id, requester);
        drawn(dispute);
        decide(dispute, 1, 3);
        vm.assertEq(balance(requester), before - 0.5e9);
        vm.assertEq(balance(provider), 0.25e9);
        vm.assertEq(stake.stakeOf(provider), 100 * GLN);
        vm.assertEq(stake.lockOf(id, provider), 1 * GLN, "the order goes on");
        settleApproved(settlementOf(id, provider, CAP));
        assertNothingLocked();
    }

    function test_an_accusation_keeps_the_lock_but_not_the_money() public {
        bytes32 id = running();
        uint256 dispute = accuse(id, hub);
        settleApproved(settlementOf(id, provider, CAP));
        vm.assertEq(balance(provider), 85 * GLN);
        vm.assertEq(stake.lockOf(id, provider), 1 * GLN);
        vm.assertEq(stake.lockOf(id, second), 0);
        drawn(dispute);
        decide(dispute, 2, 3);
        vm.assertEq(stake.stakeOf(provider), 99.5e9);
        assertNothingLocked();
    }

    function test_an_acquitted_provider_is_free_when_its_order_has_ended() public {
        bytes32 id = running();
        uint256 dispute = accuse(id, hub);
        settleApproved(settlementOf(id, provider, CAP));
        drawn(dispute);
        decide(dispute, 1, 3);
        vm.assertEq(stake.stakeOf(provider), 100 * GLN);
        assertNothingLocked();
    }

    function test_an_expired_accusation_costs_nobody_anything() public {
        bytes32 id = running();
        uint256 before = balance(hub);
        uint256 dispute = accuse(id, hub);
        settleApproved(settlementOf(id, provider, CAP));
        vm.warp(block.timestamp + 1 days + 1);
        court.expire(dispute);
        vm.assertEq(balance(hub), before);
        vm.assertEq(stake.stakeOf(provider), 100 * GLN);
        assertNothingLocked();
    }

    function test_accusations_are_for_the_parties_of_an_open_order_and_made_once() public {
        bytes32 id = running();
        refuseAccusation(id, stranger, provider, Court.NotAParty.selector);
        refuseAccusation(id, hub, hub, Court.NotAParty.selector);
        refuseAccusation(id, hub, stranger, Court.NothingLocked.selector);
        accuse(id, hub);
        refuseAccusation(id, requester, provider, Court.AlreadyAccused.selector);
        settleApproved(settlementOf(id, provider, CAP));
        refuseAccusation(id, hub, second, Court.OrderEnded.selector);
        refuseAccusation(keccak256("none"), hub, second, Court.OrderEnded.selector);
    }

    function test_an_accuser_must_have_the_money_it_stakes() public {
        bytes32 id = running();
        uint256 all = balance(hub);
        vm.prank(hub);
        escrow.withdraw(all);
        refuseAccusation(id, hub, provider, Books.NotCovered.selector);
        vm.assertEq(court.accusationOf(id, provider), 0);
    }

    function test_two_verdicts_on_one_lock_take_it_once() public {
        prepare();
        bytes32 id = current;
        uint256 accusation = accuse(id, hub);
        vm.prank(provider);
        uint256 challenge = escrow.challenge(id, counter());
        drawn(accusation);
        court.draw(challenge);
        decide(accusation, 2, 3);
        vm.assertEq(stake.stakeOf(provider), 99.5e9);
        decide(challenge, 1, 3);
        vm.assertEq(stake.stakeOf(provider), 99.5e9);
        escrow.conclude(id, proposal());
        assertNothingLocked();
    }
}
