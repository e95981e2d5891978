// What people sign in with beside a passphrase: codes of an authenticator, and a wallet in the browser.
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import type { Page } from "@playwright/test";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

/** The code of an authenticator (RFC 6238): six digits for half a minute. */
export async function totp(secret: string): Promise<string> {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...secret.replaceAll(/[\s=]/g, "")].map((letter) => letters.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2));
  const moment = new DataView(new ArrayBuffer(8));
  moment.setBigUint64(0, BigInt(Math.floor(Date.now() / 30_000)));
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-1" }, false, ["sign"]);
  const mac = new DataView(await crypto.subtle.sign("HMAC", imported, moment.buffer));
  const number = mac.getUint32(mac.getUint8(19) & 15) & 0x7fff_ffff;
  return String(number % 1_000_000).padStart(6, "0");
}

/** A signature as wallets make it for `personal_sign` (EIP-191). */
function personalSign(message: Uint8Array, key: Uint8Array): string {
  const head = new TextEncoder().encode(`\x19Ethereum Signed Message:\n${message.length}`);
  const digest = keccak_256(new Uint8Array([...head, ...message]));
  // The library puts the recovery bit first, Ethereum last and 27 higher.
  const [bit = 0, ...rest] = secp256k1.sign(digest, key, { prehash: false, format: "recovered" });
  return `0x${hex(Uint8Array.from([...rest, bit + 27]))}`;
}

/** Gives the page a wallet, as a browser's extension would: the key stays outside of the page. */
export async function giveWallet(page: Page): Promise<string> {
  const key = secp256k1.utils.randomSecretKey();
  const address = `0x${hex(keccak_256(secp256k1.getPublicKey(key, false).slice(1)).slice(-20))}`;
  await page.exposeFunction("signWithWallet", (message: string) => personalSign(Uint8Array.from(Buffer.from(message.slice(2), "hex")), key));
  await page.addInitScript((owner) => {
    const { signWithWallet } = window as unknown as { signWithWallet: (message: string) => Promise<string> };
    const request = ({ method, params }: { method: string; params?: string[] }) =>
      method === "eth_requestAccounts" ? Promise.resolve([owner]) : signWithWallet(params?.[0] ?? "0x");
    Object.assign(window, { ethereum: { request } });
  }, address);
  return address;
}

/** Gives the page a device that makes and proves passkeys, and whose owner always agrees. */
export async function givePasskeys(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  const options = { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true } as const;
  await session.send("WebAuthn.addVirtualAuthenticator", { options });
}
