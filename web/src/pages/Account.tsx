// The account: ways to sign in, tokens, sessions, and what happened to it.
import "../account/account.css";
import { Log, Sessions } from "../account/Sessions";
import { SignedInBy } from "../account/SignedInBy";
import { Tokens } from "../account/Tokens";
import { Webhooks } from "../account/Webhooks";
import type { Session } from "../api/views";
import { Head, Tabs } from "../ui/parts";
import { Pill } from "../ui/words";

const TABS = [
  { path: "/account", text: "Signing in" },
  { path: "/account/tokens", text: "Tokens" },
  { path: "/account/webhooks", text: "Webhooks" },
  { path: "/account/sessions", text: "Sessions" },
  { path: "/account/log", text: "Security log" },
] as const;

export default function Account({ session, tab }: { session: Session; tab: string }) {
  const path = tab === "signing-in" ? "/account" : `/account/${tab}`;
  return (
    <>
      <Head title={session.account.name}>
        <span className="row">
          {session.roles.map((role) => (
            <Pill key={role}>{role}</Pill>
          ))}
        </span>
      </Head>
      <div className="stack">
        <Tabs label="Parts of your account" items={TABS} current={path} />
        {tab === "tokens" ? <Tokens /> : tab === "webhooks" ? <Webhooks /> : tab === "sessions" ? <Sessions /> : tab === "log" ? <Log /> : <SignedInBy session={session} />}
      </div>
    </>
  );
}
