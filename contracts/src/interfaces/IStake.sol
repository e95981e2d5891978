// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title What the other contracts ask of Stake
interface IStake {
    /// @notice Bonded stake of `account`, with what is locked and without what is unbonding.
    function stakeOf(address account) external view returns (uint256);

    /// @notice Bonded and not locked.
    function freeOf(address account) external view returns (uint256);

    /// @notice What `id` has locked of `account`.
    function lockOf(bytes32 id, address account) external view returns (uint256);

    /// @notice Locks `amount` of `account` for `id`; false if it is not covered or `hub` has no consent for it.
    function lockFor(bytes32 id, address hub, address account, uint256 amount) external returns (bool);

    /// @notice Ends what `id` has locked of `accounts`; a held lock ends when it is let go.
    function unlock(bytes32 id, address[] calldata accounts) external;

    /// @notice Keeps a lock in place beyond the end of its order, until a verdict; returns its amount.
    function hold(bytes32 id, address account) external returns (uint256);

    /// @notice Ends a hold: the lock ends too if its order has ended meanwhile.
    function letGo(bytes32 id, address account) external;

    /// @notice Takes at most `amount` of the lock, frees the rest of it, and brings what was taken into Escrow's
    /// books under the caller's name.
    function slash(bytes32 id, address account, uint256 amount) external returns (uint256 taken);
}
