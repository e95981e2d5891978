// Tasks of a group: their names, and what they are.
import type { Extent } from "../api/views";

/** The name of a task, as the hub writes it: `render[12]`, by the number that it stands for. */
export function nameTask(group: { name: string; extent: Extent; tasks: number }, index: number): string {
  const { extent, name } = group;
  if (extent === "Single" || group.tasks === 1) return name;
  return `${name}[${"Array" in extent ? extent.Array.first + extent.Array.step * index : index}]`;
}

export interface Tiles {
  width: number;
  height: number;
  tile_width: number;
  tile_height: number;
}

/** The grid of a group whose tasks are tiles of a picture. */
export function tilesOf(extent: Extent): Tiles | null {
  return typeof extent === "object" && "Tiles" in extent ? extent.Tiles : null;
}

/** What the tasks of a group are, in words. */
export function extentWords(extent: Extent): string {
  const tiles = tilesOf(extent);
  if (tiles) return `tiles of a picture of ${tiles.width} × ${tiles.height} pixels`;
  if (typeof extent === "object" && "Array" in extent) {
    const { first, step, count } = extent.Array;
    const last = first + step * (count - 1);
    return `numbers ${first} to ${last}${step === 1 ? "" : ` in steps of ${step}`}`;
  }
  return "one task";
}
