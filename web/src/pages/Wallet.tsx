import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { Link } from "wouter";
import * as hub from "../api/hub";
import { idempotencyKey } from "../api/http";
import type { DeskWallet, Invoice } from "../api/pending";
import * as queries from "../api/queries";
import { say } from "../app/toast";
import { exact, parseAmount, share, units } from "../format/amount";
import { percent } from "../format/number";
import { moment } from "../format/time";
import { type Column, DataTable } from "../ui/DataTable";
import { Answer, Bed, Copy, Empty, Field, Head, Trouble } from "../ui/parts";
import { Figure, Figures, Meter, Money } from "../ui/words";

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
              <Moving wallet={data} />
            </>
          )}
        </Answer>
        <Invoices />
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
          <Figure label="Set aside" tone="corn" value={<Money amount={wallet.locked} />} note="locked for jobs that run; the rest comes back" />
        </Figures>
        <Meter share={share(units(wallet.locked), all)} tone="corn" label={`${percent(share(units(wallet.locked), all))} of your money is set aside for jobs`} />
        {wallet.address ? (
          <div className="row">
            <span className="soft">Address</span>
            <code className="wrap-anywhere">{wallet.address}</code>
            <Copy text={wallet.address} />
          </div>
        ) : (
          <p className="soft">This hub keeps credit in its own books: there is no chain and no address.</p>
        )}
        <p className="small soft">The key of this wallet is kept by this desk, so that it can sign orders for you. Keep larger sums in a wallet of your own.</p>
      </div>
    </Bed>
  );
}

function Moving({ wallet }: { wallet: DeskWallet }) {
  return (
    <div className="columns">
      <Move title="Deposit" lead="Into escrow, so that jobs can be paid. New jobs deposit what is missing by themselves." verb="Deposit" most={wallet.balance} act={hub.deposit} />
      <Move title="Withdraw" lead="Back out of escrow. What is set aside for running jobs stays." verb="Withdraw" most={wallet.deposited} act={hub.withdraw} />
      {wallet.faucet ? <Faucet /> : null}
    </div>
  );
}

function Move(props: { title: string; lead: string; verb: string; most: string; act: (amount: string, key: string) => Promise<unknown> }) {
  const [typed, setTyped] = useState("");
  const key = useRef(idempotencyKey());
  const cache = useQueryClient();
  const value = parseAmount(typed);
  const wrong = typed && value === null ? "Write a number of GLN, such as 2.5" : value !== null && value > units(props.most) ? `That is more than the ${exact(units(props.most))} GLN there are` : null;
  const moving = useMutation({
    mutationFn: () => props.act(exact(value ?? 0n), key.current),
    onSuccess: async () => {
      key.current = idempotencyKey();
      setTyped("");
      say(`${props.verb}: done.`);
      await cache.invalidateQueries({ queryKey: ["wallet"] });
      await cache.invalidateQueries({ queryKey: ["invoices"] });
    },
  });
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    if (value && !wrong) moving.mutate();
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
        {moving.error ? <Trouble error={moving.error} /> : null}
        <div>
          <button type="submit" className="button" disabled={!value || wrong !== null || moving.isPending}>
            {moving.isPending ? "Waiting for the chain" : props.verb}
          </button>
        </div>
      </form>
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
  { id: "at", head: "When", by: (invoice) => invoice.at, cell: (invoice) => moment(invoice.at) },
  {
    id: "what",
    head: "What",
    lead: true,
    by: (invoice) => invoice.what,
    cell: (invoice) => (invoice.job === null ? invoice.what : <Link href={`/jobs/${invoice.job}/cost`}>{invoice.what}</Link>),
  },
  { id: "paid", head: "Paid", number: true, by: (invoice) => units(invoice.paid), cell: (invoice) => <Money amount={invoice.paid} /> },
  { id: "platform", head: "Of that to the platform", number: true, by: (invoice) => units(invoice.platform), cell: (invoice) => <Money amount={invoice.platform} /> },
  { id: "returned", head: "Came back", number: true, by: (invoice) => units(invoice.returned), cell: (invoice) => <Money amount={invoice.returned} /> },
];

function Invoices() {
  const invoices = useQuery(queries.invoices);
  return (
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
        {(page) =>
          page.items.length > 0 ? (
            <DataTable rows={page.items} columns={COLUMNS} id={(invoice) => invoice.id} label="Invoices" sorting={[{ id: "at", desc: true }]} />
          ) : (
            <Empty title="No invoice yet">There is one for each job that has been settled.</Empty>
          )
        }
      </Answer>
    </Bed>
  );
}
