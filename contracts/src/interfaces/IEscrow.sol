// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Orders and settlements, and what the other contracts ask of Escrow
interface IEscrow {
    enum State {
        None,
        Locked,
        Proposed,
        Disputed,
        Settled,
        Released
    }

    /// What a requester signs: this hub may lock `cap` and `bond` of mine for `job`, until `deadline`.
    struct Order {
        address requester;
        address hub;
        bytes32 job;
        uint256 cap;
        uint256 bond;
        uint64 deadline;
        bytes32 policy;
        uint256 nonce;
    }

    /// What one provider earned, before the platform's share.
    struct Payout {
        address provider;
        uint256 gross;
    }

    /// How an order is to be paid out. The root stands for any number of receipts.
    struct Settlement {
        bytes32 order;
        bytes32 receiptsRoot;
        Payout[] payouts;
    }

    /// @notice Where the platform's share is booked.
    function treasury() external view returns (address);

    /// @notice Free money of `account`.
    function balanceOf(address account) external view returns (uint256);

    /// @notice Takes `amount` tokens of the caller and books them for `account`.
    function depositFor(address account, uint256 amount) external;

    /// @notice Moves money within the books; only for Vouchers and Court.
    function move(address from, address to, uint256 amount) external;

    /// @notice The two sides of an order, and whether it is still open.
    function partiesOf(bytes32 id) external view returns (address requester, address hub, bool open);
}
