// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IEscrow} from "../src/interfaces/IEscrow.sol";
import {Market} from "./Market.sol";

/// @title What settling costs
/// @dev Calls are run as transactions of their own, so that nothing is warm which would be cold on a chain, and the
/// price of a transaction and its data is part of the sum. Providers have earned before, as they mostly have.
contract EscrowGasTest is Market {
    /// What Ethereum allows one transaction (EIP-7825).
    uint256 private constant TRANSACTION_GAS_MAX = 16_777_216;
    /// More than the transaction itself and its data cost before the first instruction.
    uint256 private constant INTRINSIC_GAS = 321_000;

    /// forge-config: default.isolate = true
    function test_gas_of_settling_approved_orders_in_batches() public {
        earnBefore();
        emit log_named_uint("gas per order, 1 in a batch", settleBatch(1));
        emit log_named_uint("gas per order, 10 in a batch", settleBatch(10));
        emit log_named_uint("gas per order, 100 in a batch", settleBatch(100));
    }

    /// forge-config: default.isolate = true
    function test_gas_of_a_task_falls_with_the_tasks_under_one_root() public {
        earnBefore();
        uint256 total = settleBatch(1);
        emit log_named_uint("gas per task, order of 1 task", total);
        emit log_named_uint("gas per task, order of 100 tasks on 1 provider", total / 100);
        emit log_named_uint("gas per task, order of 1,000 tasks on 1 provider", total / 1_000);
        uint256 spread = settleSpread(100, 0);
        emit log_named_uint("gas per task, order of 100 tasks on 100 providers", spread / 100);
        emit log_named_uint("gas per task, order of 1,000 tasks on 100 providers", spread / 1_000);
        vm.assertLt(spread / 1_000, 5_000);
    }

    /// forge-config: default.isolate = true
    function test_gas_of_locking_orders_in_batches() public {
        emit log_named_uint("gas per lock, 1 in a batch", lockBatch(1));
        emit log_named_uint("gas per lock, 100 in a batch", lockBatch(100));
    }

    /// forge-config: default.isolate = true
    function test_the_dearest_settlement_fits_one_transaction() public {
        // The gas is given and not only measured: what is refunded at the end has to be there before.
        uint256 gas = settleSpread(escrow.PAYOUTS_MAX(), escrow.ENGAGED_MAX());
        emit log_named_uint("gas of the dearest settlement, less refunds", gas);
    }

    function earnBefore() private {
        settleApproved(settlementOf(locked(), provider, 1 * GLN));
    }

    function settleBatch(uint256 count) private returns (uint256) {
        IEscrow.Settlement[] memory list = new IEscrow.Settlement[](count);
        bytes[] memory approvals = new bytes[](count);
        for (uint256 i = 0; i < count; ++i) {
            list[i] = settlementOf(lock(newOrder(1 * GLN, GLN / 20)), provider, GLN / 2);
            approvals[i] = approvalOf(list[i]);
        }
        vm.prank(hub);
        escrow.settleMany(list, approvals);
        uint256 gas = vm.lastCallGas().gasTotalUsed;
        for (uint256 i = 0; i < count; ++i) {
            assertState(list[i].order, IEscrow.State.Settled);
        }
        return gas / count;
    }

    function lockBatch(uint256 count) private returns (uint256) {
        IEscrow.Order[] memory orders = new IEscrow.Order[](count);
        bytes[] memory signatures = new bytes[](count);
        for (uint256 i = 0; i < count; ++i) {
            orders[i] = newOrder(1 * GLN, GLN / 20);
            signatures[i] = signed("requester", escrow.orderId(orders[i]));
        }
        vm.prank(hub);
        escrow.lockMany(orders, signatures);
        uint256 gas = vm.lastCallGas().gasTotalUsed;
        for (uint256 i = 0; i < count; ++i) {
            assertState(escrow.orderId(orders[i]), IEscrow.State.Locked);
        }
        return gas / count;
    }

    /// One order that pays `payouts` providers, who never earned before, after `engaged` were engaged.
    function settleSpread(uint256 payouts, uint256 engaged) private returns (uint256) {
        bytes32 id = locked();
        address[] memory list = new address[](engaged);
        for (uint256 i = 0; i < engaged; ++i) {
            list[i] = address(uint160(0x20000 + i));
            token.approve(address(stake), 10 * GLN);
            stake.stakeFor(list[i], 10 * GLN);
            allowHub(list[i]);
        }
        vm.prank(hub);
        escrow.engage(id, list);
        vm.assertEq(escrow.engagedOf(id).length, engaged);
        IEscrow.Settlement memory s;
        s.order = id;
        s.payouts = new IEscrow.Payout[](payouts);
        for (uint256 i = 0; i < payouts; ++i) {
            s.payouts[i] = IEscrow.Payout(address(uint160(uint256(keccak256(abi.encode(i))))), GLN / 100);
        }
        bytes memory approval = approvalOf(s);
        vm.prank(hub);
        escrow.settle{gas: TRANSACTION_GAS_MAX - INTRINSIC_GAS}(s, approval);
        uint256 gas = vm.lastCallGas().gasTotalUsed;
        assertState(id, IEscrow.State.Settled);
        return gas;
    }
}
