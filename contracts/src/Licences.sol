// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {Steps} from "./Steps.sol";

/// @title Node licences, each of which vests its share of a pool over four years
/// @notice A licence stays with its first holder for a year. What has vested and was not released goes to who
/// holds the licence when it is released; what was released stays where it went.
contract Licences is ERC721, Ownable {
    using SafeERC20 for IERC20;

    /// @notice Months in which a new licence cannot change hands.
    uint256 public constant BOUND_MONTHS = 12;
    /// @notice Monthly steps in which a licence vests.
    uint256 public constant VESTING_MONTHS = 48;

    /// @notice What the pool holds: GLN.
    IERC20 public immutable token;
    /// @notice How many licences there can ever be.
    uint256 public immutable count;
    /// @notice What one licence vests in all.
    uint256 public immutable share;

    /// @notice How many licences are minted; their numbers are 1 to this.
    uint256 public minted;
    /// @notice When a licence was minted; 0 if it was not.
    mapping(uint256 licence => uint64) public mintedAt;
    /// @notice What a licence has paid out.
    mapping(uint256 licence => uint256) public released;

    event Released(uint256 indexed licence, address indexed holder, uint256 amount);

    error AllMinted(uint256 count);
    error BoundUntil(uint256 licence, uint256 time);

    /// @param owner who mints: the timelock
    /// @param share_ of each licence; `count_ * share_` tokens are to be transferred here at genesis
    constructor(IERC20 token_, address owner, uint256 count_, uint256 share_)
        ERC721("Gleaner Node Licence", "GNL")
        Ownable(owner)
    {
        token = token_;
        count = count_;
        share = share_;
    }

    /// @notice Makes the next licence and gives it to `to`.
    function mint(address to) external onlyOwner returns (uint256 licence) {
        if (minted == count) revert AllMinted(count);
        licence = ++minted;
        mintedAt[licence] = uint64(block.timestamp);
        _mint(to, licence);
    }

    /// @notice Pays the holder what has vested and was not paid yet; anyone may call.
    function release(uint256 licence) external returns (uint256 amount) {
        address holder = _requireOwned(licence);
        amount = releasable(licence);
        released[licence] += amount;
        emit Released(licence, holder, amount);
        token.safeTransfer(holder, amount);
    }

    /// @notice What a licence has vested at `time`, paid or not.
    function vested(uint256 licence, uint64 time) public view returns (uint256) {
        _requireOwned(licence);
        uint64 start = mintedAt[licence];
        if (time < start) return 0;
        return Steps.done(share, (time - start) / Steps.MONTH, 0, VESTING_MONTHS);
    }

    /// @notice What `release` would pay now.
    function releasable(uint256 licence) public view returns (uint256) {
        return vested(licence, uint64(block.timestamp)) - released[licence];
    }

    function _update(address to, uint256 licence, address auth) internal override returns (address from) {
        uint256 free = mintedAt[licence] + BOUND_MONTHS * Steps.MONTH;
        from = super._update(to, licence, auth);
        if (from != address(0) && block.timestamp < free) revert BoundUntil(licence, free);
    }
}
