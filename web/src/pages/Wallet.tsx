import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import * as hub from "../api/hub";
import { idempotencyKey } from "../api/http";
import type { DeskWallet, Invoice, WalletLine } from "../api/views";
import * as queries from "../api/queries";
import { say } from "../app/toast";
import { exact, parseAmount, share, units } from "../format/amount";
import { counted, percent, short } from "../format/number";
import { moment } from "../format/time";
import { type Column, DataTable } from "../ui/DataTable";
import { Answer, Bed, Copy, Empty, Field, Head, More, Trouble } from "../ui/parts";
import { Sheet } from "../ui/Sheet";
import { Figure, Figures, JobState, Meter, Money } from "../ui/words";
import { Keys } from "../wallet/keys";
import { wrongReceiver } from "../wallet/receiver";

export default function Wallet() {
  const wallet = useQuery(queries.wallet);
  return (
    <>
      <Head title="Wallet">What you have, what is set aside for running jobs, and what every job has cost.</Head>
      <div className="stack">
        <Answer query={wallet} what="your wallet">
          {(data) => (
            <>
              <Balance wallet={data} />
              {data.chain ? <Moving wallet={data} /> : null}
            </>
          )}
        </Answer>
        <Invoices />
        {wallet.data?.chain ? <History /> : null}
      </div>
    </>
  );
}

function Balance({ wallet }: { wallet: DeskWallet }) {
  const all = units(wallet.balance) + units(wallet.deposited) + units(wallet.locked);
  return (
    <Bed title="Balance">
      <div className="stack">
        <Figures>
          <Figure label="In your wallet" tone="leaf" value={<Money amount={wallet.balance} />} note="yours; deposit it to pay for jobs" />
          <Figure label="Deposited" tone="straw" value={<Money amount={wallet.deposited} />} note="in escrow, free for new jobs" />
          <Figure label="Set aside" tone="corn" value={<Money amount={wallet.locked} />} note={`locked for ${counted(wallet.open_orders, "open order")}; what is not used comes back`} />
        </Figures>
        <Meter share={share(units(wallet.locked), all)} tone="corn" label={`${percent(share(units(wallet.locked), all))} of your money is set aside for jobs`} />
        {wallet.chain ? (
          <div className="row">
            <span className="soft">Address</span>
            <code className="wrap-anywhere">{wallet.address}</code>
            <Copy text={wallet.address} />
          </div>
        ) : (
          <p className="soft">This hub keeps credit in its own books, and there is no chain. Ask its operator for credit.</p>
        )}
        <p className="small soft" hidden={!wallet.chain}>
          The key of this wallet is kept by this desk, so that it can sign orders for you. Keep larger sums in a wallet of your own.
        </p>
      </div>
    </Bed>
  );
}

function Moving({ wallet }: { wallet: DeskWallet }) {
  return (
    <div className="columns narrow">
      <Move title="Deposit" lead="Into escrow, so that jobs can be paid. New jobs deposit what is missing by themselves." verb="Deposit" most={wallet.balance} act={hub.deposit} />
      <Move title="Withdraw" lead="Out of escrow. What is set aside for running jobs stays." verb="Withdraw" most={wallet.deposited} act={hub.withdraw} own={wallet.address} />
      {wallet.faucet && isEmpty(wallet) ? <Faucet /> : null}
    </div>
  );
}

/** Whether it has nothing, as that of a newcomer: the faucet gives once. */
function isEmpty(wallet: DeskWallet): boolean {
  return [wallet.balance, wallet.deposited, wallet.locked].every((amount) => units(amount) === 0n);
}

interface Movement {
  title: string;
  lead: string;
  verb: string;
  most: string;
  act: (amount: string, key: string, to?: string) => Promise<unknown>;
  /** The address of the wallet, where it may go to another one too. */
  own?: string;
}

