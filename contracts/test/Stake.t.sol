// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Stake} from "../src/Stake.sol";
import {Names} from "../src/Names.sol";
import {Market} from "./Market.sol";

/// @title Bonding, unbonding, consent, locks and the reach of slashing
contract StakeTest is Market {
    bytes32 private constant ID = keccak256("an id");

    function test_stake_is_unbonded_and_claimed_after_the_delay() public {
        token.transfer(stranger, 10);
        vm.startPrank(stranger);
        token.approve(address(stake), 10);
        stake.stake(10);
        stake.unbond(4);
        vm.assertEq(stake.stakeOf(stranger), 6);
        vm.expectPartialRevert(Stake.NotReady.selector);
        stake.claim();
        vm.warp(block.timestamp + 7 days);
        stake.claim();
        vm.assertEq(token.balanceOf(stranger), 4);
        vm.expectPartialRevert(Stake.NothingUnbonding.selector);
        stake.claim();
        vm.stopPrank();
    }

    function test_more_unbonding_waits_anew_with_what_waited() public {
        vm.startPrank(provider);
        stake.unbond(1 * GLN);
        vm.warp(START + 3 days);
        stake.unbond(2 * GLN);
        (uint256 amount, uint64 ready) = stake.unbondingOf(provider);
        vm.assertEq(amount, 3 * GLN);
        vm.assertEq(ready, START + 10 days);
        stake.cancelUnbond();
        vm.stopPrank();
        vm.assertEq(stake.stakeOf(provider), 100 * GLN);
        (amount,) = stake.unbondingOf(provider);
        vm.assertEq(amount, 0);
    }

    function test_stake_for_another_belongs_to_the_other() public {
        token.approve(address(stake), 5);
        stake.stakeFor(stranger, 5);
        vm.assertEq(stake.stakeOf(stranger), 5);
        vm.expectPartialRevert(Stake.NotFree.selector);
        stake.unbond(1);
    }

    function test_stake_with_a_permit_survives_being_front_run() public {
        token.transfer(requester, 10);
        uint256 deadline = block.timestamp + 1;
        bytes32 typehash =
            keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
        bytes32 hash = keccak256(abi.encode(typehash, requester, address(stake), 10, 0, deadline));
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", token.DOMAIN_SEPARATOR(), hash));
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(keyOf("requester"), digest);
        vm.prank(stranger);
        token.permit(requester, address(stake), 10, deadline, v, r, s);
        vm.prank(requester);
        stake.stakeWithPermit(10, deadline, v, r, s);
        vm.assertEq(stake.stakeOf(requester), 10);
    }

    function test_locked_stake_cannot_be_unbonded() public {
        bytes32 id = running();
        vm.startPrank(provider);
        vm.expectRevert(
            abi.encodeWithSelector(Stake.NotFree.selector, provider, 99 * GLN, 100 * GLN)
        );
        stake.unbond(100 * GLN);
        vm.expectPartialRevert(Stake.NotFree.selector);
        stake.unbond(type(uint256).max);
        stake.unbond(99 * GLN);
        vm.stopPrank();
        settleApproved(settlementOf(id, provider, CAP));
        vm.assertEq(stake.freeOf(provider), 1 * GLN);
    }

    function test_hub_holds_no_more_locked_than_it_was_allowed() public {
        vm.prank(provider);
        stake.allow(hub, 2 * GLN);
        bytes32 one = locked();
        bytes32 two = locked();
        bytes32 three = locked();
        engage(one, provider);
        engage(two, provider);
        engage(three, provider);
        vm.assertEq(stake.lockOf(three, provider), 0);
        vm.assertEq(stake.usedOf(provider, hub), 2 * GLN);
        settleApproved(settlementOf(one, provider, CAP));
        engage(three, provider);
        vm.assertEq(stake.lockOf(three, provider), 1 * GLN);
        vm.prank(provider);
        stake.allow(hub, 0);
        vm.assertEq(stake.lockedOf(provider), 2 * GLN);
        settleApproved(settlementOf(two, provider, CAP));
        settleApproved(settlementOf(three, provider, CAP));
        vm.assertEq(stake.usedOf(provider, hub), 0);
    }

    function test_nothing_is_locked_without_consent() public {
        vm.prank(provider);
        stake.allow(hub, 0);
        bytes32 id = locked();
        engage(id, provider);
        vm.assertEq(stake.lockedOf(provider), 0);
    }

    function test_only_the_keepers_lock_and_only_the_court_slashes() public {
        address[] memory list = new address[](1);
        list[0] = provider;
        address[4] memory others = [stranger, hub, treasury, address(vouchers)];
        for (uint256 i = 0; i < others.length; ++i) {
            bytes memory refusal = abi.encodeWithSelector(Stake.NotAllowed.selector, others[i]);
            vm.startPrank(others[i]);
            vm.expectRevert(refusal);
            stake.lockFor(ID, provider, provider, 1);
            vm.expectRevert(refusal);
            stake.unlock(ID, list);
            vm.stopPrank();
        }
        address[5] memory notTheCourt = [stranger, hub, treasury, rewards, address(escrow)];
        for (uint256 i = 0; i < notTheCourt.length; ++i) {
            bytes memory refusal = abi.encodeWithSelector(Stake.NotAllowed.selector, notTheCourt[i]);
            vm.startPrank(notTheCourt[i]);
            vm.expectRevert(refusal);
            stake.slash(ID, provider, 1);
            vm.expectRevert(refusal);
            stake.hold(ID, provider);
            vm.expectRevert(refusal);
            stake.letGo(ID, provider);
            vm.stopPrank();
        }
    }

    function test_a_second_lock_of_the_same_id_adds_nothing() public {
        vm.startPrank(rewards);
        vm.assertTrue(stake.lockFor(ID, provider, provider, 5));
        vm.assertTrue(stake.lockFor(ID, provider, provider, 6));
        vm.stopPrank();
        vm.assertEq(stake.lockOf(ID, provider), 5);
        vm.assertEq(stake.lockedOf(provider), 5);
    }

    function test_a_held_lock_outlives_its_order_until_it_is_let_go() public {
        address[] memory list = new address[](1);
        list[0] = provider;
        vm.prank(rewards);
        stake.lockFor(ID, provider, provider, 5);
        vm.prank(address(court));
        vm.assertEq(stake.hold(ID, provider), 5);
        vm.prank(rewards);
        stake.unlock(ID, list);
        vm.assertEq(stake.lockOf(ID, provider), 5);
        vm.prank(address(court));
        stake.letGo(ID, provider);
        vm.assertEq(stake.lockOf(ID, provider), 0);
        vm.assertEq(stake.lockedOf(provider), 0);
    }

    function test_letting_go_of_nothing_does_nothing() public {
        vm.startPrank(address(court));
        vm.assertEq(stake.hold(ID, provider), 0);
        stake.letGo(ID, provider);
        vm.stopPrank();
        vm.assertEq(stake.freeOf(provider), 100 * GLN);
    }

    function testFuzz_slashing_reaches_the_lock_and_nothing_else(uint80 amount, uint256 wanted, uint96 unbonding)
        public
    {
        uint256 lockAmount = bound(amount, 0, 100 * GLN);
        uint256 leaving = bound(unbonding, 0, 100 * GLN - lockAmount);
        vm.prank(rewards);
        vm.assertTrue(stake.lockFor(ID, provider, provider, lockAmount));
        vm.prank(provider);
        stake.unbond(leaving);
        uint256 taken = slashed(wanted);
        vm.assertEq(taken, wanted < lockAmount ? wanted : lockAmount);
        vm.assertEq(stake.stakeOf(provider), 100 * GLN - leaving - taken);
        vm.assertEq(stake.lockedOf(provider), 0);
        vm.assertEq(balance(address(court)), taken);
        vm.assertEq(slashed(type(uint256).max), 0, "never twice");
        vm.warp(block.timestamp + 7 days);
        if (leaving == 0) return;
        vm.prank(provider);
        vm.assertEq(stake.claim(), leaving);
    }

    function testFuzz_a_lock_that_is_not_covered_is_refused(uint256 amount) public {
        amount = bound(amount, 100 * GLN + 1, type(uint256).max);
        vm.prank(rewards);
        vm.assertFalse(stake.lockFor(ID, provider, provider, amount));
        vm.assertEq(stake.lockedOf(provider), 0);
    }

    function testFuzz_consent_is_a_limit_for_any_amount(uint256 limit, uint256 amount) public {
        amount = bound(amount, 1, 100 * GLN);
        vm.prank(provider);
        stake.allow(hub, limit);
        vm.prank(rewards);
        vm.assertEq(stake.lockFor(ID, hub, provider, amount), amount <= limit);
    }

    function slashed(uint256 amount) private returns (uint256) {
        vm.prank(address(court));
        return stake.slash(ID, provider, amount);
    }
}
