// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {ICourt} from "./interfaces/ICourt.sol";
import {IEscrow} from "./interfaces/IEscrow.sol";

/// @title The free money in Escrow: who has how much, how it comes in and how it goes out
/// @dev Every payment is an entry here; tokens leave only when their owner withdraws them. So no receiver can stop
/// anybody else's payment, and there is nothing to re-enter while orders are paid.
abstract contract Books is IEscrow, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    /// @notice The token that is deposited.
    IERC20 public immutable token;
    /// @notice May move money for channels.
    address public immutable vouchers;
    /// @notice Decides what is challenged, and may move money for disputes.
    ICourt public immutable court;

    mapping(address account => uint256) internal _balances;

    event Deposited(address indexed account, address indexed from, uint256 amount);
    event Withdrawn(address indexed account, address indexed to, uint256 amount);
    event Moved(address indexed from, address indexed to, uint256 amount);

    error NotCovered(address account, uint256 free, uint256 wanted);
    error NotAllowed(address caller);
    error BadReceiver(address to);

    constructor(IERC20 token_, ICourt court_, address vouchers_) {
        token = token_;
        court = court_;
        vouchers = vouchers_;
    }

    /// @notice Deposits `amount` of the caller's tokens.
    function deposit(uint256 amount) external nonReentrant {
        _deposit(msg.sender, amount);
    }

    /// @inheritdoc IEscrow
    function depositFor(address account, uint256 amount) external nonReentrant {
        _deposit(account, amount);
    }

    /// @notice `deposit` with the approval in the same transaction.
    /// @dev Whoever uses the permit first does no harm: the allowance is there, and the deposit is taken from it.
    function depositWithPermit(uint256 amount, uint256 deadline, uint8 v, bytes32 r, bytes32 s) external nonReentrant {
        try IERC20Permit(address(token)).permit(msg.sender, address(this), amount, deadline, v, r, s) {} catch {}
        _deposit(msg.sender, amount);
    }

    /// @notice Pays out `amount` of the caller's free money. There is no minimum.
    function withdraw(uint256 amount) external nonReentrant {
        _withdraw(msg.sender, amount);
    }

    /// @notice Pays out `amount` of the caller's free money to `to`.
    function withdrawTo(address to, uint256 amount) external nonReentrant {
        _withdraw(to, amount);
    }

    /// @inheritdoc IEscrow
    function move(address from, address to, uint256 amount) external {
        if (msg.sender != vouchers && msg.sender != address(court)) revert NotAllowed(msg.sender);
        _take(from, amount);
        _balances[to] += amount;
        emit Moved(from, to, amount);
    }

    /// @inheritdoc IEscrow
    function balanceOf(address account) external view returns (uint256) {
        return _balances[account];
    }

    /// Takes free money out of the books; the caller books it elsewhere.
    function _take(address account, uint256 amount) internal {
        uint256 free = _balances[account];
        if (amount > free) revert NotCovered(account, free, amount);
        unchecked {
            _balances[account] = free - amount;
        }
    }

    function _deposit(address account, uint256 amount) private {
        if (account == address(0)) revert BadReceiver(account);
        _balances[account] += amount;
        emit Deposited(account, msg.sender, amount);
        token.safeTransferFrom(msg.sender, address(this), amount);
    }

    function _withdraw(address to, uint256 amount) private {
        if (to == address(0) || to == address(this)) revert BadReceiver(to);
        _take(msg.sender, amount);
        emit Withdrawn(msg.sender, to, amount);
        token.safeTransfer(to, amount);
    }
}
