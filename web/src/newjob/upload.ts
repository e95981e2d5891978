// Brings files to the hub in pieces. A broken upload goes on where it stopped.
import * as hub from "../api/hub";
import { Unreachable } from "../api/http";
import { backoff } from "../live/backoff";
import type { Picked } from "./folder";

export const PIECE_BYTES = 4 * 1024 * 1024;
const TRIES_MAX = 8;

export interface Progress {
  sent: number;
  total: number;
  path: string;
}

/** What an upload talks to; the hub, or a test. */
export interface Store {
  arrived: typeof hub.arrived;
  bring: typeof hub.bring;
  pause: (ms: number) => Promise<void>;
}

const HUB: Store = { arrived: hub.arrived, bring: hub.bring, pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) };

/** Brings all of it; files that are there already are not sent again. */
export async function upload(name: string, files: Picked[], tell: (progress: Progress) => void, signal: AbortSignal, store: Store = HUB): Promise<void> {
  const total = files.reduce((sum, { file }) => sum + file.size, 0);
  let before = 0;
  for (const picked of files) {
    await uploadOne(name, picked, store, signal, (sent) => tell({ sent: before + sent, total, path: picked.path }));
    before += picked.file.size;
  }
}

async function uploadOne(name: string, { path, file }: Picked, store: Store, signal: AbortSignal, tell: (sent: number) => void): Promise<void> {
  let at = await retried(store, signal, () => store.arrived(name, path, file.lastModified));
  // An empty file is there once it was brought, which its length cannot tell.
  let once = file.size > 0;
  let stuck = 0;
  tell(Math.min(at, file.size));
  while (at < file.size || !once) {
    once = true;
    const was = at;
    const piece = { bytes: file.slice(at, at + PIECE_BYTES), first: at, total: file.size, signal };
    at = await retried(store, signal, () => store.bring(name, path, file.lastModified, piece));
    tell(Math.min(at, file.size));
    stuck = at > was ? 0 : stuck + 1;
    if (stuck > TRIES_MAX) throw new Error(`The upload of ${path} does not get further. Somebody else may be writing the same file.`);
  }
}

/** Tries again while the hub does not answer. */
async function retried<T>(store: Store, signal: AbortSignal, act: () => Promise<T>): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof Unreachable) || failures >= TRIES_MAX || signal.aborted) throw error;
      await store.pause(backoff(failures, Math.random()));
    }
  }
}
