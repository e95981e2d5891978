import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import * as hub from "../api/hub";
import * as queries from "../api/queries";
import type { DeskVotes, Proposal, VoteChoice } from "../api/views";
import { share, units } from "../format/amount";
import { percent, short } from "../format/number";
import { moment } from "../format/time";
import { Answer, Bed, Empty, Field, Trouble } from "../ui/parts";
import { Sheet } from "../ui/Sheet";
import { Figure, Figures, Meter, Money, Pill } from "../ui/words";
import { wrongReceiver } from "../wallet/receiver";
import { Act, useDoing } from "./Doing";
import { deed, hindrance, stage, voter } from "./deeds";

export function Votes() {
  const votes = useQuery(queries.votes);
  return (
    <Answer query={votes} what="votes">
      {(data) => (
        <>
          <Own votes={data} />
          <Bed title="Proposals" lead="Changes to the numbers of the economy, and payments of the treasury. What each would do is read from its calls, not from what its author says.">
            {data.items.length > 0 ? (
              <ul className="stack wide">
                {data.items.map((proposal) => (
                  <li key={proposal.id}>
                    <Shown proposal={proposal} />
                  </li>
                ))}
              </ul>
            ) : (
              <Empty title="No proposal yet">Whoever has enough votes makes one with gleaner vote propose.</Empty>
            )}
          </Bed>
        </>
      )}
    </Answer>
  );
}

function Own({ votes }: { votes: DeskVotes }) {
  const own = votes.delegate?.toLowerCase() === votes.address.toLowerCase();
  return (
    <Bed title="Your votes" lead="Tokens in your wallet vote once you say who votes with them. They stay yours; what is deposited or staked does not vote.">
      <div className="stack">
        <Figures>
          <Figure label="Votes" tone="leaf" value={<Money amount={votes.votes} />} note="yours, and those that others gave you" />
          <Figure label="Tokens that can vote" value={<Money amount={votes.tokens} />} note={voter(votes.delegate, votes.address)} />
        </Figures>
        {own ? null : <Act text="Vote with them yourself" done="Your tokens vote from the next vote on." act={(key) => hub.delegate(key)} />}
        <Give votes={votes} />
      </div>
    </Bed>
  );
}

function Give({ votes }: { votes: DeskVotes }) {
  const [typed, setTyped] = useState("");
  const giving = useDoing((key, to) => hub.delegate(key, to), "Your votes are given.");
  const to = typed.trim();
  const wrong = to.toLowerCase() === votes.delegate?.toLowerCase() && to ? "Your votes are there already" : wrongReceiver(typed, votes.address);
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    if (to && !wrong) giving.mutate([to], { onSuccess: () => setTyped("") });
  };
  return (
    <form className="stack tight" onSubmit={send}>
      <Field label="Give your votes to an address" wrong={wrong} hint="You can take them back at any time">
        {(id, described) => (
          <input id={id} className="input mono" autoComplete="off" spellCheck={false} placeholder="0x…" value={typed} aria-describedby={described} aria-invalid={wrong !== null} onChange={(event) => setTyped(event.target.value)} />
        )}
      </Field>
      {giving.error ? <Trouble error={giving.error} /> : null}
      <div>
        <button type="submit" className="button" disabled={!to || wrong !== null || giving.isPending}>
          {giving.isPending ? "Waiting for the chain" : "Give them"}
        </button>
      </div>
    </form>
  );
}

function Shown({ proposal }: { proposal: Proposal }) {
  const [tone, text] = stage(proposal.stage);
  const [yes, no] = [units(proposal.votes_for), units(proposal.votes_against)];
  return (
    <article className="stack tight" aria-label={`Proposal ${short(proposal.id)}`}>
      <div className="row">
        <Pill tone={tone} live={proposal.stage === "active"}>
          {text}
        </Pill>
        <code title={proposal.id}>{short(proposal.id)}</code>
        <span className="soft small">vote until {moment(proposal.vote_end * 1000)}</span>
      </div>
      {proposal.acts.map((act, index) => (
        <strong key={index} className="wrap-anywhere">
          {deed(act)}
        </strong>
      ))}
      <p className="soft wrap-anywhere">“{proposal.why}”</p>
      <Meter share={share(yes, yes + no)} tone="leaf" label={`${percent(share(yes, yes + no))} of the votes are for it`} />
      <p className="small">
        <Money amount={yes} /> for, <Money amount={no} /> against
        {proposal.quorum == null ? null : (
          <>
            ; <Money amount={proposal.quorum} /> must take part
          </>
        )}
        {proposal.ready_at == null ? null : `; can be carried out from ${moment(proposal.ready_at * 1000)}`}
      </p>
      <Ballot proposal={proposal} />
    </article>
  );
}

const CHOICES: readonly (readonly [VoteChoice, string])[] = [
  ["for", "For"],
  ["against", "Against"],
  ["abstain", "Abstain"],
];

function Ballot({ proposal }: { proposal: Proposal }) {
  const [asking, setAsking] = useState<VoteChoice | null>(null);
  const casting = useDoing((key, choice) => hub.castVote(proposal.id, choice as VoteChoice, key), "Your vote is cast.");
  const why = hindrance(proposal);
  if (why) return <p className="soft small">{why}</p>;
  return (
    <>
      <div className="row" role="group" aria-label="Your vote">
        {CHOICES.map(([choice, text]) => (
          <button key={choice} type="button" className="button small" onClick={() => setAsking(choice)}>
            {text}
          </button>
        ))}
      </div>
      {asking ? (
        <Sheet title={`Vote ${asking === "abstain" ? "to abstain" : asking}?`} onClose={() => setAsking(null)}>
          <p>
            With <Money amount={proposal.own_votes} /> in votes. A vote cannot be changed.
          </p>
          {casting.error ? <Trouble error={casting.error} /> : null}
          <div className="row">
            <button type="button" className="button main" disabled={casting.isPending} onClick={() => casting.mutate([asking], { onSuccess: () => setAsking(null) })}>
              {casting.isPending ? "Waiting for the chain" : "Cast it"}
            </button>
            <button type="button" className="button" onClick={() => setAsking(null)}>
              Not yet
            </button>
          </div>
        </Sheet>
      ) : null}
    </>
  );
}
