// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title What the other contracts ask of Court
interface ICourt {
    enum Status {
        None,
        Open,
        Decided,
        Expired
    }

    /// @notice Opens a dispute. Ruling 1 is for the defendant, ruling 2 for the claimant. The defendant's security
    /// is what `subject` has locked of its stake; the claimant's is `bond`, which lies in Court's Escrow balance
    /// already, or, if that is 0, what `subject` has locked of its stake. `third` cannot sit on the committee.
    function open(bytes32 subject, address claimant, address defendant, address third, uint256 bond)
        external
        returns (uint256 dispute);

    /// @notice How a dispute stands; the ruling is 0 until it is decided.
    function outcome(uint256 dispute) external view returns (Status status, uint8 ruling);
}
