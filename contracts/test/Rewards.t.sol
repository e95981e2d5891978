// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Names} from "../src/Names.sol";
import {Rewards} from "../src/Rewards.sol";
import {Deployment} from "./Deployment.sol";

contract RewardsTest is Deployment {
    uint8 private constant FOR_PUBLISHER = 1;
    uint8 private constant FOR_CONTESTER = 2;
    uint64 private constant MONTH = 2_629_800;
    uint256 private constant AUDITORS = 5;

    address private hub;
    address private watcher;
    address private alice;
    address private bob;
    uint256 private schedule;

    function setUp() public override {
        super.setUp();
        hub = staked("hub", 500 * GLN);
        watcher = staked("watcher", 50 * GLN);
        alice = account("alice");
        bob = account("bob");
        while (vesting.schedule(schedule).beneficiary != address(rewards)) ++schedule;
        vm.warp(LAUNCH + MONTH);
        vm.roll(1_000);
        vesting.release(schedule);
    }

    function test_month_of_emission_arrives_from_vesting() public view {
        vm.assertEq(token.balanceOf(address(rewards)), 2_500_000 * GLN);
        vm.assertEq(rewards.available(), 2_500_000 * GLN);
        vm.assertEq(rewards.genesis(), LAUNCH);
        vm.assertEq(rewards.epochLength(), 7 days);
    }

    function test_shares_are_paid_after_the_window_once_and_to_nobody_else() public {
        publish(0);
        bytes32[] memory proof = proofOf(leaf(0, bob, 250));
        vm.expectPartialRevert(Rewards.WindowOpen.selector);
        rewards.claim(0, alice, 100, proof);
        passWindow();
        rewards.claim(0, alice, 100, proof);
        vm.assertEq(token.balanceOf(alice), 100);
        vm.assertTrue(rewards.isClaimed(0, alice));
        vm.expectRevert(abi.encodeWithSelector(Rewards.AlreadyClaimed.selector, 0, alice));
        rewards.claim(0, alice, 100, proof);
        vm.expectRevert(abi.encodeWithSelector(Rewards.WrongProof.selector, 0, bob, 251));
        rewards.claim(0, bob, 251, proofOf(leaf(0, alice, 100)));
        vm.expectRevert(abi.encodeWithSelector(Rewards.WrongProof.selector, 0, hub, 250));
        rewards.claim(0, hub, 250, proofOf(leaf(0, alice, 100)));
        vm.expectRevert(abi.encodeWithSelector(Rewards.WrongProof.selector, 0, bob, 250));
        rewards.claim(0, bob, 250, new bytes32[](0));
        rewards.claim(0, bob, 250, proofOf(leaf(0, alice, 100)));
        vm.assertEq(token.balanceOf(bob), 250);
        vm.assertEq(rewards.committed(), 0);
    }

    function test_proof_of_one_epoch_is_worthless_in_another() public {
        publish(0);
        publishAs(hub, 1, root(0), 350);
        passWindow();
        rewards.claim(0, alice, 100, proofOf(leaf(0, bob, 250)));
        vm.expectRevert(abi.encodeWithSelector(Rewards.WrongProof.selector, 1, alice, 100));
        rewards.claim(1, alice, 100, proofOf(leaf(0, bob, 250)));
    }

    function test_inner_node_of_the_tree_is_no_share() public {
        publish(0);
        passWindow();
        bytes32 node = root(0);
        vm.expectPartialRevert(Rewards.WrongProof.selector);
        rewards.claim(0, address(uint160(uint256(node))), uint256(node), new bytes32[](0));
    }

    function test_root_that_promises_more_than_its_total_pays_no_more() public {
        publishAs(hub, 0, root(0), 300);
        passWindow();
        rewards.claim(0, bob, 250, proofOf(leaf(0, alice, 100)));
        vm.expectRevert(abi.encodeWithSelector(Rewards.AboveTotal.selector, 0, 100, 50));
        rewards.claim(0, alice, 100, proofOf(leaf(0, bob, 250)));
    }

    function test_epoch_is_published_once_and_only_when_it_has_ended() public {
        uint256 running = (vm.getBlockTimestamp() - LAUNCH) / 7 days;
        vm.expectRevert(abi.encodeWithSelector(Rewards.NotEnded.selector, running, rewards.endOf(running)));
        publishAs(hub, running, root(running), 350);
        vm.warp(rewards.endOf(running));
        publish(running);
        vm.expectRevert(abi.encodeWithSelector(Rewards.WrongState.selector, running, Rewards.State.Published));
        publish(running);
        passWindow();
        rewards.finish(running);
        vm.expectRevert(abi.encodeWithSelector(Rewards.WrongState.selector, running, Rewards.State.Final));
        publish(running);
    }

    function test_publisher_needs_a_hubs_stake_and_it_is_locked_meanwhile() public {
        vm.expectRevert(abi.encodeWithSelector(Rewards.TooLittleStake.selector, watcher, 50 * GLN, 100 * GLN));
        publishAs(watcher, 0, root(0), 350);
        publish(0);
        vm.assertEq(stake.lockedOf(hub), 100 * GLN);
        passWindow();
        rewards.finish(0);
        vm.assertEq(stake.lockedOf(hub), 0);
        vm.expectRevert(abi.encodeWithSelector(Rewards.WrongState.selector, 0, Rewards.State.Final));
        rewards.finish(0);
    }

    function test_total_is_bounded_by_the_emission() public {
        uint256 emission = parameters.get(Names.EMISSION_PER_EPOCH);
        vm.expectRevert(abi.encodeWithSelector(Rewards.AboveEmission.selector, emission + 1, emission));
        publishAs(hub, 0, root(0), emission + 1);
        publishAs(hub, 0, root(0), emission);
        vm.assertEq(rewards.committed(), emission);
    }

    function test_what_shares_are_reckoned_with_stays_as_it_was_when_they_were_published() public {
        uint256 emission = parameters.get(Names.EMISSION_PER_EPOCH);
        uint256 cap = parameters.get(Names.REWARD_CAP_BPS);
        publish(0);
        vm.startPrank(address(timelock));
        parameters.set(Names.EMISSION_PER_EPOCH, 1e17);
        parameters.set(Names.REWARD_CAP_BPS, cap - 1);
        vm.stopPrank();
        uint256 funds = rewards.available();
        publish(1);
        vm.assertEq(rewards.epochState(0).totalMax, emission);
        vm.assertEq(rewards.epochState(0).capBps, cap);
        vm.assertEq(rewards.epochState(1).totalMax, funds, "less has vested than may be given");
        vm.assertEq(rewards.epochState(1).capBps, cap - 1);
    }

    function test_total_is_bounded_by_what_has_vested_and_is_uncommitted() public {
        vm.prank(address(timelock));
        parameters.set(Names.EMISSION_PER_EPOCH, 1e17);
        uint256 all = rewards.available();
        publishAs(hub, 0, root(0), all - 10);
        vm.expectRevert(abi.encodeWithSelector(Rewards.AboveFunds.selector, 11, 10));
        publishAs(hub, 1, root(1), 11);
        publishAs(hub, 1, root(1), 10);
        vm.assertEq(rewards.available(), 0);
    }

    function test_contest_that_is_right_replaces_the_root_and_the_publisher_pays() public {
        enrollAuditors();
        publish(0);
        uint256 dispute = contest(0, leaf(0, alice, 900), 900);
        vm.assertEq(rewards.committed(), 900, "the larger of the two is kept ready");
        vm.expectRevert(abi.encodeWithSelector(Rewards.Undecided.selector, 0, dispute));
        rewards.conclude(0);
        decide(dispute, FOR_CONTESTER);
        rewards.conclude(0);
        vm.assertEq(rewards.committed(), 900);
        vm.assertEq(stake.stakeOf(hub), 450 * GLN, "half of the lock is lost");
        vm.assertEq(escrow.balanceOf(watcher), 25 * GLN, "and half of that is the winner's");
        vm.assertEq(stake.lockedOf(hub) + stake.lockedOf(watcher), 0);
        rewards.claim(0, alice, 900, new bytes32[](0));
        vm.expectPartialRevert(Rewards.WrongProof.selector);
        rewards.claim(0, bob, 250, proofOf(leaf(0, alice, 100)));
    }

    function test_contest_that_is_wrong_costs_the_contester_and_the_root_stands() public {
        enrollAuditors();
        publish(0);
        uint256 dispute = contest(0, leaf(0, watcher, 900), 900);
        decide(dispute, FOR_PUBLISHER);
        rewards.conclude(0);
        vm.assertEq(rewards.committed(), 350);
        vm.assertEq(stake.stakeOf(watcher), 45 * GLN);
        vm.assertEq(stake.stakeOf(hub), 500 * GLN);
        vm.assertEq(escrow.balanceOf(hub), 25 * GLN / 10);
        vm.assertEq(stake.lockedOf(hub) + stake.lockedOf(watcher), 0);
        rewards.claim(0, bob, 250, proofOf(leaf(0, alice, 100)));
        vm.expectRevert(abi.encodeWithSelector(Rewards.WrongState.selector, 0, Rewards.State.Final));
        rewards.conclude(0);
    }

    function test_undecided_contest_opens_the_epoch_again_and_nobody_pays() public {
        publish(0);
        uint256 dispute = contest(0, leaf(0, watcher, 200), 200);
        vm.warp(vm.getBlockTimestamp() + parameters.get(Names.VOTING_WINDOW) + 1);
        court.expire(dispute);
        vm.expectRevert(abi.encodeWithSelector(Rewards.WrongState.selector, 0, Rewards.State.Contested));
        rewards.claim(0, bob, 250, proofOf(leaf(0, alice, 100)));
        rewards.conclude(0);
        vm.assertEq(rewards.committed(), 0);
        vm.assertEq(stake.stakeOf(hub), 500 * GLN);
        vm.assertEq(stake.lockedOf(hub) + stake.lockedOf(watcher), 0);
        publish(0);
        passWindow();
        rewards.claim(0, bob, 250, proofOf(leaf(0, alice, 100)));
    }

    function test_contest_needs_time_stake_and_another_root() public {
        publish(0);
        bytes32 published = root(0);
        vm.expectRevert(abi.encodeWithSelector(Rewards.SameAsPublished.selector, 0));
        vm.prank(watcher);
        rewards.contest(0, published, 350);
        vm.expectRevert(abi.encodeWithSelector(Rewards.OwnPublication.selector, 0));
        vm.prank(hub);
        rewards.contest(0, published, 1);
        vm.expectPartialRevert(Rewards.TooLittleStake.selector);
        vm.prank(alice);
        rewards.contest(0, published, 1);
        vm.expectPartialRevert(Rewards.AboveEmission.selector);
        vm.prank(watcher);
        rewards.contest(0, published, type(uint256).max);
        vm.expectRevert(abi.encodeWithSelector(Rewards.WrongState.selector, 1, Rewards.State.None));
        vm.prank(watcher);
        rewards.contest(1, published, 1);
        passWindow();
        vm.expectPartialRevert(Rewards.WindowOver.selector);
        vm.prank(watcher);
        rewards.contest(0, published, 1);
    }

    function test_contest_cannot_promise_more_than_there_is() public {
        vm.prank(address(timelock));
        parameters.set(Names.EMISSION_PER_EPOCH, 1e17);
        uint256 all = rewards.available();
        publishAs(hub, 0, root(0), 100);
        vm.expectRevert(abi.encodeWithSelector(Rewards.AboveEmission.selector, all + 1, all));
        vm.prank(watcher);
        rewards.contest(0, leaf(0, watcher, 1), all + 1);
        publishAs(hub, 1, root(1), 10);
        vm.expectRevert(abi.encodeWithSelector(Rewards.AboveFunds.selector, all, all - 10));
        vm.prank(watcher);
        rewards.contest(0, leaf(0, watcher, 1), all);
        vm.prank(watcher);
        rewards.contest(0, leaf(0, watcher, 1), all - 10);
        vm.assertEq(rewards.available(), 0);
    }

    function testFuzz_promises_are_always_covered(uint256 first, uint256 second, uint256 counter, bool contested)
        public
    {
        uint256 emission = parameters.get(Names.EMISSION_PER_EPOCH);
        first = bound(first, 0, emission);
        second = bound(second, 0, emission);
        counter = bound(counter, 0, emission);
        publishAs(hub, 0, leaf(0, alice, first), first);
        publishAs(hub, 1, leaf(1, bob, second), second);
        if (contested) {
            uint256 dispute = contest(1, leaf(1, alice, counter), counter);
            vm.assertGe(token.balanceOf(address(rewards)), rewards.committed());
            vm.warp(vm.getBlockTimestamp() + parameters.get(Names.VOTING_WINDOW) + 1);
            court.expire(dispute);
            rewards.conclude(1);
            publishAs(hub, 1, leaf(1, bob, second), second);
        }
        passWindow();
        rewards.claim(0, alice, first, new bytes32[](0));
        rewards.claim(1, bob, second, new bytes32[](0));
        vm.assertEq(token.balanceOf(alice), first);
        vm.assertEq(token.balanceOf(bob), second);
        vm.assertEq(rewards.committed(), 0);
        vm.assertEq(rewards.available(), 2_500_000 * GLN - first - second);
    }

    function test_epoch_that_never_ends_is_refused() public {
        vm.expectRevert();
        publishAs(hub, type(uint256).max, root(0), 1);
    }

    function staked(string memory name, uint256 amount) private returns (address who) {
        who = account(name);
        give(who, amount);
        vm.startPrank(who);
        token.approve(address(stake), amount);
        stake.stake(amount);
        vm.stopPrank();
    }

    function auditorName(uint256 i) private pure returns (string memory) {
        return string.concat("auditor ", vm.toString(i));
    }

    function enrollAuditors() private {
        for (uint256 i = 0; i < AUDITORS; ++i) {
            address auditor = staked(auditorName(i), 20 * GLN);
            vm.prank(auditor);
            court.enroll();
        }
    }

    function publish(uint256 epoch) private {
        publishAs(hub, epoch, root(epoch), 350);
    }

    function publishAs(address who, uint256 epoch, bytes32 root_, uint256 total) private {
        vm.prank(who);
        rewards.publish(epoch, root_, total);
    }

    function contest(uint256 epoch, bytes32 counterRoot, uint256 total) private returns (uint256) {
        vm.prank(watcher);
        rewards.contest(epoch, counterRoot, total);
        return rewards.epochState(epoch).dispute;
    }

    /// All auditors sit on the committee and vote alike.
    function decide(uint256 dispute, uint8 ruling) private {
        vm.roll(vm.getBlockNumber() + 2);
        court.draw(dispute);
        address[] memory members = court.committee(dispute);
        vm.assertEq(members.length, AUDITORS);
        bytes32 digest = court.voteDigest(dispute, rewards.subjectOf(0), ruling);
        uint8[] memory rulings = new uint8[](AUDITORS);
        bytes[] memory signatures = new bytes[](AUDITORS);
        for (uint256 i = 0; i < AUDITORS; ++i) {
            rulings[i] = ruling;
            for (uint256 j = 0; j < AUDITORS; ++j) {
                if (account(auditorName(j)) == members[i]) signatures[i] = signed(auditorName(j), digest);
            }
        }
        court.decide(dispute, rulings, signatures);
    }

    function passWindow() private {
        vm.warp(vm.getBlockTimestamp() + parameters.get(Names.CHALLENGE_WINDOW));
    }

    function leaf(uint256 epoch, address who, uint256 amount) private pure returns (bytes32) {
        return keccak256(bytes.concat(keccak256(abi.encode(epoch, who, amount))));
    }

    /// The tree of alice with 100 and bob with 250.
    function root(uint256 epoch) private view returns (bytes32) {
        (bytes32 a, bytes32 b) = (leaf(epoch, alice, 100), leaf(epoch, bob, 250));
        return a < b ? keccak256(abi.encode(a, b)) : keccak256(abi.encode(b, a));
    }

    function proofOf(bytes32 sibling) private pure returns (bytes32[] memory proof) {
        proof = new bytes32[](1);
        proof[0] = sibling;
    }
}