function Move(props: Movement) {
  const [typed, setTyped] = useState("");
  const [receiver, setReceiver] = useState("");
  const [asking, setAsking] = useState(false);
  const [keys] = useState(() => new Keys(idempotencyKey));
  const cache = useQueryClient();
  const value = parseAmount(typed);
  const wrong = typed && value === null ? "Write a number of GLN, such as 2.5" : value !== null && value > units(props.most) ? `That is more than the ${exact(units(props.most))} GLN there are` : null;
  const wrongTo = props.own === undefined ? null : wrongReceiver(receiver, props.own);
  const [amount, to] = [exact(value ?? 0n), receiver.trim()];
  const moving = useMutation({
    mutationFn: () => props.act(amount, keys.of(amount, to), to || undefined),
    onSuccess: async () => {
      keys.done(amount, to);
      setTyped("");
      setReceiver("");
      say(`${props.verb}: done.`);
      await cache.invalidateQueries({ queryKey: ["wallet"] });
      await cache.invalidateQueries({ queryKey: ["invoices"] });
    },
    onSettled: () => setAsking(false),
  });
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    if (!value || wrong || wrongTo) return;
    if (to) setAsking(true);
    else moving.mutate();
  };
  return (
    <Bed title={props.title} lead={props.lead}>
      <form className="stack" onSubmit={send}>
        <Field label="Amount" wrong={wrong}>
          {(id, described) => (
            <span className="with-unit">
              <input id={id} className="input" inputMode="decimal" autoComplete="off" value={typed} aria-describedby={described} aria-invalid={wrong !== null} onChange={(event) => setTyped(event.target.value)} />
              GLN
              <button type="button" className="button small" onClick={() => setTyped(exact(units(props.most)))}>
                All
              </button>
            </span>
          )}
        </Field>
        {props.own !== undefined ? (
          <Field label="To another address, optional" wrong={wrongTo} hint="Empty: into your wallet here, which this desk keeps">
            {(id, described) => (
              <input id={id} className="input mono" autoComplete="off" spellCheck={false} placeholder="0x…" value={receiver} aria-describedby={described} aria-invalid={wrongTo !== null} onChange={(event) => setReceiver(event.target.value)} />
            )}
          </Field>
        ) : null}
        {moving.error ? <Trouble error={moving.error} /> : null}
        <div>
          <button type="submit" className="button" disabled={!value || wrong !== null || wrongTo !== null || moving.isPending}>
            {moving.isPending ? "Waiting for the chain" : props.verb}
          </button>
        </div>
      </form>
      {asking ? (
        <Sheet title={`Send ${amount} GLN away?`} onClose={() => setAsking(false)}>
          <p>
            To <code className="wrap-anywhere">{to}</code>. Nobody can take that back, so compare the address with where you have it from.
          </p>
          <div className="row">
            <button type="button" className="button main" disabled={moving.isPending} onClick={() => moving.mutate()}>
              {moving.isPending ? "Waiting for the chain" : "Send it"}
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

function Faucet() {
  const cache = useQueryClient();
  const key = useRef(idempotencyKey());
  const filling = useMutation({
    mutationFn: () => hub.fillWallet(key.current),
    onSuccess: async () => {
      say("The faucet has filled your wallet.");
      await cache.invalidateQueries({ queryKey: ["wallet"] });
    },
  });
  return (
    <Bed title="Faucet" lead="This network is for trying things out: its faucet gives tokens to new wallets. They are worth nothing elsewhere.">
      <div className="stack">
        {filling.error ? <Trouble error={filling.error} /> : null}
        <div>
          <button type="button" className="button main" disabled={filling.isPending} onClick={() => filling.mutate()}>
            {filling.isPending ? "Waiting for the chain" : "Get tokens"}
          </button>
        </div>
      </div>
    </Bed>
  );
}

const COLUMNS: Column<Invoice>[] = [
  {
    id: "name",
    head: "Job",
    lead: true,
    by: (invoice) => invoice.name,
    cell: (invoice) => (
      <>
        <Link href={`/jobs/${invoice.job}/cost`}>{invoice.name}</Link> <span className="faint small">#{invoice.job}</span>
        {invoice.note ? <div className="small soft">{invoice.note}</div> : null}
      </>
    ),
  },
  { id: "at", head: "Submitted", by: (invoice) => invoice.submitted_at, cell: (invoice) => moment(invoice.submitted_at) },
  { id: "state", head: "State", by: (invoice) => invoice.state, cell: (invoice) => <JobState state={invoice.state} /> },
  { id: "paid", head: "Paid", number: true, by: (invoice) => units(invoice.paid), cell: (invoice) => (invoice.paid === null ? <span className="soft">not final yet</span> : <Money amount={invoice.paid} />) },
  { id: "fee", head: "Of that to the platform", number: true, by: (invoice) => units(invoice.fee), cell: (invoice) => (invoice.fee === null ? "" : <Money amount={invoice.fee} />) },
  { id: "refunded", head: "Came back", number: true, by: (invoice) => units(invoice.refunded), cell: (invoice) => (invoice.refunded === null ? "" : <Money amount={invoice.refunded} />) },
];

function Invoices() {
  const invoices = useInfiniteQuery(queries.invoices);
  const rows = useMemo(() => invoices.data?.pages.flatMap((page) => page.items) ?? [], [invoices.data]);
  useMoneyMoved(rows.filter(queries.isOpen).length);
  return (
    <>
      <Bed
        flush
        title="Invoices"
        actions={
          <a className="button small" href={hub.invoicesAddress()} download="invoices.csv">
            Download as CSV
          </a>
        }
      >
        <Answer query={invoices} what="invoices">
          {() =>
            rows.length > 0 ? (
              <DataTable rows={rows} columns={COLUMNS} id={(invoice) => String(invoice.job)} label="Invoices" sorting={[{ id: "at", desc: true }]} />
            ) : (
              <Empty title="No invoice yet">There is one for each job that you submit here.</Empty>
            )
          }
        </Answer>
      </Bed>
      <More list={invoices} text="Older invoices" />
    </>
  );
}

/** Asks for the wallet again when the number of open invoices has changed: one of them was settled, or came. */
function useMoneyMoved(open: number): void {
  const cache = useQueryClient();
  const before = useRef(open);
  useEffect(() => {
    if (before.current !== open) void cache.invalidateQueries({ queryKey: ["wallet"] });
    before.current = open;
  }, [cache, open]);
}

const KINDS: Record<string, string> = {
  received: "Tokens came in",
  sent: "Tokens went out",
  deposited: "Deposited",
  withdrawn: "Withdrawn",
  locked: "Set aside for a job",
  refunded: "Came back from a job",
  earned: "Earned by work",
  staked: "Staked",
  unbonding: "Stake on its way out",
  unstaked: "Stake taken out",
  slashed: "Stake lost",
  reward: "Node reward",
  into_channel: "Into a payment channel",
  out_of_channel: "Out of a payment channel",
  pledged: "Security for an accusation",
  awarded: "Awarded by the court",
};

const LINES: Column<WalletLine>[] = [
  { id: "time", head: "When", by: (line) => line.time, cell: (line) => moment(line.time * 1000) },
  { id: "kind", head: "What", lead: true, by: (line) => line.kind, cell: (line) => KINDS[line.kind] ?? line.kind },
  { id: "amount", head: "Amount", number: true, by: (line) => units(line.amount), cell: (line) => <Money amount={line.amount} /> },
  { id: "transaction", head: "Transaction", cell: (line) => <code title={line.transaction}>{short(line.transaction)}</code> },
];

function History() {
  const history = useQuery(queries.walletHistory);
  return (
    <Bed flush title="Movements" lead="What has happened to this wallet on the chain, newest first.">
      <Answer query={history} what="movements">
        {(page) => (page.items.length > 0 ? <DataTable rows={page.items} columns={LINES} id={(line) => `${line.block} ${line.index}`} label="Movements" /> : <Empty title="Nothing has moved yet">A deposit or a job makes the first line.</Empty>)}
      </Answer>
    </Bed>
  );
}
