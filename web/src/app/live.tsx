// The one connection of the page, and how it stands, for whoever shows it.
import { QueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { liveAddress } from "../api/hub";
import { Refusal } from "../api/http";
import { span } from "../format/time";
import { Feed } from "../live/feed";
import { LiveSocket } from "../live/socket";
import { useNow } from "../ui/now";

const TRIES_MAX = 3;

/** Everything that was asked of the hub. A refusal is final; a hub that does not answer is asked again. */
export const cache = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (failures, error) => !(error instanceof Refusal) && failures < TRIES_MAX,
      refetchOnWindowFocus: false,
      staleTime: 10_000,
    },
  },
});

const feed = new Feed(cache);

export const live = new LiveSocket(
  {
    address: () => liveAddress(location),
    open: (address) => new WebSocket(address),
    now: () => Date.now(),
    chance: () => Math.random(),
  },
  feed,
);

window.addEventListener("online", () => live.hurry());
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") live.hurry();
});

/** Keeps the hub telling of something for as long as a page shows it. */
export function useFollowed(topic: string | null): void {
  useEffect(() => (topic ? live.follow(topic) : undefined), [topic]);
}

/** How the connection stands, in words. */
export function LiveStanding() {
  const standing = useSyncExternalStore(live.watch, live.stands);
  const now = useNow();
  if (standing.is === "open") return <span className="standing open">live</span>;
  if (standing.is === "waiting") {
    const wait = Math.max(0, Math.ceil((standing.retryAt - now) / 1000) * 1000);
    return (
      <span className="standing lost" role="status">
        reconnecting{wait > 0 ? ` in ${span(wait)}` : "…"}
      </span>
    );
  }
  return <span className="standing lost">{standing.is === "connecting" ? "connecting…" : "not live"}</span>;
}
