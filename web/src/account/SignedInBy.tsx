// How this account is signed in to: second factor, passkeys, wallets.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import * as hub from "../api/hub";
import { Refusal, words } from "../api/http";
import type { Session } from "../api/views";
import * as queries from "../api/queries";
import { say } from "../app/toast";
import { Answer, Bed, Copy, Field, Trouble } from "../ui/parts";
import { Pill, When } from "../ui/words";
import { Passphrase } from "./Passphrase";
import { ethereum, walletAddress, walletSignature, walletWords } from "./ethereum";
import { hasPasskeys, makePasskey } from "./passkey";
import { modules } from "./qr";

export function SignedInBy({ session }: { session: Session }) {
  return (
    <div className="columns">
      <div className="stack">
        <SecondFactor session={session} />
        <Passphrase />
      </div>
      <div className="stack">
        <Passkeys />
        <Wallets />
      </div>
    </div>
  );
}

function SecondFactor({ session }: { session: Session }) {
  const [start, setStart] = useState<{ secret: string; uri: string } | null>(null);
  const [codes, setCodes] = useState<string[] | null>(null);
  const starting = useMutation({ mutationFn: hub.startTotp, onSuccess: setStart });
  return (
    <Bed title="Two-factor" lead="A code from your phone beside the passphrase. It does not depend on this hub, a phone number or the network.">
      <div className="stack">
        {codes ? <Recovery codes={codes} onDone={() => setCodes(null)} /> : null}
        {session.second_factor ? (
          <TurnOff />
        ) : start ? (
          <Confirm
            start={start}
            onDone={(recovery) => {
              setStart(null);
              setCodes(recovery);
            }}
          />
        ) : (
          <>
            <p>
              <Pill tone="corn">off</Pill>
            </p>
            {starting.error ? <Trouble error={starting.error} /> : null}
            <div>
              <button type="button" className="button main" disabled={starting.isPending} onClick={() => starting.mutate()}>
                Turn it on
              </button>
            </div>
          </>
        )}
      </div>
    </Bed>
  );
}

function Confirm({ start, onDone }: { start: { secret: string; uri: string }; onDone: (codes: string[]) => void }) {
  const [code, setCode] = useState("");
  const cache = useQueryClient();
  const confirming = useMutation({
    mutationFn: () => hub.confirmTotp(code.replaceAll(" ", "")),
    onSuccess: async ({ recovery_codes }) => {
      onDone(recovery_codes);
      await cache.invalidateQueries({ queryKey: ["session"] });
    },
  });
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    confirming.mutate();
  };
  return (
    <form className="stack" onSubmit={send}>
      <p>Scan this with an authenticator on your phone. It is drawn in your browser and sent nowhere.</p>
      <Code text={start.uri} />
      <p className="small soft">
        Cannot scan it? Type the secret: <code className="wrap-anywhere">{start.secret}</code> <Copy text={start.secret} />
      </p>
      <Field label="The code that it shows">{(id) => <input id={id} className="input" inputMode="numeric" autoComplete="one-time-code" required value={code} onChange={(event) => setCode(event.target.value)} />}</Field>
      {confirming.error ? <Trouble error={confirming.error} /> : null}
      <div>
        <button type="submit" className="button main" disabled={confirming.isPending}>
          Confirm
        </button>
      </div>
    </form>
  );
}

function Code({ text }: { text: string }) {
  const grid = useMemo(() => modules(text), [text]);
  const path = grid.map((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : "")).join("")).join("");
  return (
    <svg className="qr" viewBox={`0 0 ${grid.length} ${grid.length}`} shapeRendering="crispEdges" role="img" aria-label="The secret as a picture for your phone">
      <path d={path} />
    </svg>
  );
}

