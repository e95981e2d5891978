import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import * as hub from "../api/hub";
import { moment } from "../format/time";
import { Copy, Trouble } from "../ui/parts";
import { Sheet } from "../ui/Sheet";
import { KEEP, share, wanted } from "./sharing";

/** Makes a token that shares machines and nothing else, and says what to do with it. */
export function ShareButton({ main }: { main?: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className={`button${main ? " main" : ""}`} onClick={() => setOpen(true)}>
        Share a machine
      </button>
      {open ? (
        <Sheet title="Share a machine" onClose={() => setOpen(false)}>
          <Steps />
        </Sheet>
      ) : null}
    </>
  );
}

function Steps() {
  const cache = useQueryClient();
  const making = useMutation({
    mutationFn: async () => {
      const asked = wanted(Date.now());
      return { text: (await hub.makeToken(asked)).text, endsAt: asked.ends_at };
    },
    onSettled: () => cache.invalidateQueries({ queryKey: ["account"] }),
  });
  return (
    <ol className="steps">
      <li>
        On the machine that you want to share, see what it can do and what is missing:
        <Command text="gleaner doctor" />
      </li>
      <li>
        Make a token by which the machine is counted as yours. It can share machines and nothing else.
        {making.data ? (
          <>
            <span className="row command">
              <code className="code wrap-anywhere token">{making.data.text}</code>
              <Copy text={making.data.text} label="Copy the token" />
            </span>
            <span className="small soft">Shown this once, and good until {moment(making.data.endsAt)}. A machine that has joined with it stays yours.</span>
          </>
        ) : (
          <span>
            <button type="button" className="button main" disabled={making.isPending} onClick={() => making.mutate()}>
              Make the token
            </button>
          </span>
        )}
        {making.error ? <Trouble error={making.error} /> : null}
      </li>
      <li>
        Put it into a file that only you can read. After this command, paste the token, then press Enter and Ctrl D; so it stands in no shell's history:
        <Command text={KEEP} />
      </li>
      <li>
        Share the machine. The hub tests each device before paid work comes, and the machine appears on this page:
        <Command text={share(location.origin)} />
      </li>
    </ol>
  );
}

function Command({ text }: { text: string }) {
  return (
    <span className="row command">
      <code className="code">{text}</code>
      <Copy text={text} />
    </span>
  );
}
