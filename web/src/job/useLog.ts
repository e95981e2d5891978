// Follows a job's log for as long as somebody looks, also over a restart of the hub.
import { useEffect, useState } from "react";
import * as hub from "../api/hub";
import { Refusal } from "../api/http";
import type { LogView } from "../api/views";
import { backoff } from "../live/backoff";
import { keep, LogReader } from "./log";

export interface Log {
  lines: LogView[];
  state: "reading" | "following" | "ended" | "waiting";
  error: unknown;
}

export function useLog(job: number): Log {
  const [log, setLog] = useState<Log>({ lines: [], state: "reading", error: null });
  useEffect(() => {
    const stop = new AbortController();
    setLog({ lines: [], state: "reading", error: null });
    void follow(job, stop.signal, (change) => setLog(change));
    return () => stop.abort();
  }, [job]);
  return log;
}

type Change = (change: (log: Log) => Log) => void;

async function follow(job: number, stop: AbortSignal, change: Change): Promise<void> {
  const reader = new LogReader();
  for (let failures = 0; !stop.aborted; failures++) {
    try {
      const body = await hub.followLogs(job, reader.count, stop);
      change((log) => ({ ...log, state: "following", error: null }));
      for await (const piece of pieces(body)) {
        failures = 0;
        const lines = reader.take(piece);
        change((log) => ({ ...log, lines: keep(log.lines, lines) }));
      }
      return change((log) => ({ ...log, state: "ended" }));
    } catch (error) {
      if (stop.aborted) return;
      if (error instanceof Refusal) return change((log) => ({ ...log, state: "ended", error }));
      reader.broken();
      change((log) => ({ ...log, state: "waiting" }));
      await new Promise((resolve) => setTimeout(resolve, backoff(failures, Math.random())));
    }
  }
}

async function* pieces(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string> {
  if (!body) return;
  const decoder = new TextDecoder();
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield decoder.decode(value, { stream: true });
  }
}
