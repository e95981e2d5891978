// Where a share of the node rewards stands, in words.
import type { NodeReward } from "../api/views";
import { ago } from "../format/time";

export function standing(line: NodeReward, now: number): string {
  if (!line.right) return "Published shares that the payments do not make; they can be contested";
  if (line.stage === "open") return "Open again: the court could not decide";
  if (line.stage === "contested") return "Contested; the court decides";
  if (line.claimed) return "Claimed";
  if (line.share === "0") return "No paid work of yours";
  if (line.due) return "Can be claimed";
  return `Can be claimed ${ago(line.final_at * 1000, now)}`;
}
