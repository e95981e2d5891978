// Deploys a token through viem, transfers, reads, watches and is refused. Takes the node's URL and the artifact's path.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createPublicClient, createWalletClient, defineChain, http, webSocket, BaseError, ContractFunctionRevertedError } from "viem";
import { privateKeyToAccount } from "viem/accounts";

const [url, artifactPath] = process.argv.slice(2);
const { abi, bytecode } = JSON.parse(readFileSync(artifactPath, "utf8"));
const probe = createPublicClient({ transport: http(url) });
const chain = defineChain({
  id: await probe.getChainId(),
  name: "embedded",
  nativeCurrency: { name: "none", symbol: "NONE", decimals: 18 },
  rpcUrls: { default: { http: [url] } },
});
const reader = createPublicClient({ chain, transport: http(url, { batch: true }), pollingInterval: 50 });
const alice = privateKeyToAccount(`0x${"21".repeat(32)}`);
const bob = privateKeyToAccount(`0x${"22".repeat(32)}`);
const wallet = createWalletClient({ account: alice, chain, transport: http(url) });
const poor = createWalletClient({ account: bob, chain, transport: http(url) });

const made = await wallet.deployContract({ abi, bytecode, args: [1000n, alice.address] });
const { contractAddress: address, status } = await reader.waitForTransactionReceipt({ hash: made });
assert.equal(status, "success");
assert.equal(await reader.readContract({ abi, address, functionName: "symbol" }), "GLN");

const socket = createPublicClient({ chain, transport: webSocket(url.replace("http", "ws")) });
const heads = [];
const stopHeads = socket.watchBlocks({ onBlock: (block) => heads.push(block.number), onError: assert.fail });
const pushed = [];
const stopEvents = socket.watchContractEvent({ abi, address, eventName: "Transfer", onLogs: (logs) => pushed.push(...logs), onError: assert.fail });
const filter = await reader.createContractEventFilter({ abi, address, eventName: "Transfer" });
// The subscriptions are set up by answers on the same connection that this one comes after.
await socket.getBlockNumber();
await socket.getBlockNumber();

const sent = await wallet.writeContract({ abi, address, functionName: "transfer", args: [bob.address, 7n] });
const receipt = await reader.waitForTransactionReceipt({ hash: sent });
assert.equal(receipt.status, "success");
assert.equal(receipt.from, alice.address.toLowerCase());
assert.equal(await reader.readContract({ abi, address, functionName: "balanceOf", args: [bob.address] }), 7n);

const [change] = await reader.getFilterChanges({ filter });
assert.deepEqual([change.args.from, change.args.to, change.args.value], [alice.address, bob.address, 7n]);
assert.deepEqual(await reader.getFilterChanges({ filter }), []);
const logs = await reader.getContractEvents({ abi, address, eventName: "Transfer", args: { to: bob.address }, fromBlock: 0n });
assert.equal(logs.length, 1);
assert.equal(logs[0].transactionHash, sent);

const block = await reader.getBlock({ blockHash: receipt.blockHash, includeTransactions: true });
assert.equal(block.transactions[0].hash, sent);
assert.equal(block.transactions[0].nonce, 1);
const [balance, nonce, code, slot] = await Promise.all([
  reader.getBalance({ address: alice.address }),
  reader.getTransactionCount({ address: alice.address, blockTag: "pending" }),
  reader.getCode({ address }),
  reader.getStorageAt({ address, slot: "0x0" }),
]);
assert.equal(balance, 0n);
assert.equal(nonce, 2);
assert.ok(code.length > 1000 && slot.length === 66);
assert.deepEqual((await reader.estimateFeesPerGas()).maxFeePerGas, 0n);

await assert.rejects(
  poor.writeContract({ abi, address, functionName: "transfer", args: [alice.address, 8n] }),
  (error) => {
    assert.ok(error instanceof BaseError);
    const refused = error.walk((cause) => cause instanceof ContractFunctionRevertedError);
    assert.equal(refused.data.errorName, "ERC20InsufficientBalance");
    assert.deepEqual(refused.data.args, [bob.address, 7n, 8n]);
    return true;
  },
);
await assert.rejects(
  wallet.sendTransaction({ to: bob.address, nonce: 0, gas: 21000n, maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }),
  /[Nn]once/,
);

for (let tries = 0; pushed.length === 0 || heads.length === 0; tries++) {
  assert.ok(tries < 200, `pushed ${pushed.length} logs and ${heads.length} heads`);
  await new Promise((done) => setTimeout(done, 25));
}
assert.equal(pushed[0].args.value, 7n);
assert.ok(heads.includes(receipt.blockNumber));
stopHeads();
stopEvents();
console.log("viem is content");
process.exit(0);
