// A picture that fills up tile by tile, as its tasks deliver them.
import { useEffect, useRef } from "react";
import * as hub from "../api/hub";
import type { ResultItem } from "../api/pending";
import { tileAt, type Tiles } from "./task";

const AT_ONCE = 6;

export function Mosaic({ job, tiles, pieces, label }: { job: number; tiles: Tiles; pieces: ResultItem[]; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawn = useRef(new Set<number>());
  useEffect(() => {
    const stop = new AbortController();
    const todo = pieces.filter((piece) => !drawn.current.has(piece.index));
    const work = async () => {
      for (let piece = todo.shift(); piece && !stop.signal.aborted; piece = todo.shift()) {
        const context = canvas.current?.getContext("2d");
        if (!context) return;
        try {
          if (await drawTile(context, job, tiles, piece, stop.signal)) drawn.current.add(piece.index);
        } catch {
          // A tile that cannot be fetched now is tried again with the next ones.
        }
      }
    };
    for (let worker = 0; worker < AT_ONCE; worker++) void work();
    return () => stop.abort();
  }, [job, tiles, pieces]);
  return <canvas ref={canvas} className="mosaic" width={tiles.width} height={tiles.height} role="img" aria-label={label} />;
}

/** Draws one tile: a picture file, or plain pixels of four bytes each. */
async function drawTile(context: CanvasRenderingContext2D, job: number, tiles: Tiles, piece: ResultItem, stop: AbortSignal): Promise<boolean> {
  const place = tileAt(tiles, piece.index);
  if (!place) return false;
  const content = await hub.resultBytes(job, piece, stop);
  if (content.byteLength === place.width * place.height * 4) {
    const pixels = new ImageData(new Uint8ClampedArray(content), place.width, place.height);
    context.putImageData(opaque(pixels), place.x, place.y);
    return true;
  }
  const image = await createImageBitmap(new Blob([content]));
  context.drawImage(image, place.x, place.y, place.width, place.height);
  image.close();
  return true;
}

function opaque(pixels: ImageData): ImageData {
  for (let at = 3; at < pixels.data.length; at += 4) pixels.data[at] = 255;
  return pixels;
}
