// The picture of a template: its own, or one drawn from its kind.
import type { Template } from "../api/views";

export function Picture({ template }: { template: Pick<Template, "picture" | "kind" | "title"> }) {
  if (template.picture) return <img className="template-picture" src={template.picture} alt="" loading="lazy" />;
  return (
    <svg className={`template-picture drawn ${template.kind}`} viewBox="0 0 320 180" aria-hidden="true" preserveAspectRatio="xMidYMid slice">
      {template.kind === "render" ? <Tiles /> : template.kind === "train" ? <Descent /> : template.kind === "sweep" ? <Grid /> : <Flow />}
    </svg>
  );
}

function Tiles() {
  const tiles = Array.from({ length: 40 }, (_, index) => index);
  return (
    <>
      {tiles.map((index) => (
        <rect key={index} x={20 + (index % 8) * 35} y={14 + Math.floor(index / 8) * 31} width="33" height="29" rx="3" className={index < 26 ? "full" : index < 30 ? "half" : "none"} />
      ))}
    </>
  );
}

function Descent() {
  return (
    <g fill="none" strokeWidth="4" strokeLinecap="round">
      <path className="line-c" d="M20 40C70 60 80 110 140 122s110 14 160 20" />
      <path className="line-b" d="M20 28C50 90 90 130 150 142s100 10 150 12" />
      <path className="line-a" d="M20 20C36 110 70 150 140 157s110 4 160 5" />
    </g>
  );
}

function Grid() {
  const cells = Array.from({ length: 45 }, (_, index) => index);
  return (
    <>
      {cells.map((index) => {
        const [x, y] = [index % 9, Math.floor(index / 9)];
        const near = 1 - Math.hypot(x - 6, y - 2) / 7;
        return <circle key={index} cx={32 + x * 32} cy={26 + y * 32} r={3 + Math.max(0, near) * 10} className={near > 0.85 ? "full" : near > 0.5 ? "half" : "none"} />;
      })}
    </>
  );
}

function Flow() {
  return (
    <>
      <path className="line-c" fill="none" strokeWidth="3" d="M78 90h36V46h32M114 90v44h32M206 46h24v44h22M206 134h24V90" />
      {[
        [18, 66],
        [146, 22],
        [146, 110],
        [252, 66],
      ].map(([x, y], index) => (
        <rect key={`${x} ${y}`} x={x} y={y} width="60" height="48" rx="8" className={index < 2 ? "full" : index === 2 ? "half" : "none"} />
      ))}
    </>
  );
}
