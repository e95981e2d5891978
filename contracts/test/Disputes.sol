// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IEscrow} from "../src/interfaces/IEscrow.sol";
import {Market} from "./Market.sol";

/// @title A market with auditors and an order to dispute, for the tests of disputes
abstract contract Disputes is Market {
    /// The order that is proposed or disputed.
    bytes32 internal current;

    function setUp() public virtual override {
        super.setUp();
        enrollAuditors(AUDITORS);
    }

    function keepAuditors(uint256 count) internal {
        for (uint256 i = count; i < AUDITORS; ++i) {
            vm.prank(account(auditorName(i)));
            court.resign();
        }
    }

    function proposal() internal view returns (IEscrow.Settlement memory) {
        return settlementOf(current, provider, 80 * GLN);
    }

    function counter() internal view returns (IEscrow.Settlement memory) {
        return settlementOf(current, provider, 10 * GLN);
    }

    function prepare() internal {
        current = running();
        propose(proposal());
    }

    function challenged(address by) internal returns (uint256) {
        prepare();
        vm.prank(by);
        return escrow.challenge(current, counter());
    }

    function refuseChallenge(address by, IEscrow.Settlement memory other, bytes4 reason) internal {
        vm.prank(by);
        vm.expectPartialRevert(reason);
        escrow.challenge(current, other);
    }

    function accuse(bytes32 id, address by) internal returns (uint256) {
        vm.prank(by);
        return court.accuse(id, provider, keccak256("evidence"));
    }

    function refuseAccusation(bytes32 id, address by, address accused, bytes4 reason) internal {
        vm.prank(by);
        vm.expectPartialRevert(reason);
        court.accuse(id, accused, keccak256("evidence"));
    }

    function assertNothingLocked() internal {
        vm.assertEq(stake.lockedOf(hub) + stake.lockedOf(provider) + stake.lockedOf(second), 0, "locks");
        for (uint256 i = 0; i < AUDITORS; ++i) {
            vm.assertEq(stake.lockedOf(account(auditorName(i))), 0, "seats");
        }
        vm.assertEq(balance(address(court)), 0, "court's balance");
    }
}
