import { useState } from "react";
import { Link, useLocation } from "wouter";
import "../account/account.css";
import { useThen } from "../account/then";
import { Ways } from "../account/Ways";
import * as hub from "../api/hub";
import { Refusal } from "../api/http";
import { enter } from "../app/session";
import { span } from "../format/time";
import { Bed, Field, Trouble } from "../ui/parts";

export default function SignIn() {
  const then = useThen();
  const [, go] = useLocation();
  const entered = () => go(then, { replace: true });
  return (
    <div className="gate">
      <h1>Sign in</h1>
      <Bed>
        <Passphrase onEntered={entered} />
      </Bed>
      <Bed title="Without a passphrase">
        <Ways onEntered={entered} />
      </Bed>
      <p className="soft">
        New here? <Link href={`/sign-up?then=${encodeURIComponent(then)}`}>Make an account</Link>. It needs a name and a passphrase, and no e-mail address.
      </p>
    </div>
  );
}

function Passphrase({ onEntered }: { onEntered: () => void }) {
  const [name, setName] = useState("");
  const [passphrase, setPassphrase] = useState("");
  const [code, setCode] = useState("");
  const [needsCode, setNeedsCode] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const send = async (event: React.FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await hub.signIn(name, passphrase, code || undefined);
      await enter();
      onEntered();
    } catch (problem) {
      if (problem instanceof Refusal && problem.code === "second-factor-needed") setNeedsCode(true);
      else setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className="stack" onSubmit={(event) => void send(event)}>
      <Field label="Name">{(id) => <input id={id} className="input" autoComplete="username" required value={name} onChange={(event) => setName(event.target.value)} />}</Field>
      <Field label="Passphrase">
        {(id) => <input id={id} className="input" type="password" autoComplete="current-password" required value={passphrase} onChange={(event) => setPassphrase(event.target.value)} />}
      </Field>
      {needsCode ? (
        <Field label="Code from your authenticator" hint="Six digits, or one of your recovery codes">
          {(id, described) => <input id={id} className="input" autoComplete="one-time-code" aria-describedby={described} value={code} autoFocus onChange={(event) => setCode(event.target.value)} />}
        </Field>
      ) : null}
      {error ? <Trouble error={locked(error)} /> : null}
      <div>
        <button type="submit" className="button main" disabled={busy}>
          {busy ? "Signing in" : "Sign in"}
        </button>
      </div>
    </form>
  );
}

/** A lock-out says how long it lasts. */
function locked(error: unknown): unknown {
  if (!(error instanceof Refusal) || error.status !== 429 || !error.retryAfter) return error;
  return new Error(`Too many wrong tries. Try again in ${span(error.retryAfter * 1000)}.`);
}
