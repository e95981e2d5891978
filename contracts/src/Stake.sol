// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IEscrow} from "./interfaces/IEscrow.sol";
import {IParameters} from "./interfaces/IParameters.sol";
import {IStake} from "./interfaces/IStake.sol";
import {Names} from "./Names.sol";

/// @title The collateral of providers, hubs and auditors
/// @notice Stake is bonded, a part of it is locked while work, a dispute or a published root depends on it, and what
/// is not locked can be unbonded and claimed after a delay.
/// @dev Slashing reaches what one id has locked of one account, once, and nothing else: a lock never exceeds free
/// stake when it is made, it is deleted when it is slashed, and unbonding stake is not bonded any more. Only Court
/// slashes. No lock is made without its owner's consent: a hub locks as much as the owner has allowed it, and the
/// other locks follow from the owner's own calls.
contract Stake is IStake, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;
    using SafeCast for uint256;

    struct Account {
        uint128 bonded;
        uint128 locked;
    }

    struct Consent {
        uint128 limit;
        uint128 used;
    }

    struct Lock {
        address hub;
        uint80 amount;
        bool held;
        bool ended;
    }

    struct Exit {
        uint128 amount;
        uint64 ready;
    }

    /// @notice The token that is staked.
    IERC20 public immutable token;
    /// @notice Where the unbonding delay is read.
    IParameters public immutable parameters;
    /// @notice Locks for orders; receives what is slashed.
    IEscrow public immutable escrow;
    /// @notice Locks for seats, and slashes.
    address public immutable court;
    /// @notice Locks for published and contested roots.
    address public immutable rewards;

    mapping(address account => Account) private _accounts;
    mapping(address account => Exit) private _exits;
    mapping(address account => mapping(address hub => Consent)) private _consents;
    mapping(bytes32 id => mapping(address account => Lock)) private _locks;

    event Staked(address indexed account, address indexed from, uint256 amount);
    event Unbonding(address indexed account, uint256 amount, uint64 ready);
    event Claimed(address indexed account, uint256 amount);
    event Allowed(address indexed account, address indexed hub, uint256 limit);
    event StakeLocked(bytes32 indexed order, address indexed account, uint256 amount);
    event StakeUnlocked(bytes32 indexed order, address indexed account, uint256 amount);
    event Slashed(bytes32 indexed order, address indexed account, uint256 amount);

    error NotAllowed(address caller);
    error NotFree(address account, uint256 free, uint256 wanted);
    error NotReady(uint64 ready);
    error NothingUnbonding(address account);

    modifier onlyKeepers() {
        if (msg.sender != address(escrow) && msg.sender != court && msg.sender != rewards) {
            revert NotAllowed(msg.sender);
        }
        _;
    }

    modifier onlyCourt() {
        if (msg.sender != court) revert NotAllowed(msg.sender);
        _;
    }

    constructor(IERC20 token_, IParameters parameters_, IEscrow escrow_, address court_, address rewards_) {
        token = token_;
        parameters = parameters_;
        escrow = escrow_;
        court = court_;
        rewards = rewards_;
        // Escrow takes tokens of its caller only, and this contract calls it to bring in what was slashed.
        token_.forceApprove(address(escrow_), type(uint256).max);
    }

    /// @notice Stakes `amount` of the caller's tokens.
    function stake(uint256 amount) external nonReentrant {
        _stake(msg.sender, amount);
    }

    /// @notice Stakes `amount` of the caller's tokens for `account`, which owns them from then on.
    function stakeFor(address account, uint256 amount) external nonReentrant {
        _stake(account, amount);
    }

    /// @notice `stake` with the approval in the same transaction.
    /// @dev Whoever uses the permit first does no harm: the allowance is there, and the stake is taken from it.
    function stakeWithPermit(uint256 amount, uint256 deadline, uint8 v, bytes32 r, bytes32 s) external nonReentrant {
        try IERC20Permit(address(token)).permit(msg.sender, address(this), amount, deadline, v, r, s) {} catch {}
        _stake(msg.sender, amount);
    }

    /// @notice Begins to take `amount` of free stake out. What was unbonding already waits anew with it.
    function unbond(uint256 amount) external {
        Account storage owner = _accounts[msg.sender];
        uint256 free = owner.bonded - owner.locked;
        if (amount > free) revert NotFree(msg.sender, free, amount);
        owner.bonded -= uint128(amount);
        Exit storage exit = _exits[msg.sender];
        uint64 ready = uint64(block.timestamp + parameters.get(Names.UNBONDING_DELAY));
        exit.amount += uint128(amount);
        exit.ready = ready;
        emit Unbonding(msg.sender, amount, ready);
    }

    /// @notice Pays the caller what has been unbonding long enough.
    function claim() external nonReentrant returns (uint256 amount) {
        Exit memory exit = _exits[msg.sender];
        if (exit.amount == 0) revert NothingUnbonding(msg.sender);
        if (block.timestamp < exit.ready) revert NotReady(exit.ready);
        delete _exits[msg.sender];
        amount = exit.amount;
        emit Claimed(msg.sender, amount);
        token.safeTransfer(msg.sender, amount);
    }

    /// @notice Bonds again what is unbonding.
    function cancelUnbond() external {
        uint128 amount = _exits[msg.sender].amount;
        // slither-disable-next-line incorrect-equality
        if (amount == 0) revert NothingUnbonding(msg.sender);
        delete _exits[msg.sender];
        _accounts[msg.sender].bonded += amount;
        emit Staked(msg.sender, msg.sender, amount);
    }

    /// @notice Says how much of the caller's stake `hub` may hold locked at a time. Locks that exist stay.
    function allow(address hub, uint256 limit) external {
        _consents[msg.sender][hub].limit = limit > type(uint128).max ? type(uint128).max : uint128(limit);
        emit Allowed(msg.sender, hub, limit);
    }

    /// @inheritdoc IStake
    /// @dev A second lock of the same id and account adds nothing. An account needs no consent to lock for itself.
    function lockFor(bytes32 id, address hub, address account, uint256 amount) external onlyKeepers returns (bool) {
        Lock storage lock = _locks[id][account];
        if (amount == 0 || lock.amount != 0) return true;
        Account storage owner = _accounts[account];
        if (amount > owner.bonded - owner.locked || amount > type(uint80).max) return false;
        if (account != hub) {
            Consent storage consent = _consents[account][hub];
            if (amount + consent.used > consent.limit) return false;
            consent.used += uint128(amount);
        }
        owner.locked += uint128(amount);
        lock.hub = hub;
        lock.amount = uint80(amount);
        emit StakeLocked(id, account, amount);
        return true;
    }

    /// @inheritdoc IStake
    function unlock(bytes32 id, address[] calldata accounts) external onlyKeepers {
        for (uint256 i = 0; i < accounts.length; ++i) {
            Lock storage lock = _locks[id][accounts[i]];
            if (lock.held) {
                lock.ended = true;
            } else {
                _unlock(id, accounts[i]);
            }
        }
    }

    /// @inheritdoc IStake
    function hold(bytes32 id, address account) external onlyCourt returns (uint256) {
        Lock storage lock = _locks[id][account];
        if (lock.amount == 0) return 0;
        lock.held = true;
        return lock.amount;
    }

    /// @inheritdoc IStake
    function letGo(bytes32 id, address account) external onlyCourt {
        Lock storage lock = _locks[id][account];
        lock.held = false;
        if (lock.ended) _unlock(id, account);
    }

    /// @inheritdoc IStake
    function slash(bytes32 id, address account, uint256 amount) external onlyCourt returns (uint256 taken) {
        uint256 locked = _unlock(id, account);
        taken = amount < locked ? amount : locked;
        if (taken == 0) return 0;
        _accounts[account].bonded -= uint128(taken);
        emit Slashed(id, account, taken);
        escrow.depositFor(msg.sender, taken);
    }

    /// @inheritdoc IStake
    function stakeOf(address account) external view returns (uint256) {
        return _accounts[account].bonded;
    }

    /// @notice What is locked of `account`, over all ids.
    function lockedOf(address account) external view returns (uint256) {
        return _accounts[account].locked;
    }

    /// @inheritdoc IStake
    function freeOf(address account) external view returns (uint256) {
        return _accounts[account].bonded - _accounts[account].locked;
    }

    /// @notice What is unbonding of `account`, and when it can be claimed.
    function unbondingOf(address account) external view returns (uint256 amount, uint64 ready) {
        Exit storage exit = _exits[account];
        return (exit.amount, exit.ready);
    }

    /// @inheritdoc IStake
    function lockOf(bytes32 id, address account) external view returns (uint256) {
        return _locks[id][account].amount;
    }

    /// @notice How much of its stake `account` lets `hub` hold locked at a time.
    function allowance(address account, address hub) external view returns (uint256) {
        return _consents[account][hub].limit;
    }

    /// @notice How much of it `hub` holds locked now.
    function usedOf(address account, address hub) external view returns (uint256) {
        return _consents[account][hub].used;
    }

    function _stake(address account, uint256 amount) private {
        _accounts[account].bonded += amount.toUint128();
        emit Staked(account, msg.sender, amount);
        token.safeTransferFrom(msg.sender, address(this), amount);
    }

    /// Deletes a lock and gives back what it used; nothing happens if there is none.
    function _unlock(bytes32 id, address account) private returns (uint256 amount) {
        Lock memory lock = _locks[id][account];
        amount = lock.amount;
        if (amount == 0) return 0;
        delete _locks[id][account];
        _accounts[account].locked -= uint128(amount);
        if (account != lock.hub) _consents[account][lock.hub].used -= uint128(amount);
        emit StakeUnlocked(id, account, amount);
    }
}
