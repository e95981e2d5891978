// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IEscrow} from "./interfaces/IEscrow.sol";
import {IParameters} from "./interfaces/IParameters.sol";
import {Names} from "./Names.sol";
import {Signatures} from "./Signatures.sol";

/// @title Channels for many small payments: made off the chain by revealing words, redeemed here in one transaction
/// @notice A payer signs an anchor: the tip of a chain of hashes. Each word that it reveals, one step further down
/// the chain, pays one step more on top of the anchor's base. The last word alone proves the sum, so redeeming
/// costs at most STEPS_MAX hashes, however many payments were made; when a chain is used up, the payer signs the
/// next anchor, whose base is what was paid so far.
/// @dev The payee trusts nothing but this contract: money in a channel is the payee's up to the best total it can
/// show, the payer can leave only after the challenge window, and anchors count only by the payer's key, since a
/// contract wallet could take its signature back. Who works before it is paid can lose one step, and so can who pays
/// before it is served. Channel money lies in Escrow's books under this contract's name.
contract Vouchers is EIP712, ReentrancyGuardTransient {
    using SafeCast for uint256;

    struct Channel {
        address payer;
        uint96 amount;
        address payee;
        uint96 redeemed;
        uint16 shareBps;
        uint64 closingAt;
        bool closed;
    }

    struct Anchor {
        bytes32 channel;
        uint256 base;
        bytes32 tip;
        uint256 step;
        uint32 steps;
    }

    /// @notice The longest chain of one anchor.
    uint32 public constant STEPS_MAX = 1024;

    bytes32 private constant ANCHOR_TYPEHASH =
        keccak256("Anchor(bytes32 channel,uint256 base,bytes32 tip,uint256 step,uint32 steps)");
    uint256 private constant BPS = 10_000;

    /// @notice Keeps the money.
    IEscrow public immutable escrow;
    /// @notice Where the platform's share and the window are read.
    IParameters public immutable parameters;
    /// @notice Receives the platform's share.
    address public immutable treasury;

    // Written through storage references.
    // slither-disable-next-line uninitialized-state
    mapping(bytes32 channel => Channel) private _channels;

    event ChannelOpened(bytes32 indexed channel, address indexed payer, address indexed payee, uint256 amount);
    event ToppedUp(bytes32 indexed channel, uint256 amount);
    event Redeemed(bytes32 indexed channel, uint256 total, uint256 paid, uint256 fee);
    event Closing(bytes32 indexed channel, uint64 closingAt);
    event ChannelClosed(bytes32 indexed channel, uint256 refunded);

    error BadPayee(address payee);
    error ChannelExists(bytes32 channel);
    error ChannelNotOpen(bytes32 channel);
    error NotThePayer(bytes32 channel, address caller);
    error NotThePayee(bytes32 channel, address caller);
    error AlreadyClosing(bytes32 channel, uint64 closingAt);
    error NotClosing(bytes32 channel);
    error WindowOpen(bytes32 channel, uint64 closingAt);
    error TooManySteps(uint32 steps, uint32 max);
    error BadIndex(uint32 index, uint32 steps);
    error BadWord(bytes32 channel);
    error BadSignature(bytes32 channel);
    error NothingToRedeem(bytes32 channel, uint256 total, uint256 redeemed);

    constructor(IEscrow escrow_, IParameters parameters_) EIP712("Gleaner Vouchers", "1") {
        escrow = escrow_;
        parameters = parameters_;
        treasury = parameters_.treasury();
    }

    /// @notice Puts `amount` of the caller's free money in Escrow into a new channel to `payee`.
    function open(address payee, uint256 amount, uint256 nonce) external nonReentrant returns (bytes32 channel) {
        if (payee == address(0) || payee == address(this)) revert BadPayee(payee);
        channel = channelId(msg.sender, payee, nonce);
        Channel storage record = _channels[channel];
        if (record.payer != address(0)) revert ChannelExists(channel);
        record.payer = msg.sender;
        record.payee = payee;
        record.amount = amount.toUint96();
        record.shareBps = uint16(parameters.get(Names.PLATFORM_SHARE_BPS));
        emit ChannelOpened(channel, msg.sender, payee, amount);
        escrow.move(msg.sender, address(this), amount);
    }

    /// @notice Adds `amount` to a channel. By its payer, unless it is closing.
    function topUp(bytes32 channel, uint256 amount) external nonReentrant {
        Channel storage record = _ongoing(channel);
        if (msg.sender != record.payer) revert NotThePayer(channel, msg.sender);
        if (record.closingAt != 0) revert AlreadyClosing(channel, record.closingAt);
        record.amount = (uint256(record.amount) + amount).toUint96();
        emit ToppedUp(channel, amount);
        escrow.move(msg.sender, address(this), amount);
    }

    /// @notice Pays the payee what `word` proves, less the platform's share and what was redeemed before. By the
    /// payee, as often as it likes. A total above the channel's money pays all that is there.
    function redeem(Anchor calldata anchor, bytes calldata signature, uint32 index, bytes32 word)
        external
        nonReentrant
        returns (uint256 paid)
    {
        bytes32 channel = anchor.channel;
        Channel storage record = _ongoing(channel);
        if (msg.sender != record.payee) revert NotThePayee(channel, msg.sender);
        _verify(anchor, signature, record.payer, index, word);
        uint256 total = anchor.base + anchor.step * index;
        if (total > record.amount) total = record.amount;
        uint256 redeemed = record.redeemed;
        if (total <= redeemed) revert NothingToRedeem(channel, total, redeemed);
        record.redeemed = uint96(total);
        // The share is reckoned on totals, so that many small redemptions round away no more than one large one.
        uint256 shareBps = record.shareBps;
        uint256 fee = (total * shareBps) / BPS - (redeemed * shareBps) / BPS;
        paid = total - redeemed - fee;
        emit Redeemed(channel, total, paid, fee);
        escrow.move(address(this), msg.sender, paid);
        if (fee != 0) escrow.move(address(this), treasury, fee);
    }

    /// @notice Ends a channel; what is not redeemed goes back to the payer. By the payee.
    function close(bytes32 channel) external nonReentrant {
        Channel storage record = _ongoing(channel);
        if (msg.sender != record.payee) revert NotThePayee(channel, msg.sender);
        _close(channel, record);
    }

    /// @notice Announces that the payer leaves; the payee can redeem until the channel is closed. By the payer.
    function startClose(bytes32 channel) external {
        Channel storage record = _ongoing(channel);
        if (msg.sender != record.payer) revert NotThePayer(channel, msg.sender);
        if (record.closingAt != 0) revert AlreadyClosing(channel, record.closingAt);
        uint64 closingAt = uint64(block.timestamp + parameters.get(Names.CHALLENGE_WINDOW));
        record.closingAt = closingAt;
        emit Closing(channel, closingAt);
    }

    /// @notice Ends a channel that has been closing for the challenge window. By anybody.
    function finishClose(bytes32 channel) external nonReentrant {
        Channel storage record = _ongoing(channel);
        if (record.closingAt == 0) revert NotClosing(channel);
        if (block.timestamp < record.closingAt) revert WindowOpen(channel, record.closingAt);
        _close(channel, record);
    }

    /// @notice Everything about a channel. Of a closed one nothing is left to redeem.
    function channelState(bytes32 channel)
        external
        view
        returns (address payer, address payee, uint256 amount, uint256 redeemed, uint16 shareBps, uint64 closingAt)
    {
        Channel storage record = _channels[channel];
        return (record.payer, record.payee, record.amount, record.redeemed, record.shareBps, record.closingAt);
    }

    /// @notice The id of a channel. It is used once: a closed channel is never opened again.
    function channelId(address payer, address payee, uint256 nonce) public view returns (bytes32) {
        return keccak256(abi.encode(block.chainid, address(this), payer, payee, nonce));
    }

    /// @notice What a payer signs.
    function anchorDigest(Anchor calldata anchor) public view returns (bytes32) {
        return _hashTypedDataV4(
            keccak256(
                abi.encode(ANCHOR_TYPEHASH, anchor.channel, anchor.base, anchor.tip, anchor.step, anchor.steps)
            )
        );
    }

    function _verify(Anchor calldata anchor, bytes calldata signature, address payer, uint32 index, bytes32 word)
        private
        view
    {
        if (anchor.steps > STEPS_MAX) revert TooManySteps(anchor.steps, STEPS_MAX);
        if (index > anchor.steps) revert BadIndex(index, anchor.steps);
        if (!Signatures.byKey(payer, anchorDigest(anchor), signature)) revert BadSignature(anchor.channel);
        if (_hashed(word, index) != anchor.tip) revert BadWord(anchor.channel);
    }

    /// `word` hashed `times` times over.
    function _hashed(bytes32 word, uint256 times) private pure returns (bytes32 result) {
        assembly ("memory-safe") {
            mstore(0, word)
            for { let i := 0 } lt(i, times) { i := add(i, 1) } { mstore(0, keccak256(0, 32)) }
            result := mload(0)
        }
    }

    function _close(bytes32 channel, Channel storage record) private {
        uint256 refunded = record.amount - record.redeemed;
        record.closed = true;
        record.amount = record.redeemed;
        emit ChannelClosed(channel, refunded);
        if (refunded != 0) escrow.move(address(this), record.payer, refunded);
    }

    function _ongoing(bytes32 channel) private view returns (Channel storage record) {
        record = _channels[channel];
        if (record.payer == address(0) || record.closed) revert ChannelNotOpen(channel);
    }
}
