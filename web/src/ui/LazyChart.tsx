import { lazy, Suspense } from "react";
import type { ChartProps } from "./Chart";

const Chart = lazy(() => import("./Chart"));

/** A chart that is loaded when it is first shown; its place is kept free meanwhile. */
export function LazyChart(props: ChartProps) {
  return (
    <Suspense fallback={<div style={{ height: `${(props.height ?? 220) + 28}px` }} />}>
      <Chart {...props} />
    </Suspense>
  );
}
