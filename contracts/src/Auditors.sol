// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IParameters} from "./interfaces/IParameters.sol";
import {IStake} from "./interfaces/IStake.sol";
import {Names} from "./Names.sol";

/// @title Who may be drawn for a committee, and the draw
/// @dev The draw walks a permutation of the list that only the seed and the list fix. The list stands still from the
/// moment that a seed can be known until the draw is done, so nobody can join or leave to change who is drawn; an
/// auditor that makes itself unavailable only gives its place to the next one. Where there is no next one the draw
/// comes to nothing, and it is not repeated.
abstract contract Auditors {
    /// @notice The most auditors that one draw looks at.
    uint256 public constant LOOKS_MAX = 64;

    /// @notice Where the size of committees and the minimum stake are read.
    IParameters public immutable parameters;
    /// @notice Holds the stake of auditors.
    IStake public immutable stake;

    /// @notice How many disputes wait for their draw; the list stands still meanwhile.
    uint256 public undrawn;

    address[] private _list;
    mapping(address auditor => uint256 place) private _places;

    event Enrolled(address indexed auditor);
    event Resigned(address indexed auditor);

    error AlreadyEnrolled(address auditor);
    error NotEnrolled(address auditor);
    error StakeTooSmall(address auditor, uint256 free, uint256 wanted);
    error StakeSuffices(address auditor);
    error DrawPending(uint256 undrawn);

    constructor(IParameters parameters_, IStake stake_) {
        parameters = parameters_;
        stake = stake_;
    }

    /// @notice Makes the caller an auditor; it must have the minimum stake free.
    /// @dev Votes are signed by a key, so a contract that enrols will sit on committees without a voice.
    function enroll() external {
        if (undrawn != 0) revert DrawPending(undrawn);
        if (_places[msg.sender] != 0) revert AlreadyEnrolled(msg.sender);
        uint256 free = stake.freeOf(msg.sender);
        uint256 minimum = parameters.get(Names.MINIMUM_STAKE);
        if (free < minimum) revert StakeTooSmall(msg.sender, free, minimum);
        _list.push(msg.sender);
        _places[msg.sender] = _list.length;
        emit Enrolled(msg.sender);
    }

    /// @notice Takes the caller off the list. Seats that it has it keeps.
    function resign() external {
        _remove(msg.sender);
    }

    /// @notice Takes an auditor off the list whose stake is below the minimum. By anybody.
    function evict(address auditor) external {
        if (stake.stakeOf(auditor) >= parameters.get(Names.MINIMUM_STAKE)) revert StakeSuffices(auditor);
        _remove(auditor);
    }

    /// @notice All auditors.
    function auditors() external view returns (address[] memory) {
        return _list;
    }

    /// @notice Whether `account` is an auditor.
    function isAuditor(address account) external view returns (bool) {
        return _places[account] != 0;
    }

    /// Seats a whole committee of distinct auditors, each as likely as any other, in rising order; or nobody, if fewer
    /// are available, so that the few on a young list do not decide alone.
    /// What `seat` locks of their stake stays locked until the dispute ends.
    function _seat(bytes32 seed, bytes32 seat, bytes32 subject, address[3] memory parties)
        internal
        returns (address[] memory seated)
    {
        uint256 size = parameters.get(Names.COMMITTEE_SIZE);
        uint256 minimum = parameters.get(Names.MINIMUM_STAKE);
        uint256 amount = parameters.get(Names.WORK_LOCK);
        uint256[] memory order = _permutation(seed, _list.length);
        seated = new address[](size);
        uint256 count = 0;
        for (uint256 i = 0; i < order.length && count < size; ++i) {
            address auditor = _list[order[i]];
            if (auditor == parties[0] || auditor == parties[1] || auditor == parties[2]) continue;
            if (stake.lockOf(subject, auditor) != 0 || stake.stakeOf(auditor) < minimum) continue;
            if (!stake.lockFor(seat, auditor, auditor, amount)) continue;
            _insert(seated, count, auditor);
            ++count;
        }
        if (count < size) {
            assembly ("memory-safe") {
                mstore(seated, count)
            }
            stake.unlock(seat, seated);
            return new address[](0);
        }
    }

    function _remove(address auditor) private {
        if (undrawn != 0) revert DrawPending(undrawn);
        uint256 place = _places[auditor];
        if (place == 0) revert NotEnrolled(auditor);
        address last = _list[_list.length - 1];
        _list[place - 1] = last;
        _places[last] = place;
        delete _places[auditor];
        _list.pop();
        emit Resigned(auditor);
    }

    /// The first LOOKS_MAX places of a random permutation of 0..length, by swaps that are only remembered.
    function _permutation(bytes32 seed, uint256 length) private pure returns (uint256[] memory order) {
        uint256 looks = length < LOOKS_MAX ? length : LOOKS_MAX;
        order = new uint256[](looks);
        uint256[] memory places = new uint256[](looks);
        uint256[] memory values = new uint256[](looks);
        for (uint256 i = 0; i < looks; ++i) {
            uint256 chosen = i + (uint256(keccak256(abi.encode(seed, i))) % (length - i));
            order[i] = _valueAt(places, values, i, chosen);
            places[i] = chosen;
            values[i] = _valueAt(places, values, i, i);
        }
    }

    /// What the latest remembered swap has put at `place`; itself if there was none.
    function _valueAt(uint256[] memory places, uint256[] memory values, uint256 count, uint256 place)
        private
        pure
        returns (uint256)
    {
        for (uint256 i = count; i > 0; --i) {
            if (places[i - 1] == place) return values[i - 1];
        }
        return place;
    }

    function _insert(address[] memory sorted, uint256 count, address auditor) private pure {
        uint256 i = count;
        while (i > 0 && sorted[i - 1] > auditor) {
            sorted[i] = sorted[i - 1];
            --i;
        }
        sorted[i] = auditor;
    }
}
