// How a machine stands, in words: what it does, or why it does nothing.
import type { MachineView, TestView, WorkerView } from "../api/views";
import { units } from "../format/amount";
import { counted } from "../format/number";

/** What it asks for an hour of one slot, at the least. */
export function hourlyPrice(machine: WorkerView): bigint {
  const prices = machine.offer.devices.map((device) => units(device.price_per_second) * 3600n);
  return prices.reduce((least, price) => (price < least ? price : least), prices[0] ?? 0n);
}

/** What their owners have staked. Machines that are paid to the same wallet have one stake together. */
export function staked(machines: WorkerView[]): bigint {
  const stakes = new Map(machines.map((machine) => [machine.offer.provider ?? `worker ${machine.id}`, units(machine.audits?.stake)]));
  return [...stakes.values()].reduce((sum, stake) => sum + stake, 0n);
}

/** Tests that have not been passed yet, and why. */
export function untested(machine: WorkerView): TestView[] {
  return machine.tests.filter((test) => test.score === null);
}

/** One sentence about what it does now. */
export function standing(machine: MachineView): string {
  const resting = machine.resting.length;
  switch (machine.state) {
    case "offline":
      return "It is not connected. Start “gleaner share” on it, or look at its log if you have.";
    case "paused":
      return "Paused: it gets no work until you resume it.";
    case "disqualified":
      return "It gave wrong answers and gets no work. The operator of this hub can readmit it.";
    case "probation":
      return "It failed several tasks in a row. It gets one real task as a test, and then work again.";
    case "busy":
      return `It works on ${counted(machine.running, "task")}, as many as it takes.`;
    case "available":
      if (resting > 0 && resting === machine.offer.devices.length) return "You need it yourself at the moment, so it takes nothing.";
      if (machine.running > 0) return `It works on ${counted(machine.running, "task")} and has room for more.`;
      if (untested(machine).length > 0 && machine.tests.every((test) => test.score === null)) return "The hub is still testing it. Work comes when a test is passed.";
      return "Ready. Nothing that fits it waits at the moment.";
  }
}

/** Hours as they are written: `22:00-06:00`, several with commas; null if that is none. */
export function readHours(text: string): string[] | null {
  const spans = text.split(",").map((span) => span.trim()).filter(Boolean);
  const time = String.raw`([01]\d|2[0-3]):[0-5]\d`;
  const valid = new RegExp(`^${time}-${time}$`);
  return spans.length > 0 && spans.every((span) => valid.test(span)) ? spans : null;
}
