import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import * as hub from "../api/hub";
import { words } from "../api/http";
import type { SecurityEvent } from "../api/views";
import * as queries from "../api/queries";
import { say } from "../app/toast";
import { moment } from "../format/time";
import { type Column, DataTable } from "../ui/DataTable";
import { Answer, Bed, Empty } from "../ui/parts";
import { Pill, When } from "../ui/words";

const VIA: Record<string, string> = { passphrase: "a passphrase", "second-factor": "a passphrase and a code", wallet: "a wallet", passkey: "a passkey" };

export function Sessions() {
  const sessions = useQuery(queries.sessions);
  const cache = useQueryClient();
  const ending = useMutation({
    mutationFn: hub.endSession,
    onSuccess: () => say("That session has ended."),
    onError: (error) => say(words(error)),
    onSettled: () => cache.invalidateQueries({ queryKey: ["account"] }),
  });
  const others = useMutation({
    mutationFn: hub.endOtherSessions,
    onSuccess: () => say("All other sessions have ended."),
    onError: (error) => say(words(error)),
    onSettled: () => cache.invalidateQueries({ queryKey: ["account"] }),
  });
  const several = (sessions.data?.items.length ?? 0) > 1;
  return (
    <Bed
      title="Where you are signed in"
      actions={
        several ? (
          <button type="button" className="button small danger" disabled={others.isPending} onClick={() => others.mutate()}>
            End all others
          </button>
        ) : undefined
      }
    >
      <Answer query={sessions} what="sessions">
        {(page) => (
          <ul className="list">
            {page.items.map((session) => (
              <li key={session.id}>
                <span>
                  <strong>With {VIA[session.via] ?? session.via}</strong>
                  {session.address ? ` from ${session.address}` : " on the hub's own machine"}
                  <span className="soft small">
                    {" "}
                    since {moment(session.made_at)}, seen <When at={session.seen_at} />
                  </span>
                </span>
                {session.current ? (
                  <Pill tone="leaf">this one</Pill>
                ) : (
                  <button type="button" className="button small danger" onClick={() => ending.mutate(session.id)}>
                    End it
                  </button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Answer>
    </Bed>
  );
}

const EVENTS: Record<string, string> = {
  "account-made": "The account was made",
  "signed-in": "Signed in",
  "sign-in-failed": "Somebody failed to sign in",
  "second-factor-failed": "Right passphrase, wrong code",
  "locked-out": "Locked out after wrong tries",
  "signed-out": "Signed out",
  "signed-out-everywhere": "Signed out everywhere",
  "session-ended": "A session was ended",
  "passphrase-changed": "New passphrase",
  "totp-on": "Two-factor turned on",
  "totp-off": "Two-factor turned off",
  "recovery-used": "A recovery code was used",
  "passkey-added": "A passkey was added",
  "passkey-removed": "A passkey was removed",
  "passkey-cloned": "A passkey may have been copied",
  "wallet-linked": "A wallet was linked",
  "wallet-unlinked": "A wallet was unlinked",
  "token-made": "A token was made",
  "token-revoked": "A token was revoked",
  "roles-changed": "Roles were changed",
  suspended: "The operator stopped the account",
  readmitted: "The operator readmitted the account",
  "worker-claimed": "A machine became yours",
  "worker-released": "A machine is not yours any more",
  denied: "Something was refused",
};
const ALARMING = new Set(["sign-in-failed", "second-factor-failed", "locked-out", "passkey-cloned", "recovery-used", "denied", "suspended"]);

const COLUMNS: Column<SecurityEvent>[] = [
  { id: "at", head: "When", by: (event) => event.at, cell: (event) => moment(event.at) },
  { id: "kind", head: "What", lead: true, by: (event) => event.kind, cell: (event) => <Pill tone={ALARMING.has(event.kind) ? "poppy" : "plain"}>{EVENTS[event.kind] ?? event.kind}</Pill> },
  { id: "address", head: "From", by: (event) => event.address ?? "", cell: (event) => event.address ?? "the hub's own machine" },
  { id: "detail", head: "More", cell: (event) => <span className="soft small">{event.detail}</span> },
];

export function Log() {
  const events = useInfiniteQuery(queries.securityEvents);
  const rows = useMemo(() => events.data?.pages.flatMap((page) => page.items) ?? [], [events.data]);
  return (
    <Bed flush title="Security log" lead="What concerns the safety of your account. If something here was not you, end that session and change your passphrase.">
      <Answer query={events} what="the log">
        {() => (rows.length > 0 ? <DataTable rows={rows} columns={COLUMNS} id={(event) => String(event.id)} label="Security log" /> : <Empty title="Nothing yet" />)}
      </Answer>
      {events.hasNextPage ? (
        <button type="button" className="button small older" disabled={events.isFetchingNextPage} onClick={() => void events.fetchNextPage()}>
          Older events
        </button>
      ) : null}
    </Bed>
  );
}
