import { useQuery } from "@tanstack/react-query";
import type { Earnings } from "../api/pending";
import * as queries from "../api/queries";
import { gln, units } from "../format/amount";
import { count } from "../format/number";
import { LazyChart } from "../ui/LazyChart";
import { Answer, Empty } from "../ui/parts";
import { Figure, Figures, Money } from "../ui/words";

export function EarningsChart({ worker, days }: { worker: number; days: number }) {
  const earnings = useQuery(queries.earnings(worker, days));
  return (
    <Answer query={earnings} what="earnings" lines={5}>
      {(data) => <EarningsShown data={data} />}
    </Answer>
  );
}

const format = (value: number) => `${Number(value.toPrecision(3))} GLN`;

export function EarningsShown({ data }: { data: Earnings }) {
  const net = units(data.earned) - units(data.energy);
  if (data.items.length === 0) return <Empty title="Nothing earned in this time">Earnings appear with the first paid task.</Empty>;
  const x = data.items.map((point) => point.at / 1000);
  return (
    <div className="stack">
      <Figures>
        <Figure label="Earned" tone="straw" value={<Money amount={data.earned} />} note={`for ${count(data.items.reduce((sum, point) => sum + point.tasks, 0))} tasks`} />
        <Figure label="Energy" tone="poppy" value={<Money amount={data.energy} />} note={units(data.energy) === 0n ? "no tariff is set on the machine" : "measured while tasks ran"} />
        <Figure label="Net" tone={net >= 0n ? "leaf" : "poppy"} value={<Money amount={net} />} note="what is left for you" />
      </Figures>
      <LazyChart
        time
        height={220}
        label="Earnings and energy over time, in GLN"
        x={x}
        lines={[
          { label: "earned", colour: "straw", as: "bars", format },
          { label: "energy", colour: "poppy", as: "bars", format },
          { label: "net so far", colour: "leaf", format },
        ]}
        values={[data.items.map((point) => gln(point.earned)), data.items.map((point) => gln(point.energy)), running(data)]}
      />
    </div>
  );
}

/** What was left so far, from point to point. */
function running(data: Earnings): number[] {
  let sum = 0n;
  return data.items.map((point) => {
    sum += units(point.earned) - units(point.energy);
    return gln(sum);
  });
}
