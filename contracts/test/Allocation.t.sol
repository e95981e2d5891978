// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Vesting} from "../src/Vesting.sol";
import {Genesis} from "./Genesis.sol";

/// Walks the whole allocation of a genesis file month by month to the last unit.
abstract contract AllocationTest is Genesis {
    uint64 private constant MONTH = 2_629_800;

    function file() internal pure virtual returns (string memory);

    function wantedSupply() internal pure virtual returns (uint256);

    function setUp() public override {
        deployFrom(file());
    }

    function test_shares_add_up_to_the_whole_supply() public view {
        uint256 sum = 0;
        for (uint256 i = 0; i < allocationCount(); ++i) {
            sum += allocation(i).amount;
        }
        vm.assertEq(sum, supply());
        vm.assertEq(supply(), wantedSupply());
        vm.assertEq(token.totalSupply(), supply());
        vm.assertEq(token.balanceOf(deployer), 0, "nothing stays with the deployer");
    }

    function test_every_unit_is_with_its_allocation_at_launch() public view {
        uint256 scheduled = 0;
        for (uint256 id = 0; id < vesting.count(); ++id) {
            scheduled += vesting.schedule(id).total;
        }
        uint256 pool = licences.count() * licences.share();
        vm.assertEq(token.balanceOf(address(vesting)), scheduled);
        vm.assertEq(token.balanceOf(address(licences)), pool);
        uint256 others = token.balanceOf(liquidity) + token.balanceOf(address(timelock));
        vm.assertEq(scheduled + pool + others, supply());
        vm.assertLt(token.balanceOf(address(timelock)), licences.count(), "only dust of the licences");
    }

    function test_every_schedule_walked_by_month_gives_its_last_unit() public {
        uint256 id = 0;
        for (uint256 i = 0; i < allocationCount(); ++i) {
            Allocation memory entry = allocation(i);
            bool plain = entry.cliffMonths == 0 && entry.durationMonths == 0;
            if (plain || same(entry.to, "licences")) continue;
            walk(id++, entry);
        }
        vm.assertEq(id, vesting.count());
        vm.assertEq(token.balanceOf(address(vesting)), 0, "the last unit");
    }

    function test_every_licence_walked_by_month_empties_the_pool() public {
        // Licences differ by their number only, so three stand for all, and the shares are counted.
        address holder = account("holder");
        uint256 share = licences.share();
        for (uint256 licence = 1; licence <= 3; ++licence) {
            vm.prank(address(timelock));
            licences.mint(holder);
        }
        for (uint64 month = 1; month <= 48; ++month) {
            vm.warp(LAUNCH + month * MONTH);
            for (uint256 licence = 1; licence <= 3; ++licence) {
                licences.release(licence);
            }
            vm.assertEq(token.balanceOf(holder), 3 * (month < 48 ? (share / 48) * month : share));
        }
        vm.assertEq(token.balanceOf(address(licences)), (licences.count() - 3) * share);
    }

    function test_deployer_keeps_no_power() public view {
        vm.assertFalse(timelock.hasRole(timelock.DEFAULT_ADMIN_ROLE(), deployer));
        vm.assertFalse(timelock.hasRole(timelock.PROPOSER_ROLE(), deployer));
        vm.assertFalse(timelock.hasRole(timelock.CANCELLER_ROLE(), deployer));
        vm.assertTrue(timelock.hasRole(timelock.PROPOSER_ROLE(), address(governor)));
        vm.assertTrue(timelock.hasRole(timelock.CANCELLER_ROLE(), address(governor)));
        vm.assertTrue(timelock.hasRole(timelock.EXECUTOR_ROLE(), address(0)));
        vm.assertEq(parameters.owner(), address(timelock));
        vm.assertEq(licences.owner(), address(timelock));
    }

    function test_rewards_vest_as_fast_as_the_emission_at_least() public view {
        for (uint256 i = 0; i < allocationCount(); ++i) {
            Allocation memory entry = allocation(i);
            if (!same(entry.to, "rewards")) continue;
            uint256 time = uint256(entry.durationMonths) * MONTH;
            uint256 emitted = (number(".parameters.emissionPerEpoch") * time) / number(".parameters.epochLength");
            vm.assertLe(emitted, entry.amount);
            vm.assertGe(emitted, (entry.amount * 999) / 1_000);
        }
    }

    function walk(uint256 id, Allocation memory entry) private {
        Vesting.Schedule memory schedule = vesting.schedule(id);
        vm.assertEq(schedule.total, entry.amount, entry.name);
        vm.assertEq(schedule.start, LAUNCH);
        uint256 end = uint256(entry.cliffMonths) + entry.durationMonths;
        uint256 step = (entry.amount - entry.atLaunch) / entry.durationMonths;
        uint256 paid = 0;
        for (uint256 month = 0; month <= end; ++month) {
            vm.warp(LAUNCH + month * MONTH);
            paid += vesting.release(id);
            uint256 steps = month > entry.cliffMonths ? month - entry.cliffMonths : 0;
            uint256 due = month < end ? entry.atLaunch + steps * step : entry.amount;
            vm.assertEq(paid, due, string.concat(entry.name, ", month ", vm.toString(month)));
        }
        vm.assertEq(vesting.releasable(id), 0);
    }
}

contract HubAllocationTest is AllocationTest {
    function file() internal pure override returns (string memory) {
        return "genesis/hub.json";
    }

    function wantedSupply() internal pure override returns (uint256) {
        return 1_000_000_000e9;
    }

    /// The figures of the preset, so that nobody changes the file unseen.
    function test_preset_is_what_was_promised() public view {
        checkEntry(0, "private", 100_000_000e9, 5_000_000e9, 6, 12);
        checkEntry(1, "community round", 20_000_000e9, 3_000_000e9, 3, 6);
        checkEntry(2, "liquidity", 50_000_000e9, 50_000_000e9, 0, 0);
        checkEntry(3, "team", 150_000_000e9, 0, 12, 24);
        checkEntry(4, "development", 150_000_000e9, 0, 0, 24);
        checkEntry(5, "node rewards", 300_000_000e9, 0, 0, 120);
        checkEntry(6, "airdrop", 80_000_000e9, 0, 6, 12);
        checkEntry(7, "node licences", 150_000_000e9, 0, 0, 48);
        vm.assertEq(allocationCount(), 8);
    }

    function checkEntry(
        uint256 index,
        string memory name,
        uint256 amount,
        uint256 atLaunch,
        uint16 cliff,
        uint16 duration
    ) private view {
        Allocation memory entry = allocation(index);
        vm.assertEq(entry.name, name);
        vm.assertEq(entry.amount, amount);
        vm.assertEq(entry.atLaunch, atLaunch);
        vm.assertEq(entry.cliffMonths, cliff);
        vm.assertEq(entry.durationMonths, duration);
    }
}

contract CappedAllocationTest is AllocationTest {
    function file() internal pure override returns (string memory) {
        return "genesis/capped.json";
    }

    function wantedSupply() internal pure override returns (uint256) {
        return 21_000_000e9;
    }
}
