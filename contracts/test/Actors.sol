// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ICourt} from "../src/interfaces/ICourt.sol";
import {IEscrow} from "../src/interfaces/IEscrow.sol";
import {Names} from "../src/Names.sol";
import {Vouchers} from "../src/Vouchers.sol";
import {Market} from "./Market.sol";

/// @title Everybody in the market, acting at random; invariant tests call it
/// @dev What goes wrong within an action is noted in `fault`, since a revert would only end the action.
contract Actors is Market {
    bytes32[] public orders;
    bytes32[] public channels;
    address[] public everybody;
    string public fault;

    uint32 private constant STEPS = 8;
    uint256 private clock;
    uint256 private height;
    /// Whether the list of auditors stands still, since when, and for how long it did before.
    bool private still;
    uint256 private stillSince;
    uint256 private stoodStill;
    mapping(address auditor => uint256) private heardAt;

    function setUp() public override {
        super.setUp();
        enrollAuditors(AUDITORS);
        everybody = [requester, hub, provider, second, stranger, treasury];
        for (uint256 i = 0; i < AUDITORS; ++i) {
            everybody.push(account(auditorName(i)));
            heardAt[account(auditorName(i))] = block.timestamp;
        }
        // Exactly a committee at first, so that draws come out short as often as not.
        for (uint256 i = 5; i < AUDITORS; ++i) {
            vm.prank(account(auditorName(i)));
            court.resign();
        }
        clock = block.timestamp;
        height = block.number;
    }

    /// Time goes on at every action, and sometimes far.
    modifier later(uint256 seed) {
        clock += seed % 7 == 0 ? seed % 2 days : seed % 2 hours;
        height += 1 + (seed % 3);
        vm.warp(clock);
        vm.roll(height);
        _;
        bool waits = court.undrawn() != 0;
        if (waits && !still) stillSince = clock;
        if (!waits && still) stoodStill += clock - stillSince;
        still = waits;
    }

    // ── money and stake ──────────────────────────────────────────────────────────────────────────────────────

    function depositSome(uint256 seed, uint256 amount) external later(seed) {
        amount = bound(amount, 0, 1_000 * GLN);
        token.approve(address(escrow), amount);
        escrow.depositFor(someone(seed), amount);
    }

    function withdrawSome(uint256 seed, uint256 amount) external later(seed) {
        address who = someone(seed);
        uint256 free = balance(who);
        uint256 had = token.balanceOf(who);
        vm.startPrank(who);
        try escrow.withdraw(free + 1) {
            fault = "somebody withdrew more than its own";
        } catch {}
        amount = bound(amount, 0, free);
        escrow.withdraw(amount);
        vm.stopPrank();
        check(token.balanceOf(who) == had + amount && balance(who) == free - amount, "withdrawal is not exact");
    }

    function stakeSome(uint256 seed, uint256 amount) external later(seed) {
        amount = bound(amount, 0, 50 * GLN);
        token.approve(address(stake), amount);
        stake.stakeFor(someone(seed), amount);
    }

    function unbondSome(uint256 seed, uint256 amount) external later(seed) {
        address who = someone(seed);
        uint256 free = stake.freeOf(who);
        vm.startPrank(who);
        try stake.unbond(free + 1) {
            fault = "locked stake was unbonded";
        } catch {}
        stake.unbond(bound(amount, 0, free / 2));
        vm.stopPrank();
    }

    function claimOrCancel(uint256 seed) external later(seed) {
        address who = someone(seed);
        (uint256 amount, uint64 ready) = stake.unbondingOf(who);
        if (amount == 0) return;
        vm.prank(who);
        if (clock >= ready) {
            check(stake.claim() == amount, "claimed another amount than was unbonding");
        } else {
            stake.cancelUnbond();
        }
    }

    // ── orders ───────────────────────────────────────────────────────────────────────────────────────────────

    function lockOrder(uint256 seed, uint256 cap) external later(seed) {
        cap = bound(cap, 0, 200 * GLN);
        if (balance(requester) < 2 * cap || stake.freeOf(hub) < 1 * GLN) return;
        orders.push(lock(newOrder(cap, cap / 20 + (seed % 3))));
    }

    function engageSomeone(uint256 seed, uint256 which) external later(seed) {
        bytes32 id = some(which, IEscrow.State.Locked);
        if (stateOf(id) != IEscrow.State.Locked) return;
        engage(id, seed % 2 == 0 ? provider : second);
    }

    function proposePlan(uint256 seed, uint256 which) external later(seed) {
        bytes32 id = some(which, IEscrow.State.Locked);
        (IEscrow.State state,,,,, uint64 deadline,,,,) = escrow.orderState(id);
        if (state != IEscrow.State.Locked || clock > deadline) return;
        propose(planOf(id, 1));
    }

    function approve(uint256 seed, uint256 which) external later(seed) {
        bytes32 id = some(which);
        IEscrow.State state = stateOf(id);
        if (state != IEscrow.State.Locked && state != IEscrow.State.Proposed) return;
        IEscrow.Settlement memory plan = planOf(id, 3);
        bytes memory approval = approvalOf(plan);
        paysExactly(hub, abi.encodeCall(escrow.settle, (plan, approval)), plan);
    }

    function finalizeOrAccept(uint256 seed, uint256 which) external later(seed) {
        bytes32 id = some(which, IEscrow.State.Proposed);
        (IEscrow.State state,,,,,,,, uint64 finalAt,) = escrow.orderState(id);
        if (state != IEscrow.State.Proposed) return;
        IEscrow.Settlement memory plan = planOf(id, 1);
        if (clock >= finalAt) {
            paysExactly(stranger, abi.encodeCall(escrow.finalize, (plan)), plan);
        } else if (seed % 3 == 0) {
            paysExactly(requester, abi.encodeCall(escrow.accept, (plan)), plan);
        }
    }

    function releaseOrder(uint256 seed, uint256 which) external later(seed) {
        bytes32 id = some(which);
        (IEscrow.State state,,, uint256 cap, uint256 bond, uint64 deadline,,,, uint256 dispute) = escrow.orderState(id);
        (ICourt.Status status,) = court.outcome(dispute);
        bool late = state == IEscrow.State.Locked && clock > deadline;
        bool undecided = state == IEscrow.State.Disputed && status == ICourt.Status.Expired;
        uint256 before = balance(requester);
        try escrow.release(id) {
            check(late || undecided, "released too early");
            check(balance(requester) == before + cap + bond, "release is not exact");
        } catch {
            check(!late && !undecided, "not released in time");
        }
    }

    /// Tries every way to be paid again by an order that has ended.
    function payAgain(uint256 seed, uint256 which) external later(seed) {
        bytes32 id = some(which);
        IEscrow.State state = stateOf(id);
        if (state != IEscrow.State.Settled && state != IEscrow.State.Released) return;
        IEscrow.Settlement memory plan = planOf(id, 1 + (seed % 3));
        bytes memory approval = approvalOf(plan);
        attempt(hub, abi.encodeCall(escrow.settle, (plan, approval)));
        attempt(hub, abi.encodeCall(escrow.settle, (plan, "")));
        attempt(requester, abi.encodeCall(escrow.accept, (plan)));
        attempt(requester, abi.encodeCall(escrow.challenge, (id, plan)));
        attempt(stranger, abi.encodeCall(escrow.finalize, (plan)));
        attempt(stranger, abi.encodeCall(escrow.conclude, (id, plan)));
        attempt(stranger, abi.encodeCall(escrow.release, (id)));
    }

    // ── disputes ─────────────────────────────────────────────────────────────────────────────────────────────

    function challengePlan(uint256 seed, uint256 which) external later(seed) {
        bytes32 id = some(which, IEscrow.State.Proposed);
        (IEscrow.State state,,,,,,,, uint64 finalAt,) = escrow.orderState(id);
        if (state != IEscrow.State.Proposed || clock >= finalAt) return;
        address by = seed % 3 == 0 ? requester : seed % 3 == 1 ? provider : second;
        if (stake.lockOf(id, by) == 0) by = requester;
        IEscrow.Settlement memory plan = planOf(id, 2);
        vm.prank(by);
        escrow.challenge(id, plan);
    }

    function accuseSomeone(uint256 seed, uint256 which) external later(seed) {
        bytes32 id = some(which, seed % 7 < 4 ? IEscrow.State.Locked : IEscrow.State.Proposed);
        address accused = stake.lockOf(id, provider) != 0 ? provider : second;
        vm.prank(seed % 5 < 3 ? hub : requester);
        court.accuse(id, accused, bytes32(seed));
    }

    /// The list grows and shrinks around the size of a committee.
    function enrollOrResign(uint256 seed, uint256 which) external later(seed) {
        address auditor = account(auditorName(which % AUDITORS));
        bool listed = court.isAuditor(auditor);
        if (listed && seed % 2 != 0) return;
        vm.prank(auditor);
        if (listed) return court.resign();
        court.enroll();
        heardAt[auditor] = listTime();
    }

    /// Most auditors say that they are there; some sleep, and anybody may evict one of those.
    function renewMost(uint256 seed, uint256 sleeping) external later(seed) {
        for (uint256 i = 0; i < AUDITORS; ++i) {
            address auditor = account(auditorName(i));
            if ((sleeping >> (4 * i)) % 16 == 0 || !court.isAuditor(auditor)) continue;
            vm.prank(auditor);
            try court.renew() {
                check(!still, "renewed while a draw was pending");
                heardAt[auditor] = listTime();
            } catch {
                check(still, "an auditor could not renew");
            }
        }
    }

    function evictSomeone(uint256 seed, uint256 which) external later(seed) {
        address auditor = account(auditorName(which % AUDITORS));
        if (!court.isAuditor(auditor)) return;
        bool due = !isPresent(auditor) || stake.stakeOf(auditor) < 10 * GLN;
        try court.evict(auditor) {
            check(due && !still, "evicted without a reason");
        } catch {
            check(!due || still, "not evicted");
        }
    }

    function drawCommittee(uint256 seed, uint256 which) external later(seed) {
        if (court.count() == 0) return;
        uint256 dispute = openDispute(which, false);
        court.draw(dispute);
        address[] memory members = court.committee(dispute);
        for (uint256 i = 0; i < members.length; ++i) {
            check(isPresent(members[i]), "a lapsed auditor was seated");
        }
    }

    function decideDispute(uint256 seed, uint256 which) external later(seed) {
        if (court.count() == 0) return;
        uint256 dispute = openDispute(which, true);
        uint256 members = court.committee(dispute).length;
        if (members == 0) return;
        uint8 ruling = 1 + uint8(seed % 2);
        (uint8[] memory rulings, bytes[] memory signatures) = votesFor(dispute, ruling, members / 2 + 1);
        (,,, bytes32 subject, address claimant, address defendant,,,,) = court.disputeState(dispute);
        address loser = ruling == 1 ? claimant : defendant;
        uint256 security = stake.lockOf(subject, loser);
        uint256[] memory staked = stakes();
        uint256 unbonding = allUnbonding();
        try court.decide(dispute, rulings, signatures) {
            check(allUnbonding() == unbonding, "unbonding stake was reached");
            for (uint256 i = 0; i < everybody.length; ++i) {
                uint256 lost = staked[i] - stake.stakeOf(everybody[i]);
                check(lost == 0 || (everybody[i] == loser && lost <= security), "slashed beyond the lock");
            }
        } catch {}
        try court.decide(dispute, rulings, signatures) {
            fault = "decided twice";
        } catch {}
    }

    function expireDispute(uint256 seed, uint256 which) external later(seed) {
        if (court.count() != 0) court.expire(openDispute(which, seed % 2 == 0));
    }

    function concludeOrder(uint256 seed, uint256 which) external later(seed) {
        bytes32 id = some(which, IEscrow.State.Disputed);
        (IEscrow.State state,,,,,,,,, uint256 dispute) = escrow.orderState(id);
        (ICourt.Status status, uint8 ruling) = court.outcome(dispute);
        if (state != IEscrow.State.Disputed || status != ICourt.Status.Decided) return;
        IEscrow.Settlement memory plan = planOf(id, ruling);
        paysExactly(stranger, abi.encodeCall(escrow.conclude, (id, plan)), plan);
    }

    // ── channels ─────────────────────────────────────────────────────────────────────────────────────────────

    function openChannel(uint256 seed, uint256 amount) external later(seed) {
        amount = bound(amount, 0, balance(requester) / 4);
        vm.prank(requester);
        channels.push(vouchers.open(provider, amount, channels.length));
    }

    function redeemSteps(uint256 seed, uint256 which, uint32 index) external later(seed) {
        bytes32 channel = channels[which % channels.length];
        index = index % (STEPS + 1);
        bytes32[] memory words = wordsOf(channel);
        Vouchers.Anchor memory anchor = Vouchers.Anchor(channel, seed % GLN, words[STEPS], seed % 1e6, STEPS);
        bytes memory signature = signed("requester", vouchers.anchorDigest(anchor));
        vm.prank(provider);
        vouchers.redeem(anchor, signature, index, words[STEPS - index]);
    }

    function closeChannel(uint256 seed, uint256 which) external later(seed) {
        bytes32 channel = channels[which % channels.length];
        (,,,,, uint64 closingAt) = vouchers.channelState(channel);
        if (closingAt != 0) {
            vouchers.finishClose(channel);
        } else if (seed % 2 == 0) {
            vm.prank(requester);
            vouchers.startClose(channel);
        } else {
            vm.prank(provider);
            vouchers.close(channel);
        }
    }

    // ── what the invariants ask ──────────────────────────────────────────────────────────────────────────────

    function count() external view returns (uint256 ordersMade, uint256 channelsMade, uint256 people) {
        return (orders.length, channels.length, everybody.length);
    }

    function market() external view returns (address, address, address, address, address) {
        return (address(token), address(stake), address(escrow), address(court), address(vouchers));
    }

    // ── steps ────────────────────────────────────────────────────────────────────────────────────────────────

    function check(bool good, string memory what) private {
        if (!good) fault = what;
    }

    function someone(uint256 seed) private view returns (address) {
        return everybody[(seed >> 8) % everybody.length];
    }

    /// The time by which auditors lapse, as it was when the action began.
    function listTime() private view returns (uint256) {
        return (still ? stillSince : clock) - stoodStill;
    }

    function isPresent(address auditor) private view returns (bool) {
        return listTime() <= heardAt[auditor] + 1 days;
    }

    function some(uint256 which) private view returns (bytes32) {
        return orders[which % orders.length];
    }

    /// An order in the wanted state if there is one.
    function some(uint256 which, IEscrow.State wanted) private view returns (bytes32 id) {
        for (uint256 i = 0; i < orders.length; ++i) {
            id = orders[(which % orders.length + i) % orders.length];
            if (stateOf(id) == wanted) return id;
        }
    }

    /// An open dispute if there is one, with or without a committee.
    function openDispute(uint256 which, bool seated) private view returns (uint256 dispute) {
        uint256 disputes = court.count();
        for (uint256 i = 0; i < disputes; ++i) {
            dispute = 1 + ((which % disputes + i) % disputes);
            (ICourt.Status status,) = court.outcome(dispute);
            if (status == ICourt.Status.Open && (court.committee(dispute).length != 0) == seated) return dispute;
        }
        return 1;
    }

    /// The settlement that a role has in mind for an order: 1 the hub's, 2 the challenger's, 3 the approved one.
    function planOf(bytes32 id, uint256 role) private view returns (IEscrow.Settlement memory) {
        (,,, uint256 cap,,,,,,) = escrow.orderState(id);
        uint256 chance = uint256(keccak256(abi.encode(id, role)));
        uint256 one = chance % (cap + 1);
        uint256 two = (chance >> 128) % (cap - one + 1);
        IEscrow.Settlement memory plan = settlementOf(id, provider, one, second, two);
        plan.receiptsRoot = bytes32(chance);
        return plan;
    }

    /// Makes a call that settles, and notes a fault unless everybody gets exactly what is due.
    function paysExactly(address by, bytes memory call, IEscrow.Settlement memory plan) private {
        (,,, uint256 cap, uint256 bond,, uint16 share,,,) = escrow.orderState(plan.order);
        uint256[4] memory before = [balance(provider), balance(second), balance(treasury), balance(requester)];
        uint256 one = plan.payouts[0].gross;
        uint256 two = plan.payouts[1].gross;
        uint256 feeOne = (one * share) / 10_000;
        uint256 feeTwo = (two * share) / 10_000;
        vm.prank(by);
        (bool done,) = address(escrow).call(call);
        check(done, "a settlement that was due failed");
        check(balance(provider) == before[0] + one - feeOne, "first payout is not exact");
        check(balance(second) == before[1] + two - feeTwo, "second payout is not exact");
        check(balance(treasury) == before[2] + feeOne + feeTwo, "platform's share is not exact");
        check(balance(requester) == before[3] + cap + bond - one - two, "refund is not exact");
    }

    function attempt(address by, bytes memory call) private {
        vm.prank(by);
        (bool done,) = address(escrow).call(call);
        check(!done, "an order that had ended was paid again");
    }

    function stakes() private view returns (uint256[] memory list) {
        list = new uint256[](everybody.length);
        for (uint256 i = 0; i < list.length; ++i) {
            list[i] = stake.stakeOf(everybody[i]);
        }
    }

    function allUnbonding() private view returns (uint256 sum) {
        for (uint256 i = 0; i < everybody.length; ++i) {
            (uint256 amount,) = stake.unbondingOf(everybody[i]);
            sum += amount;
        }
    }

    function wordsOf(bytes32 channel) private pure returns (bytes32[] memory words) {
        words = new bytes32[](STEPS + 1);
        words[0] = keccak256(abi.encode("seed", channel));
        for (uint256 i = 0; i < STEPS; ++i) {
            words[i + 1] = keccak256(abi.encode(words[i]));
        }
    }
}
