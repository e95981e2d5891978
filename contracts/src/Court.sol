// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Auditors} from "./Auditors.sol";
import {ICourt} from "./interfaces/ICourt.sol";
import {IEscrow} from "./interfaces/IEscrow.sol";
import {IParameters} from "./interfaces/IParameters.sol";
import {IStake} from "./interfaces/IStake.sol";
import {Names} from "./Names.sol";

/// @title Disputes: a drawn committee of auditors decides, and who loses pays
/// @notice Three things are disputed: a settlement that a hub proposed, a root of rewards that somebody published,
/// and a fault of which a provider is accused. Ruling 1 is for the defendant, ruling 2 for the claimant.
/// @dev A ruling needs more than half of the whole committee. The loser pays a share of its security and never more:
/// half to the winner, half in equal parts to the auditors whose votes decided, dust to the treasury. Without a
/// ruling in time nobody pays. Auditors that find both sides wrong should not vote. A committee is whole or there is
/// none: where too few auditors are present and available, nothing is decided.
/// The seed is the hash of a block after the opening: whoever makes the blocks can influence it, and on a chain
/// that a hub runs for itself that hub has to be trusted for this.
contract Court is ICourt, Auditors, EIP712, ReentrancyGuardTransient {
    using SafeCast for uint256;

    struct Dispute {
        bytes32 subject;
        address claimant;
        uint64 anchor;
        Status status;
        uint8 ruling;
        bool accusation;
        bool drawing;
        address defendant;
        uint64 ends;
        address third;
        uint96 bond;
        address[] committee;
    }

    bytes32 private constant VOTE_TYPEHASH = keccak256("Vote(uint256 dispute,bytes32 subject,uint8 ruling)");
    uint256 private constant BPS = 10_000;
    uint8 private constant FOR_THE_DEFENDANT = 1;
    uint8 private constant FOR_THE_CLAIMANT = 2;

    /// @notice Keeps the money that disputes are about, and opens those about settlements.
    IEscrow public immutable escrow;
    /// @notice Opens disputes about rewards.
    address public immutable rewards;
    /// @notice Receives what cannot be split.
    address public immutable treasury;

    /// @notice How many disputes there have been; they are numbered from 1.
    uint256 public count;
    // Written through storage references.
    // slither-disable-next-line uninitialized-state
    mapping(uint256 dispute => Dispute) private _disputes;

    /// @notice The dispute about a provider's fault in an order, 0 if there was none. There is at most one, ever.
    mapping(bytes32 order => mapping(address provider => uint256 dispute)) public accusationOf;

    event Opened(uint256 indexed dispute, bytes32 indexed subject, address claimant, address defendant);
    event Anchored(uint256 indexed dispute, uint256 anchor);
    event Drawn(uint256 indexed dispute, address[] committee);
    event Decided(uint256 indexed dispute, uint8 ruling);
    event Expired(uint256 indexed dispute);
    event Accused(
        bytes32 indexed order, address indexed provider, address indexed accuser, bytes32 evidence, uint256 dispute
    );
    event Penalized(uint256 indexed dispute, address indexed loser, address indexed winner, uint256 amount);

    error NotAllowed(address caller);
    error NotAParty(bytes32 order, address caller);
    error OrderEnded(bytes32 order);
    error AlreadyAccused(bytes32 order, address provider, uint256 dispute);
    error NothingLocked(bytes32 order, address provider);
    error NotOpen(uint256 dispute);
    error AlreadyDrawn(uint256 dispute);
    error NotDrawn(uint256 dispute);
    error TooEarly(uint256 dispute, uint256 when);
    error TooLate(uint256 dispute, uint64 ends);
    error BadRuling(uint8 ruling);
    error NotOnCommittee(uint256 dispute, address signer);
    error NoMajority(uint256 dispute, uint256 committee);
    error LengthsDiffer(uint256 left, uint256 right);

    constructor(IParameters parameters_, IStake stake_, IEscrow escrow_, address rewards_)
        Auditors(parameters_, stake_)
        EIP712("Gleaner Court", "1")
    {
        escrow = escrow_;
        rewards = rewards_;
        treasury = parameters_.treasury();
    }

    /// @inheritdoc ICourt
    function open(bytes32 subject, address claimant, address defendant, address third, uint256 bond)
        external
        returns (uint256 dispute)
    {
        if (msg.sender != address(escrow) && msg.sender != rewards) revert NotAllowed(msg.sender);
        return _open(subject, claimant, defendant, third, bond, false);
    }

    /// @notice Accuses a provider of a fault in an order that has not ended. By the order's hub or requester, which
    /// puts as much of its free money in Escrow at stake as the order has locked of the provider's stake.
    /// @dev The order may be paid out meanwhile; the provider's lock stays until the verdict.
    // The stake is ours and calls nobody, and every entrance is guarded.
    // slither-disable-next-line reentrancy-no-eth
    function accuse(bytes32 order, address provider, bytes32 evidence)
        external
        nonReentrant
        returns (uint256 dispute)
    {
        (address requester, address hub, bool ongoing) = escrow.partiesOf(order);
        if (!ongoing) revert OrderEnded(order);
        if ((msg.sender != requester && msg.sender != hub) || msg.sender == provider) {
            revert NotAParty(order, msg.sender);
        }
        dispute = accusationOf[order][provider];
        if (dispute != 0) revert AlreadyAccused(order, provider, dispute);
        uint256 amount = stake.hold(order, provider);
        if (amount == 0) revert NothingLocked(order, provider);
        address third = msg.sender == hub ? requester : hub;
        dispute = _open(order, msg.sender, provider, third, amount, true);
        accusationOf[order][provider] = dispute;
        emit Accused(order, provider, msg.sender, evidence, dispute);
        escrow.move(msg.sender, address(this), amount);
    }

    /// @notice Draws the committee of a dispute, two blocks after its opening or later. By anybody.
    /// @dev There is one draw. If it finds too few auditors, it seats none of them and the dispute can only expire: who
    /// enrols afterwards knows the dispute, and another seed could be wished for. If the seed's block is too old to be
    /// known, this call only fixes a new one, and the draw is made by another call after that block.
    function draw(uint256 dispute) external nonReentrant {
        Dispute storage record = _ongoing(dispute);
        if (!record.drawing) revert AlreadyDrawn(dispute);
        if (block.timestamp > record.ends) revert TooLate(dispute, record.ends);
        if (block.number <= record.anchor) revert TooEarly(dispute, uint256(record.anchor) + 1);
        bytes32 hash = blockhash(record.anchor);
        if (hash == 0) {
            _anchor(dispute, record);
            return;
        }
        record.drawing = false;
        _endWait();
        address[3] memory parties = [record.claimant, record.defendant, record.third];
        bytes32 seed = keccak256(abi.encode(hash, dispute));
        address[] memory seated = _seat(seed, seatOf(dispute), record.subject, parties);
        if (seated.length != 0) {
            record.committee = seated;
            record.ends = uint64(block.timestamp + parameters.get(Names.VOTING_WINDOW));
        }
        emit Drawn(dispute, seated);
    }

    /// @notice Ends a dispute by the votes of its committee, given in rising order of the members' addresses.
    /// By anybody who has collected them.
    function decide(uint256 dispute, uint8[] calldata rulings, bytes[] calldata signatures) external nonReentrant {
        Dispute storage record = _ongoing(dispute);
        if (record.committee.length == 0) revert NotDrawn(dispute);
        if (block.timestamp > record.ends) revert TooLate(dispute, record.ends);
        if (rulings.length != signatures.length) revert LengthsDiffer(rulings.length, signatures.length);
        (uint8 ruling, address[] memory majority) = _count(dispute, record, rulings, signatures);
        record.status = Status.Decided;
        record.ruling = ruling;
        emit Decided(dispute, ruling);
        stake.unlock(seatOf(dispute), record.committee);
        uint256 taken = ruling == FOR_THE_CLAIMANT ? _takeFromDefendant(record) : _takeFromClaimant(record);
        _share(dispute, record, taken, majority);
    }

    /// @notice Ends a dispute that was not decided in time: nobody pays. By anybody.
    function expire(uint256 dispute) external nonReentrant {
        Dispute storage record = _ongoing(dispute);
        if (block.timestamp <= record.ends) revert TooEarly(dispute, uint256(record.ends) + 1);
        record.status = Status.Expired;
        if (record.drawing) {
            record.drawing = false;
            _endWait();
        }
        emit Expired(dispute);
        stake.unlock(seatOf(dispute), record.committee);
        if (record.accusation) stake.letGo(record.subject, record.defendant);
        _move(record.claimant, record.bond);
    }

    /// @inheritdoc ICourt
    function outcome(uint256 dispute) external view returns (Status status, uint8 ruling) {
        Dispute storage record = _disputes[dispute];
        return (record.status, record.ruling);
    }

    /// @notice Everything about a dispute but its committee.
    function disputeState(uint256 dispute)
        external
        view
        returns (
            Status status,
            uint8 ruling,
            bool accusation,
            bytes32 subject,
            address claimant,
            address defendant,
            address third,
            uint256 bond,
            uint64 anchor,
            uint64 ends
        )
    {
        Dispute storage record = _disputes[dispute];
        status = record.status;
        ruling = record.ruling;
        accusation = record.accusation;
        subject = record.subject;
        claimant = record.claimant;
        defendant = record.defendant;
        third = record.third;
        bond = record.bond;
        anchor = record.anchor;
        ends = record.ends;
    }

    /// @notice Who decides a dispute, in rising order; empty until it is drawn.
    function committee(uint256 dispute) external view returns (address[] memory) {
        return _disputes[dispute].committee;
    }

    /// @notice The id under which a dispute locks the stake of its committee.
    function seatOf(uint256 dispute) public view returns (bytes32) {
        return keccak256(abi.encode(address(this), dispute));
    }

    /// @notice What a member of the committee signs to vote for `ruling`.
    function voteDigest(uint256 dispute, bytes32 subject, uint8 ruling) public view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(VOTE_TYPEHASH, dispute, subject, ruling)));
    }

    function _open(
        bytes32 subject,
        address claimant,
        address defendant,
        address third,
        uint256 bond,
        bool accusation
    ) private returns (uint256 dispute) {
        dispute = ++count;
        Dispute storage record = _disputes[dispute];
        record.subject = subject;
        record.claimant = claimant;
        record.status = Status.Open;
        record.accusation = accusation;
        record.drawing = true;
        record.defendant = defendant;
        record.ends = uint64(block.timestamp + parameters.get(Names.VOTING_WINDOW));
        record.third = third;
        record.bond = bond.toUint96();
        _awaitDraw();
        emit Opened(dispute, subject, claimant, defendant);
        _anchor(dispute, record);
    }

    function _anchor(uint256 dispute, Dispute storage record) private {
        record.anchor = uint64(block.number + 1);
        emit Anchored(dispute, block.number + 1);
    }

    /// The ruling that more than half of the committee signed, and those who signed it.
    function _count(uint256 dispute, Dispute storage record, uint8[] calldata rulings, bytes[] calldata signatures)
        private
        view
        returns (uint8 ruling, address[] memory majority)
    {
        address[] memory members = record.committee;
        bytes32[2] memory digests = [
            voteDigest(dispute, record.subject, FOR_THE_DEFENDANT), voteDigest(dispute, record.subject, FOR_THE_CLAIMANT)
        ];
        address[] memory voters = new address[](rulings.length);
        // Memory begins as zero.
        // slither-disable-next-line uninitialized-local
        uint256[2] memory votes;
        uint256 next = 0;
        for (uint256 i = 0; i < rulings.length; ++i) {
            if (rulings[i] != FOR_THE_DEFENDANT && rulings[i] != FOR_THE_CLAIMANT) revert BadRuling(rulings[i]);
            address signer = ECDSA.recoverCalldata(digests[rulings[i] - 1], signatures[i]);
            while (next < members.length && members[next] != signer) ++next;
            if (next == members.length) revert NotOnCommittee(dispute, signer);
            ++next;
            voters[i] = signer;
            ++votes[rulings[i] - 1];
        }
        ruling = votes[1] > votes[0] ? FOR_THE_CLAIMANT : FOR_THE_DEFENDANT;
        uint256 won = votes[ruling - 1];
        if (won * 2 <= members.length) revert NoMajority(dispute, members.length);
        majority = new address[](won);
        for (uint256 i = rulings.length; i > 0; --i) {
            if (rulings[i - 1] == ruling) majority[--won] = voters[i - 1];
        }
    }

    function _takeFromDefendant(Dispute storage record) private returns (uint256 taken) {
        taken = _slash(record.subject, record.defendant);
        _move(record.claimant, record.bond);
    }

    function _takeFromClaimant(Dispute storage record) private returns (uint256 taken) {
        if (record.accusation) stake.letGo(record.subject, record.defendant);
        uint256 bond = record.bond;
        if (bond == 0) return _slash(record.subject, record.claimant);
        taken = (bond * parameters.get(Names.SLASH_SHARE_BPS)) / BPS;
        _move(record.claimant, bond - taken);
    }

    function _slash(bytes32 subject, address account) private returns (uint256) {
        uint256 security = stake.lockOf(subject, account);
        return stake.slash(subject, account, (security * parameters.get(Names.SLASH_SHARE_BPS)) / BPS);
    }

    function _share(uint256 dispute, Dispute storage record, uint256 taken, address[] memory majority) private {
        bool claimantWon = record.ruling == FOR_THE_CLAIMANT;
        address winner = claimantWon ? record.claimant : record.defendant;
        address loser = claimantWon ? record.defendant : record.claimant;
        emit Penalized(dispute, loser, winner, taken);
        uint256 half = taken / 2;
        // What the division leaves goes to the treasury below.
        // slither-disable-next-line divide-before-multiply
        uint256 each = (taken - half) / majority.length;
        _move(winner, half);
        for (uint256 i = 0; i < majority.length; ++i) {
            _move(majority[i], each);
        }
        _move(treasury, taken - half - each * majority.length);
    }

    function _move(address to, uint256 amount) private {
        if (amount != 0) escrow.move(address(this), to, amount);
    }

    function _ongoing(uint256 dispute) private view returns (Dispute storage record) {
        record = _disputes[dispute];
        if (record.status != Status.Open) revert NotOpen(dispute);
    }
}
