// What a job has brought so far: pictures as they fill up, curves, texts, and everything to download.
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import * as hub from "../api/hub";
import type { JobView, PictureItem, ResultItem } from "../api/views";
import * as queries from "../api/queries";
import { bytes } from "../format/number";
import { hasEnded } from "../live/merge";
import { type Column, DataTable } from "../ui/DataTable";
import { LazyChart } from "../ui/LazyChart";
import { Answer, Bed, Empty, Switch } from "../ui/parts";
import { aligned, type Curve, curvesOf, readTable, tableCurves } from "./curves";
import { Mosaic } from "./Mosaic";
import { nameTask } from "./task";
import { useLog } from "./useLog";

const IMAGES_MAX = 60;
const TEXTS_MAX = 12;
const TEXT_BYTES_MAX = 256 * 1024;
const CURVES_MAX = 8;
const COLOURS = ["straw", "dusk", "leaf", "corn", "poppy", "ink-3"] as const;

export default function Results({ job }: { job: JobView }) {
  const results = useQuery(queries.results(job.id));
  const log = useLog(job.id);
  const curves = useMemo(() => curvesOf(log.lines), [log.lines]);
  return (
    <div className="stack">
      {curves.length > 0 ? <Curves title="Curves from the log" curves={curves} /> : null}
      <Answer query={results} what="results" lines={6}>
        {(found) =>
          found.items.length > 0 || found.pictures.length > 0 ? (
            <Shown job={job} {...found} />
          ) : (
            <Bed>
              <Empty title="No results yet">
                {hasEnded(job) ? "This job ended before anything was delivered." : "They appear here one by one, as soon as each is delivered. Nothing has to be reloaded."}
              </Empty>
            </Bed>
          )
        }
      </Answer>
    </div>
  );
}

/** A file with the name of its task as the hub writes it elsewhere. */
type Named = ResultItem & { name: string };

function named(job: JobView, item: ResultItem): Named {
  const group = job.groups.find((one) => one.name === item.task);
  return { ...item, name: group ? nameTask(group, item.index) : `${item.task}[${item.index}]` };
}

function Shown({ job, items: found, pictures, more }: { job: JobView; items: ResultItem[]; pictures: PictureItem[]; more: boolean }) {
  const items = useMemo(() => found.map((item) => named(job, item)), [job, found]);
  const tiled = new Set(pictures.map((picture) => picture.task));
  const images = items.filter((item) => item.kind === "image" && !tiled.has(item.task));
  const texts = items.filter((item) => (item.kind === "text" || item.kind === "table") && item.bytes <= TEXT_BYTES_MAX);
  return (
    <>
      {pictures.map((picture) => (
        <Mosaic key={picture.task} picture={picture} />
      ))}
      {images.length > 0 ? <Images images={images} /> : null}
      {texts.length > 0 ? <Texts job={job} texts={texts} /> : null}
      <Bed
        flush
        title="All files"
        lead={more ? `The first ${items.length}; the archive has all.` : undefined}
        actions={
          <a className="button small" href={hub.archiveAddress(job.id)} download>
            Download all as .tar
          </a>
        }
      >
        <AllFiles items={items} />
      </Bed>
    </>
  );
}

function nameOf(item: Named): string {
  return `${item.name}${item.path ? ` ${item.path}` : ""}`;
}

function Images({ images }: { images: Named[] }) {
  const shown = images.slice(-IMAGES_MAX);
  return (
    <Bed title="Pictures" lead={images.length > shown.length ? `The newest ${shown.length} of ${images.length}.` : undefined}>
      <ul className="gallery">
        {shown.map((item) => (
          <li key={nameOf(item)}>
            <a href={item.href} target="_blank" rel="noreferrer">
              <img src={item.href} alt={nameOf(item)} loading="lazy" />
            </a>
            <span className="small soft wrap-anywhere">{nameOf(item)}</span>
          </li>
        ))}
      </ul>
    </Bed>
  );
}

function Texts({ job, texts }: { job: JobView; texts: Named[] }) {
  const [more, setMore] = useState(false);
  const shown = more ? texts : texts.slice(0, TEXTS_MAX);
  return (
    <Bed title="Texts and tables">
      <div className="texts">
        {shown.map((item) => (
          <Text key={nameOf(item)} job={job} item={item} />
        ))}
      </div>
      {texts.length > shown.length ? (
        <button type="button" className="button small" onClick={() => setMore(true)}>
          Show all {texts.length}
        </button>
      ) : null}
    </Bed>
  );
}

function Text({ job, item }: { job: JobView; item: Named }) {
  const text = useQuery({
    queryKey: ["text", job.id, item.task, item.index, item.path],
    queryFn: () => hub.resultText(item),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const table = useMemo(() => (text.data ? readTable(text.data) : null), [text.data]);
  const curves = table ? tableCurves(table, item.name) : [];
  return (
    <figure className="stack tight">
      <figcaption className="row spread">
        <span className="mono wrap-anywhere">{nameOf(item)}</span>
        <span className="faint small">{bytes(item.bytes)}</span>
      </figcaption>
      {curves.length > 0 ? (
        <CurveChart curves={curves.slice(0, CURVES_MAX)} by={(curve) => curve.name} label={nameOf(item)} />
      ) : (
        <Answer query={text} what={nameOf(item)} lines={2}>
          {(content) => (
            <pre className="code preview" tabIndex={0}>
              {content.length > 4000 ? `${content.slice(0, 4000)}\n…` : content || "(empty)"}
            </pre>
          )}
        </Answer>
      )}
    </figure>
  );
}

function Curves({ title, curves }: { title: string; curves: Curve[] }) {
  const names = [...new Set(curves.map((curve) => curve.name))];
  const [chosen, setChosen] = useState(names[0] as string);
  const name = names.includes(chosen) ? chosen : (names[0] as string);
  const shown = curves.filter((curve) => curve.name === name).slice(0, CURVES_MAX);
  const choices = names.slice(0, 6).map((one) => [one, one] as const);
  return (
    <Bed title={title} lead="Drawn from lines such as “step 12 loss 0.34”, as they arrive." actions={names.length > 1 ? <Switch label="What is measured" value={name} choices={choices} onChange={setChosen} /> : undefined}>
      <CurveChart curves={shown} by={(curve) => curve.task} label={`${name} by step`} />
    </Bed>
  );
}

function CurveChart({ curves, by, label }: { curves: Curve[]; by: (curve: Curve) => string; label: string }) {
  const { x, values } = useMemo(() => aligned(curves), [curves]);
  const lines = curves.map((curve, index) => ({ label: by(curve), colour: COLOURS[index % COLOURS.length] as (typeof COLOURS)[number], format: (value: number) => Number(value.toPrecision(4)).toString() }));
  return <LazyChart label={label} x={x} xLabel="step" lines={lines} values={values} height={220} />;
}

function AllFiles({ items }: { items: Named[] }) {
  const columns = useMemo<Column<Named>[]>(
    () => [
      {
        id: "name",
        head: "File",
        lead: true,
        by: nameOf,
        cell: (item) => (
          <a href={`${item.href}?download=true`} className="mono wrap-anywhere" download>
            {nameOf(item)}
          </a>
        ),
      },
      { id: "kind", head: "Kind", by: (item) => item.kind, cell: (item) => item.kind },
      { id: "bytes", head: "Size", number: true, by: (item) => item.bytes, cell: (item) => bytes(item.bytes) },
    ],
    [],
  );
  return <DataTable rows={items} columns={columns} id={nameOf} label="Result files" first={20} />;
}
