// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Names} from "../src/Names.sol";
import {Parameters} from "../src/Parameters.sol";
import {Genesis} from "./Genesis.sol";

contract ParametersTest is Genesis {
    function test_every_name_has_the_value_of_the_genesis_file_and_bounds() public view {
        bytes32[] memory names = parameters.names();
        vm.assertEq(names.length, vm.parseJsonKeys(genesis, ".parameters").length);
        for (uint256 i = 0; i < names.length; ++i) {
            uint256 value = number(string.concat(".parameters.", text(names[i])));
            (uint256 min, uint256 max) = parameters.bounds(names[i]);
            vm.assertEq(parameters.get(names[i]), value, text(names[i]));
            vm.assertLe(min, value);
            vm.assertLe(value, max);
        }
    }

    function testFuzz_no_stranger_sets_any_parameter(address stranger, uint256 value) public {
        vm.assume(stranger != address(timelock));
        bytes32[] memory names = parameters.names();
        for (uint256 i = 0; i < names.length; ++i) {
            vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, stranger));
            vm.prank(stranger);
            parameters.set(names[i], value);
        }
    }

    function test_not_even_the_deployer_or_the_governor_bypasses_the_timelock() public {
        address[3] memory others = [deployer, address(governor), liquidity];
        for (uint256 i = 0; i < others.length; ++i) {
            vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, others[i]));
            vm.prank(others[i]);
            parameters.set(Names.PLATFORM_SHARE_BPS, 0);
            vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, others[i]));
            vm.prank(others[i]);
            parameters.transferOwnership(others[i]);
        }
    }

    function test_timelock_sets_every_parameter_within_its_bounds_and_not_beyond() public {
        bytes32[] memory names = parameters.names();
        for (uint256 i = 0; i < names.length; ++i) {
            bytes32 name = names[i];
            (uint256 min, uint256 max) = parameters.bounds(name);
            setAndCheck(name, min);
            setAndCheck(name, max);
            refuse(name, max + 1, min, max);
            if (min > 0) refuse(name, min - 1, min, max);
        }
    }

    function test_committee_is_always_odd() public {
        vm.expectRevert(abi.encodeWithSelector(Parameters.CommitteeMustBeOdd.selector, 4));
        vm.prank(address(timelock));
        parameters.set(Names.COMMITTEE_SIZE, 4);
    }

    function test_unknown_name_is_refused() public {
        bytes memory refusal = abi.encodeWithSelector(Parameters.UnknownParameter.selector, bytes32("typo"));
        vm.expectRevert(refusal);
        parameters.get("typo");
        vm.expectRevert(refusal);
        parameters.bounds("typo");
        vm.expectRevert(refusal);
        vm.prank(address(timelock));
        parameters.set("typo", 1);
    }

    function test_change_is_announced_with_both_values() public {
        vm.expectEmit(address(parameters));
        emit Parameters.ParameterChanged(Names.PLATFORM_SHARE_BPS, 1_500, 1_000);
        vm.prank(address(timelock));
        parameters.set(Names.PLATFORM_SHARE_BPS, 1_000);
    }

    function test_treasury_is_the_owner_and_there_always_is_one() public {
        vm.assertEq(parameters.treasury(), address(timelock));
        vm.expectRevert(Parameters.OwnerNeeded.selector);
        vm.prank(address(timelock));
        parameters.renounceOwnership();
    }

    function test_constructor_wants_one_value_for_every_name() public {
        vm.expectRevert(abi.encodeWithSelector(Parameters.WrongCount.selector, 14, 15));
        new Parameters(address(timelock), new uint256[](14));
        vm.expectPartialRevert(Parameters.OutOfBounds.selector);
        new Parameters(address(timelock), new uint256[](15));
    }

    function setAndCheck(bytes32 name, uint256 value) private {
        vm.prank(address(timelock));
        parameters.set(name, value);
        vm.assertEq(parameters.get(name), value, text(name));
    }

    function refuse(bytes32 name, uint256 value, uint256 min, uint256 max) private {
        vm.expectRevert(abi.encodeWithSelector(Parameters.OutOfBounds.selector, name, value, min, max));
        vm.prank(address(timelock));
        parameters.set(name, value);
    }

    function text(bytes32 name) private pure returns (string memory) {
        uint256 length = 0;
        while (length < 32 && name[length] != 0) ++length;
        bytes memory letters = new bytes(length);
        for (uint256 i = 0; i < length; ++i) {
            letters[i] = name[i];
        }
        return string(letters);
    }
}
