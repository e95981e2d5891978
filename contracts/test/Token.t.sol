// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";
import {Token} from "../src/Token.sol";
import {Base} from "./Base.sol";

contract TokenTest is Base {
    bytes32 private constant PERMIT =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    bytes32 private constant DELEGATION = keccak256("Delegation(address delegatee,uint256 nonce,uint256 expiry)");
    uint256 private constant SUPPLY = 1_000_000_000e9;

    Token private token;
    address private alice;
    address private bob;

    function setUp() public {
        alice = account("alice");
        bob = account("bob");
        vm.warp(1_800_000_000);
        token = new Token(SUPPLY, alice);
    }

    function digest(bytes32 hash) private view returns (bytes32) {
        return keccak256(abi.encodePacked("\x19\x01", token.DOMAIN_SEPARATOR(), hash));
    }

    function permitDigest(uint256 value, uint256 nonce, uint256 deadline) private view returns (bytes32) {
        return digest(keccak256(abi.encode(PERMIT, alice, bob, value, nonce, deadline)));
    }

    function test_whole_supply_is_with_its_holder_and_has_nine_decimals() public view {
        vm.assertEq(token.totalSupply(), SUPPLY);
        vm.assertEq(token.balanceOf(alice), SUPPLY);
        vm.assertEq(token.decimals(), 9);
        vm.assertEq(token.symbol(), "GLN");
        vm.assertEq(token.name(), "Gleaner");
    }

    function testFuzz_transfer_moves_exactly_its_amount(uint256 amount) public {
        amount = bound(amount, 0, SUPPLY);
        vm.prank(alice);
        token.transfer(bob, amount);
        vm.assertEq(token.balanceOf(bob), amount);
        vm.assertEq(token.balanceOf(alice), SUPPLY - amount);
        vm.assertEq(token.totalSupply(), SUPPLY);
    }

    function testFuzz_permit_gives_the_allowance_once(uint256 value) public {
        uint256 deadline = block.timestamp + 60;
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(keyOf("alice"), permitDigest(value, 0, deadline));
        token.permit(alice, bob, value, deadline, v, r, s);
        vm.assertEq(token.allowance(alice, bob), value);
        vm.expectPartialRevert(ERC20Permit.ERC2612InvalidSigner.selector);
        token.permit(alice, bob, value, deadline, v, r, s);
    }

    function test_permit_is_refused_after_its_deadline() public {
        uint256 deadline = block.timestamp;
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(keyOf("alice"), permitDigest(1, 0, deadline));
        vm.warp(deadline + 1);
        vm.expectRevert(abi.encodeWithSelector(ERC20Permit.ERC2612ExpiredSignature.selector, deadline));
        token.permit(alice, bob, 1, deadline, v, r, s);
    }

    function test_permit_of_another_chain_is_refused() public {
        uint256 deadline = block.timestamp + 60;
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(keyOf("alice"), permitDigest(1, 0, deadline));
        vm.chainId(1);
        vm.expectPartialRevert(ERC20Permit.ERC2612InvalidSigner.selector);
        token.permit(alice, bob, 1, deadline, v, r, s);
    }

    function test_permit_of_another_token_is_refused() public {
        uint256 deadline = block.timestamp + 60;
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(keyOf("alice"), permitDigest(1, 0, deadline));
        Token other = new Token(1, alice);
        vm.expectPartialRevert(ERC20Permit.ERC2612InvalidSigner.selector);
        other.permit(alice, bob, 1, deadline, v, r, s);
    }

    function test_permit_with_a_malleable_signature_is_refused() public {
        uint256 deadline = block.timestamp + 60;
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(keyOf("alice"), permitDigest(1, 0, deadline));
        uint256 order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141;
        vm.expectRevert();
        token.permit(alice, bob, 1, deadline, v == 27 ? 28 : 27, r, bytes32(order - uint256(s)));
    }

    function test_votes_are_counted_as_of_a_timestamp() public {
        vm.prank(alice);
        token.delegate(alice);
        vm.assertEq(token.clock(), block.timestamp);
        vm.assertEq(token.CLOCK_MODE(), "mode=timestamp");
        uint256 before = vm.getBlockTimestamp();
        vm.warp(before + 10);
        vm.prank(alice);
        token.transfer(bob, 100);
        vm.warp(before + 20);
        vm.assertEq(token.getPastVotes(alice, before), SUPPLY);
        vm.assertEq(token.getPastVotes(alice, before + 9), SUPPLY);
        vm.assertEq(token.getPastVotes(alice, before + 10), SUPPLY - 100);
        vm.assertEq(token.getVotes(bob), 0, "votes count only when delegated");
    }

    function test_delegation_by_signature_works_once() public {
        uint256 expiry = block.timestamp + 60;
        bytes32 hash = digest(keccak256(abi.encode(DELEGATION, bob, 0, expiry)));
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(keyOf("alice"), hash);
        token.delegateBySig(bob, 0, expiry, v, r, s);
        vm.assertEq(token.getVotes(bob), SUPPLY);
        vm.expectRevert();
        token.delegateBySig(bob, 0, expiry, v, r, s);
    }
}
