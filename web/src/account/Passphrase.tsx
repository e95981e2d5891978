import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import * as hub from "../api/hub";
import { enter } from "../app/session";
import { say } from "../app/toast";
import { Bed, Field, Trouble } from "../ui/parts";
import { strength } from "./strength";

/** Another passphrase, or the first one of an account that was made with a wallet or a passkey. */
export function Passphrase() {
  const [old, setOld] = useState("");
  const [wanted, setWanted] = useState("");
  const strong = strength(wanted);
  const changing = useMutation({
    mutationFn: async () => {
      await hub.changePassphrase(old, wanted);
      await enter();
    },
    onSuccess: () => {
      setOld("");
      setWanted("");
      say("The passphrase is changed. Other sessions have ended.");
    },
  });
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    changing.mutate();
  };
  return (
    <Bed title="Passphrase" lead="A new one ends all other sessions.">
      <form className="stack" onSubmit={send}>
        <Field label="The one until now" hint="Empty, if you have none yet">
          {(id, described) => <input id={id} className="input" type="password" autoComplete="current-password" aria-describedby={described} value={old} onChange={(event) => setOld(event.target.value)} />}
        </Field>
        <Field label="The new one" hint={strong.words}>
          {(id, described) => <input id={id} className="input" type="password" autoComplete="new-password" aria-describedby={described} value={wanted} onChange={(event) => setWanted(event.target.value)} />}
        </Field>
        {changing.error ? <Trouble error={changing.error} /> : null}
        <div>
          <button type="submit" className="button" disabled={!strong.enough || changing.isPending}>
            Change it
          </button>
        </div>
      </form>
    </Bed>
  );
}
