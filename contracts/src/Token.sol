// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";
import {ERC20Votes} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Votes.sol";
import {Nonces} from "@openzeppelin/contracts/utils/Nonces.sol";

/// @title GLN, the money of the network
/// @notice The whole supply is minted once, here; there is no way to make more. Votes are counted by timestamp,
/// so that the rules of governance speak of seconds on every chain alike.
contract Token is ERC20, ERC20Permit, ERC20Votes {
    /// @param supply in units of 10⁻⁹ GLN
    /// @param holder receives everything
    constructor(uint256 supply, address holder) ERC20("Gleaner", "GLN") ERC20Permit("Gleaner") {
        _mint(holder, supply);
    }

    /// @notice Nine, so that every amount fits 64 bits off the chain.
    function decimals() public pure override returns (uint8) {
        return 9;
    }

    /// @notice Seconds since 1970; votes are counted as of such a time.
    function clock() public view override returns (uint48) {
        return uint48(block.timestamp);
    }

    /// @notice Says what `clock` counts; the name is fixed by ERC-6372.
    function CLOCK_MODE() public pure override returns (string memory) {
        return "mode=timestamp";
    }

    /// @notice The next nonce of `owner` for permits and delegations by signature.
    function nonces(address owner) public view override(ERC20Permit, Nonces) returns (uint256) {
        return super.nonces(owner);
    }

    function _update(address from, address to, uint256 value) internal override(ERC20, ERC20Votes) {
        super._update(from, to, value);
    }
}
