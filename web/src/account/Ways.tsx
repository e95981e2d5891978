// Other ways to sign in: a wallet, a passkey.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import * as hub from "../api/hub";
import { Refusal } from "../api/http";
import { enter } from "../app/session";
import { Icon } from "../ui/Icon";
import { Field, Trouble } from "../ui/parts";
import { ethereum, walletAddress, walletSignature, walletWords } from "./ethereum";
import { hasPasskeys, provePasskey } from "./passkey";

export function Ways({ onEntered }: { onEntered: () => void }) {
  const passkey = useMutation({
    mutationFn: async () => {
      await hub.passkeySignIn(await provePasskey(await hub.passkeyChallenge()));
      await enter();
    },
    onSuccess: onEntered,
  });
  const [code, setCode] = useState<string | null>(null);
  const wallet = useMutation({
    mutationFn: async () => {
      const address = await walletAddress();
      const { message } = await hub.walletChallenge(address);
      await hub.walletSignIn(message, await walletSignature(message, address), code ?? undefined);
      await enter();
    },
    onSuccess: onEntered,
    onError: (error) => {
      if (error instanceof Refusal && error.code === "second-factor-needed") setCode("");
    },
  });
  const has = { passkey: hasPasskeys(), wallet: ethereum() !== null };
  return (
    <div className="stack">
      <button type="button" className="button" disabled={!has.passkey || passkey.isPending} onClick={() => passkey.mutate()}>
        <Icon name="key" /> {passkey.isPending ? "Waiting for your passkey" : "With a passkey"}
      </button>
      {has.passkey ? null : <p className="small soft">Passkeys work on pages over https, and on this machine.</p>}
      <button type="button" className="button" disabled={!has.wallet || wallet.isPending} onClick={() => wallet.mutate()}>
        <Icon name="wallet" /> {wallet.isPending ? "Waiting for your wallet" : "With a wallet"}
      </button>
      {code !== null ? (
        <Field label="Code from your authenticator" hint="Then press the button again">
          {(id, described) => <input id={id} className="input" autoComplete="one-time-code" aria-describedby={described} value={code} onChange={(event) => setCode(event.target.value)} />}
        </Field>
      ) : null}
      {has.wallet ? <p className="small soft">You sign a sentence, not a payment. A new address makes a new account.</p> : <p className="small soft">This browser has no Ethereum wallet.</p>}
      {passkey.error ? <Trouble error={passkey.error} /> : null}
      {wallet.error ? <Trouble error={wallet.error instanceof Refusal ? wallet.error : new Error(walletWords(wallet.error))} /> : null}
    </div>
  );
}
