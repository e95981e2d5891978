import { useState } from "react";
import * as hub from "../api/hub";
import type { DeskStake } from "../api/views";
import { exact, share, units } from "../format/amount";
import { percent } from "../format/number";
import { moment, span } from "../format/time";
import { Bed } from "../ui/parts";
import { Figure, Figures, Meter, Money } from "../ui/words";
import { Act, AmountForm } from "./Doing";

/** What is staked, what of it can be lost, and how it moves. */
export function Staked({ stake }: { stake: DeskStake }) {
  return (
    <>
      <Standing stake={stake} />
      <div className="columns narrow">
        <Add stake={stake} />
        <AmountForm
          title="Take stake out"
          lead={`It takes ${span(stake.unbonding_delay * 1000)}; what is on its way out already waits anew with it.`}
          verb="Take out"
          done="The stake is on its way out."
          most={stake.free}
          act={(key, amount) => hub.unbondStake(amount, key)}
        />
      </div>
    </>
  );
}

function Standing({ stake }: { stake: DeskStake }) {
  const locked = share(units(stake.locked), units(stake.total));
  const missing = units(stake.minimum) - units(stake.total);
  return (
    <Bed title="Stake" lead="Of the wallet that this desk keeps for you. A machine that is paid into another wallet stakes with that one.">
      <div className="stack">
        <Figures>
          <Figure label="Staked" tone="leaf" value={<Money amount={stake.total} />} note={missing > 0n ? `${exact(missing)} GLN short of what a provider must have` : `providers must have ${stake.minimum} GLN`} />
          <Figure label="Locked" tone="straw" value={<Money amount={stake.locked} />} note="work, disputes or published rewards depend on it" />
          <Figure label="On its way out" tone="corn" value={<Money amount={stake.unbonding} />} note={leaving(stake)} />
          <Figure
            label="A verdict may take"
            tone="poppy"
            value={<Money amount={stake.verdict_max} />}
            note={
              <>
                for one order; <Money amount={stake.at_risk} /> at most of all that is locked now
              </>
            }
          />
        </Figures>
        <Meter share={locked} tone="straw" label={`${percent(locked)} of your stake is locked`} />
        <p className="soft small">
          This hub may hold <Money amount={stake.allowed} /> of it locked at a time. Only a verdict of drawn auditors takes stake: not the hub, and not a vote.
          {stake.auditor ? " You are an auditor yourself." : ""}
        </p>
        {stake.ready ? <Act main text="Claim what has come out" done="The stake is in your wallet again." act={hub.claimStake} /> : null}
      </div>
    </Bed>
  );
}

function leaving(stake: DeskStake): string {
  if (stake.ready_at == null) return "nothing";
  return stake.ready ? "can be claimed" : `can be claimed on ${moment(stake.ready_at * 1000)}`;
}

function Add({ stake }: { stake: DeskStake }) {
  const [allow, setAllow] = useState(true);
  return (
    <AmountForm
      title="Add stake"
      lead="From your wallet. It stands behind the work of your machines."
      verb="Stake"
      done="Staked."
      most={stake.tokens}
      act={(key, amount) => hub.addStake(amount, allow, key)}
      wish={allow ? "allow" : "keep"}
    >
      <label className="check">
        <input type="checkbox" checked={allow} onChange={(event) => setAllow(event.target.checked)} />
        <span>This hub may lock it while work depends on it, which providers need</span>
      </label>
    </AmountForm>
  );
}
