// Results of a job that somebody else computed differently: who answered what, how the vote went, and what it costs whom.
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import * as queries from "../api/queries";
import type { ContestView, JobView } from "../api/views";
import { units } from "../format/amount";
import { short } from "../format/number";
import { VERDICTS } from "../job/verdicts";
import { Few } from "../ui/Few";
import { Bed } from "../ui/parts";
import { Money, Pill, When } from "../ui/words";
import { CaseList } from "./CaseList";
import { pollWords, sideWords } from "./court";
import "./court.css";

/** How many are shown before somebody asks for all. */
const FIRST = 3;

export function Contests({ job }: { job: JobView }) {
  const cases = useQuery(queries.cases(job.id)).data ?? [];
  return (
    <Bed
      title="Contested results"
      lead={
        <>
          Somebody else computed something different. Each of these has a receipt that shows it: <Link href={`/jobs/${job.id}/receipts`}>reckon them again</Link>.
        </>
      }
    >
      <div className="stack">
        <Few items={[...job.contests].reverse()} first={FIRST} what="contested results">
          {(shown) => (
            <ul className="contests" aria-label="Contested results">
              {shown.map((contest) => (
                <Contest key={contest.attempt} contest={contest} />
              ))}
            </ul>
          )}
        </Few>
        {cases.length > 0 ? (
          <>
            <h3>Before the court</h3>
            <CaseList cases={cases} ofJob />
          </>
        ) : null}
      </div>
    </Bed>
  );
}

function Contest({ contest }: { contest: ContestView }) {
  return (
    <li className={contest.wrong ? "wrong-result" : ""}>
      <p className="row">
        <Pill tone={contest.wrong ? "poppy" : "leaf"}>{contest.wrong ? "found wrong" : "held"}</Pill>
        <strong>
          <span className="mono">{contest.task}</span> by {contest.worker}
        </strong>
        <span className="faint">
          <When at={contest.at} />
        </span>
      </p>
      <p>
        Delivered <code>{short(contest.delivered)}</code>; {VERDICTS[contest.verdict]}.
      </p>
      <ul className="contest-answers small" aria-label={`Answers to ${contest.task}`}>
        {contest.answers.map((answer) => (
          <li key={answer.worker}>
            {answer.worker} computed {answer.computed ? <code>{short(answer.computed)}</code> : "nothing: the program failed"}, {sideWords(answer.side)}
            {answer.asked_last ? ", asked after the polls" : ""}
            {answer.wrong ? <span className="wrong"> (found wrong)</span> : null}
          </li>
        ))}
      </ul>
      {contest.polls.length > 0 ? (
        <ol className="small soft" aria-label={`Polls about ${contest.task}`}>
          {contest.polls.map((votes, at) => (
            <li key={at}>
              Poll {at + 1}: {pollWords(votes)}
            </li>
          ))}
        </ol>
      ) : null}
      {units(contest.takes) > 0n ? (
        <p className="small">
          Everybody who was wrong is to lose <Money amount={contest.takes} /> of stake.
        </p>
      ) : null}
    </li>
  );
}
