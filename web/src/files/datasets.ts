// Datasets that the hub keeps: sealed, so that not even their names can be read here.
import type { DatasetView } from "../api/views";

/** Why a dataset is kept, in words. */
export function keptFor(dataset: DatasetView): string {
  switch (dataset.kind) {
    case "pushed":
      return "pushed by you";
    case "input":
      return "read by jobs";
    case "output":
      return "made by a job";
    default:
      return dataset.kind;
  }
}

/** What of it is here, if not all. */
export function heldShare(dataset: DatasetView): number {
  return dataset.chunks > 0 ? Math.min(1, dataset.held / dataset.chunks) : 1;
}

/** Those that are to be seen: what was pushed, or everything that takes room, newest first. */
export function listed(datasets: DatasetView[], which: "pushed" | "all"): DatasetView[] {
  return datasets.filter(({ kind }) => which === "all" || kind === "pushed").sort((one, other) => other.made_ms - one.made_ms);
}
