// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Steps} from "./Steps.sol";

/// @title Tokens that become their beneficiary's month by month
/// @notice Nobody can change or take back a schedule once it is made; its beneficiary alone may hand it over.
contract Vesting {
    using SafeERC20 for IERC20;

    struct Schedule {
        address beneficiary;
        uint64 start;
        uint16 cliffMonths;
        uint16 durationMonths;
        uint256 total;
        uint256 atLaunch;
        uint256 released;
    }

    /// @notice What is vested: GLN.
    IERC20 public immutable token;
    Schedule[] private _schedules;

    event Created(uint256 indexed id, address indexed beneficiary, uint256 total);
    event Released(uint256 indexed id, address indexed beneficiary, uint256 amount);
    event Assigned(uint256 indexed id, address indexed from, address indexed to);

    error UnknownSchedule(uint256 id);
    error LaunchAboveTotal(uint256 atLaunch, uint256 total);
    error NobodyNamed();
    error NotBeneficiary(uint256 id, address caller);

    constructor(IERC20 token_) {
        token = token_;
    }

    /// @notice Makes a schedule and pays for it with the caller's tokens.
    /// @param beneficiary who receives what vests
    /// @param start from when months are counted
    /// @param total everything, `atLaunch` included
    /// @param atLaunch vested at `start`
    /// @param cliffMonths how long nothing more vests
    /// @param durationMonths in how many monthly steps the rest vests after the cliff; 0: all at the cliff's end
    function create(
        address beneficiary,
        uint64 start,
        uint256 total,
        uint256 atLaunch,
        uint16 cliffMonths,
        uint16 durationMonths
    ) external returns (uint256 id) {
        if (beneficiary == address(0)) revert NobodyNamed();
        if (atLaunch > total) revert LaunchAboveTotal(atLaunch, total);
        id = _schedules.length;
        _schedules.push(Schedule(beneficiary, start, cliffMonths, durationMonths, total, atLaunch, 0));
        emit Created(id, beneficiary, total);
        token.safeTransferFrom(msg.sender, address(this), total);
    }

    /// @notice Pays the beneficiary what has vested and was not paid yet; anyone may call.
    function release(uint256 id) external returns (uint256 amount) {
        amount = releasable(id);
        Schedule storage entry = _schedules[id];
        entry.released += amount;
        emit Released(id, entry.beneficiary, amount);
        token.safeTransfer(entry.beneficiary, amount);
    }

    /// @notice The beneficiary names another one in its place, for all that is not paid yet.
    function assign(uint256 id, address to) external {
        Schedule storage entry = _entry(id);
        if (msg.sender != entry.beneficiary) revert NotBeneficiary(id, msg.sender);
        if (to == address(0)) revert NobodyNamed();
        entry.beneficiary = to;
        emit Assigned(id, msg.sender, to);
    }

    /// @notice What is vested of a schedule at `time`, paid or not.
    function vested(uint256 id, uint64 time) public view returns (uint256) {
        Schedule storage entry = _entry(id);
        if (time < entry.start) return 0;
        uint256 months = (time - entry.start) / Steps.MONTH;
        uint256 rest = entry.total - entry.atLaunch;
        return entry.atLaunch + Steps.done(rest, months, entry.cliffMonths, entry.durationMonths);
    }

    /// @notice What `release` would pay now.
    function releasable(uint256 id) public view returns (uint256) {
        return vested(id, uint64(block.timestamp)) - _entry(id).released;
    }

    /// @notice Everything about a schedule.
    function schedule(uint256 id) external view returns (Schedule memory) {
        return _entry(id);
    }

    /// @notice How many schedules there are; their ids are 0 to one less.
    function count() external view returns (uint256) {
        return _schedules.length;
    }

    function _entry(uint256 id) private view returns (Schedule storage) {
        if (id >= _schedules.length) revert UnknownSchedule(id);
        return _schedules[id];
    }
}
