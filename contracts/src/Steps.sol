// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title The arithmetic of monthly steps
library Steps {
    /// A twelfth of 365.25 days.
    uint256 internal constant MONTH = 2_629_800;

    /// @notice How much of `amount` is due after `months` whole months: nothing during the cliff, then equal steps
    /// rounded down, the first one month after the cliff, the last one giving all that is left.
    function done(uint256 amount, uint256 months, uint256 cliff, uint256 duration) internal pure returns (uint256) {
        if (months < cliff) return 0;
        uint256 steps = months - cliff;
        if (steps >= duration) return amount;
        // Equal steps are wanted; what rounding leaves comes with the last one.
        // slither-disable-next-line divide-before-multiply
        return (amount / duration) * steps;
    }
}
