import { useState } from "react";
import { Link, useLocation } from "wouter";
import "../account/account.css";
import { strength } from "../account/strength";
import { useThen } from "../account/then";
import { Ways } from "../account/Ways";
import * as hub from "../api/hub";
import { enter } from "../app/session";
import { Bed, Field, Trouble } from "../ui/parts";

export default function SignUp() {
  const then = useThen();
  const [, go] = useLocation();
  const entered = () => go(then, { replace: true });
  return (
    <div className="gate">
      <h1>Make an account</h1>
      <Bed>
        <Form onEntered={entered} />
      </Bed>
      <div className="stack">
        <Bed title="What an account is">
          <p className="soft">
            A name on this hub, and nothing else: no e-mail address, nothing to confirm. With it you run jobs, share machines, or both. Nobody can reset a lost
            passphrase, so add a passkey or a wallet as a second way in.
          </p>
        </Bed>
        <Bed title="Without a passphrase">
          <Ways onEntered={entered} />
        </Bed>
      </div>
      <p className="soft">
        You have one already? <Link href={`/sign-in?then=${encodeURIComponent(then)}`}>Sign in</Link>.
      </p>
    </div>
  );
}

function Form({ onEntered }: { onEntered: () => void }) {
  const [name, setName] = useState("");
  const [passphrase, setPassphrase] = useState("");
  const [shown, setShown] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const strong = strength(passphrase);
  const send = async (event: React.FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await hub.signUp(name.trim(), passphrase);
      await enter();
      onEntered();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className="stack" onSubmit={(event) => void send(event)}>
      <Field label="Name" hint="3 to 32 letters, digits, - and _; others may see it">
        {(id, described) => <input id={id} className="input" autoComplete="username" required aria-describedby={described} value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <Field label="Passphrase" hint={strong.words}>
        {(id, described) => (
          <input id={id} className="input" type={shown ? "text" : "password"} autoComplete="new-password" required aria-describedby={described} value={passphrase} onChange={(event) => setPassphrase(event.target.value)} />
        )}
      </Field>
      <label className="check small">
        <input type="checkbox" checked={shown} onChange={(event) => setShown(event.target.checked)} /> Show the passphrase
      </label>
      {error ? <Trouble error={error} /> : null}
      <div>
        <button type="submit" className="button main" disabled={busy || !strong.enough}>
          {busy ? "Making the account" : "Make the account"}
        </button>
      </div>
    </form>
  );
}
