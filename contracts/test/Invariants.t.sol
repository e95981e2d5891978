// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Court} from "../src/Court.sol";
import {Escrow} from "../src/Escrow.sol";
import {ICourt} from "../src/interfaces/ICourt.sol";
import {IEscrow} from "../src/interfaces/IEscrow.sol";
import {Stake} from "../src/Stake.sol";
import {Token} from "../src/Token.sol";
import {Vouchers} from "../src/Vouchers.sol";
import {Actors} from "./Actors.sol";
import {Base} from "./Base.sol";

/// @title What holds after any sequence of actions of anybody
contract InvariantsTest is Base {
    Actors private actors;
    Token private token;
    Stake private stake;
    Escrow private escrow;
    Court private court;
    Vouchers private vouchers;

    function setUp() public {
        actors = new Actors();
        actors.setUp();
        (address a, address b, address c, address d, address e) = actors.market();
        token = Token(a);
        stake = Stake(b);
        escrow = Escrow(c);
        court = Court(d);
        vouchers = Vouchers(e);
        bytes4[] memory selectors = new bytes4[](20);
        selectors[0] = Actors.depositSome.selector;
        selectors[1] = Actors.withdrawSome.selector;
        selectors[2] = Actors.stakeSome.selector;
        selectors[3] = Actors.unbondSome.selector;
        selectors[4] = Actors.claimOrCancel.selector;
        selectors[5] = Actors.lockOrder.selector;
        selectors[6] = Actors.engageSomeone.selector;
        selectors[7] = Actors.proposePlan.selector;
        selectors[8] = Actors.approve.selector;
        selectors[9] = Actors.finalizeOrAccept.selector;
        selectors[10] = Actors.releaseOrder.selector;
        selectors[11] = Actors.payAgain.selector;
        selectors[12] = Actors.challengePlan.selector;
        selectors[13] = Actors.accuseSomeone.selector;
        selectors[14] = Actors.drawCommittee.selector;
        selectors[15] = Actors.decideDispute.selector;
        selectors[16] = Actors.expireDispute.selector;
        selectors[17] = Actors.concludeOrder.selector;
        selectors[18] = Actors.openChannel.selector;
        selectors[19] = Actors.redeemSteps.selector;
        target(address(actors), selectors);
        bytes4[] memory more = new bytes4[](6);
        more[0] = Actors.closeChannel.selector;
        more[1] = Actors.lockOrder.selector;
        more[2] = Actors.enrollOrResign.selector;
        more[3] = Actors.evictSomeone.selector;
        // Nothing would be decided if auditors were not there mostly.
        more[4] = Actors.renewMost.selector;
        more[5] = Actors.renewMost.selector;
        target(address(actors), more);
    }

    /// All of them at once, since looking is what takes the time.
    function invariant_the_books_are_right() public view {
        vm.assertEq(actors.fault(), "");
        tokenIsConserved();
        escrowIsSolvent();
        channelsAreCovered();
        courtHoldsTheBondsOfOpenDisputes();
        locksBelongToOpenOrders();
        committeesAreWhole();
    }

    function tokenIsConserved() private view {
        uint256 sum = token.balanceOf(address(actors)) + token.balanceOf(address(escrow))
            + token.balanceOf(address(stake));
        uint256 staked = 0;
        (,, uint256 people) = actors.count();
        for (uint256 i = 0; i < people; ++i) {
            address who = actors.everybody(i);
            sum += token.balanceOf(who);
            (uint256 unbonding,) = stake.unbondingOf(who);
            staked += stake.stakeOf(who) + unbonding;
        }
        vm.assertEq(sum, token.totalSupply(), "token is conserved");
        vm.assertEq(token.balanceOf(address(stake)), staked, "stake is solvent");
    }

    function escrowIsSolvent() private view {
        uint256 sum = escrow.balanceOf(address(court)) + escrow.balanceOf(address(vouchers));
        (uint256 orders,, uint256 people) = actors.count();
        for (uint256 i = 0; i < people; ++i) {
            sum += escrow.balanceOf(actors.everybody(i));
        }
        for (uint256 i = 0; i < orders; ++i) {
            (IEscrow.State state,,, uint256 cap, uint256 bond,,,,,) = escrow.orderState(actors.orders(i));
            if (isOpen(state)) sum += cap + bond;
        }
        vm.assertEq(token.balanceOf(address(escrow)), sum, "escrow is solvent");
    }

    function channelsAreCovered() private view {
        uint256 sum = 0;
        (, uint256 channels,) = actors.count();
        for (uint256 i = 0; i < channels; ++i) {
            (,, uint256 amount, uint256 redeemed,,) = vouchers.channelState(actors.channels(i));
            vm.assertLe(redeemed, amount, "nothing is redeemed beyond the money");
            sum += amount - redeemed;
        }
        vm.assertEq(escrow.balanceOf(address(vouchers)), sum, "channels are covered");
    }

    function courtHoldsTheBondsOfOpenDisputes() private view {
        uint256 sum = 0;
        for (uint256 i = 1; i <= court.count(); ++i) {
            (ICourt.Status status,,,,,,, uint256 bond,,) = court.disputeState(i);
            if (status == ICourt.Status.Open) sum += bond;
        }
        vm.assertEq(escrow.balanceOf(address(court)), sum, "court holds the bonds of open disputes");
    }

    function locksBelongToOpenOrders() private view {
        (uint256 orders,, uint256 people) = actors.count();
        uint256[] memory sums = new uint256[](people);
        for (uint256 i = 0; i < orders; ++i) {
            bytes32 id = actors.orders(i);
            (IEscrow.State state,,,,,,,,,) = escrow.orderState(id);
            for (uint256 j = 0; j < people; ++j) {
                uint256 amount = stake.lockOf(id, actors.everybody(j));
                sums[j] += amount;
                if (amount == 0 || isOpen(state)) continue;
                (ICourt.Status status,) = court.outcome(court.accusationOf(id, actors.everybody(j)));
                vm.assertTrue(status == ICourt.Status.Open, "a lock has outlived its order");
            }
        }
        for (uint256 i = 1; i <= court.count(); ++i) {
            for (uint256 j = 0; j < people; ++j) {
                uint256 amount = stake.lockOf(court.seatOf(i), actors.everybody(j));
                sums[j] += amount;
                (ICourt.Status status,) = court.outcome(i);
                vm.assertTrue(amount == 0 || status == ICourt.Status.Open, "a seat has outlived its dispute");
            }
        }
        for (uint256 j = 0; j < people; ++j) {
            address who = actors.everybody(j);
            vm.assertEq(stake.lockedOf(who), sums[j], "locks add up");
            vm.assertLe(sums[j], stake.stakeOf(who), "locks are covered");
        }
    }

    /// As many sit as the parameter says, or nobody; and whoever sits on no committee has no seat locked.
    function committeesAreWhole() private view {
        for (uint256 i = 1; i <= court.count(); ++i) {
            uint256 members = court.committee(i).length;
            vm.assertTrue(members == 0 || members == 5, "a committee is not whole");
            (ICourt.Status status,) = court.outcome(i);
            vm.assertEq(seatsLocked(i), status == ICourt.Status.Open ? members : 0, "seats are those of the committee");
        }
    }

    function seatsLocked(uint256 dispute) private view returns (uint256 seats) {
        (,, uint256 people) = actors.count();
        for (uint256 j = 0; j < people; ++j) {
            if (stake.lockOf(court.seatOf(dispute), actors.everybody(j)) != 0) ++seats;
        }
    }

    function isOpen(IEscrow.State state) private pure returns (bool) {
        return state == IEscrow.State.Locked || state == IEscrow.State.Proposed || state == IEscrow.State.Disputed;
    }
}
