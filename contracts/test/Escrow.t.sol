// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Books} from "../src/Books.sol";
import {Escrow} from "../src/Escrow.sol";
import {IEscrow} from "../src/interfaces/IEscrow.sol";
import {Names} from "../src/Names.sol";
import {Market} from "./Market.sol";

/// @title Money in and out, orders, approvals and proposals
contract EscrowTest is Market {
    function test_deposit_is_booked_and_withdrawn_to_the_last_unit() public {
        token.transfer(stranger, 7);
        vm.startPrank(stranger);
        token.approve(address(escrow), 7);
        escrow.deposit(7);
        vm.assertEq(balance(stranger), 7);
        escrow.withdraw(1);
        escrow.withdrawTo(provider, 6);
        vm.stopPrank();
        vm.assertEq(balance(stranger), 0);
        vm.assertEq(token.balanceOf(stranger), 1);
        vm.assertEq(token.balanceOf(provider), 6);
    }

    function test_nobody_withdraws_more_than_is_free() public {
        vm.startPrank(stranger);
        vm.expectRevert(abi.encodeWithSelector(Books.NotCovered.selector, stranger, 0, 1));
        escrow.withdraw(1);
        escrow.withdraw(0);
        vm.expectPartialRevert(Books.NotCovered.selector);
        escrow.withdraw(type(uint256).max);
        vm.expectPartialRevert(Books.BadReceiver.selector);
        escrow.withdrawTo(address(escrow), 0);
        vm.expectPartialRevert(Books.BadReceiver.selector);
        escrow.withdrawTo(address(0), 0);
        vm.stopPrank();
    }

    function test_deposit_with_a_permit_survives_being_front_run() public {
        token.transfer(requester, 10);
        uint256 deadline = block.timestamp + 1;
        bytes32 digest = permitDigest(requester, address(escrow), 10, deadline);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(keyOf("requester"), digest);
        uint256 before = balance(requester);
        vm.prank(stranger);
        token.permit(requester, address(escrow), 10, deadline, v, r, s);
        vm.prank(requester);
        escrow.depositWithPermit(10, deadline, v, r, s);
        vm.assertEq(balance(requester), before + 10);
    }

    function test_deposit_with_a_foreign_permit_takes_nothing() public {
        token.transfer(requester, 10);
        uint256 deadline = block.timestamp + 1;
        bytes32 digest = permitDigest(requester, address(escrow), 10, deadline);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(keyOf("requester"), digest);
        vm.prank(stranger);
        vm.expectRevert();
        escrow.depositWithPermit(10, deadline, v, r, s);
        vm.assertEq(token.balanceOf(requester), 10);
    }

    function test_only_vouchers_and_court_move_money() public {
        address[4] memory others = [stranger, hub, requester, address(stake)];
        for (uint256 i = 0; i < others.length; ++i) {
            vm.prank(others[i]);
            vm.expectRevert(abi.encodeWithSelector(Books.NotAllowed.selector, others[i]));
            escrow.move(requester, others[i], 1);
        }
    }

    function test_lock_takes_cap_and_bond_and_some_stake_of_the_hub() public {
        uint256 before = balance(requester);
        bytes32 id = locked();
        vm.assertEq(balance(requester), before - CAP - BOND);
        vm.assertEq(stake.lockOf(id, hub), 1 * GLN);
        assertState(id, IEscrow.State.Locked);
        (, address by, address with_, uint256 cap, uint256 bond, uint64 deadline, uint16 share,,,) =
            escrow.orderState(id);
        vm.assertEq(by, requester);
        vm.assertEq(with_, hub);
        vm.assertEq(cap, CAP);
        vm.assertEq(bond, BOND);
        vm.assertEq(deadline, block.timestamp + 7 days);
        vm.assertEq(share, 1_500);
    }

    function test_id_is_the_digest_of_the_typed_data() public {
        IEscrow.Order memory order = newOrder();
        bytes32 domain = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("Gleaner Escrow"),
                keccak256("1"),
                block.chainid,
                address(escrow)
            )
        );
        bytes32 typehash = keccak256(
            "Order(address requester,address hub,bytes32 job,uint256 cap,uint256 bond,uint64 deadline,bytes32 policy,uint256 nonce)"
        );
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", domain, keccak256(abi.encode(typehash, order))));
        vm.assertEq(escrow.orderId(order), digest);
    }

    function test_lock_is_for_the_named_hub_only() public {
        IEscrow.Order memory order = newOrder();
        bytes memory signature = signed("requester", escrow.orderId(order));
        vm.prank(stranger);
        vm.expectPartialRevert(Escrow.NotTheHub.selector);
        escrow.lock(order, signature);
    }

    function test_lock_refuses_deadlines_that_are_past_or_too_far() public {
        IEscrow.Order memory order = newOrder();
        order.deadline = uint64(block.timestamp);
        refuseLock(order, Escrow.BadDeadline.selector);
        order.deadline = uint64(block.timestamp + 90 days + 1);
        refuseLock(order, Escrow.BadDeadline.selector);
        order.deadline = type(uint64).max;
        refuseLock(order, Escrow.BadDeadline.selector);
        order.deadline = uint64(block.timestamp + 90 days);
        lock(order);
    }

    function test_bond_is_at_least_its_share_rounded_down() public {
        refuseLock(newOrder(CAP, BOND - 1), Escrow.BondTooSmall.selector);
        lock(newOrder(CAP, BOND));
        lock(newOrder(19, 0));
        refuseLock(newOrder(20, 0), Escrow.BondTooSmall.selector);
        setParameter(Names.BOND_SHARE_BPS, 0);
        lock(newOrder(CAP, 0));
    }

    function test_lock_needs_free_money() public {
        uint256 free = balance(requester);
        refuseLock(newOrder(free, free), Books.NotCovered.selector);
        refuseLock(newOrder(type(uint96).max, type(uint96).max), Books.NotCovered.selector);
        IEscrow.Order memory order = newOrder(type(uint256).max, type(uint256).max);
        bytes memory signature = signed("requester", escrow.orderId(order));
        vm.prank(hub);
        vm.expectRevert();
        escrow.lock(order, signature);
        lock(newOrder(0, 0));
        vm.assertEq(balance(requester), free);
    }

    function test_lock_needs_stake_of_the_hub() public {
        setParameter(Names.HUB_LOCK, 501 * GLN);
        refuseLock(newOrder(), Escrow.HubStakeMissing.selector);
        setParameter(Names.HUB_LOCK, 0);
        bytes32 id = locked();
        vm.assertEq(stake.lockOf(id, hub), 0);
    }

    function test_nonces_are_used_once_in_any_order_and_can_be_revoked() public {
        IEscrow.Order memory order = newOrder();
        order.nonce = 500;
        lock(order);
        order.nonce = 3;
        lock(order);
        refuseLock(order, Escrow.NonceUsed.selector);
        order.job = keccak256("another job");
        refuseLock(order, Escrow.NonceUsed.selector);
        vm.prank(requester);
        escrow.revoke(type(uint256).max);
        order.nonce = type(uint256).max;
        refuseLock(order, Escrow.NonceUsed.selector);
        vm.assertTrue(escrow.nonceUsed(requester, 500));
        vm.assertFalse(escrow.nonceUsed(requester, 501));
        vm.assertFalse(escrow.nonceUsed(hub, 500));
    }

    function test_one_bad_order_of_many_does_not_stop_the_others() public {
        IEscrow.Order[] memory orders = new IEscrow.Order[](3);
        bytes[] memory signatures = new bytes[](3);
        for (uint256 i = 0; i < 3; ++i) {
            orders[i] = newOrder();
            signatures[i] = signed(i == 1 ? "stranger" : "requester", escrow.orderId(orders[i]));
        }
        bytes32 bad = escrow.orderId(orders[1]);
        vm.expectEmit(address(escrow));
        emit Escrow.LockFailed(bad, abi.encodeWithSelector(Escrow.BadSignature.selector, bad));
        vm.prank(hub);
        escrow.lockMany(orders, signatures);
        assertState(escrow.orderId(orders[0]), IEscrow.State.Locked);
        assertState(bad, IEscrow.State.None);
        assertState(escrow.orderId(orders[2]), IEscrow.State.Locked);
    }

    function test_steps_of_batches_are_not_open_to_others() public {
        bytes32 id = locked();
        IEscrow.Settlement memory s = settlementOf(id, hub, CAP);
        IEscrow.Order memory order = newOrder();
        vm.startPrank(hub);
        vm.expectPartialRevert(Books.NotAllowed.selector);
        escrow.lockFrom(hub, order, "");
        vm.expectPartialRevert(Books.NotAllowed.selector);
        escrow.settleFrom(hub, s, "");
        vm.expectPartialRevert(Books.NotAllowed.selector);
        escrow.finalizeFrom(s);
        vm.stopPrank();
    }

    function test_engage_locks_stake_by_consent_and_can_be_repeated() public {
        bytes32 id = locked();
        address[] memory list = new address[](3);
        list[0] = provider;
        list[1] = stranger;
        list[2] = provider;
        vm.expectEmit(address(escrow));
        emit Escrow.NotEngaged(id, stranger);
        vm.prank(hub);
        escrow.engage(id, list);
        vm.prank(hub);
        escrow.engage(id, list);
        vm.assertEq(stake.lockOf(id, provider), 1 * GLN);
        vm.assertEq(stake.lockedOf(provider), 1 * GLN);
        vm.assertEq(escrow.engagedOf(id).length, 1);
        vm.prank(stranger);
        vm.expectPartialRevert(Escrow.NotTheHub.selector);
        escrow.engage(id, list);
    }

    function test_engage_needs_the_minimum_stake() public {
        bytes32 id = locked();
        setParameter(Names.MINIMUM_STAKE, 101 * GLN);
        engage(id, provider);
        vm.assertEq(stake.lockOf(id, provider), 0);
        setParameter(Names.MINIMUM_STAKE, 100 * GLN);
        engage(id, provider);
        vm.assertEq(stake.lockOf(id, provider), 1 * GLN);
    }

    function test_engaged_providers_have_a_limit() public {
        bytes32 id = locked();
        uint256 max = escrow.ENGAGED_MAX();
        address[] memory list = new address[](max + 1);
        for (uint256 i = 0; i <= max; ++i) {
            list[i] = address(uint160(0x10000 + i));
            token.approve(address(stake), 10 * GLN);
            stake.stakeFor(list[i], 10 * GLN);
            allowHub(list[i]);
        }
        vm.prank(hub);
        vm.expectPartialRevert(Escrow.TooManyEngaged.selector);
        escrow.engage(id, list);
    }

    function test_approved_settlement_pays_85_and_15_at_once() public {
        bytes32 id = running();
        uint256 before = balance(requester);
        settleApproved(settlementOf(id, provider, 60 * GLN, second, 20 * GLN));
        vm.assertEq(balance(provider), 51 * GLN);
        vm.assertEq(balance(second), 17 * GLN);
        vm.assertEq(balance(treasury), 12 * GLN);
        vm.assertEq(balance(requester), before + 20 * GLN + BOND);
        assertState(id, IEscrow.State.Settled);
        assertNoLocks(id);
    }

    function test_shares_are_rounded_down_for_the_platform() public {
        bytes32 id = locked();
        settleApproved(settlementOf(id, provider, 6, second, 7));
        vm.assertEq(balance(provider), 6);
        vm.assertEq(balance(second), 6);
        vm.assertEq(balance(treasury), 1);
    }

    function test_share_is_that_of_the_time_of_the_lock() public {
        bytes32 id = locked();
        setParameter(Names.PLATFORM_SHARE_BPS, 3_000);
        settleApproved(settlementOf(id, provider, 100));
        vm.assertEq(balance(treasury), 15);
    }

    function test_settlement_with_no_payouts_gives_everything_back() public {
        uint256 before = balance(requester);
        bytes32 id = running();
        IEscrow.Settlement memory s;
        s.order = id;
        settleApproved(s);
        vm.assertEq(balance(requester), before);
        assertNoLocks(id);
    }

    function test_approval_counts_after_the_deadline_and_over_a_proposal() public {
        bytes32 id = running();
        propose(settlementOf(id, provider, 50 * GLN));
        vm.warp(block.timestamp + 30 days);
        settleApproved(settlementOf(id, provider, 40 * GLN));
        vm.assertEq(balance(provider), 34 * GLN);
    }

    function test_approval_is_for_one_settlement_only() public {
        bytes32 id = locked();
        bytes memory approval = approvalOf(settlementOf(id, provider, 40 * GLN));
        IEscrow.Settlement memory other = settlementOf(id, provider, 41 * GLN);
        vm.prank(hub);
        vm.expectPartialRevert(Escrow.BadSignature.selector);
        escrow.settle(other, approval);
    }

    function test_proposal_is_final_after_the_window_and_not_before() public {
        bytes32 id = running();
        IEscrow.Settlement memory s = settlementOf(id, provider, 50 * GLN);
        propose(s);
        vm.expectPartialRevert(Escrow.WindowOpen.selector);
        escrow.finalize(s);
        vm.warp(block.timestamp + 1 days);
        IEscrow.Settlement memory other = settlementOf(id, provider, 51 * GLN);
        vm.expectPartialRevert(Escrow.WrongSettlement.selector);
        escrow.finalize(other);
        vm.prank(stranger);
        escrow.finalize(s);
        vm.assertEq(balance(provider), 42.5e9);
        vm.expectPartialRevert(Escrow.WrongState.selector);
        escrow.finalize(s);
        assertNoLocks(id);
    }

    function test_requester_accepts_a_proposal_by_itself() public {
        bytes32 id = running();
        IEscrow.Settlement memory s = settlementOf(id, provider, 50 * GLN);
        propose(s);
        vm.prank(stranger);
        vm.expectPartialRevert(Escrow.NotTheRequester.selector);
        escrow.accept(s);
        vm.startPrank(requester);
        IEscrow.Settlement memory other = settlementOf(id, provider, 49 * GLN);
        vm.expectPartialRevert(Escrow.WrongSettlement.selector);
        escrow.accept(other);
        escrow.accept(s);
        vm.stopPrank();
        assertState(id, IEscrow.State.Settled);
    }

    function test_proposals_are_made_once_and_before_the_deadline() public {
        bytes32 id = locked();
        IEscrow.Settlement memory s = settlementOf(id, provider, 50 * GLN);
        propose(s);
        vm.prank(hub);
        vm.expectPartialRevert(Escrow.WrongState.selector);
        escrow.settle(s, "");
        bytes32 late = locked();
        vm.warp(block.timestamp + 7 days + 1);
        s = settlementOf(late, provider, 50 * GLN);
        vm.prank(hub);
        vm.expectPartialRevert(Escrow.DeadlinePassed.selector);
        escrow.settle(s, "");
    }

    function test_release_is_open_to_anybody_after_the_deadline() public {
        uint256 before = balance(requester);
        bytes32 id = running();
        vm.warp(block.timestamp + 7 days);
        vm.expectPartialRevert(Escrow.DeadlineAhead.selector);
        escrow.release(id);
        vm.warp(block.timestamp + 1);
        vm.prank(stranger);
        escrow.release(id);
        vm.assertEq(balance(requester), before);
        assertState(id, IEscrow.State.Released);
        assertNoLocks(id);
        vm.expectPartialRevert(Escrow.WrongState.selector);
        escrow.release(id);
        IEscrow.Settlement memory s = settlementOf(id, provider, CAP);
        bytes memory approval = approvalOf(s);
        vm.prank(hub);
        vm.expectPartialRevert(Escrow.WrongState.selector);
        escrow.settle(s, approval);
    }

    function test_one_bad_settlement_of_many_does_not_stop_the_others() public {
        IEscrow.Settlement[] memory list = new IEscrow.Settlement[](3);
        bytes[] memory approvals = new bytes[](3);
        for (uint256 i = 0; i < 3; ++i) {
            list[i] = settlementOf(locked(), provider, i == 1 ? CAP + 1 : CAP);
            approvals[i] = approvalOf(list[i]);
        }
        vm.expectEmit(address(escrow));
        emit Escrow.SettleFailed(
            list[1].order, abi.encodeWithSelector(Escrow.AboveCap.selector, list[1].order, CAP + 1, CAP)
        );
        vm.prank(hub);
        escrow.settleMany(list, approvals);
        assertState(list[0].order, IEscrow.State.Settled);
        assertState(list[1].order, IEscrow.State.Locked);
        assertState(list[2].order, IEscrow.State.Settled);
    }

    function test_many_proposals_become_final_together() public {
        IEscrow.Settlement[] memory list = new IEscrow.Settlement[](2);
        list[0] = settlementOf(locked(), provider, CAP);
        list[1] = settlementOf(locked(), provider, CAP);
        vm.prank(hub);
        escrow.settleMany(list, new bytes[](2));
        vm.warp(block.timestamp + 1 days);
        vm.prank(requester);
        escrow.accept(list[1]);
        vm.expectEmit(address(escrow));
        emit Escrow.SettleFailed(
            list[1].order,
            abi.encodeWithSelector(Escrow.WrongState.selector, list[1].order, IEscrow.State.Settled)
        );
        escrow.finalizeMany(list);
        assertState(list[0].order, IEscrow.State.Settled);
    }

    /// A node looks for the least gas with which a transaction does not revert: that must be enough for all of it.
    function testFuzz_a_batch_with_too_little_gas_reverts_and_reports_nothing(uint256 gasGiven) public {
        gasGiven = bound(gasGiven, 30_000, 400_000);
        IEscrow.Settlement[] memory list = new IEscrow.Settlement[](1);
        bytes[] memory approvals = new bytes[](1);
        list[0] = settlementOf(locked(), provider, CAP);
        approvals[0] = approvalOf(list[0]);
        vm.prank(hub);
        try escrow.settleMany{gas: gasGiven}(list, approvals) {
            assertState(list[0].order, IEscrow.State.Settled);
        } catch {
            assertState(list[0].order, IEscrow.State.Locked);
        }
    }

    function test_batches_want_as_many_signatures_as_items() public {
        vm.startPrank(hub);
        vm.expectPartialRevert(Escrow.LengthsDiffer.selector);
        escrow.lockMany(new IEscrow.Order[](1), new bytes[](0));
        vm.expectPartialRevert(Escrow.LengthsDiffer.selector);
        escrow.settleMany(new IEscrow.Settlement[](1), new bytes[](2));
        vm.stopPrank();
    }

    function testFuzz_every_settlement_adds_up(uint96 capSeed, uint96 one, uint96 two, uint16 share) public {
        uint256 cap = bound(capSeed, 0, 5_000 * GLN);
        uint256 grossOne = bound(one, 0, cap);
        uint256 grossTwo = bound(two, 0, cap - grossOne);
        setParameter(Names.PLATFORM_SHARE_BPS, bound(share, 0, 3_000));
        uint256 bps = parameters.get(Names.PLATFORM_SHARE_BPS);
        uint256 before = balance(requester);
        bytes32 id = lock(newOrder(cap, cap / 20));
        settleApproved(settlementOf(id, provider, grossOne, second, grossTwo));
        uint256 fees = (grossOne * bps) / 10_000 + (grossTwo * bps) / 10_000;
        vm.assertEq(balance(treasury), fees);
        vm.assertEq(balance(provider), grossOne - (grossOne * bps) / 10_000);
        vm.assertEq(balance(provider) + balance(second) + fees, grossOne + grossTwo);
        vm.assertEq(balance(requester), before - grossOne - grossTwo);
    }

    function testFuzz_no_settlement_exceeds_the_cap(uint256 one, uint256 two) public {
        bytes32 id = locked();
        IEscrow.Settlement memory s = settlementOf(id, provider, one, second, two);
        vm.assume(one > CAP || two > CAP || one + two > CAP);
        bytes memory approval = approvalOf(s);
        vm.startPrank(hub);
        vm.expectRevert();
        escrow.settle(s, "");
        vm.expectRevert();
        escrow.settle(s, approval);
        vm.stopPrank();
    }

    function refuseLock(IEscrow.Order memory order, bytes4 reason) private {
        bytes memory signature = signed("requester", escrow.orderId(order));
        vm.prank(hub);
        vm.expectPartialRevert(reason);
        escrow.lock(order, signature);
    }

    function assertNoLocks(bytes32 id) private view {
        vm.assertEq(stake.lockOf(id, hub), 0);
        vm.assertEq(stake.lockOf(id, provider), 0);
        vm.assertEq(stake.lockOf(id, second), 0);
        vm.assertEq(stake.lockedOf(hub) + stake.lockedOf(provider) + stake.lockedOf(second), 0);
        vm.assertEq(escrow.engagedOf(id).length, 0);
    }

    function permitDigest(address owner, address spender, uint256 value, uint256 deadline)
        private
        view
        returns (bytes32)
    {
        bytes32 typehash =
            keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
        bytes32 hash = keccak256(abi.encode(typehash, owner, spender, value, token.nonces(owner), deadline));
        return keccak256(abi.encodePacked(hex"1901", token.DOMAIN_SEPARATOR(), hash));
    }
}
