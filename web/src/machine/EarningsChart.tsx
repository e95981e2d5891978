import { useMemo } from "react";
import { gln } from "../format/amount";
import { count } from "../format/number";
import { LazyChart } from "../ui/LazyChart";
import { Empty } from "../ui/parts";
import { Figure, Figures, Money } from "../ui/words";
import type { Earned } from "./earnings";

const format = (value: number) => `${Number(value.toPrecision(3))} GLN`;

export function EarningsChart({ earned }: { earned: Earned }) {
  const net = earned.earned - earned.energy;
  const x = useMemo(() => earned.bins.map((bin) => bin.at / 1000), [earned]);
  const bars = useMemo(() => [earned.bins.map((bin) => gln(bin.earned)), earned.bins.map((bin) => gln(bin.energy))], [earned]);
  const sums = useMemo(() => running(earned), [earned]);
  if (earned.bins.length === 0) return <Empty title="Nothing earned in this time">Earnings appear with the first paid task.</Empty>;
  return (
    <div className="stack">
      <Figures>
        <Figure label="Earned" tone="straw" value={<Money amount={earned.earned} />} note={`for ${count(earned.tasks)} tasks`} />
        <Figure
          label="Energy"
          tone="poppy"
          value={earned.metered || earned.energy > 0n ? <Money amount={earned.energy} /> : "not known"}
          note={earned.metered ? "by the time that tasks ran" : earned.energy > 0n ? "of those machines that know their tariff" : "set watts and tariff on the machine, and it is taken off"}
        />
        <Figure label="Net" tone={net >= 0n ? "leaf" : "poppy"} value={<Money amount={net} />} note={earned.metered ? "what is left for you" : "before what energy is not known"} />
      </Figures>
      <LazyChart
        time
        height={170}
        label="Earnings and what of them went into energy, over time, in GLN"
        x={x}
        lines={[
          { label: "earned", colour: "straw", as: "bars", format },
          { label: "of that for energy", colour: "poppy", as: "bars", format },
        ]}
        values={bars}
      />
      <LazyChart time height={120} label="What was left so far, in GLN" x={x} lines={[{ label: "net so far", colour: "leaf", as: "area", format }]} values={[sums]} />
    </div>
  );
}

/** What was left so far, from bar to bar. */
function running(earned: Earned): number[] {
  let sum = 0n;
  return earned.bins.map((bin) => {
    sum += bin.earned - bin.energy;
    return gln(sum);
  });
}
