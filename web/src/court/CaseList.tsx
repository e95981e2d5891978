import { Link } from "wouter";
import * as hub from "../api/hub";
import type { CaseView } from "../api/views";
import { short } from "../format/number";
import { units } from "../format/amount";
import { Money, Pill, When } from "../ui/words";
import { stageWords } from "./court";
import "./court.css";

/** Providers that were found wrong, each with the evidence for it. */
export function CaseList({ cases, ofJob }: { cases: CaseView[]; ofJob?: boolean }) {
  return (
    <ul className="cases" aria-label="Cases">
      {cases.map((one) => (
        <Case key={`${one.evidence} ${one.provider}`} one={one} ofJob={ofJob ?? false} />
      ))}
    </ul>
  );
}

function Case({ one, ofJob }: { one: CaseView; ofJob: boolean }) {
  const { tone, word, text } = stageWords(one.stage);
  return (
    <li>
      <p className="row">
        <Pill tone={tone}>{word}</Pill>
        <code className="wrap-anywhere">{one.provider}</code>
        {ofJob ? null : <Link href={`/jobs/${one.job}`}>job {one.job}</Link>}
      </p>
      <p>
        {text}
        {one.stage.stage === "open" ? (
          <>
            {" "}
            Votes count until <When at={one.stage.ends * 1000} />.
          </>
        ) : null}
        {units(one.taken) > 0n ? (
          <>
            {" "}
            <Money amount={one.taken} /> of its stake was taken.
          </>
        ) : null}
      </p>
      <p className="small soft">
        Evidence <a href={hub.evidenceAddress(one.evidence)}>{short(one.evidence)}</a>; check it with <code>gleaner receipt verify</code>
        {one.dispute === null ? "" : `. Dispute ${one.dispute} on the chain`}
        {one.transaction ? (
          <>
            , ended by transaction <code className="wrap-anywhere">{short(one.transaction)}</code>
          </>
        ) : null}
      </p>
    </li>
  );
}
