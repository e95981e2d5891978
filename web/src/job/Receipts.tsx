// Receipts of judged results, each reckoned again here.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import * as hub from "../api/hub";
import type { JobView, TaskReceipt } from "../api/views";
import { units } from "../format/amount";
import { count, counted, percent, short } from "../format/number";
import { moment, spanMicros } from "../format/time";
import { type Column, DataTable } from "../ui/DataTable";
import { Answer, Bed, Copy, Empty } from "../ui/parts";
import { Sheet } from "../ui/Sheet";
import { Money, Pill } from "../ui/words";
import { type Proof, readProofs } from "./proofs";
import { checkAll, checkSealed, type Fault, headline, type Sealed, signatureWords } from "./receipts";
import { nameTask } from "./task";
import { isRecomputed, pays, VERDICTS } from "./verdicts";

const PAGE = 256;
/** Pages that are fetched without being asked for: more would take long to reckon. */
const PAGES_MAX = 16;

export default function Receipts({ job }: { job: JobView }) {
  const receipts = useInfiniteQuery({
    queryKey: ["job", job.id, "receipts"],
    queryFn: async ({ pageParam }) => readProofs(await hub.proofs(job.id, pageParam, PAGE)),
    initialPageParam: 0,
    getNextPageParam: (last, all) => (last.length === PAGE ? all.length * PAGE : null),
  });
  const { hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = receipts;
  const pages = receipts.data?.pages.length ?? 0;
  useEffect(() => {
    if (hasNextPage && !isFetching && !isFetchNextPageError && pages < PAGES_MAX) void fetchNextPage();
  }, [hasNextPage, isFetching, isFetchNextPageError, fetchNextPage, pages]);
  const proofs = useMemo(() => receipts.data?.pages.flat() ?? [], [receipts.data]);
  return (
    <div className="stack">
      <Answer query={receipts} what="receipts" lines={6}>
        {() =>
          proofs.length > 0 ? (
            <Shown job={job} proofs={proofs} more={hasNextPage} />
          ) : (
            <Bed>
              <Empty title="No receipts yet">A receipt is made when a result has been judged: who did it, how it was checked, and who was paid.</Empty>
            </Bed>
          )
        }
      </Answer>
      {hasNextPage && (pages >= PAGES_MAX || isFetchNextPageError) ? (
        <div>
          <button type="button" className="button" disabled={isFetching} onClick={() => void fetchNextPage()}>
            More receipts
          </button>
        </div>
      ) : null}
    </div>
  );
}

function Shown({ job, proofs, more }: { job: JobView; proofs: Proof[]; more: boolean }) {
  const items = useMemo(() => proofs.map(({ receipt }) => receipt), [proofs]);
  const sealed = useSealed(proofs);
  const faults = useMemo(() => [...checkAll(items), ...(sealed?.faults ?? [])].sort((one, other) => one.receipt - other.receipt), [items, sealed]);
  const [open, setOpen] = useState<TaskReceipt | null>(null);
  const columns = useMemo(() => columnsOf(job, faults, sealed !== null, setOpen), [job, faults, sealed]);
  return (
    <>
      <Checked job={job} items={items} more={more} faults={faults} sealed={sealed} />
      <Bed flush title="Receipts">
        <DataTable rows={items} columns={columns} id={(receipt) => String(receipt.facts.number)} label="Receipts" first={50} />
      </Bed>
      {open ? <Opened job={job} receipt={open} faults={faults} onClose={() => setOpen(null)} /> : null}
    </>
  );
}

/** What hashes and signatures say; nothing while they are being reckoned. */
function useSealed(proofs: Proof[]): Sealed | null {
  const [found, setFound] = useState<Sealed | null>(null);
  useEffect(() => {
    let current = true;
    setFound(null);
    void checkSealed(proofs).then((answer) => current && setFound(answer));
    return () => {
      current = false;
    };
  }, [proofs]);
  return found;
}

function Checked({ job, items, more, faults, sealed }: { job: JobView; items: TaskReceipt[]; more: boolean; faults: Fault[]; sealed: Sealed | null }) {
  const judged = job.checks.reduce((sum, check) => sum + check.results, 0);
  const again = items.filter((receipt) => isRecomputed(receipt.facts.verdict)).length;
  const tone = faults.length > 0 ? "poppy" : sealed && !more ? "leaf" : "straw";
  return (
    <div className={`notice ${tone}`} role="status">
      <strong>{headline({ reckoned: items.length, judged, more, wrong: faults, done: sealed !== null })}</strong>
      <p>
        Your browser has reckoned {items.length === 1 ? "it" : "them"} again: that what each says has the hash that is signed, prices from running times, the split between worker and platform, no task
        paid twice, nothing beyond the cap, and that each names the one before it. {signatureWords(sealed)}
        {again > 0 ? ` ${counted(again, "result")} of these ${again === 1 ? "was" : "were"} drawn by lot and computed again on somebody else's machine.` : ""}
      </p>
      {faults.slice(0, 8).map((fault) => (
        <p key={`${fault.receipt} ${fault.text}`}>
          {fault.receipt >= 0 ? `Receipt ${fault.receipt}: ` : ""}
          {fault.text}
        </p>
      ))}
      {faults.length > 8 ? <p>and {counted(faults.length - 8, "more fault")}, marked in the table.</p> : null}
      <p className="small soft">Not reckoned here: whom the lot fell on and who was drawn to check, what owners and the requester signed, and the chain. The command line does all of it, without asking this hub:</p>
      <div className="row">
        <code className="code">{`gleaner job receipts ${job.id} --out receipts && gleaner receipt verify receipts/*`}</code>
        <Copy text={`gleaner job receipts ${job.id} --out receipts && gleaner receipt verify receipts/*`} />
      </div>
    </div>
  );
}

function taskName(job: JobView, receipt: TaskReceipt): string {
  const { group, index } = receipt.facts.task;
  const found = job.groups[group];
  return found ? nameTask(found, index) : `group ${group}[${index}]`;
}

function columnsOf(job: JobView, faults: Fault[], done: boolean, open: (receipt: TaskReceipt) => void): Column<TaskReceipt>[] {
  const numbers = new Set(faults.map((fault) => fault.receipt));
  const isFaulty = (receipt: TaskReceipt) => numbers.has(receipt.facts.number);
  return [
    {
      id: "number",
      head: "Receipt",
      lead: true,
      by: ({ facts }) => facts.number,
      cell: (receipt) => (
        <button type="button" className="button small plain" onClick={() => open(receipt)}>
          {receipt.facts.number}: {taskName(job, receipt)}
        </button>
      ),
    },
    {
      id: "verdict",
      head: "Verdict",
      by: ({ facts }) => facts.verdict,
      cell: ({ facts }) => <Pill tone={pays(facts.verdict) ? (facts.verdict === "agreed" || facts.verdict === "upheld" ? "leaf" : "plain") : "poppy"}>{facts.verdict.replaceAll("_", " ")}</Pill>,
    },
    { id: "ran", head: "Ran", number: true, by: ({ facts }) => facts.meter.ran, cell: ({ facts }) => spanMicros(facts.meter.ran) },
    { id: "price", head: "Price", number: true, by: ({ facts }) => units(facts.price.gross), cell: ({ facts }) => <Money amount={facts.price.gross} /> },
    { id: "worker", head: "To its owner", number: true, by: ({ facts }) => units(facts.payout.worker), cell: ({ facts }) => <Money amount={facts.payout.worker} /> },
    {
      id: "holds",
      head: "Reckoned again",
      by: (receipt) => (isFaulty(receipt) ? 0 : 1),
      cell: (receipt) => (isFaulty(receipt) ? <Pill tone="poppy">does not fit</Pill> : done ? <Pill tone="leaf">holds</Pill> : <Pill>being reckoned</Pill>),
    },
  ];
}

function Opened({ job, receipt, faults, onClose }: { job: JobView; receipt: TaskReceipt; faults: Fault[]; onClose: () => void }) {
  const { facts } = receipt;
  const wrong = faults.filter((fault) => fault.receipt === facts.number);
  return (
    <Sheet title={`Receipt ${facts.number} · ${taskName(job, receipt)}`} onClose={onClose}>
      {wrong.map((fault) => (
        <p key={fault.text} className="notice poppy">
          {fault.text}
        </p>
      ))}
      <dl className="facts">
        <dt>Verdict</dt>
        <dd>{VERDICTS[facts.verdict]}</dd>
        <dt>Where</dt>
        <dd>
          worker {short(facts.placement.worker)} on {facts.placement.device}: {facts.placement.why}
        </dd>
        <dt>Ran</dt>
        <dd>
          {spanMicros(facts.meter.ran)}, between {moment(facts.meter.placed)} and {moment(facts.meter.finished)}
        </dd>
        <dt>Price</dt>
        <dd>
          <Money amount={facts.placement.per_second} per="s" /> × {count(facts.meter.ran)} µs = <Money amount={facts.price.gross} />, at most <Money amount={facts.price.hold} />
        </dd>
        <dt>Paid</dt>
        <dd>
          <Money amount={facts.payout.worker} /> to the worker's owner, <Money amount={facts.payout.platform} /> to the platform ({facts.price.share_points / 100} %)
        </dd>
        <dt>Lot</dt>
        <dd>{facts.draw ? drawWords(facts.draw) : "none was drawn"}</dd>
        {facts.audit ? (
          <>
            <dt>Check</dt>
            <dd>{auditWords(facts.audit)}</dd>
          </>
        ) : null}
        {facts.deductions.map((deduction) => (
          <FactPair key={deduction.evidence} name="Stake lost">
            <Money amount={deduction.amount} /> by {short(deduction.worker)}
          </FactPair>
        ))}
        <dt>Output</dt>
        <dd className="mono">{facts.commitment.claim.output ?? "none"}</dd>
        <dt>Hash</dt>
        <dd className="mono">{receipt.hash}</dd>
        <dt>Hub's key</dt>
        <dd className="mono">{facts.hub}</dd>
      </dl>
      <Copy text={JSON.stringify(receipt, null, 2)} label="Copy as JSON" />
    </Sheet>
  );
}

function FactPair({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function drawWords(draw: NonNullable<TaskReceipt["facts"]["draw"]>): string {
  const source = draw.source === "hub" ? "the hub's own chance" : "a block of the chain";
  const record = `${counted(draw.record.good, "good answer")} and ${draw.record.bad} bad`;
  return `${draw.selected ? "fell on it" : "did not fall on it"}, at a rate of ${percent(draw.rate / 1e6, 1)} after ${record}; round ${draw.round.number}, seed from ${source}`;
}

function auditWords(audit: NonNullable<TaskReceipt["facts"]["audit"]>): string {
  const agree = audit.answers.filter((answer) => answer.side === "claim").length;
  return `${counted(audit.answers.length, "answer")} of ${counted(audit.jurors.length, "worker")} of other owners: ${agree} agree, ${audit.answers.length - agree} differ`;
}
