import { useMemo } from "react";
import type { RegionFigure } from "../api/views";
import { counted } from "../format/number";
import { EAST, land, NORTH, placeOfRegion, SOUTH, WEST } from "./land";

const STEP = 3;
const WIDTH = (EAST - WEST) / STEP;
// A degree of latitude is drawn a little longer than one of longitude, as it is where most people live.
const STRETCH = 1.2;
const HEIGHT = ((NORTH - SOUTH) / STEP) * STRETCH;

const across = (x: number) => (x - WEST) / STEP;
const down = (y: number) => ((NORTH - y) / STEP) * STRETCH;

/** Where machines are: a dot of land for every few degrees, a light for every region. */
export function WorldMap({ regions }: { regions: RegionFigure[] }) {
  const dots = useMemo(() => land(STEP).map(([x, y]) => `M${across(x).toFixed(1)} ${down(y).toFixed(1)}h0`).join(""), []);
  const placed = regions.flatMap((region) => {
    const place = placeOfRegion(region.region);
    return place ? [{ region, x: across(place[0]), y: down(place[1]) }] : [];
  });
  const named = readable(placed);
  const elsewhere = regions.filter((region) => !placeOfRegion(region.region));
  const label = regions.map((region) => `${region.region}: ${counted(region.workers, "worker")}`).join(", ");
  return (
    <div className="stack">
      {placed.length > 0 ? (
        <svg className="world" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`Workers by region. ${label || "None now."}`}>
          <path className="land" d={dots} />
          {placed.map(({ region, x, y }) => (
            <g key={region.region} className={region.slots_busy > 0 ? "light working" : "light"}>
              <circle className="glow" cx={x} cy={y} r={radius(region.slots) * 2} />
              <circle cx={x} cy={y} r={radius(region.slots)} />
              {named.has(region.region) ? (
                <text x={x} y={y - radius(region.slots) - 1.2}>
                  {region.region}
                </text>
              ) : null}
            </g>
          ))}
        </svg>
      ) : null}
      {regions.length === 0 ? <p className="soft">No machine is here at the moment. Each is listed with its region while it is connected.</p> : null}
      <ul className="regions">
        {regions.map((region) => (
          <li key={region.region}>
            <strong>{region.region}</strong>
            <span className="soft">
              {counted(region.workers, "worker")}, {region.slots_busy} of {counted(region.slots, "slot")} working
            </span>
          </li>
        ))}
      </ul>
      {elsewhere.length > 0 ? (
        <p className="faint small">
          Owners name their regions as they like. {placed.length > 0 ? "Not on the map" : "A map appears when one is known"}: {elsewhere.map((region) => region.region).join(", ")}.
        </p>
      ) : null}
    </div>
  );
}

interface Placed {
  region: RegionFigure;
  x: number;
  y: number;
}

const LETTER = 1.8;
const LINE = 4;

/** The regions whose names fit on the map: of those that would cover each other, the largest. All are in the list below. */
function readable(placed: Placed[]): Set<string> {
  const taken: Placed[] = [];
  for (const one of [...placed].sort((a, b) => b.region.slots - a.region.slots)) {
    const wide = (other: Placed) => ((one.region.region.length + other.region.region.length) * LETTER) / 2;
    if (!taken.some((other) => Math.abs(other.x - one.x) < wide(other) && Math.abs(other.y - one.y) < LINE)) taken.push(one);
  }
  return new Set(taken.map(({ region }) => region.region));
}

function radius(slots: number): number {
  return Math.min(4, 0.9 + Math.log2(1 + slots) * 0.28);
}
