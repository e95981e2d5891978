// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessControl} from "@openzeppelin/contracts/access/IAccessControl.sol";
import {IGovernor} from "@openzeppelin/contracts/governance/IGovernor.sol";
import {TimelockController} from "@openzeppelin/contracts/governance/TimelockController.sol";
import {Names} from "../src/Names.sol";
import {Deployment} from "./Deployment.sol";

contract GovernanceTest is Deployment {
    uint8 private constant AGAINST = 0;
    uint8 private constant FOR = 1;
    string private constant WHY = "because it is better so";

    struct Proposal {
        address[] targets;
        uint256[] values;
        bytes[] calls;
    }

    address private alice;
    address private bob;

    function setUp() public override {
        super.setUp();
        alice = account("alice");
        bob = account("bob");
        give(alice, 21_000_000 * GLN);
        give(bob, 20_000_000 * GLN);
        vm.prank(alice);
        token.delegate(alice);
        vm.prank(bob);
        token.delegate(bob);
        pass(1);
    }

    function test_passed_vote_changes_the_platform_share() public {
        Proposal memory proposal =
            one(address(parameters), abi.encodeCall(parameters.set, (Names.PLATFORM_SHARE_BPS, 1_000)));
        carry(proposal);
        vm.assertEq(parameters.get(Names.PLATFORM_SHARE_BPS), 1_000);
    }

    function test_every_parameter_can_be_changed_by_a_vote() public {
        bytes32[] memory names = parameters.names();
        Proposal memory proposal =
            Proposal(new address[](names.length), new uint256[](names.length), new bytes[](names.length));
        for (uint256 i = 0; i < names.length; ++i) {
            (uint256 min,) = parameters.bounds(names[i]);
            proposal.targets[i] = address(parameters);
            proposal.calls[i] = abi.encodeCall(parameters.set, (names[i], min));
        }
        carry(proposal);
        for (uint256 i = 0; i < names.length; ++i) {
            (uint256 min,) = parameters.bounds(names[i]);
            vm.assertEq(parameters.get(names[i]), min);
        }
    }

    function test_passed_vote_spends_vested_tokens_of_the_treasury() public {
        uint256 vested = vesting.release(0);
        vm.assertEq(token.balanceOf(address(timelock)), vested);
        vm.assertEq(vested, 5_000_000 * GLN);
        carry(one(address(token), abi.encodeCall(token.transfer, (bob, vested))));
        vm.assertEq(token.balanceOf(bob), 20_000_000 * GLN + vested);
        vm.assertEq(token.balanceOf(address(timelock)), 0);
    }

    function test_passed_vote_withdraws_the_platforms_share_from_escrow() public {
        vm.startPrank(alice);
        token.approve(address(escrow), 500);
        escrow.depositFor(address(timelock), 500);
        vm.stopPrank();
        address carol = account("carol");
        carry(one(address(escrow), abi.encodeCall(escrow.withdrawTo, (carol, 500))));
        vm.assertEq(token.balanceOf(carol), 500);
        vm.assertEq(escrow.balanceOf(address(timelock)), 0);
    }

    function test_passed_vote_mints_a_licence() public {
        carry(one(address(licences), abi.encodeCall(licences.mint, (bob))));
        vm.assertEq(licences.ownerOf(1), bob);
    }

    function test_proposal_out_of_bounds_passes_the_vote_and_still_changes_nothing() public {
        Proposal memory proposal =
            one(address(parameters), abi.encodeCall(parameters.set, (Names.PLATFORM_SHARE_BPS, 3_001)));
        uint256 id = vote(proposal, FOR, AGAINST);
        queue(proposal);
        pass(number(".governance.timelockDelay"));
        vm.expectRevert();
        execute(proposal);
        vm.assertEq(parameters.get(Names.PLATFORM_SHARE_BPS), 1_500);
        vm.assertTrue(governor.state(id) == IGovernor.ProposalState.Queued);
    }

    function test_rejected_proposal_is_never_queued() public {
        Proposal memory proposal =
            one(address(parameters), abi.encodeCall(parameters.set, (Names.PLATFORM_SHARE_BPS, 0)));
        uint256 id = vote(proposal, AGAINST, FOR);
        vm.assertTrue(governor.state(id) == IGovernor.ProposalState.Defeated);
        vm.expectPartialRevert(IGovernor.GovernorUnexpectedProposalState.selector);
        queue(proposal);
        vm.expectPartialRevert(IGovernor.GovernorUnexpectedProposalState.selector);
        execute(proposal);
    }

    function test_vote_without_a_quorum_fails() public {
        address carol = account("carol");
        vm.prank(alice);
        token.transfer(carol, 19_999_999 * GLN);
        vm.prank(carol);
        token.delegate(carol);
        pass(1);
        Proposal memory proposal =
            one(address(parameters), abi.encodeCall(parameters.set, (Names.PLATFORM_SHARE_BPS, 0)));
        uint256 id = propose(proposal);
        pass(number(".governance.votingDelay") + 1);
        vm.prank(carol);
        governor.castVote(id, FOR);
        pass(number(".governance.votingPeriod"));
        vm.assertTrue(governor.state(id) == IGovernor.ProposalState.Defeated);
    }

    function test_proposer_needs_the_threshold() public {
        address carol = account("carol");
        Proposal memory proposal =
            one(address(parameters), abi.encodeCall(parameters.set, (Names.PLATFORM_SHARE_BPS, 0)));
        uint256 threshold = number(".governance.proposalThreshold");
        vm.expectRevert(
            abi.encodeWithSelector(IGovernor.GovernorInsufficientProposerVotes.selector, carol, 0, threshold)
        );
        vm.prank(carol);
        governor.propose(proposal.targets, proposal.values, proposal.calls, WHY);
    }

    function test_tokens_bought_after_the_snapshot_do_not_vote() public {
        Proposal memory proposal =
            one(address(parameters), abi.encodeCall(parameters.set, (Names.PLATFORM_SHARE_BPS, 0)));
        uint256 id = propose(proposal);
        pass(number(".governance.votingDelay") + 1);
        address carol = account("carol");
        vm.prank(alice);
        token.transfer(carol, 21_000_000 * GLN);
        vm.startPrank(carol);
        token.delegate(carol);
        governor.castVote(id, FOR);
        vm.stopPrank();
        vm.prank(alice);
        governor.castVote(id, AGAINST);
        (uint256 against, uint256 inFavour,) = governor.proposalVotes(id);
        vm.assertEq(inFavour, 0);
        vm.assertEq(against, 21_000_000 * GLN);
    }

    function test_nobody_votes_twice() public {
        uint256 id = propose(one(address(token), ""));
        pass(number(".governance.votingDelay") + 1);
        vm.startPrank(alice);
        governor.castVote(id, FOR);
        vm.expectRevert(abi.encodeWithSelector(IGovernor.GovernorAlreadyCastVote.selector, alice));
        governor.castVote(id, FOR);
        vm.stopPrank();
    }

    function test_passed_proposal_waits_for_the_timelock_and_runs_once() public {
        Proposal memory proposal =
            one(address(parameters), abi.encodeCall(parameters.set, (Names.PLATFORM_SHARE_BPS, 0)));
        vote(proposal, FOR, AGAINST);
        vm.expectPartialRevert(IGovernor.GovernorUnexpectedProposalState.selector);
        execute(proposal);
        queue(proposal);
        pass(number(".governance.timelockDelay") - 1);
        vm.expectPartialRevert(TimelockController.TimelockUnexpectedOperationState.selector);
        execute(proposal);
        pass(1);
        execute(proposal);
        vm.expectPartialRevert(IGovernor.GovernorUnexpectedProposalState.selector);
        execute(proposal);
    }

    function testFuzz_no_stranger_moves_the_timelock(address stranger) public {
        vm.assume(stranger != address(governor) && stranger != address(timelock) && stranger != address(0));
        bytes memory call = abi.encodeCall(parameters.set, (Names.PLATFORM_SHARE_BPS, 0));
        uint256 delay = timelock.getMinDelay();
        bytes32 proposer = timelock.PROPOSER_ROLE();
        bytes32 admin = timelock.DEFAULT_ADMIN_ROLE();
        vm.startPrank(stranger);
        vm.expectRevert(
            abi.encodeWithSelector(IAccessControl.AccessControlUnauthorizedAccount.selector, stranger, proposer)
        );
        timelock.schedule(address(parameters), 0, call, 0, 0, delay);
        vm.expectPartialRevert(TimelockController.TimelockUnexpectedOperationState.selector);
        timelock.execute(address(parameters), 0, call, 0, 0);
        vm.expectRevert(
            abi.encodeWithSelector(IAccessControl.AccessControlUnauthorizedAccount.selector, stranger, admin)
        );
        timelock.grantRole(proposer, stranger);
        vm.expectRevert(abi.encodeWithSelector(TimelockController.TimelockUnauthorizedCaller.selector, stranger));
        timelock.updateDelay(0);
        vm.stopPrank();
    }

    function testFuzz_no_stranger_takes_from_the_treasury_or_rules_the_governor(address stranger) public {
        vm.assume(stranger != address(timelock) && stranger != address(0));
        vesting.release(0);
        vm.startPrank(stranger);
        vm.expectRevert();
        token.transferFrom(address(timelock), stranger, 1);
        vm.expectRevert();
        vesting.assign(0, stranger);
        vm.expectRevert(abi.encodeWithSelector(IGovernor.GovernorOnlyExecutor.selector, stranger));
        governor.relay(address(token), 0, "");
        vm.expectRevert(abi.encodeWithSelector(IGovernor.GovernorOnlyExecutor.selector, stranger));
        governor.setVotingPeriod(1);
        vm.expectRevert(abi.encodeWithSelector(IGovernor.GovernorOnlyExecutor.selector, stranger));
        governor.setVotingDelay(1);
        vm.expectRevert(abi.encodeWithSelector(IGovernor.GovernorOnlyExecutor.selector, stranger));
        governor.setProposalThreshold(0);
        vm.expectRevert(abi.encodeWithSelector(IGovernor.GovernorOnlyExecutor.selector, stranger));
        governor.updateQuorumNumerator(0);
        vm.expectRevert(abi.encodeWithSelector(IGovernor.GovernorOnlyExecutor.selector, stranger));
        governor.updateTimelock(TimelockController(payable(stranger)));
        vm.stopPrank();
    }

    function test_proposer_may_cancel_before_the_vote_and_a_stranger_may_not() public {
        Proposal memory proposal = one(address(token), "");
        uint256 id = propose(proposal);
        bytes32 hash = keccak256(bytes(WHY));
        vm.expectPartialRevert(IGovernor.GovernorUnableToCancel.selector);
        vm.prank(bob);
        governor.cancel(proposal.targets, proposal.values, proposal.calls, hash);
        vm.prank(alice);
        governor.cancel(proposal.targets, proposal.values, proposal.calls, hash);
        vm.assertTrue(governor.state(id) == IGovernor.ProposalState.Canceled);
    }

    /// From the proposal to its execution, by a stranger at the end.
    function carry(Proposal memory proposal) private {
        vote(proposal, FOR, AGAINST);
        queue(proposal);
        pass(number(".governance.timelockDelay"));
        vm.prank(account("anyone"));
        execute(proposal);
    }

    function vote(Proposal memory proposal, uint8 first, uint8 second) private returns (uint256 id) {
        id = propose(proposal);
        pass(number(".governance.votingDelay") + 1);
        vm.prank(alice);
        governor.castVote(id, first);
        vm.prank(bob);
        governor.castVote(id, second);
        pass(number(".governance.votingPeriod"));
    }

    function propose(Proposal memory proposal) private returns (uint256) {
        vm.prank(alice);
        return governor.propose(proposal.targets, proposal.values, proposal.calls, WHY);
    }

    function queue(Proposal memory proposal) private {
        governor.queue(proposal.targets, proposal.values, proposal.calls, keccak256(bytes(WHY)));
    }

    function execute(Proposal memory proposal) private {
        governor.execute(proposal.targets, proposal.values, proposal.calls, keccak256(bytes(WHY)));
    }

    function one(address target_, bytes memory call) private pure returns (Proposal memory proposal) {
        proposal = Proposal(new address[](1), new uint256[](1), new bytes[](1));
        proposal.targets[0] = target_;
        proposal.calls[0] = call;
    }

    function pass(uint256 time) private {
        vm.warp(vm.getBlockTimestamp() + time);
    }
}