function Recovery({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  return (
    <div className="notice straw">
      <strong>Write these recovery codes down now</strong>
      <p>Each one signs you in once without your phone. They are not shown again.</p>
      <ul className="codes">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="row">
        <Copy text={codes.join("\n")} />
        <button type="button" className="button small" onClick={onDone}>
          I have them
        </button>
      </div>
    </div>
  );
}

function TurnOff() {
  const [code, setCode] = useState("");
  const cache = useQueryClient();
  const ending = useMutation({
    mutationFn: () => hub.endTotp(code.replaceAll(" ", "")),
    onSuccess: async () => {
      say("Two-factor is off.");
      await cache.invalidateQueries({ queryKey: ["session"] });
    },
  });
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    ending.mutate();
  };
  return (
    <form className="stack" onSubmit={send}>
      <p>
        <Pill tone="leaf">on</Pill>
      </p>
      <Field label="Code, to turn it off">{(id) => <input id={id} className="input" autoComplete="one-time-code" value={code} onChange={(event) => setCode(event.target.value)} />}</Field>
      {ending.error ? <Trouble error={ending.error} /> : null}
      <div>
        <button type="submit" className="button danger" disabled={!code || ending.isPending}>
          Turn it off
        </button>
      </div>
    </form>
  );
}

function Passkeys() {
  const passkeys = useQuery(queries.passkeys);
  const cache = useQueryClient();
  const [label, setLabel] = useState("");
  const refresh = () => cache.invalidateQueries({ queryKey: ["account"] });
  const adding = useMutation({
    mutationFn: async () => hub.addPasskey(label.trim() || "passkey", await makePasskey(await hub.newPasskeyChallenge())),
    onSuccess: () => {
      setLabel("");
      say("The passkey is added.");
    },
    onSettled: refresh,
  });
  const removing = useMutation({ mutationFn: hub.removePasskey, onSettled: refresh, onError: (error) => say(words(error)) });
  return (
    <Bed title="Passkeys" lead="Sign in with a fingerprint, a face or a security key. It only works on this page, so nobody can fish for it.">
      <Answer query={passkeys} what="passkeys" lines={2}>
        {(page) => (
          <ul className="list">
            {page.items.map((passkey) => (
              <li key={passkey.id}>
                <span>
                  <strong>{passkey.label}</strong>{" "}
                  <span className="soft small">{passkey.used_at ? <>used <When at={passkey.used_at} /></> : "not used yet"}</span>
                </span>
                <button type="button" className="button small danger" onClick={() => removing.mutate(passkey.id)}>
                  Remove
                </button>
              </li>
            ))}
          </ul>
        )}
      </Answer>
      {adding.error ? <Trouble error={adding.error} /> : null}
      <div className="row">
        <input className="input passkey-name" aria-label="Name of the new passkey" placeholder="name, such as “laptop”" value={label} onChange={(event) => setLabel(event.target.value)} />
        <button type="button" className="button" disabled={!hasPasskeys() || adding.isPending} onClick={() => adding.mutate()}>
          Add a passkey
        </button>
      </div>
      {hasPasskeys() ? null : <p className="small soft">Passkeys need a page over https, or on this machine.</p>}
    </Bed>
  );
}

function Wallets() {
  const wallets = useQuery(queries.linkedWallets);
  const cache = useQueryClient();
  const refresh = () => cache.invalidateQueries({ queryKey: ["account"] });
  const linking = useMutation({
    mutationFn: async () => {
      const address = await walletAddress();
      const { message } = await hub.walletChallenge(address);
      await hub.linkWallet(message, await walletSignature(message, address));
    },
    onSettled: refresh,
  });
  const unlinking = useMutation({ mutationFn: hub.unlinkWallet, onSettled: refresh, onError: (error) => say(words(error)) });
  return (
    <Bed title="Wallets" lead="Sign in with one of them, and see jobs and machines that belong to its address.">
      <Answer query={wallets} what="wallets" lines={2}>
        {(page) => (
          <ul className="list">
            {page.items.map((wallet) => (
              <li key={wallet.address}>
                <code className="wrap-anywhere">{wallet.address}</code>
                <button type="button" className="button small danger" onClick={() => unlinking.mutate(wallet.address)}>
                  Unlink
                </button>
              </li>
            ))}
          </ul>
        )}
      </Answer>
      {linking.error ? <Trouble error={linking.error instanceof Refusal ? linking.error : new Error(walletWords(linking.error))} /> : null}
      <button type="button" className="button" disabled={!ethereum() || linking.isPending} onClick={() => linking.mutate()}>
        Link a wallet
      </button>
      {ethereum() ? null : <p className="small soft apart">This browser has no Ethereum wallet.</p>}
    </Bed>
  );
}
