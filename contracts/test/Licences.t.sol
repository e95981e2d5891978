// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC721Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {Licences} from "../src/Licences.sol";
import {Token} from "../src/Token.sol";
import {Base} from "./Base.sol";

contract LicencesTest is Base {
    uint64 private constant START = 1_800_000_000;
    uint64 private constant MONTH = 2_629_800;
    uint256 private constant COUNT = 3;
    uint256 private constant SHARE = 1_003;

    Token private token;
    Licences private licences;
    address private owner;
    address private alice;
    address private bob;

    function setUp() public {
        owner = account("owner");
        alice = account("alice");
        bob = account("bob");
        vm.warp(START);
        token = new Token(COUNT * SHARE, address(this));
        licences = new Licences(token, owner, COUNT, SHARE);
        token.transfer(address(licences), COUNT * SHARE);
    }

    function mint(address to) private returns (uint256) {
        vm.prank(owner);
        return licences.mint(to);
    }

    function test_owner_alone_mints_and_no_more_than_the_count() public {
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, alice));
        vm.prank(alice);
        licences.mint(alice);
        for (uint256 i = 1; i <= COUNT; ++i) {
            vm.assertEq(mint(alice), i);
        }
        vm.expectRevert(abi.encodeWithSelector(Licences.AllMinted.selector, COUNT));
        mint(alice);
        vm.assertEq(licences.minted(), COUNT);
        vm.assertEq(licences.balanceOf(alice), COUNT);
    }

    function test_licence_is_bound_to_its_holder_for_twelve_months() public {
        uint256 licence = mint(alice);
        uint256 free = START + 12 * uint256(MONTH);
        vm.prank(alice);
        licences.approve(bob, licence);
        vm.warp(free - 1);
        bytes memory refusal = abi.encodeWithSelector(Licences.BoundUntil.selector, licence, free);
        vm.expectRevert(refusal);
        vm.prank(alice);
        licences.transferFrom(alice, bob, licence);
        vm.expectRevert(refusal);
        vm.prank(alice);
        licences.safeTransferFrom(alice, bob, licence);
        vm.expectRevert(refusal);
        vm.prank(bob);
        licences.transferFrom(alice, bob, licence);
        vm.warp(free);
        vm.prank(bob);
        licences.transferFrom(alice, bob, licence);
        vm.assertEq(licences.ownerOf(licence), bob);
    }

    function test_stranger_moves_no_licence_even_when_it_is_free() public {
        uint256 licence = mint(alice);
        vm.warp(START + 13 * uint256(MONTH));
        vm.expectRevert(abi.encodeWithSelector(IERC721Errors.ERC721InsufficientApproval.selector, bob, licence));
        vm.prank(bob);
        licences.transferFrom(alice, bob, licence);
    }

    function test_share_vests_in_forty_eight_steps_to_the_last_unit() public {
        uint256 licence = mint(alice);
        uint256 sum = 0;
        for (uint64 month = 1; month <= 48; ++month) {
            vm.warp(START + month * MONTH - 1);
            vm.assertEq(licences.releasable(licence), 0, "nothing within a month");
            vm.warp(START + month * MONTH);
            sum += licences.release(licence);
            vm.assertEq(sum, month < 48 ? (SHARE / 48) * month : SHARE);
        }
        vm.assertEq(token.balanceOf(alice), SHARE);
        vm.warp(START + 100 * MONTH);
        vm.assertEq(licences.release(licence), 0);
        vm.assertEq(token.balanceOf(address(licences)), (COUNT - 1) * SHARE);
    }

    function test_new_holder_receives_what_was_not_released() public {
        uint256 licence = mint(alice);
        vm.warp(START + 12 * MONTH);
        licences.release(licence);
        uint256 before = token.balanceOf(alice);
        vm.warp(START + 24 * MONTH);
        vm.prank(alice);
        licences.transferFrom(alice, bob, licence);
        licences.release(licence);
        vm.assertEq(token.balanceOf(alice), before, "the released stays");
        vm.assertEq(token.balanceOf(bob), licences.vested(licence, START + 24 * MONTH) - before);
    }

    function test_licence_that_does_not_exist_vests_nothing() public {
        vm.expectRevert(abi.encodeWithSelector(IERC721Errors.ERC721NonexistentToken.selector, 1));
        licences.release(1);
        vm.expectRevert(abi.encodeWithSelector(IERC721Errors.ERC721NonexistentToken.selector, 1));
        licences.vested(1, START);
    }

    function test_months_count_from_each_licences_own_mint() public {
        uint256 first = mint(alice);
        vm.warp(START + 10 * MONTH);
        uint256 second = mint(bob);
        vm.warp(START + 12 * MONTH);
        vm.prank(alice);
        licences.transferFrom(alice, bob, first);
        vm.expectRevert(abi.encodeWithSelector(Licences.BoundUntil.selector, second, START + 22 * uint256(MONTH)));
        vm.prank(bob);
        licences.transferFrom(bob, alice, second);
        vm.assertEq(licences.vested(second, START + 10 * MONTH + MONTH), SHARE / 48);
        vm.assertEq(licences.vested(second, START), 0);
    }

    function testFuzz_pool_always_covers_every_share(uint64 first, uint64 second, uint64 third) public {
        uint64[3] memory waits = [first, second, third];
        uint256 time = START;
        for (uint256 i = 0; i < COUNT; ++i) {
            mint(alice);
            time += bound(waits[i], 0, 60 * uint256(MONTH));
            vm.warp(time);
            licences.release(i + 1);
        }
        vm.warp(time + 48 * uint256(MONTH));
        for (uint256 i = 1; i <= COUNT; ++i) {
            licences.release(i);
        }
        vm.assertEq(token.balanceOf(alice), COUNT * SHARE);
        vm.assertEq(token.balanceOf(address(licences)), 0);
    }
}
