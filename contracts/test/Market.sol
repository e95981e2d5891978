// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Base} from "./Base.sol";
import {Court} from "../src/Court.sol";
import {Escrow} from "../src/Escrow.sol";
import {ICourt} from "../src/interfaces/ICourt.sol";
import {IEscrow} from "../src/interfaces/IEscrow.sol";
import {IParameters} from "../src/interfaces/IParameters.sol";
import {IStake} from "../src/interfaces/IStake.sol";
import {Names} from "../src/Names.sol";
import {Parameters} from "../src/Parameters.sol";
import {Stake} from "../src/Stake.sol";
import {Token} from "../src/Token.sol";
import {Vouchers} from "../src/Vouchers.sol";

/// @title Token, parameters, stake, escrow, court and vouchers with a few funded accounts, for the tests of the market
/// @dev The treasury owns the parameters directly here; that only a vote reaches them is tested with the governor.
abstract contract Market is Base {
    uint256 internal constant GLN = 1e9;
    uint256 internal constant SUPPLY = 1_000_000_000 * GLN;
    uint256 internal constant CAP = 100 * GLN;
    uint256 internal constant BOND = 5 * GLN;
    uint64 internal constant START = 1_800_000_000;
    uint256 internal constant AUDITORS = 7;

    Token internal token;
    Parameters internal parameters;
    Stake internal stake;
    Escrow internal escrow;
    Court internal court;
    Vouchers internal vouchers;

    address internal treasury;
    address internal rewards;
    address internal requester;
    address internal hub;
    address internal provider;
    address internal second;
    address internal stranger;

    uint256 private _nextNonce;

    function setUp() public virtual {
        vm.warp(START);
        vm.roll(1_000);
        treasury = account("treasury");
        rewards = account("rewards");
        requester = account("requester");
        hub = account("hub");
        provider = account("provider");
        second = account("second");
        stranger = account("stranger");
        deploy(address(this));
        fund("requester", 10_000 * GLN, 0);
        fund("hub", 1_000 * GLN, 500 * GLN);
        fund("provider", 0, 100 * GLN);
        fund("second", 0, 100 * GLN);
        allowHub(provider);
        allowHub(second);
    }

    /// Deploys as the real deployment does: addresses are known before there is anything at them.
    function deploy(address deployer) internal {
        token = new Token(SUPPLY, address(this));
        parameters = new Parameters(treasury, defaults());
        uint64 nonce = nonceOf(deployer);
        address stakeAt = vm.computeCreateAddress(deployer, nonce);
        address escrowAt = vm.computeCreateAddress(deployer, nonce + 1);
        address courtAt = vm.computeCreateAddress(deployer, nonce + 2);
        address vouchersAt = vm.computeCreateAddress(deployer, nonce + 3);
        stake = new Stake(token, IParameters(address(parameters)), IEscrow(escrowAt), courtAt, rewards);
        escrow = new Escrow(token, IParameters(address(parameters)), IStake(stakeAt), ICourt(courtAt), vouchersAt);
        court = new Court(IParameters(address(parameters)), IStake(stakeAt), IEscrow(escrowAt), rewards);
        vouchers = new Vouchers(IEscrow(escrowAt), IParameters(address(parameters)));
        vm.assertEq(address(vouchers), vouchersAt);
        vm.label(stakeAt, "Stake");
        vm.label(escrowAt, "Escrow");
        vm.label(courtAt, "Court");
        vm.label(vouchersAt, "Vouchers");
    }

    function defaults() internal pure returns (uint256[] memory values) {
        values = new uint256[](15);
        values[0] = 1_500;
        values[1] = 5_000;
        values[2] = 500;
        values[3] = 1_500;
        values[4] = 10 * GLN;
        values[5] = 100 * GLN;
        values[6] = 1 * GLN;
        values[7] = 1 * GLN;
        values[8] = 1 days;
        values[9] = 1 days;
        values[10] = 7 days;
        values[11] = 5;
        values[12] = 1_000_000 * GLN;
        values[13] = 7 days;
        values[14] = 90 days;
    }

    // ── accounts ─────────────────────────────────────────────────────────────────────────────────────────────

    /// Gives an account money in Escrow and in Stake.
    function fund(string memory name, uint256 free, uint256 staked) internal returns (address who) {
        who = account(name);
        token.approve(address(escrow), free);
        escrow.depositFor(who, free);
        token.approve(address(stake), staked);
        stake.stakeFor(who, staked);
    }

    function allowHub(address who) internal {
        vm.prank(who);
        stake.allow(hub, type(uint256).max);
    }

    function setParameter(bytes32 name, uint256 value) internal {
        vm.prank(treasury);
        parameters.set(name, value);
    }

    // ── orders ───────────────────────────────────────────────────────────────────────────────────────────────

    function newOrder() internal returns (IEscrow.Order memory) {
        return newOrder(CAP, BOND);
    }

    function newOrder(uint256 cap, uint256 bond) internal returns (IEscrow.Order memory) {
        return IEscrow.Order({
            requester: requester,
            hub: hub,
            job: keccak256("a job"),
            cap: cap,
            bond: bond,
            deadline: uint64(block.timestamp + 7 days),
            policy: keccak256("a policy"),
            nonce: _nextNonce++
        });
    }

    function lock(IEscrow.Order memory order) internal returns (bytes32 id) {
        bytes memory signature = signed("requester", escrow.orderId(order));
        vm.prank(order.hub);
        return escrow.lock(order, signature);
    }

    function locked() internal returns (bytes32 id) {
        return lock(newOrder());
    }

    function engage(bytes32 id, address one) internal {
        address[] memory list = new address[](1);
        list[0] = one;
        vm.prank(hub);
        escrow.engage(id, list);
    }

    /// An order with both providers engaged.
    function running() internal returns (bytes32 id) {
        id = locked();
        engage(id, provider);
        engage(id, second);
    }

    // ── settlements ──────────────────────────────────────────────────────────────────────────────────────────

    function settlementOf(bytes32 id, address to, uint256 gross) internal pure returns (IEscrow.Settlement memory s) {
        s.order = id;
        s.receiptsRoot = keccak256("receipts");
        s.payouts = new IEscrow.Payout[](1);
        s.payouts[0] = IEscrow.Payout(to, gross);
    }

    function settlementOf(bytes32 id, address one, uint256 grossOne, address two, uint256 grossTwo)
        internal
        pure
        returns (IEscrow.Settlement memory s)
    {
        s.order = id;
        s.receiptsRoot = keccak256("receipts");
        s.payouts = new IEscrow.Payout[](2);
        s.payouts[0] = IEscrow.Payout(one, grossOne);
        s.payouts[1] = IEscrow.Payout(two, grossTwo);
    }

    function hashOf(IEscrow.Settlement memory s) internal pure returns (bytes32) {
        return keccak256(abi.encode(s));
    }

    function approvalOf(IEscrow.Settlement memory s) internal view returns (bytes memory) {
        return signed("requester", escrow.approvalDigest(s.order, hashOf(s)));
    }

    function propose(IEscrow.Settlement memory s) internal {
        vm.prank(hub);
        escrow.settle(s, "");
    }

    function settleApproved(IEscrow.Settlement memory s) internal {
        bytes memory approval = approvalOf(s);
        vm.prank(hub);
        escrow.settle(s, approval);
    }

    function stateOf(bytes32 id) internal view returns (IEscrow.State state) {
        (state,,,,,,,,,) = escrow.orderState(id);
    }

    function assertState(bytes32 id, IEscrow.State wanted) internal view {
        vm.assertEq(uint256(stateOf(id)), uint256(wanted), "order state");
    }

    // ── disputes ─────────────────────────────────────────────────────────────────────────────────────────────

    function auditorName(uint256 i) internal pure returns (string memory) {
        return string.concat("auditor ", vm.toString(i));
    }

    function enrollAuditors(uint256 count) internal {
        for (uint256 i = 0; i < count; ++i) {
            address auditor = fund(auditorName(i), 0, 50 * GLN);
            vm.prank(auditor);
            court.enroll();
        }
    }

    /// The auditors from `from` up to `to` say that they are there.
    function renewAuditors(uint256 from, uint256 to) internal {
        for (uint256 i = from; i < to; ++i) {
            vm.prank(account(auditorName(i)));
            court.renew();
        }
    }

    /// The name of an auditor among the first `AUDITORS` ones, by its address.
    function nameOf(address auditor) internal pure returns (string memory) {
        for (uint256 i = 0; i < 32; ++i) {
            if (vm.addr(keyOf(auditorName(i))) == auditor) return auditorName(i);
        }
        revert("not an auditor");
    }

    function drawn(uint256 dispute) internal returns (address[] memory) {
        vm.roll(vm.getBlockNumber() + 2);
        court.draw(dispute);
        return court.committee(dispute);
    }

    function vote(uint256 dispute, address member, uint8 ruling) internal view returns (bytes memory) {
        (,,, bytes32 subject,,,,,,) = court.disputeState(dispute);
        return signed(nameOf(member), court.voteDigest(dispute, subject, ruling));
    }

    /// The first `count` members of the committee vote for `ruling`, and the votes are handed in.
    function decide(uint256 dispute, uint8 ruling, uint256 count) internal {
        (uint8[] memory rulings, bytes[] memory signatures) = votesFor(dispute, ruling, count);
        court.decide(dispute, rulings, signatures);
    }

    function votesFor(uint256 dispute, uint8 ruling, uint256 count)
        internal
        view
        returns (uint8[] memory rulings, bytes[] memory signatures)
    {
        address[] memory members = court.committee(dispute);
        rulings = new uint8[](count);
        signatures = new bytes[](count);
        for (uint256 i = 0; i < count; ++i) {
            rulings[i] = ruling;
            signatures[i] = vote(dispute, members[i], ruling);
        }
    }

    // ── sums ─────────────────────────────────────────────────────────────────────────────────────────────────

    function balance(address who) internal view returns (uint256) {
        return escrow.balanceOf(who);
    }

    function nonceOf(address who) internal view returns (uint64) {
        return vm.getNonce(who);
    }
}
