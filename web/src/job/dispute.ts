// Where the payment of an ended job stands, if there is anything that its requester should know of.
import type { JobDispute } from "../api/views";

/** What to say of it; null where all is in order. */
export function objection(dispute: JobDispute): { title: string; verb: string | null } | null {
  switch (dispute.step) {
    case "challenge":
      return { title: "The hub wants to be paid for more than was delivered", verb: "Dispute it" };
    case "conclude":
      return { title: "The auditors have decided for you", verb: "Carry the verdict out" };
    case "nothing":
      return dispute.state === "disputed" ? { title: "Auditors decide what this job is to be paid", verb: null } : null;
  }
}
