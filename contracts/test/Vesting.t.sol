// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Token} from "../src/Token.sol";
import {Vesting} from "../src/Vesting.sol";
import {Base} from "./Base.sol";

contract VestingTest is Base {
    uint64 private constant START = 1_800_000_000;
    uint64 private constant MONTH = 2_629_800;
    uint256 private constant SUPPLY = 1_000_000_000e9;

    Token private token;
    Vesting private vesting;
    address private alice;
    address private bob;

    function setUp() public {
        alice = account("alice");
        bob = account("bob");
        vm.warp(START);
        token = new Token(SUPPLY, address(this));
        vesting = new Vesting(token);
        token.approve(address(vesting), type(uint256).max);
    }

    function test_month_is_a_twelfth_of_a_mean_year() public pure {
        vm.assertEq(uint256(MONTH) * 12 * 4, 1461 days);
    }

    function test_launch_part_comes_at_once_and_nothing_more_until_the_cliff_is_over() public {
        uint256 id = vesting.create(alice, START, 1_000, 100, 6, 9);
        vm.assertEq(vesting.vested(id, START - 1), 0);
        vm.assertEq(vesting.vested(id, START), 100);
        vm.assertEq(vesting.vested(id, START + 6 * MONTH), 100);
        vm.assertEq(vesting.vested(id, START + 7 * MONTH - 1), 100);
        vm.assertEq(vesting.vested(id, START + 7 * MONTH), 200);
        vm.assertEq(vesting.vested(id, START + 15 * MONTH - 1), 900);
        vm.assertEq(vesting.vested(id, START + 15 * MONTH), 1_000);
    }

    function test_without_a_cliff_the_first_step_is_after_one_month() public {
        uint256 id = vesting.create(alice, START, 240, 0, 0, 24);
        vm.assertEq(vesting.vested(id, START + MONTH - 1), 0);
        vm.assertEq(vesting.vested(id, START + MONTH), 10);
        vm.assertEq(vesting.vested(id, START + 24 * MONTH), 240);
    }

    function test_without_a_duration_everything_comes_at_the_end_of_the_cliff() public {
        uint256 id = vesting.create(alice, START, 1_000, 0, 3, 0);
        vm.assertEq(vesting.vested(id, START + 3 * MONTH - 1), 0);
        vm.assertEq(vesting.vested(id, START + 3 * MONTH), 1_000);
    }

    function test_last_step_gives_everything_that_is_left() public {
        uint256 id = vesting.create(alice, START, 1_003, 0, 0, 10);
        vm.assertEq(vesting.vested(id, START + 9 * MONTH), 900);
        vm.assertEq(vesting.vested(id, START + 10 * MONTH), 1_003);
    }

    function test_anyone_may_release_and_only_the_beneficiary_is_paid() public {
        uint256 id = vesting.create(alice, START, 1_000, 100, 0, 9);
        vm.prank(bob);
        vm.assertEq(vesting.release(id), 100);
        vm.prank(bob);
        vm.assertEq(vesting.release(id), 0);
        vm.assertEq(token.balanceOf(alice), 100);
        vm.assertEq(token.balanceOf(bob), 0);
    }

    function test_beneficiary_alone_hands_over_and_the_paid_stays_paid() public {
        uint256 id = vesting.create(alice, START, 1_000, 100, 0, 9);
        vesting.release(id);
        vm.expectRevert(abi.encodeWithSelector(Vesting.NotBeneficiary.selector, id, bob));
        vm.prank(bob);
        vesting.assign(id, bob);
        vm.prank(alice);
        vesting.assign(id, bob);
        vm.warp(START + 9 * MONTH);
        vesting.release(id);
        vm.assertEq(token.balanceOf(alice), 100);
        vm.assertEq(token.balanceOf(bob), 900);
        vm.expectRevert(abi.encodeWithSelector(Vesting.NotBeneficiary.selector, id, alice));
        vm.prank(alice);
        vesting.assign(id, alice);
        vm.expectRevert(Vesting.NobodyNamed.selector);
        vm.prank(bob);
        vesting.assign(id, address(0));
    }

    function test_schedule_without_money_or_sense_is_refused() public {
        vm.expectRevert(abi.encodeWithSelector(Vesting.LaunchAboveTotal.selector, 2, 1));
        vesting.create(alice, START, 1, 2, 0, 1);
        vm.expectRevert(Vesting.NobodyNamed.selector);
        vesting.create(address(0), START, 1, 0, 0, 1);
        vm.expectRevert();
        vm.prank(alice);
        vesting.create(alice, START, 1, 0, 0, 1);
        vm.expectRevert(abi.encodeWithSelector(Vesting.UnknownSchedule.selector, 0));
        vesting.release(0);
    }

    function test_schedules_of_the_largest_and_of_no_amount_run_to_their_end() public {
        uint256 all = vesting.create(alice, START, SUPPLY, SUPPLY, type(uint16).max, type(uint16).max);
        uint256 none = vesting.create(bob, START, 0, 0, 0, 0);
        vm.assertEq(vesting.release(all), SUPPLY);
        vm.assertEq(vesting.release(none), 0);
        vm.assertEq(vesting.count(), 2);
        vm.warp(START + 140_000 * uint256(MONTH));
        vm.assertEq(vesting.release(all), 0);
    }

    function testFuzz_one_schedule_never_pays_from_another(
        uint256 first,
        uint256 second,
        uint16 cliff,
        uint16 duration,
        uint256 wait
    ) public {
        first = bound(first, 0, SUPPLY / 2);
        second = bound(second, 0, SUPPLY / 2);
        wait = bound(wait, 0, 200_000 * uint256(MONTH));
        uint256 a = vesting.create(alice, START, first, first / 7, cliff, duration);
        uint256 b = vesting.create(bob, START, second, 0, duration, cliff);
        vm.warp(START + wait / 2);
        uint256 paid = vesting.release(a);
        vm.warp(START + wait);
        paid += vesting.release(a);
        vm.assertLe(paid, first);
        vm.assertEq(paid, vesting.vested(a, uint64(START + wait)), "in two parts as in one");
        vm.warp(START + 131_071 * uint256(MONTH));
        vesting.release(a);
        vesting.release(b);
        vm.assertEq(token.balanceOf(alice), first);
        vm.assertEq(token.balanceOf(bob), second);
        vm.assertEq(token.balanceOf(address(vesting)), 0);
    }

    function testFuzz_what_is_vested_never_shrinks(
        uint256 total,
        uint16 cliff,
        uint16 duration,
        uint64 early,
        uint64 later
    ) public {
        total = bound(total, 0, SUPPLY);
        uint256 id = vesting.create(alice, START, total, total / 3, cliff, duration);
        early = uint64(bound(early, 0, type(uint64).max));
        later = uint64(bound(later, early, type(uint64).max));
        vm.assertLe(vesting.vested(id, early), vesting.vested(id, later));
        vm.assertLe(vesting.vested(id, later), total);
    }
}
