// Names of tasks, as the hub writes them: `render[12]`.
import type { Extent } from "../api/views";

export interface TaskName {
  group: string;
  index: number;
}

export function readTask(name: string): TaskName {
  const match = /^(.*)\[(\d+)\]$/.exec(name);
  return match ? { group: match[1] as string, index: Number(match[2]) } : { group: name, index: 0 };
}

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
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

/** The part of the picture that a tile is; tiles at the right and bottom edge may be smaller. */
export function tileAt(tiles: Tiles, index: number): Rect | null {
  const columns = Math.ceil(tiles.width / tiles.tile_width);
  const x = (index % columns) * tiles.tile_width;
  const y = Math.floor(index / columns) * tiles.tile_height;
  if (y >= tiles.height || index < 0) return null;
  return { x, y, width: Math.min(tiles.tile_width, tiles.width - x), height: Math.min(tiles.tile_height, tiles.height - y) };
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
