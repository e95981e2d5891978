// How a machine is shared in somebody's name: the token it shows once, and the commands that use it.
import type { TokenWanted } from "../api/views";

/** How long the token may be used. The machine stays its owner's after that. */
export const TOKEN_MS = 24 * 3_600_000;
/** Where the token is put, on the machine that is shared. */
export const TOKEN_FILE = "gleaner-account.token";

/** A token that can share machines and nothing else, for a day. */
export function wanted(now: number): TokenWanted {
  const day = new Date(now).toISOString().slice(0, 16).replace("T", " ");
  return { label: `share a machine, ${day}`, scopes: { read: false, submit: false, provide: true }, ends_at: now + TOKEN_MS };
}

/** Reads the token from the keyboard into a file that only its owner can read. It stands in no command, so in no history. */
export const KEEP = `(umask 077; cat > ~/${TOKEN_FILE})`;

/** Shares the machine with a hub. */
export function share(origin: string): string {
  return `gleaner share --hub ${origin} --account-token-file ~/${TOKEN_FILE}`;
}
