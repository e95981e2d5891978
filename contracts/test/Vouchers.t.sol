// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Books} from "../src/Books.sol";
import {Names} from "../src/Names.sol";
import {Vouchers} from "../src/Vouchers.sol";
import {Market} from "./Market.sol";

/// @title Channels: opened, paid by words, redeemed, closed
contract VouchersTest is Market {
    uint256 private constant MONEY = 1_000 * GLN;
    uint256 private constant STEP = 100;
    uint32 private constant STEPS = 1_000;

    bytes32 private channel;
    bytes32[] private words;

    function setUp() public override {
        super.setUp();
        vm.prank(requester);
        channel = vouchers.open(provider, MONEY, 0);
        words.push(keccak256("the seed of a chain"));
        for (uint256 i = 0; i < STEPS; ++i) {
            words.push(keccak256(abi.encode(words[i])));
        }
    }

    function test_opening_takes_free_money_and_names_the_channel() public view {
        vm.assertEq(channel, keccak256(abi.encode(block.chainid, address(vouchers), requester, provider, uint256(0))));
        vm.assertEq(balance(requester), 10_000 * GLN - MONEY);
        vm.assertEq(balance(address(vouchers)), MONEY);
        (address payer, address payee, uint256 amount, uint256 redeemed, uint16 share, uint64 closingAt) =
            vouchers.channelState(channel);
        vm.assertEq(payer, requester);
        vm.assertEq(payee, provider);
        vm.assertEq(amount, MONEY);
        vm.assertEq(redeemed, 0);
        vm.assertEq(share, 1_500);
        vm.assertEq(closingAt, 0);
    }

    function test_opening_needs_money_and_a_payee() public {
        vm.startPrank(stranger);
        vm.expectPartialRevert(Books.NotCovered.selector);
        vouchers.open(provider, 1, 0);
        vm.expectPartialRevert(Vouchers.BadPayee.selector);
        vouchers.open(address(0), 0, 0);
        vm.stopPrank();
        vm.prank(requester);
        vm.expectPartialRevert(Vouchers.ChannelExists.selector);
        vouchers.open(provider, 1, 0);
    }

    function test_a_word_redeems_all_steps_up_to_it() public {
        redeem(anchorAt(0), 10);
        vm.assertEq(balance(provider), 850);
        vm.assertEq(balance(treasury), 150);
        redeem(anchorAt(0), STEPS);
        vm.assertEq(balance(provider), 85_000);
        vm.assertEq(balance(treasury), 15_000);
        vm.assertEq(balance(address(vouchers)), MONEY - 100_000);
    }

    function test_the_next_anchor_goes_on_from_its_base() public {
        redeem(anchorAt(0), STEPS);
        redeem(anchorAt(STEP * STEPS), 1);
        vm.assertEq(balance(provider) + balance(treasury), STEP * (STEPS + 1));
    }

    function test_an_anchor_pays_its_base_without_a_word() public {
        Vouchers.Anchor memory anchor = anchorAt(5_000);
        bytes memory signature = signed("requester", vouchers.anchorDigest(anchor));
        vm.prank(provider);
        vouchers.redeem(anchor, signature, 0, anchor.tip);
        vm.assertEq(balance(provider), 4_250);
    }

    function test_nothing_is_redeemed_twice() public {
        redeem(anchorAt(0), 10);
        refuse(anchorAt(0), 10, wordAt(10), Vouchers.NothingToRedeem.selector);
        refuse(anchorAt(0), 9, wordAt(9), Vouchers.NothingToRedeem.selector);
    }

    function test_a_word_proves_its_own_step_only() public {
        refuse(anchorAt(0), 11, wordAt(10), Vouchers.BadWord.selector);
        refuse(anchorAt(0), 10, wordAt(11), Vouchers.BadWord.selector);
        refuse(anchorAt(0), 1, bytes32(0), Vouchers.BadWord.selector);
    }

    function test_chains_have_a_longest_length() public {
        Vouchers.Anchor memory anchor = anchorAt(0);
        anchor.steps = 1_025;
        refuse(anchor, 1, wordAt(1), Vouchers.TooManySteps.selector);
        anchor.steps = 9;
        refuse(anchor, 10, wordAt(10), Vouchers.BadIndex.selector);
    }

    function test_only_the_payee_redeems_and_only_what_the_payer_signed() public {
        Vouchers.Anchor memory anchor = anchorAt(0);
        bytes memory signature = signed("requester", vouchers.anchorDigest(anchor));
        bytes memory forged = signed("provider", vouchers.anchorDigest(anchor));
        bytes32 word = wordAt(10);
        vm.prank(stranger);
        vm.expectPartialRevert(Vouchers.NotThePayee.selector);
        vouchers.redeem(anchor, signature, 10, word);
        vm.startPrank(provider);
        vm.expectPartialRevert(Vouchers.BadSignature.selector);
        vouchers.redeem(anchor, forged, 10, word);
        anchor.step += 1;
        vm.expectPartialRevert(Vouchers.BadSignature.selector);
        vouchers.redeem(anchor, signature, 10, word);
        vm.stopPrank();
    }

    function test_a_total_above_the_money_pays_what_is_there() public {
        redeem(anchorAt(MONEY - 50), 10);
        vm.assertEq(balance(provider) + balance(treasury), MONEY);
        vm.assertEq(balance(address(vouchers)), 0);
        refuse(anchorAt(2 * MONEY), 1, wordAt(1), Vouchers.NothingToRedeem.selector);
    }

    function test_a_total_beyond_all_numbers_is_refused() public {
        Vouchers.Anchor memory anchor = anchorAt(type(uint256).max);
        bytes memory signature = signed("requester", vouchers.anchorDigest(anchor));
        bytes32 word = wordAt(1);
        vm.prank(provider);
        vm.expectRevert();
        vouchers.redeem(anchor, signature, 1, word);
    }

    function test_topping_up_is_for_the_payer_while_it_stays() public {
        vm.prank(requester);
        vouchers.topUp(channel, 5);
        (,, uint256 amount,,,) = vouchers.channelState(channel);
        vm.assertEq(amount, MONEY + 5);
        vm.prank(hub);
        vm.expectPartialRevert(Vouchers.NotThePayer.selector);
        vouchers.topUp(channel, 5);
        vm.startPrank(requester);
        vouchers.startClose(channel);
        vm.expectPartialRevert(Vouchers.AlreadyClosing.selector);
        vouchers.topUp(channel, 5);
        vm.stopPrank();
    }

    function test_the_payee_closes_at_once() public {
        redeem(anchorAt(0), 10);
        vm.prank(requester);
        vm.expectPartialRevert(Vouchers.NotThePayee.selector);
        vouchers.close(channel);
        vm.prank(provider);
        vouchers.close(channel);
        vm.assertEq(balance(requester), 10_000 * GLN - 1_000);
        vm.assertEq(balance(address(vouchers)), 0);
        refuse(anchorAt(0), 20, wordAt(20), Vouchers.ChannelNotOpen.selector);
    }

    function test_the_payer_leaves_after_the_window_and_the_payee_redeems_meanwhile() public {
        vm.prank(provider);
        vm.expectPartialRevert(Vouchers.NotThePayer.selector);
        vouchers.startClose(channel);
        vm.expectPartialRevert(Vouchers.NotClosing.selector);
        vouchers.finishClose(channel);
        vm.startPrank(requester);
        vouchers.startClose(channel);
        vm.expectPartialRevert(Vouchers.AlreadyClosing.selector);
        vouchers.startClose(channel);
        vm.stopPrank();
        vm.warp(block.timestamp + 1 days - 1);
        vm.expectPartialRevert(Vouchers.WindowOpen.selector);
        vouchers.finishClose(channel);
        redeem(anchorAt(0), 10);
        vm.warp(block.timestamp + 1);
        vm.prank(stranger);
        vouchers.finishClose(channel);
        vm.assertEq(balance(requester), 10_000 * GLN - 1_000);
    }

    function test_a_closed_channel_is_never_opened_again() public {
        redeem(anchorAt(0), 10);
        vm.prank(provider);
        vouchers.close(channel);
        vm.prank(requester);
        vm.expectPartialRevert(Vouchers.ChannelExists.selector);
        vouchers.open(provider, MONEY, 0);
    }

    function test_share_is_that_of_the_time_of_opening() public {
        setParameter(Names.PLATFORM_SHARE_BPS, 3_000);
        redeem(anchorAt(0), 10);
        vm.assertEq(balance(treasury), 150);
    }

    function test_an_anchor_is_for_one_channel() public {
        vm.prank(requester);
        bytes32 other = vouchers.open(provider, MONEY, 1);
        Vouchers.Anchor memory anchor = anchorAt(0);
        bytes memory signature = signed("requester", vouchers.anchorDigest(anchor));
        anchor.channel = other;
        bytes32 word = wordAt(1);
        vm.prank(provider);
        vm.expectPartialRevert(Vouchers.BadSignature.selector);
        vouchers.redeem(anchor, signature, 1, word);
    }

    function testFuzz_the_share_does_not_depend_on_how_often_one_redeems(uint16 first, uint16 then, uint16 last)
        public
    {
        uint32 a = uint32(bound(first, 1, STEPS - 2));
        uint32 b = uint32(bound(then, a + 1, STEPS - 1));
        uint32 c = uint32(bound(last, b + 1, STEPS));
        Vouchers.Anchor memory anchor = anchorAt(0);
        anchor.step = 7;
        redeem(anchor, a);
        redeem(anchor, b);
        redeem(anchor, c);
        vm.assertEq(balance(treasury), (uint256(c) * 7 * 1_500) / 10_000);
        vm.assertEq(balance(provider) + balance(treasury), uint256(c) * 7);
    }

    function test_gas_of_redeeming_depends_on_the_index_only() public {
        uint256 snapshot = vm.snapshotState();
        redeem(anchorAt(0), 1);
        uint256 one = vm.lastCallGas().gasTotalUsed;
        vm.revertToState(snapshot);
        redeem(anchorAt(0), STEPS);
        uint256 thousand = vm.lastCallGas().gasTotalUsed;
        emit log_named_uint("gas to redeem one step", one);
        emit log_named_uint("gas to redeem a thousand steps", thousand);
        vm.assertLt(thousand, one + 150 * uint256(STEPS));
    }

    /// The word that proves `index` steps.
    function wordAt(uint32 index) private view returns (bytes32) {
        return words[STEPS - index];
    }

    function anchorAt(uint256 base) private view returns (Vouchers.Anchor memory) {
        return Vouchers.Anchor(channel, base, words[STEPS], STEP, STEPS);
    }

    function redeem(Vouchers.Anchor memory anchor, uint32 index) private {
        bytes memory signature = signed("requester", vouchers.anchorDigest(anchor));
        bytes32 word = wordAt(index);
        vm.prank(provider);
        vouchers.redeem(anchor, signature, index, word);
    }

    function refuse(Vouchers.Anchor memory anchor, uint32 index, bytes32 word, bytes4 reason) private {
        bytes memory signature = signed("requester", vouchers.anchorDigest(anchor));
        vm.prank(provider);
        vm.expectPartialRevert(reason);
        vouchers.redeem(anchor, signature, index, word);
    }
}
