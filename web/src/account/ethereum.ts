// Wallets of the browser: whose address it is, and a signature under the hub's message (EIP-4361).

interface Ethereum {
  request: (asked: { method: string; params?: unknown[] }) => Promise<unknown>;
}

export function ethereum(): Ethereum | null {
  return (window as { ethereum?: Ethereum }).ethereum ?? null;
}

/** Asks the wallet for an address. */
export async function walletAddress(): Promise<string> {
  const wallet = ethereum();
  if (!wallet) throw new Error("This browser has no wallet. Install one, or sign in with a passphrase.");
  const accounts = (await wallet.request({ method: "eth_requestAccounts" })) as string[];
  if (!accounts[0]) throw new Error("The wallet gave no address.");
  return accounts[0];
}

/** Asks the wallet to sign a message. */
export async function walletSignature(message: string, address: string): Promise<string> {
  const hex = `0x${Array.from(new TextEncoder().encode(message), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  return (await ethereum()?.request({ method: "personal_sign", params: [hex, address] })) as string;
}

/** What a wallet says when its owner does not want to, in words. */
export function walletWords(error: unknown): string {
  const code = (error as { code?: number }).code;
  if (code === 4001) return "You declined in your wallet.";
  return error instanceof Error ? error.message : String((error as { message?: string }).message ?? error);
}
