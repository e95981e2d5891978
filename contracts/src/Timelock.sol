// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TimelockController} from "@openzeppelin/contracts/governance/TimelockController.sol";

/// @title Owner of the parameters and of the treasury; does what a vote has passed, after a delay
/// @notice Anyone may execute what is due. The deployer is admin only until it has named the governor as
/// proposer and canceller; then it renounces, and nobody but a passed vote can change a role.
contract Timelock is TimelockController {
    constructor(uint256 delay, address admin) TimelockController(delay, new address[](0), _anyone(), admin) {}

    function _anyone() private pure returns (address[] memory executors) {
        executors = new address[](1);
    }
}
