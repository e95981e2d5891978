// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {GleanerGovernor} from "../src/GleanerGovernor.sol";
import {Licences} from "../src/Licences.sol";
import {Parameters} from "../src/Parameters.sol";
import {Timelock} from "../src/Timelock.sol";
import {Token} from "../src/Token.sol";
import {Vesting} from "../src/Vesting.sol";
import {Base} from "./Base.sol";

/// @title A genesis file carried out as in production: token, vesting, licences, parameters and governance
/// @dev The contracts between the licences and the governor come from `deployMarket`; without it their places in
/// the order of deployment stay empty. `Deployment` fills them.
abstract contract Genesis is Base {
    struct Allocation {
        string name;
        uint256 amount;
        uint256 atLaunch;
        uint16 cliffMonths;
        uint16 durationMonths;
        string to;
    }

    uint256 internal constant GLN = 1e9;
    uint64 internal constant LAUNCH = 1_800_000_000;
    /// Nonces of the deployer.
    uint64 internal constant STAKE = 5;
    uint64 internal constant ESCROW = 6;
    uint64 internal constant COURT = 7;
    uint64 internal constant VOUCHERS = 8;
    uint64 internal constant REWARDS = 9;
    uint64 internal constant GOVERNOR = 10;

    string internal genesis;
    address internal deployer;
    address internal liquidity;
    Timelock internal timelock;
    Token internal token;
    Parameters internal parameters;
    Vesting internal vesting;
    Licences internal licences;
    GleanerGovernor internal governor;

    function setUp() public virtual {
        deployFrom("genesis/hub.json");
    }

    /// Carries out a genesis file.
    function deployFrom(string memory file) internal {
        genesis = vm.readFile(file);
        deployer = account("deployer");
        liquidity = account("liquidity");
        vm.warp(LAUNCH);
        vm.setNonce(deployer, 0);
        vm.startPrank(deployer);
        deployFirst();
        deployMarket();
        vm.setNonce(deployer, GOVERNOR);
        governor = new GleanerGovernor(
            token,
            timelock,
            uint48(number(".governance.votingDelay")),
            uint32(number(".governance.votingPeriod")),
            number(".governance.proposalThreshold"),
            number(".governance.quorumPercent")
        );
        allocate();
        timelock.grantRole(timelock.PROPOSER_ROLE(), address(governor));
        timelock.grantRole(timelock.CANCELLER_ROLE(), address(governor));
        timelock.renounceRole(timelock.DEFAULT_ADMIN_ROLE(), deployer);
        vm.stopPrank();
    }

    /// Stake, Escrow, Court, Vouchers and Rewards, in this order.
    function deployMarket() internal virtual {}

    /// The address of the contract that the deployer makes with this nonce.
    function predicted(uint64 nonce) internal view returns (address) {
        return vm.computeCreateAddress(deployer, nonce);
    }

    function number(string memory key) internal view returns (uint256) {
        return vm.parseJsonUint(genesis, key);
    }

    function supply() internal view returns (uint256) {
        return vm.parseUint(vm.parseJsonString(genesis, ".supply")) * GLN;
    }

    function allocationCount() internal view returns (uint256 count) {
        while (vm.keyExistsJson(genesis, allocationKey(count, ""))) ++count;
    }

    function allocation(uint256 index) internal view returns (Allocation memory entry) {
        entry.name = vm.parseJsonString(genesis, allocationKey(index, ".name"));
        entry.amount = (supply() * number(allocationKey(index, ".shareBps"))) / 10_000;
        entry.atLaunch = (entry.amount * number(allocationKey(index, ".launchBps"))) / 10_000;
        entry.cliffMonths = uint16(number(allocationKey(index, ".cliffMonths")));
        entry.durationMonths = uint16(number(allocationKey(index, ".durationMonths")));
        entry.to = vm.parseJsonString(genesis, allocationKey(index, ".to"));
    }

    /// Tokens for a test account, out of the liquidity.
    function give(address to, uint256 amount) internal {
        vm.prank(liquidity);
        require(token.transfer(to, amount));
    }

    function same(string memory left, string memory right) internal pure returns (bool) {
        return keccak256(bytes(left)) == keccak256(bytes(right));
    }

    function deployFirst() private {
        timelock = new Timelock(number(".governance.timelockDelay"), deployer);
        token = new Token(supply(), deployer);
        parameters = new Parameters(address(timelock), parameterValues());
        vesting = new Vesting(token);
        uint256 count = number(".licences.count");
        licences = new Licences(token, address(timelock), count, licencePool() / count);
    }

    function parameterValues() private view returns (uint256[] memory values) {
        string[15] memory names = [
            "platformShareBps",
            "slashShareBps",
            "bondShareBps",
            "rewardCapBps",
            "minimumStake",
            "hubStake",
            "workLock",
            "hubLock",
            "challengeWindow",
            "votingWindow",
            "unbondingDelay",
            "committeeSize",
            "emissionPerEpoch",
            "epochLength",
            "orderDurationMax"
        ];
        values = new uint256[](names.length);
        for (uint256 i = 0; i < names.length; ++i) {
            values[i] = number(string.concat(".parameters.", names[i]));
        }
    }

    function licencePool() private view returns (uint256 amount) {
        uint256 count = allocationCount();
        for (uint256 i = 0; i < count; ++i) {
            Allocation memory entry = allocation(i);
            if (same(entry.to, "licences")) amount += entry.amount;
        }
    }

    function allocate() private {
        token.approve(address(vesting), type(uint256).max);
        uint256 count = allocationCount();
        for (uint256 i = 0; i < count; ++i) {
            Allocation memory entry = allocation(i);
            if (same(entry.to, "licences")) {
                uint256 pool = licences.count() * licences.share();
                require(token.transfer(address(licences), pool));
                require(token.transfer(address(timelock), entry.amount - pool));
            } else if (entry.cliffMonths == 0 && entry.durationMonths == 0) {
                require(token.transfer(receiver(entry.to), entry.amount));
            } else {
                vesting.create(
                    receiver(entry.to), LAUNCH, entry.amount, entry.atLaunch, entry.cliffMonths, entry.durationMonths
                );
            }
        }
        token.approve(address(vesting), 0);
    }

    function receiver(string memory to) private view returns (address) {
        if (same(to, "treasury")) return address(timelock);
        if (same(to, "rewards")) return predicted(REWARDS);
        require(same(to, "liquidity"), "unknown receiver");
        return liquidity;
    }

    function allocationKey(uint256 index, string memory field) private pure returns (string memory) {
        return string.concat(".allocations[", vm.toString(index), "]", field);
    }
}
