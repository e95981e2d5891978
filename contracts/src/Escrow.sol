// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {BitMaps} from "@openzeppelin/contracts/utils/structs/BitMaps.sol";
import {Books} from "./Books.sol";
import {ICourt} from "./interfaces/ICourt.sol";
import {IEscrow} from "./interfaces/IEscrow.sol";
import {IParameters} from "./interfaces/IParameters.sol";
import {IStake} from "./interfaces/IStake.sol";
import {Names} from "./Names.sol";
import {Signatures} from "./Signatures.sol";

/// @title Orders: a requester's money, locked for a job and split when the job is done
/// @notice A hub can lock what a requester has signed for, and propose how it is paid out. It is paid out when the
/// requester agrees, when nobody challenges it in time, or as a committee rules; else it goes back to the requester.
///
///     None ── lock ──▶ Locked ── settle, empty approval ──▶ Proposed ── challenge ──▶ Disputed
///                        │ settle, approved │                │ accept, finalize        │ conclude
///                        │                  └──▶ Settled ◀───┴─────────────────────────┤
///                        └─ release, past the deadline ──▶ Released ◀── undecided ─────┘
///
/// @dev Every lock ends. A proposal is made before the deadline; the challenge window after it is at most 30 days, a
/// dispute is drawn within one voting window of at most 30 days and decided within another. So at
/// deadline + challenge window + two voting windows at the latest one of finalize, conclude or release is open to
/// anybody for every order. Each is bounded in gas by PAYOUTS_MAX and ENGAGED_MAX, and calls nobody's code but that
/// of Stake and Court.
contract Escrow is Books, EIP712 {
    using SafeCast for uint256;
    using BitMaps for BitMaps.BitMap;

    struct Record {
        address requester;
        uint64 deadline;
        uint16 shareBps;
        State state;
        address hub;
        uint96 bond;
        uint96 cap;
        uint64 finalAt;
        uint64 dispute;
        bytes32 proposal;
        bytes32 counter;
    }

    /// @notice The most payouts in a settlement, so that paying fits the gas of one transaction on any chain.
    uint256 public constant PAYOUTS_MAX = 400;
    /// @notice The most providers whose stake one order locks, for the same reason.
    uint256 public constant ENGAGED_MAX = 200;

    bytes32 private constant ORDER_TYPEHASH = keccak256(
        "Order(address requester,address hub,bytes32 job,uint256 cap,uint256 bond,uint64 deadline,bytes32 policy,uint256 nonce)"
    );
    bytes32 private constant APPROVAL_TYPEHASH = keccak256("Approval(bytes32 order,bytes32 settlement)");
    uint256 private constant BPS = 10_000;
    uint8 private constant FOR_THE_HUB = 1;

    /// @notice Where shares, bonds, locks and windows are read.
    IParameters public immutable parameters;
    /// @notice Holds the stake that orders lock.
    IStake public immutable stake;
    /// @inheritdoc IEscrow
    address public immutable treasury;

    // Written through storage references.
    // slither-disable-next-line uninitialized-state
    mapping(bytes32 id => Record) private _orders;
    mapping(bytes32 id => address[]) private _engaged;
    mapping(address requester => BitMaps.BitMap) private _nonces;

    event Locked(
        bytes32 indexed id,
        address indexed requester,
        address indexed hub,
        uint256 cap,
        uint256 bond,
        uint64 deadline,
        uint16 shareBps
    );
    event LockFailed(bytes32 indexed id, bytes reason);
    event NonceRevoked(address indexed requester, uint256 nonce);
    event Engaged(bytes32 indexed id, address indexed provider, uint256 amount);
    event NotEngaged(bytes32 indexed id, address indexed provider);
    event Proposed(bytes32 indexed id, bytes32 settlement, bytes32 receiptsRoot, uint256 gross, uint64 finalAt);
    event Paid(bytes32 indexed id, address indexed provider, uint256 gross, uint256 fee);
    event Settled(bytes32 indexed id, bytes32 receiptsRoot, uint256 gross, uint256 fee, uint256 refunded);
    event SettleFailed(bytes32 indexed id, bytes reason);
    event Challenged(bytes32 indexed id, address indexed challenger, uint256 dispute);
    event Released(bytes32 indexed id, uint256 refunded);

    error NotTheHub(bytes32 id, address caller);
    error NotTheRequester(bytes32 id, address caller);
    error NotAParty(bytes32 id, address caller);
    error WrongState(bytes32 id, State state);
    error BadSignature(bytes32 id);
    error NonceUsed(address requester, uint256 nonce);
    error BadDeadline(uint64 deadline, uint256 earliest, uint256 latest);
    error BondTooSmall(uint256 bond, uint256 wanted);
    error HubStakeMissing(address hub, uint256 wanted);
    error TooManyEngaged(bytes32 id, uint256 count);
    error TooManyPayouts(bytes32 id, uint256 count);
    error AboveCap(bytes32 id, uint256 gross, uint256 cap);
    error DeadlinePassed(bytes32 id, uint64 deadline);
    error DeadlineAhead(bytes32 id, uint64 deadline);
    error WindowOpen(bytes32 id, uint64 finalAt);
    error WindowOver(bytes32 id, uint64 finalAt);
    error WrongSettlement(bytes32 id, bytes32 given, bytes32 wanted);
    error NotDecided(bytes32 id, uint256 dispute);
    error LengthsDiffer(uint256 left, uint256 right);
    error OutOfGas();

    modifier onlySelf() {
        if (msg.sender != address(this)) revert NotAllowed(msg.sender);
        _;
    }

    constructor(IERC20 token_, IParameters parameters_, IStake stake_, ICourt court_, address vouchers_)
        Books(token_, court_, vouchers_)
        EIP712("Gleaner Escrow", "1")
    {
        parameters = parameters_;
        stake = stake_;
        treasury = parameters_.treasury();
    }

    // ── locking ──────────────────────────────────────────────────────────────────────────────────────────────

    /// @notice Locks an order's cap and bond, and a part of the hub's stake. By the order's hub.
    function lock(Order calldata order, bytes calldata signature) external nonReentrant returns (bytes32 id) {
        id = orderId(order);
        _lock(msg.sender, id, order, signature);
    }

    /// @notice `lock` for many; one that fails is reported and does not stop the others.
    function lockMany(Order[] calldata orders, bytes[] calldata signatures) external nonReentrant {
        if (orders.length != signatures.length) revert LengthsDiffer(orders.length, signatures.length);
        for (uint256 i = 0; i < orders.length; ++i) {
            try this.lockFrom(msg.sender, orders[i], signatures[i]) {}
            catch (bytes memory reason) {
                _notOutOfGas(reason);
                emit LockFailed(orderId(orders[i]), reason);
            }
        }
    }

    /// @notice A step of `lockMany`; for this contract only.
    function lockFrom(address hub, Order calldata order, bytes calldata signature) external onlySelf {
        _lock(hub, orderId(order), order, signature);
    }

    /// @notice Makes every order of the caller with `nonce` worthless that is not locked yet.
    function revoke(uint256 nonce) external {
        _useNonce(msg.sender, nonce);
        emit NonceRevoked(msg.sender, nonce);
    }

    /// @notice Locks a part of the stake of `providers` for an order, as far as they allow it. By the order's hub.
    /// @dev May be repeated: whoever is engaged stays so, whoever was not is tried again.
    function engage(bytes32 id, address[] calldata providers) external nonReentrant {
        Record storage record = _orders[id];
        if (msg.sender != record.hub) revert NotTheHub(id, msg.sender);
        if (record.state != State.Locked) revert WrongState(id, record.state);
        uint256 amount = parameters.get(Names.WORK_LOCK);
        uint256 minimum = parameters.get(Names.MINIMUM_STAKE);
        address[] storage engaged = _engaged[id];
        for (uint256 i = 0; i < providers.length; ++i) {
            address provider = providers[i];
            if (stake.lockOf(id, provider) != 0) continue;
            if (stake.stakeOf(provider) < minimum || !stake.lockFor(id, msg.sender, provider, amount)) {
                emit NotEngaged(id, provider);
                continue;
            }
            emit Engaged(id, provider, amount);
            if (amount != 0) engaged.push(provider);
        }
        if (engaged.length > ENGAGED_MAX) revert TooManyEngaged(id, engaged.length);
    }

    // ── settling ─────────────────────────────────────────────────────────────────────────────────────────────

    /// @notice Settles an order at once if the requester's approval is given; with an empty one, proposes to settle
    /// it after the challenge window. By the order's hub.
    function settle(Settlement calldata settlement, bytes calldata approval) external nonReentrant {
        _settle(msg.sender, settlement, approval);
    }

    /// @notice `settle` for many; one that fails is reported and does not stop the others.
    function settleMany(Settlement[] calldata settlements, bytes[] calldata approvals) external nonReentrant {
        if (settlements.length != approvals.length) revert LengthsDiffer(settlements.length, approvals.length);
        for (uint256 i = 0; i < settlements.length; ++i) {
            try this.settleFrom(msg.sender, settlements[i], approvals[i]) {}
            catch (bytes memory reason) {
                _notOutOfGas(reason);
                emit SettleFailed(settlements[i].order, reason);
            }
        }
    }

    /// @notice A step of `settleMany`; for this contract only.
    function settleFrom(address hub, Settlement calldata settlement, bytes calldata approval) external onlySelf {
        _settle(hub, settlement, approval);
    }

    /// @notice Makes a proposal final at once. By the order's requester.
    function accept(Settlement calldata settlement) external nonReentrant {
        Record storage record = _orders[settlement.order];
        if (msg.sender != record.requester) revert NotTheRequester(settlement.order, msg.sender);
        _expect(settlement.order, record, State.Proposed);
        _matches(settlement, record.proposal);
        _pay(record, settlement);
    }

    /// @notice Makes a proposal final that nobody challenged in time. By anybody.
    function finalize(Settlement calldata settlement) external nonReentrant {
        _finalize(settlement);
    }

    /// @notice `finalize` for many; one that fails is reported and does not stop the others.
    function finalizeMany(Settlement[] calldata settlements) external nonReentrant {
        for (uint256 i = 0; i < settlements.length; ++i) {
            try this.finalizeFrom(settlements[i]) {}
            catch (bytes memory reason) {
                _notOutOfGas(reason);
                emit SettleFailed(settlements[i].order, reason);
            }
        }
    }

    /// @notice A step of `finalizeMany`; for this contract only.
    function finalizeFrom(Settlement calldata settlement) external onlySelf {
        _finalize(settlement);
    }

    /// @notice Asks the court to prefer `counter` to the hub's proposal. By the requester, whose bond is at stake,
    /// or by an engaged provider, whose lock is.
    function challenge(bytes32 id, Settlement calldata counter) external nonReentrant returns (uint256 dispute) {
        Record storage record = _orders[id];
        _expect(id, record, State.Proposed);
        if (block.timestamp >= record.finalAt) revert WindowOver(id, record.finalAt);
        bytes32 hash = _hash(counter);
        if (counter.order != id || hash == record.proposal) revert WrongSettlement(id, hash, record.proposal);
        _gross(counter, record.cap);
        bool requester = msg.sender == record.requester;
        if (msg.sender == record.hub || !(requester || stake.lockOf(id, msg.sender) != 0)) {
            revert NotAParty(id, msg.sender);
        }
        uint256 bond = requester ? record.bond : 0;
        record.state = State.Disputed;
        record.counter = hash;
        if (bond != 0) {
            record.bond = 0;
            _balances[address(court)] += bond;
            emit Moved(address(this), address(court), bond);
        }
        dispute = court.open(id, msg.sender, record.hub, record.requester, bond);
        record.dispute = dispute.toUint64();
        emit Challenged(id, msg.sender, dispute);
    }

    /// @notice Pays an order out as the court has ruled. By anybody.
    function conclude(bytes32 id, Settlement calldata winner) external nonReentrant {
        Record storage record = _orders[id];
        _expect(id, record, State.Disputed);
        (ICourt.Status status, uint8 ruling) = court.outcome(record.dispute);
        if (status != ICourt.Status.Decided) revert NotDecided(id, record.dispute);
        if (winner.order != id) revert WrongSettlement(id, winner.order, id);
        _matches(winner, ruling == FOR_THE_HUB ? record.proposal : record.counter);
        _pay(record, winner);
    }

    /// @notice Gives cap and bond back to the requester when the deadline has passed with nothing proposed, or when
    /// a dispute has ended undecided. By anybody.
    function release(bytes32 id) external nonReentrant {
        Record storage record = _orders[id];
        if (record.state == State.Disputed) {
            // Without a decision there is no ruling to read.
            // slither-disable-next-line unused-return
            (ICourt.Status status,) = court.outcome(record.dispute);
            if (status != ICourt.Status.Expired) revert NotDecided(id, record.dispute);
        } else {
            _expect(id, record, State.Locked);
            if (block.timestamp <= record.deadline) revert DeadlineAhead(id, record.deadline);
        }
        record.state = State.Released;
        uint256 refunded = uint256(record.cap) + record.bond;
        _balances[record.requester] += refunded;
        _unlockStake(id, record.hub);
        emit Released(id, refunded);
    }

    // ── views ────────────────────────────────────────────────────────────────────────────────────────────────

    /// @notice The id of an order: the digest that its requester signs, bound to this chain and contract.
    function orderId(Order calldata order) public view returns (bytes32) {
        return _hashTypedDataV4(
            keccak256(
                abi.encode(
                    ORDER_TYPEHASH,
                    order.requester,
                    order.hub,
                    order.job,
                    order.cap,
                    order.bond,
                    order.deadline,
                    order.policy,
                    order.nonce
                )
            )
        );
    }

    /// @notice What a requester signs to approve the settlement with this hash.
    function approvalDigest(bytes32 id, bytes32 settlement) public view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(APPROVAL_TYPEHASH, id, settlement)));
    }

    /// @notice Everything about an order that the chain remembers.
    function orderState(bytes32 id)
        external
        view
        returns (
            State state,
            address requester,
            address hub,
            uint256 cap,
            uint256 bond,
            uint64 deadline,
            uint16 shareBps,
            bytes32 proposal,
            uint64 finalAt,
            uint256 dispute
        )
    {
        Record storage record = _orders[id];
        state = record.state;
        requester = record.requester;
        hub = record.hub;
        cap = record.cap;
        bond = record.bond;
        deadline = record.deadline;
        shareBps = record.shareBps;
        proposal = record.proposal;
        finalAt = record.finalAt;
        dispute = record.dispute;
    }

    /// @inheritdoc IEscrow
    function partiesOf(bytes32 id) external view returns (address requester, address hub, bool open) {
        Record storage record = _orders[id];
        State state = record.state;
        open = state == State.Locked || state == State.Proposed || state == State.Disputed;
        return (record.requester, record.hub, open);
    }

    /// @notice The providers whose stake the order has locked.
    function engagedOf(bytes32 id) external view returns (address[] memory) {
        return _engaged[id];
    }

    /// @notice Whether `nonce` of `requester` is locked or revoked.
    function nonceUsed(address requester, uint256 nonce) external view returns (bool) {
        return _nonces[requester].get(nonce);
    }

    // ── steps ────────────────────────────────────────────────────────────────────────────────────────────────

    function _lock(address hub, bytes32 id, Order calldata order, bytes calldata signature) private {
        if (hub != order.hub) revert NotTheHub(id, hub);
        if (!Signatures.byAccount(order.requester, id, signature)) revert BadSignature(id);
        uint256 latest = block.timestamp + parameters.get(Names.ORDER_DURATION_MAX);
        if (order.deadline <= block.timestamp || order.deadline > latest) {
            revert BadDeadline(order.deadline, block.timestamp + 1, latest);
        }
        uint96 cap = order.cap.toUint96();
        uint96 bond = order.bond.toUint96();
        uint256 wanted = (uint256(cap) * parameters.get(Names.BOND_SHARE_BPS)) / BPS;
        if (bond < wanted) revert BondTooSmall(bond, wanted);
        _useNonce(order.requester, order.nonce);
        _take(order.requester, uint256(cap) + bond);
        uint16 shareBps = uint16(parameters.get(Names.PLATFORM_SHARE_BPS));
        Record storage record = _orders[id];
        record.requester = order.requester;
        record.deadline = order.deadline;
        record.shareBps = shareBps;
        record.state = State.Locked;
        record.hub = hub;
        record.bond = bond;
        record.cap = cap;
        emit Locked(id, order.requester, hub, cap, bond, order.deadline, shareBps);
        uint256 hubLock = parameters.get(Names.HUB_LOCK);
        if (!stake.lockFor(id, hub, hub, hubLock)) revert HubStakeMissing(hub, hubLock);
    }

    /// Every refusal says why; what failed without a word ran out of gas. That must not pass for a refusal, or a node that
    /// looks for the least gas with which a batch goes through would find too little for what is in it.
    function _notOutOfGas(bytes memory reason) private pure {
        if (reason.length == 0) revert OutOfGas();
    }

    function _useNonce(address requester, uint256 nonce) private {
        BitMaps.BitMap storage used = _nonces[requester];
        if (used.get(nonce)) revert NonceUsed(requester, nonce);
        used.set(nonce);
    }

    function _settle(address hub, Settlement calldata settlement, bytes calldata approval) private {
        bytes32 id = settlement.order;
        Record storage record = _orders[id];
        if (hub != record.hub) revert NotTheHub(id, hub);
        if (approval.length == 0) {
            _propose(record, settlement);
            return;
        }
        if (record.state != State.Locked) _expect(id, record, State.Proposed);
        bytes32 digest = approvalDigest(id, _hash(settlement));
        if (!Signatures.byAccount(record.requester, digest, approval)) revert BadSignature(id);
        _pay(record, settlement);
    }

    function _propose(Record storage record, Settlement calldata settlement) private {
        bytes32 id = settlement.order;
        _expect(id, record, State.Locked);
        if (block.timestamp > record.deadline) revert DeadlinePassed(id, record.deadline);
        uint256 gross = _gross(settlement, record.cap);
        bytes32 hash = _hash(settlement);
        uint64 finalAt = uint64(block.timestamp + parameters.get(Names.CHALLENGE_WINDOW));
        record.state = State.Proposed;
        record.proposal = hash;
        record.finalAt = finalAt;
        emit Proposed(id, hash, settlement.receiptsRoot, gross, finalAt);
    }

    function _finalize(Settlement calldata settlement) private {
        bytes32 id = settlement.order;
        Record storage record = _orders[id];
        _expect(id, record, State.Proposed);
        if (block.timestamp < record.finalAt) revert WindowOpen(id, record.finalAt);
        _matches(settlement, record.proposal);
        _pay(record, settlement);
    }

    /// Splits an order's cap: to the providers, to the platform, and what is left, with the bond, to the requester.
    /// Shares are rounded down for each payout, so what is too small to split goes to the provider.
    function _pay(Record storage record, Settlement calldata settlement) private {
        bytes32 id = settlement.order;
        uint256 gross = _gross(settlement, record.cap);
        record.state = State.Settled;
        uint256 shareBps = record.shareBps;
        uint256 fees = 0;
        for (uint256 i = 0; i < settlement.payouts.length; ++i) {
            Payout calldata payout = settlement.payouts[i];
            uint256 fee = (payout.gross * shareBps) / BPS;
            fees += fee;
            _balances[payout.provider] += payout.gross - fee;
            emit Paid(id, payout.provider, payout.gross, fee);
        }
        _balances[treasury] += fees;
        uint256 refunded = uint256(record.cap) - gross + record.bond;
        _balances[record.requester] += refunded;
        _unlockStake(id, record.hub);
        emit Settled(id, settlement.receiptsRoot, gross, fees, refunded);
    }

    function _unlockStake(bytes32 id, address hub) private {
        address[] storage engaged = _engaged[id];
        uint256 count = engaged.length;
        address[] memory accounts = new address[](count + 1);
        for (uint256 i = 0; i < count; ++i) {
            accounts[i] = engaged[i];
        }
        accounts[count] = hub;
        if (count != 0) delete _engaged[id];
        stake.unlock(id, accounts);
    }

    function _gross(Settlement calldata settlement, uint256 cap) private pure returns (uint256 gross) {
        uint256 count = settlement.payouts.length;
        if (count > PAYOUTS_MAX) revert TooManyPayouts(settlement.order, count);
        for (uint256 i = 0; i < count; ++i) {
            if (settlement.payouts[i].provider == address(0)) revert BadReceiver(address(0));
            gross += settlement.payouts[i].gross;
        }
        if (gross > cap) revert AboveCap(settlement.order, gross, cap);
    }

    function _hash(Settlement calldata settlement) private pure returns (bytes32) {
        return keccak256(abi.encode(settlement));
    }

    function _matches(Settlement calldata settlement, bytes32 wanted) private pure {
        bytes32 given = _hash(settlement);
        if (given != wanted) revert WrongSettlement(settlement.order, given, wanted);
    }

    function _expect(bytes32 id, Record storage record, State state) private view {
        if (record.state != state) revert WrongState(id, record.state);
    }
}
