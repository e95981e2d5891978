import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import * as hub from "../api/hub";
import type { MachineView } from "../api/views";
import { say } from "../app/toast";
import { Bed, Trouble } from "../ui/parts";
import { Sheet } from "../ui/Sheet";

/** Gives a machine up, after a question: it is the account's no more. */
export function GiveUp({ machine }: { machine: MachineView }) {
  const [asking, setAsking] = useState(false);
  const cache = useQueryClient();
  const [, go] = useLocation();
  const giving = useMutation({
    mutationFn: () => hub.giveUp(machine.id),
    onSuccess: async () => {
      say(`${machine.offer.name} is not yours any more.`);
      go("/machines");
      await cache.invalidateQueries({ queryKey: ["machines"] });
    },
  });
  return (
    <Bed title="Give it up" lead="For a machine that you sell, lend or no longer share under this account.">
      <button type="button" className="button danger" onClick={() => setAsking(true)}>
        Give this machine up
      </button>
      {asking ? (
        <Sheet title={`Give ${machine.offer.name} up?`} onClose={() => setAsking(false)}>
          <p>You no longer see it here, and no longer set its price and hours. What it has earned stays with the wallet that it was paid to.</p>
          <p>
            It comes back when it connects with a token of yours: end “gleaner share” on it first, or revoke the token under <Link href="/account/tokens">your tokens</Link>.
          </p>
          {giving.error ? <Trouble error={giving.error} /> : null}
          <div className="row">
            <button type="button" className="button danger" disabled={giving.isPending} onClick={() => giving.mutate()}>
              Give it up
            </button>
            <button type="button" className="button" onClick={() => setAsking(false)}>
              Keep it
            </button>
          </div>
        </Sheet>
      ) : null}
    </Bed>
  );
}
