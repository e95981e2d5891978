// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title What the other contracts ask of Parameters
interface IParameters {
    /// @notice The value of `name`.
    function get(bytes32 name) external view returns (uint256);

    /// @notice Where the platform's share goes.
    function treasury() external view returns (address);
}
