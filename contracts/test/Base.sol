// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title The cheatcodes of forge that the tests use; forge answers them at a fixed address
interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    struct Gas {
        uint64 gasLimit;
        uint64 gasTotalUsed;
        uint64 gasMemoryUsed;
        int64 gasRefunded;
        uint64 gasRemaining;
    }

    function lastCallGas() external view returns (Gas memory);
    function addr(uint256 key) external pure returns (address);
    function sign(uint256 key, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function label(address account, string calldata name) external;
    function prank(address sender) external;
    function startPrank(address sender) external;
    function stopPrank() external;
    function warp(uint256 timestamp) external;
    function roll(uint256 number) external;
    function chainId(uint256 id) external;
    function deal(address account, uint256 balance) external;
    function etch(address target, bytes calldata code) external;
    function store(address target, bytes32 slot, bytes32 value) external;
    function load(address target, bytes32 slot) external view returns (bytes32);
    function getNonce(address account) external view returns (uint64);
    function setNonce(address account, uint64 nonce) external;
    function setBlockhash(uint256 number, bytes32 hash) external;
    function getBlockNumber() external view returns (uint256);
    function getBlockTimestamp() external view returns (uint256);
    function snapshotState() external returns (uint256);
    function revertToState(uint256 id) external returns (bool);
    function assume(bool condition) external pure;
    function computeCreateAddress(address deployer, uint256 nonce) external pure returns (address);
    function expectRevert() external;
    function expectRevert(bytes4 selector) external;
    function expectRevert(bytes calldata reason) external;
    function expectPartialRevert(bytes4 selector) external;
    function expectEmit() external;
    function expectEmit(address emitter) external;
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);
    function readFile(string calldata path) external view returns (string memory);
    function parseJsonUint(string calldata json, string calldata key) external pure returns (uint256);
    function parseJsonString(string calldata json, string calldata key) external pure returns (string memory);
    function parseJsonStringArray(string calldata json, string calldata key) external pure returns (string[] memory);
    function parseJsonKeys(string calldata json, string calldata key) external pure returns (string[] memory);
    function keyExistsJson(string calldata json, string calldata key) external view returns (bool);
    function parseUint(string calldata text) external pure returns (uint256);
    function toString(uint256 value) external pure returns (string memory);
    function toString(address value) external pure returns (string memory);
    function toString(bytes32 value) external pure returns (string memory);

    function assertTrue(bool condition) external pure;
    function assertTrue(bool condition, string calldata note) external pure;
    function assertFalse(bool condition) external pure;
    function assertFalse(bool condition, string calldata note) external pure;
    function assertEq(bool left, bool right) external pure;
    function assertEq(bool left, bool right, string calldata note) external pure;
    function assertEq(uint256 left, uint256 right) external pure;
    function assertEq(uint256 left, uint256 right, string calldata note) external pure;
    function assertEq(address left, address right) external pure;
    function assertEq(address left, address right, string calldata note) external pure;
    function assertEq(bytes32 left, bytes32 right) external pure;
    function assertEq(bytes32 left, bytes32 right, string calldata note) external pure;
    function assertEq(string calldata left, string calldata right) external pure;
    function assertEq(bytes calldata left, bytes calldata right) external pure;
    function assertNotEq(uint256 left, uint256 right) external pure;
    function assertNotEq(address left, address right) external pure;
    function assertNotEq(bytes32 left, bytes32 right) external pure;
    function assertGt(uint256 left, uint256 right) external pure;
    function assertGt(uint256 left, uint256 right, string calldata note) external pure;
    function assertGe(uint256 left, uint256 right) external pure;
    function assertGe(uint256 left, uint256 right, string calldata note) external pure;
    function assertLt(uint256 left, uint256 right) external pure;
    function assertLt(uint256 left, uint256 right, string calldata note) external pure;
    function assertLe(uint256 left, uint256 right) external pure;
    function assertLe(uint256 left, uint256 right, string calldata note) external pure;
}

/// @title What every test stands on: cheatcodes, named accounts, bounded fuzz input, and targets of invariants
/// @dev Assertions are called on `vm` (`vm.assertEq(a, b)`). Forge reads the target functions by their names.
abstract contract Base {
    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    Vm internal constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    address[] private _targets;
    address[] private _senders;
    FuzzSelector[] private _selectors;

    // Forge prints these by their names.
    event log(string text);
    event log_named_uint(string name, uint256 value);

    /// The contracts that invariant tests call.
    function targetContracts() public view returns (address[] memory) {
        return _targets;
    }

    /// The only functions that invariant tests call on a contract.
    function targetSelectors() public view returns (FuzzSelector[] memory) {
        return _selectors;
    }

    /// Who invariant tests call as.
    function targetSenders() public view returns (address[] memory) {
        return _senders;
    }

    function target(address handler) internal {
        _targets.push(handler);
    }

    function target(address handler, bytes4[] memory selectors) internal {
        _targets.push(handler);
        _selectors.push(FuzzSelector(handler, selectors));
    }

    function targetSender(address sender) internal {
        _senders.push(sender);
    }

    /// A private key that belongs to `name`.
    function keyOf(string memory name) internal pure returns (uint256) {
        return uint256(keccak256(bytes(name)));
    }

    /// The account of `name`, shown by its name in traces; `keyOf(name)` signs for it.
    function account(string memory name) internal returns (address who) {
        who = vm.addr(keyOf(name));
        vm.label(who, name);
    }

    /// `x` brought between `min` and `max`, both included.
    function bound(uint256 x, uint256 min, uint256 max) internal pure returns (uint256) {
        if (x >= min && x <= max) return x;
        if (min == 0 && max == type(uint256).max) return x;
        return min + (x % (max - min + 1));
    }

    /// A signature of `name` over `digest`, as 65 bytes.
    function signed(string memory name, bytes32 digest) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(keyOf(name), digest);
        return abi.encodePacked(r, s, v);
    }
}
