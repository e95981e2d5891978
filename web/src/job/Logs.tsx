import { useEffect, useMemo, useRef, useState } from "react";
import type { JobView } from "../api/views";
import { count } from "../format/number";
import { clock } from "../format/time";
import { Bed, Empty, Trouble } from "../ui/parts";
import { useLog } from "./useLog";

const SHOWN_MAX = 2000;
const STATES = { reading: "reading", following: "following", ended: "complete", waiting: "the hub is away; goes on when it is back" };

export default function Logs({ job }: { job: JobView }) {
  const log = useLog(job.id);
  const [wanted, setWanted] = useState("");
  const [bottom, setBottom] = useState(true);
  const place = useRef<HTMLDivElement>(null);
  const found = useMemo(() => {
    const lower = wanted.toLowerCase();
    const lines = wanted ? log.lines.filter((line) => `${line.task} ${line.worker} ${line.text}`.toLowerCase().includes(lower)) : log.lines;
    return { lines: lines.slice(-SHOWN_MAX), all: lines.length };
  }, [log.lines, wanted]);
  useEffect(() => {
    if (bottom && place.current) place.current.scrollTop = place.current.scrollHeight;
  }, [found, bottom]);
  const scrolled = (event: React.UIEvent<HTMLDivElement>) => {
    const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
    setBottom(scrollHeight - scrollTop - clientHeight < 24);
  };
  return (
    <Bed title="Log" lead={`What its tasks write, as it arrives: ${STATES[log.state]}.`} actions={<Filter value={wanted} onChange={setWanted} />}>
      {log.error ? <Trouble error={log.error} /> : null}
      {log.lines.length === 0 ? (
        <Empty title={log.state === "ended" ? "Nothing was written" : "Nothing has been written yet"}>Programs write here by printing to their standard error.</Empty>
      ) : (
        <div className="log" ref={place} onScroll={scrolled} tabIndex={0} role="log" aria-label="Log" aria-live="off">
          {found.all > found.lines.length ? <p className="faint">{count(found.all - found.lines.length)} earlier lines are not shown.</p> : null}
          {found.lines.map((line, index) => (
            <div key={index} className="log-line">
              <span className="faint">{clock(line.at)}</span>
              <span className="log-task">{line.task}</span>
              <span>{line.text}</span>
            </div>
          ))}
          {found.lines.length === 0 ? <p className="faint">No line has “{wanted}”.</p> : null}
        </div>
      )}
    </Bed>
  );
}

function Filter({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <label className="filter">
      <span className="hidden">Only lines with</span>
      <input className="input" type="search" placeholder="only lines with…" value={value} onChange={(event) => onChange(event.target.value)} />
    </label>
  );
}
