import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useEffect } from "react";
import { useLocation } from "wouter";
import * as hub from "../api/hub";
import { setCsrf } from "../api/http";
import type { Session } from "../api/views";
import * as queries from "../api/queries";
import { setDraft } from "../newjob/draft";
import { Waiting } from "../ui/parts";
import { cache, live } from "./live";

/** Who is signed in: null if nobody is, undefined while that is not known. */
export function useSession(): Session | null | undefined {
  return useQuery(queries.session).data;
}

/** After signing in: what was seen before may look different now. */
export async function enter(): Promise<void> {
  await cache.fetchQuery({ ...queries.session, staleTime: 0 });
  live.start();
  await cache.invalidateQueries({ predicate: (query) => query.queryKey[0] !== "session" });
}

/** Signs out and forgets everything that was asked. */
export async function leave(): Promise<void> {
  await hub.signOut();
  setCsrf(null);
  setDraft(null);
  cache.clear();
  cache.setQueryData(queries.session.queryKey, null);
  live.start();
}

/** A page that only those see who are signed in; others are asked to, and come back afterwards. */
export function SignedIn({ children }: { children: (session: Session) => ReactNode }) {
  const session = useSession();
  const [path, go] = useLocation();
  useEffect(() => {
    if (session === null) go(`/sign-in?then=${encodeURIComponent(path)}`, { replace: true });
  }, [session, path, go]);
  if (!session) return <Waiting what="your session" />;
  return <>{children(session)}</>;
}
