import type { DeviceOffer, MachineView } from "../api/views";
import { bytes, parseBytes, percent, size } from "../format/number";
import { ago } from "../format/time";
import { useNowEvery } from "../ui/now";
import { Meter, Pill, type Tone } from "../ui/words";

/** One device: what it is, how busy, warm and full it is, and how the hub's tests went. */
export function Device({ machine, device, index }: { machine: MachineView; device: DeviceOffer; index: number }) {
  const seen = machine.telemetry.find((one) => one.device === index);
  const resting = machine.resting.includes(index);
  const memory = parseBytes(device.memory) ?? 0;
  return (
    <div className="device">
      <div className="row spread">
        <strong>{device.cards > 1 ? `${device.cards} × ${device.name}` : device.name}</strong>
        {resting ? <Pill tone="corn">yours now</Pill> : null}
      </div>
      <p className="small soft">
        {device.kind}, {size(device.memory)}, {device.slots} {device.slots === 1 ? "slot" : "slots"}
      </p>
      {seen ? (
        <dl className="gauges">
          {seen.load !== null ? <Gauge name="Load" words={percent(seen.load)} share={seen.load} /> : <Unmeasured name="Load" />}
          {seen.temperature !== null ? <Gauge name="Heat" words={`${Math.round(seen.temperature)} °C`} share={seen.temperature / 100} tone={seen.temperature >= 85 ? "poppy" : seen.temperature >= 65 ? "straw" : "leaf"} /> : <Unmeasured name="Heat" />}
          {seen.memory_used !== null && memory > 0 ? <Gauge name="Memory" words={bytes(seen.memory_used)} share={seen.memory_used / memory} /> : null}
          {seen.watts !== null ? <Gauge name="Power" words={`${Math.round(seen.watts)} W`} share={seen.watts / 450} /> : null}
        </dl>
      ) : (
        <p className="small faint">{machine.state === "offline" ? "Not connected, so nothing is measured." : "It tells no load or temperature."}</p>
      )}
      {seen && machine.telemetry_at ? <Measured at={machine.telemetry_at} /> : null}
      <Tests machine={machine} index={index} />
    </div>
  );
}

function Measured({ at }: { at: number }) {
  const now = useNowEvery(5);
  return now - at > 60_000 ? <p className="small faint">measured {ago(at, now)}</p> : null;
}

function Gauge({ name, words, share, tone }: { name: string; words: string; share: number; tone?: Tone }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {words}
        <Meter share={share} tone={tone ?? (share > 0.05 ? "straw" : "leaf")} label={`${name}: ${words}`} />
      </dd>
    </div>
  );
}

/** What a machine cannot tell, such as the heat of a processor whose sensors nobody may read. */
function Unmeasured({ name }: { name: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="faint">not measured</dd>
    </div>
  );
}

function Tests({ machine, index }: { machine: MachineView; index: number }) {
  const tests = machine.tests.filter((test) => test.device === index);
  return (
    <ul className="tests small">
      {tests.map((test) => (
        <li key={test.runtime}>
          <span>{test.runtime}</span>
          {test.score !== null ? (
            <span title="1000 is the reference machine">score {test.score}</span>
          ) : test.why ? (
            <span className="wrong">{test.why}</span>
          ) : (
            <span className="soft">being tested</span>
          )}
        </li>
      ))}
    </ul>
  );
}
