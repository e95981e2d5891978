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
import { checkAll, type Fault, isRecomputed, isSigned, pays, VERDICTS } from "./receipts";
import { nameTask } from "./task";

const PAGE = 256;

export default function Receipts({ job }: { job: JobView }) {
  const receipts = useInfiniteQuery({
    queryKey: ["job", job.id, "receipts"],
    queryFn: ({ pageParam }) => hub.proofs(job.id, pageParam, PAGE),
    initialPageParam: 0,
    getNextPageParam: (last, all) => (last.length === PAGE ? all.length * PAGE : null),
  });
  const items = useMemo(() => receipts.data?.pages.flat() ?? [], [receipts.data]);
  return (
    <div className="stack">
      <Answer query={receipts} what="receipts" lines={6}>
        {() =>
          items.length > 0 ? (
            <Shown job={job} items={items} />
          ) : (
            <Bed>
              <Empty title="No receipts yet">A receipt is made when a result has been judged: who did it, how it was checked, and who was paid.</Empty>
            </Bed>
          )
        }
      </Answer>
      {receipts.hasNextPage ? (
        <div>
          <button type="button" className="button" disabled={receipts.isFetchingNextPage} onClick={() => void receipts.fetchNextPage()}>
            More receipts
          </button>
        </div>
      ) : null}
    </div>
  );
}

function Shown({ job, items }: { job: JobView; items: TaskReceipt[] }) {
  const faults = useMemo(() => checkAll(items), [items]);
  const signed = useSignatures(items);
  const [open, setOpen] = useState<TaskReceipt | null>(null);
  const columns = useMemo(() => columnsOf(job, faults, signed, setOpen), [job, faults, signed]);
  return (
    <>
      <Checked job={job} items={items} faults={faults} signed={signed} />
      <Bed flush title="Receipts">
        <DataTable rows={items} columns={columns} id={(receipt) => receipt.hash} label="Receipts" first={50} />
      </Bed>
      {open ? <Opened job={job} receipt={open} faults={faults} onClose={() => setOpen(null)} /> : null}
    </>
  );
}

/** Whether the hub's signature under each receipt is right, by the receipt's hash; null if this browser cannot tell. */
type Signatures = Map<string, boolean | null>;

function useSignatures(items: TaskReceipt[]): Signatures | null {
  const [found, setFound] = useState<Signatures | null>(null);
  useEffect(() => {
    let current = true;
    const check = async (receipt: TaskReceipt) => [receipt.hash, await isSigned(receipt)] as const;
    void Promise.all(items.map(check)).then((answers) => current && setFound(new Map(answers)));
    return () => {
      current = false;
    };
  }, [items]);
  return found;
}

function numberOf(signed: Signatures | null, wanted: boolean | null): number {
  return [...(signed?.values() ?? [])].filter((answer) => answer === wanted).length;
}

function Checked({ job, items, faults, signed }: { job: JobView; items: TaskReceipt[]; faults: Fault[]; signed: Signatures | null }) {
  const holds = faults.length === 0 && numberOf(signed, false) === 0;
  const again = items.filter((receipt) => isRecomputed(receipt.facts.verdict)).length;
  return (
    <div className={`notice ${holds ? "leaf" : "poppy"}`}>
      <strong>{holds ? `All ${counted(items.length, "receipt")} hold` : "Something does not fit"}</strong>
      <p>
        Your browser has just reckoned them again: prices from running times, the split between worker and platform, no task paid twice, nothing beyond the cap, and that
        each names the one before it. {signatureWords(signed)}
        {again > 0 ? ` ${counted(again, "result")} of these ${again === 1 ? "was" : "were"} drawn by lot and computed again on somebody else's machine.` : ""}
      </p>
      {faults.slice(0, 8).map((fault) => (
        <p key={`${fault.receipt} ${fault.text}`}>
          {fault.receipt >= 0 ? `Receipt ${fault.receipt}: ` : ""}
          {fault.text}
        </p>
      ))}
      <p className="small soft">
        Not reckoned here: hashes of contents, lots and who was drawn. The command line does all of it, without asking this hub:
      </p>
      <div className="row">
        <code className="code">{`gleaner job receipts ${job.id} --out receipts && gleaner receipt verify receipts/*`}</code>
        <Copy text={`gleaner job receipts ${job.id} --out receipts && gleaner receipt verify receipts/*`} />
      </div>
    </div>
  );
}

function signatureWords(signed: Signatures | null): string {
  if (!signed) return "The hub's signatures are being checked.";
  const bad = numberOf(signed, false);
  if (bad > 0) return `${counted(bad, "signature")} of the hub ${bad === 1 ? "is" : "are"} wrong.`;
  if (numberOf(signed, null) > 0) return "This browser cannot check the hub's signatures (it does not know Ed25519).";
  return "The hub has signed each of them.";
}

function taskName(job: JobView, receipt: TaskReceipt): string {
  const { group, index } = receipt.facts.task;
  const found = job.groups[group];
  return found ? nameTask(found, index) : `group ${group}[${index}]`;
}

function columnsOf(job: JobView, faults: Fault[], signed: Signatures | null, open: (receipt: TaskReceipt) => void): Column<TaskReceipt>[] {
  const numbers = new Set(faults.map((fault) => fault.receipt));
  const isFaulty = (receipt: TaskReceipt) => numbers.has(receipt.facts.number) || signed?.get(receipt.hash) === false;
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
      cell: (receipt) => (isFaulty(receipt) ? <Pill tone="poppy">does not fit</Pill> : <Pill tone="leaf">holds</Pill>),
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
