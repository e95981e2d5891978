// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IParameters} from "./interfaces/IParameters.sol";
import {Names} from "./Names.sol";

/// @title The numbers that a vote may change, each within bounds that no vote can leave
/// @notice The owner is the timelock, which is also the treasury.
contract Parameters is Ownable, IParameters {
    struct Rule {
        uint256 min;
        uint256 max;
    }

    bytes32[] private _names;
    mapping(bytes32 name => Rule) private _rules;
    mapping(bytes32 name => uint256) private _values;

    event ParameterChanged(bytes32 indexed name, uint256 before, uint256 value);

    error UnknownParameter(bytes32 name);
    error OutOfBounds(bytes32 name, uint256 value, uint256 min, uint256 max);
    error CommitteeMustBeOdd(uint256 value);
    error WrongCount(uint256 given, uint256 wanted);
    error OwnerNeeded();

    /// @param owner the timelock
    /// @param values one for every name, in the order of `names()`
    constructor(address owner, uint256[] memory values) Ownable(owner) {
        _declare(Names.PLATFORM_SHARE_BPS, 0, 3_000);
        _declare(Names.SLASH_SHARE_BPS, 0, 10_000);
        _declare(Names.BOND_SHARE_BPS, 0, 5_000);
        _declare(Names.REWARD_CAP_BPS, 0, 10_000);
        _declare(Names.MINIMUM_STAKE, 0, 1e15);
        _declare(Names.HUB_STAKE, 0, 1e15);
        _declare(Names.WORK_LOCK, 0, 1e13);
        _declare(Names.HUB_LOCK, 0, 1e13);
        _declare(Names.CHALLENGE_WINDOW, 1, 30 days);
        _declare(Names.VOTING_WINDOW, 1, 30 days);
        _declare(Names.UNBONDING_DELAY, 1, 60 days);
        _declare(Names.COMMITTEE_SIZE, 1, 21);
        _declare(Names.EMISSION_PER_EPOCH, 0, 1e17);
        _declare(Names.EPOCH_LENGTH, 1, 90 days);
        _declare(Names.ORDER_DURATION_MAX, 60, 365 days);
        uint256 count = _names.length;
        if (values.length != count) revert WrongCount(values.length, count);
        for (uint256 i = 0; i < count; ++i) {
            _set(_names[i], values[i]);
        }
    }

    /// @inheritdoc IParameters
    function get(bytes32 name) external view returns (uint256) {
        _rule(name);
        return _values[name];
    }

    /// @notice Changes one value; only a passed vote gets here, through the timelock.
    function set(bytes32 name, uint256 value) external onlyOwner {
        _set(name, value);
    }

    /// @notice Every name, in the order of the constructor's values.
    function names() external view returns (bytes32[] memory) {
        return _names;
    }

    /// @notice The smallest and the largest value that `name` may have.
    function bounds(bytes32 name) external view returns (uint256 min, uint256 max) {
        Rule storage rule = _rule(name);
        return (rule.min, rule.max);
    }

    /// @inheritdoc IParameters
    /// @dev The owner, which is the timelock.
    function treasury() external view returns (address) {
        return owner();
    }

    /// @notice Refused: without an owner the platform's share would belong to nobody.
    function renounceOwnership() public view override onlyOwner {
        revert OwnerNeeded();
    }

    function _declare(bytes32 name, uint256 min, uint256 max) private {
        _names.push(name);
        _rules[name] = Rule(min, max);
    }

    function _set(bytes32 name, uint256 value) private {
        Rule storage rule = _rule(name);
        if (value < rule.min || value > rule.max) revert OutOfBounds(name, value, rule.min, rule.max);
        if (name == Names.COMMITTEE_SIZE && value % 2 == 0) revert CommitteeMustBeOdd(value);
        emit ParameterChanged(name, _values[name], value);
        _values[name] = value;
    }

    function _rule(bytes32 name) private view returns (Rule storage rule) {
        rule = _rules[name];
        if (rule.max == 0) revert UnknownParameter(name);
    }
}
