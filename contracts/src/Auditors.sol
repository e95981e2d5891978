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
///
/// Only auditors that are present are drawn: those that enrolled or renewed at most one voting window ago. A machine
/// that is gone does not resign, and a committee on which it sat would wait for its vote in vain. Whoever has not been
/// heard of for as long as a vote may take is not expected to vote in time.
///
/// Nobody can renew while the list stands still, so that who knows the seed cannot choose which of its lapsed auditors
/// are drawn. Therefore nobody lapses meanwhile either: presence is reckoned by a clock that stops while the list stands
/// still. Without that, somebody who leaves one dispute undrawn for a voting window would make everybody lapse, and
/// could open the next one with only its own auditors renewed; and whoever knows the seed could put the draw off until
/// those have lapsed whom it does not want.
abstract contract Auditors {
    /// One slot.
    struct Enrolment {
        /// The place on the list, counted from 1; 0 for nobody.
        uint64 place;
        /// When it was last heard of, by the clock of the list.
        uint64 heardAt;
    }

    /// @notice The most auditors that one draw looks at.
    uint256 public constant LOOKS_MAX = 64;

    /// @notice Where the size of committees, the minimum stake and the voting window are read.
    IParameters public immutable parameters;
    /// @notice Holds the stake of auditors.
    IStake public immutable stake;

    /// @notice How many disputes wait for their draw; the list stands still meanwhile.
    uint64 public undrawn;
    /// When the list last began to stand still.
    uint64 private _stillSince;
    /// The seconds that it stood still in all, before that.
    uint64 private _stoodStill;

    address[] private _list;
    mapping(address auditor => Enrolment) private _enrolments;

    event Enrolled(address indexed auditor);
    event Renewed(address indexed auditor);
    event Resigned(address indexed auditor);

    error AlreadyEnrolled(address auditor);
    error NotEnrolled(address auditor);
    error StakeTooSmall(address auditor, uint256 free, uint256 wanted);
    error NoReasonToEvict(address auditor);
    error DrawPending(uint256 undrawn);

    constructor(IParameters parameters_, IStake stake_) {
        parameters = parameters_;
        stake = stake_;
    }

    /// @notice Makes the caller an auditor; it must have the minimum stake free. It is present for one voting window.
    /// @dev Votes are signed by a key, so a contract that enrols will sit on committees without a voice.
    function enroll() external {
        if (undrawn != 0) revert DrawPending(undrawn);
        if (_enrolments[msg.sender].place != 0) revert AlreadyEnrolled(msg.sender);
        uint256 free = stake.freeOf(msg.sender);
        uint256 minimum = parameters.get(Names.MINIMUM_STAKE);
        if (free < minimum) revert StakeTooSmall(msg.sender, free, minimum);
        _list.push(msg.sender);
        _enrolments[msg.sender] = Enrolment(uint64(_list.length), _clock());
        emit Enrolled(msg.sender);
    }

    /// @notice The caller, an auditor, says that it is there: it is present for another voting window from now on.
    /// @dev Refused while a draw is pending, as joining and leaving are: who knows the seed could else choose which of
    /// its lapsed auditors come back to be drawn.
    function renew() external {
        if (undrawn != 0) revert DrawPending(undrawn);
        Enrolment storage enrolment = _enrolments[msg.sender];
        if (enrolment.place == 0) revert NotEnrolled(msg.sender);
        enrolment.heardAt = _clock();
        emit Renewed(msg.sender);
    }

    /// @notice Takes the caller off the list. Seats that it has it keeps.
    function resign() external {
        _remove(msg.sender);
    }

    /// @notice Takes an auditor off the list that is not present, or whose stake is below the minimum. By anybody.
    /// @dev Neither would be seated. A draw looks at LOOKS_MAX auditors, and these would use its looks up.
    function evict(address auditor) external {
        bool present = _isPresent(auditor, _clock(), parameters.get(Names.VOTING_WINDOW));
        if (present && stake.stakeOf(auditor) >= parameters.get(Names.MINIMUM_STAKE)) revert NoReasonToEvict(auditor);
        _remove(auditor);
    }

    /// @notice All auditors, present or not.
    function auditors() external view returns (address[] memory) {
        return _list;
    }

    /// @notice Whether `account` is an auditor, present or not.
    function isAuditor(address account) external view returns (bool) {
        return _enrolments[account].place != 0;
    }

    /// @notice The last second at which `account` is present unless it renews before; 0 if it is no auditor. While the
    /// list stands still, that second moves on with the time.
    /// @dev A vote that changes the voting window changes this at once, for everybody.
    function presentUntil(address account) external view returns (uint256) {
        Enrolment storage enrolment = _enrolments[account];
        if (enrolment.place == 0) return 0;
        return enrolment.heardAt + parameters.get(Names.VOTING_WINDOW) + block.timestamp - _clock();
    }

    /// One more dispute waits for its draw: the list stands still.
    function _awaitDraw() internal {
        if (undrawn == 0) _stillSince = uint64(block.timestamp);
        ++undrawn;
    }

    /// One dispute less waits. After the last one the clock goes on from where it stopped.
    function _endWait() internal {
        --undrawn;
        if (undrawn == 0) _stoodStill += uint64(block.timestamp) - _stillSince;
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
        uint256 window = parameters.get(Names.VOTING_WINDOW);
        uint256 clock = _clock();
        uint256[] memory order = _permutation(seed, _list.length);
        seated = new address[](size);
        uint256 count = 0;
        for (uint256 i = 0; i < order.length && count < size; ++i) {
            address auditor = _list[order[i]];
            if (!_isPresent(auditor, clock, window)) continue;
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
        uint64 place = _enrolments[auditor].place;
        if (place == 0) revert NotEnrolled(auditor);
        address last = _list[_list.length - 1];
        _list[place - 1] = last;
        _enrolments[last].place = place;
        delete _enrolments[auditor];
        _list.pop();
        emit Resigned(auditor);
    }

    /// The clock of the list: seconds, less those in which the list stood still.
    function _clock() private view returns (uint64) {
        return (undrawn == 0 ? uint64(block.timestamp) : _stillSince) - _stoodStill;
    }

    /// Whether an auditor was heard of at most one voting window before the clock showed `time`.
    function _isPresent(address auditor, uint256 time, uint256 window) private view returns (bool) {
        return time <= _enrolments[auditor].heardAt + window;
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
