// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {MerkleProof} from "@openzeppelin/contracts/utils/cryptography/MerkleProof.sol";
import {ICourt} from "./interfaces/ICourt.sol";
import {IParameters} from "./interfaces/IParameters.sol";
import {IStake} from "./interfaces/IStake.sol";
import {Names} from "./Names.sol";

/// @title Shares the node rewards of each epoch in proportion to paid work
/// @notice The shares are reckoned off the chain from the escrow's `Paid` events, by everybody alike. A staked
/// account publishes their Merkle root; any staked account may contest it with another root, and then the court
/// decides between the two. Part of the stake of both is locked meanwhile; who loses pays the winner and the
/// auditors.
/// What the shares are reckoned with, the pool and the cap, is written down with a publication, so that they come out
/// the same ever after.
/// Only tokens that have arrived here and are promised to nobody can be promised: what has not vested cannot be
/// given away. There is no other way out for them than a claim.
contract Rewards {
    using SafeERC20 for IERC20;

    enum State {
        None,
        Published,
        Contested,
        Final
    }

    struct Epoch {
        State state;
        uint64 finalAt;
        uint16 capBps;
        address publisher;
        address contester;
        bytes32 root;
        bytes32 counterRoot;
        uint256 total;
        uint256 counterTotal;
        uint256 totalMax;
        uint256 claimed;
        uint256 dispute;
    }

    uint8 private constant FOR_PUBLISHER = 1;
    uint8 private constant FOR_CONTESTER = 2;

    /// @notice What is given: GLN.
    IERC20 public immutable token;
    /// @notice Where the numbers come from.
    IParameters public immutable parameters;
    /// @notice Locks the stake of publishers and contesters.
    IStake public immutable stake;
    /// @notice Decides between two roots.
    ICourt public immutable court;
    /// @notice When epoch 0 began.
    uint256 public immutable genesis;
    /// @notice The length of every epoch in seconds, as it was at genesis.
    uint256 public immutable epochLength;

    /// @notice Promised by published epochs and not claimed yet.
    uint256 public committed;
    mapping(uint256 epoch => Epoch) private _epochs;
    mapping(uint256 epoch => mapping(address account => bool)) private _claimed;

    event Published(uint256 indexed epoch, address indexed publisher, bytes32 root, uint256 total, uint64 finalAt);
    event Contested(uint256 indexed epoch, address indexed contester, bytes32 root, uint256 total, uint256 dispute);
    event Finalized(uint256 indexed epoch, bytes32 root, uint256 total);
    event Reopened(uint256 indexed epoch);
    event Claimed(uint256 indexed epoch, address indexed account, uint256 amount);

    error NotEnded(uint256 epoch, uint256 end);
    error WrongState(uint256 epoch, State state);
    error TooLittleStake(address account, uint256 free, uint256 wanted);
    error AboveEmission(uint256 total, uint256 max);
    error AboveFunds(uint256 total, uint256 available);
    error SameAsPublished(uint256 epoch);
    error OwnPublication(uint256 epoch);
    error WindowOver(uint256 epoch, uint256 finalAt);
    error WindowOpen(uint256 epoch, uint256 finalAt);
    error Undecided(uint256 epoch, uint256 dispute);
    error AlreadyClaimed(uint256 epoch, address account);
    error WrongProof(uint256 epoch, address account, uint256 amount);
    error AboveTotal(uint256 epoch, uint256 amount, uint256 left);

    constructor(IERC20 token_, IParameters parameters_, IStake stake_, ICourt court_) {
        token = token_;
        parameters = parameters_;
        stake = stake_;
        court = court_;
        genesis = block.timestamp;
        epochLength = parameters_.get(Names.EPOCH_LENGTH);
    }

    /// @notice Proposes the shares of an epoch that has ended, and locks `hubStake` of the caller's stake for it.
    function publish(uint256 epoch, bytes32 root, uint256 total) external {
        Epoch storage entry = _epochs[epoch];
        if (entry.state != State.None) revert WrongState(epoch, entry.state);
        if (block.timestamp < endOf(epoch)) revert NotEnded(epoch, endOf(epoch));
        uint256 emission = parameters.get(Names.EMISSION_PER_EPOCH);
        uint256 funds = available();
        if (total > emission) revert AboveEmission(total, emission);
        if (total > funds) revert AboveFunds(total, funds);
        uint64 finalAt = uint64(block.timestamp + parameters.get(Names.CHALLENGE_WINDOW));
        entry.state = State.Published;
        entry.finalAt = finalAt;
        entry.publisher = msg.sender;
        entry.root = root;
        entry.total = total;
        entry.totalMax = funds < emission ? funds : emission;
        // A share of a whole: it fits.
        // forge-lint: disable-next-line(unsafe-typecast)
        entry.capBps = uint16(parameters.get(Names.REWARD_CAP_BPS));
        committed += total;
        emit Published(epoch, msg.sender, root, total, finalAt);
        _lock(epoch, Names.HUB_STAKE);
    }

    /// @notice Says that other shares are right, and locks `minimumStake` of the caller's stake. The court decides.
    // The number of the dispute is known only when the court, which is ours and calls nobody, has opened it.
    // slither-disable-next-line reentrancy-no-eth
    function contest(uint256 epoch, bytes32 counterRoot, uint256 counterTotal) external {
        Epoch storage entry = _epochs[epoch];
        if (entry.state != State.Published) revert WrongState(epoch, entry.state);
        if (block.timestamp >= entry.finalAt) revert WindowOver(epoch, entry.finalAt);
        if (msg.sender == entry.publisher) revert OwnPublication(epoch);
        if (counterRoot == entry.root && counterTotal == entry.total) revert SameAsPublished(epoch);
        if (counterTotal > entry.totalMax) revert AboveEmission(counterTotal, entry.totalMax);
        uint256 more = counterTotal > entry.total ? counterTotal - entry.total : 0;
        if (more > available()) revert AboveFunds(counterTotal, entry.total + available());
        entry.state = State.Contested;
        entry.contester = msg.sender;
        entry.counterRoot = counterRoot;
        entry.counterTotal = counterTotal;
        committed += more;
        _lock(epoch, Names.MINIMUM_STAKE);
        uint256 dispute = court.open(subjectOf(epoch), msg.sender, entry.publisher, address(0), 0);
        entry.dispute = dispute;
        emit Contested(epoch, msg.sender, counterRoot, counterTotal, dispute);
    }

    /// @notice Ends a contest as the court has decided; anyone may call. Undecided, the epoch is open again. Who pays
    /// whom is the court's doing.
    function conclude(uint256 epoch) external {
        Epoch storage entry = _epochs[epoch];
        if (entry.state != State.Contested) revert WrongState(epoch, entry.state);
        (ICourt.Status status, uint8 ruling) = court.outcome(entry.dispute);
        if (status == ICourt.Status.None || status == ICourt.Status.Open) revert Undecided(epoch, entry.dispute);
        address[] memory parties = new address[](2);
        (parties[0], parties[1]) = (entry.publisher, entry.contester);
        committed -= entry.total > entry.counterTotal ? entry.total : entry.counterTotal;
        if (status == ICourt.Status.Decided && (ruling == FOR_PUBLISHER || ruling == FOR_CONTESTER)) {
            if (ruling == FOR_CONTESTER) (entry.root, entry.total) = (entry.counterRoot, entry.counterTotal);
            committed += entry.total;
            _finalize(epoch, entry);
        } else {
            delete _epochs[epoch];
            emit Reopened(epoch);
        }
        stake.unlock(subjectOf(epoch), parties);
    }

    /// @notice Makes an uncontested publication final after its window and frees its lock; anyone may call.
    function finish(uint256 epoch) external {
        Epoch storage entry = _epochs[epoch];
        if (entry.state != State.Published) revert WrongState(epoch, entry.state);
        _finish(epoch, entry);
        _unlockPublisher(epoch, entry);
    }

    /// @notice Pays `account` its share of a final epoch, once; anyone may call for anyone. There is no last day.
    function claim(uint256 epoch, address account, uint256 amount, bytes32[] calldata proof) external {
        Epoch storage entry = _epochs[epoch];
        bool finishing = entry.state == State.Published;
        if (finishing) _finish(epoch, entry);
        if (entry.state != State.Final) revert WrongState(epoch, entry.state);
        if (_claimed[epoch][account]) revert AlreadyClaimed(epoch, account);
        bytes32 leaf = keccak256(bytes.concat(keccak256(abi.encode(epoch, account, amount))));
        if (!MerkleProof.verifyCalldata(proof, entry.root, leaf)) revert WrongProof(epoch, account, amount);
        uint256 left = entry.total - entry.claimed;
        if (amount > left) revert AboveTotal(epoch, amount, left);
        _claimed[epoch][account] = true;
        entry.claimed += amount;
        committed -= amount;
        emit Claimed(epoch, account, amount);
        if (finishing) _unlockPublisher(epoch, entry);
        token.safeTransfer(account, amount);
    }

    /// @notice Whether `account` has claimed its share of `epoch`.
    function isClaimed(uint256 epoch, address account) external view returns (bool) {
        return _claimed[epoch][account];
    }

    /// @notice Everything about an epoch.
    function epochState(uint256 epoch) external view returns (Epoch memory) {
        return _epochs[epoch];
    }

    /// @notice Tokens that are here and promised to nobody.
    function available() public view returns (uint256) {
        return token.balanceOf(address(this)) - committed;
    }

    /// @notice When an epoch ends.
    function endOf(uint256 epoch) public view returns (uint256) {
        return genesis + (epoch + 1) * epochLength;
    }

    /// @notice What the court is asked about: this contract's root of an epoch.
    function subjectOf(uint256 epoch) public view returns (bytes32) {
        return keccak256(abi.encode(address(this), epoch));
    }

    function _lock(uint256 epoch, bytes32 name) private {
        uint256 wanted = parameters.get(name);
        if (!stake.lockFor(subjectOf(epoch), msg.sender, msg.sender, wanted)) {
            revert TooLittleStake(msg.sender, stake.freeOf(msg.sender), wanted);
        }
    }

    function _finish(uint256 epoch, Epoch storage entry) private {
        if (block.timestamp < entry.finalAt) revert WindowOpen(epoch, entry.finalAt);
        _finalize(epoch, entry);
    }

    function _unlockPublisher(uint256 epoch, Epoch storage entry) private {
        address[] memory publishers = new address[](1);
        publishers[0] = entry.publisher;
        stake.unlock(subjectOf(epoch), publishers);
    }

    function _finalize(uint256 epoch, Epoch storage entry) private {
        entry.state = State.Final;
        emit Finalized(epoch, entry.root, entry.total);
    }
}
