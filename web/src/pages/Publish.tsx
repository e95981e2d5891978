// A template of one's own: a job file with blanks, the files that it reads, and a picture.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { useLocation } from "wouter";
import * as hub from "../api/hub";
import { words } from "../api/http";
import type { Publication } from "../api/views";
import { absent, type Blank, blanks, fresh, inputsOf, ownFiles, wrongBlank, wrongName } from "../catalogue/blanks";
import { BlanksEditor } from "../catalogue/BlanksEditor";
import "../catalogue/catalogue.css";
import { bytes, counted } from "../format/number";
import { DropZone } from "../newjob/DropZone";
import { exampleFiles, PRIMES_TEMPLATE } from "../newjob/examples";
import type { Folder, Picked } from "../newjob/folder";
import { findJobFile, readJobFile } from "../newjob/jobfile";
import "../newjob/newjob.css";
import { upload } from "../newjob/upload";
import { Bed, Field, Head, Trouble } from "../ui/parts";

const KINDS: readonly Publication["kind"][] = ["render", "train", "sweep", "workflow"];
const PICTURE_BYTES_MAX = 512 * 1024;
const FILES_BYTES_MAX = 32 * 1024 * 1024;
/** Where the picture goes among the files. */
const PICTURE_PATH = "template-picture";

const sum = (files: Picked[]) => files.reduce((total, { file }) => total + file.size, 0);

/** Sends what the template needs, publishes it, and takes away what was sent: the desk keeps its own copy. */
async function publish(wanted: Publication, files: Picked[], picture: File | null): Promise<void> {
  const all = picture ? [...files, { path: PICTURE_PATH, file: picture }] : files;
  if (all.length === 0) return void (await hub.publish(wanted));
  const folder = `publish-${wanted.name}-${crypto.getRandomValues(new Uint32Array(1))[0]?.toString(16)}`;
  try {
    await upload(folder, all, () => undefined, new AbortController().signal);
    await hub.publish({ ...wanted, folder, files: files.map(({ path }) => path), ...(picture ? { picture: PICTURE_PATH } : {}) });
  } finally {
    await hub.removeFiles(folder).catch(() => undefined);
  }
}

export default function Publish() {
  const [about, setAbout] = useState<Words>({ name: "", title: "", about: "", kind: "workflow" });
  const [job, setJob] = useState(PRIMES_TEMPLATE);
  const [said, setSaid] = useState<Record<string, Blank>>({});
  const [dropped, setDropped] = useState<Picked[]>([]);
  const [lost, setLost] = useState<string | null>(null);
  const [picture, setPicture] = useState<File | null>(null);
  const cache = useQueryClient();
  const [, go] = useLocation();
  // The example that one begins with reads a program; whoever drops another under that name means the other.
  useEffect(() => {
    const add = (files: Picked[]) => setDropped((before) => [...files.filter(({ path }) => before.every((one) => one.path !== path)), ...before]);
    void exampleFiles().then(add, (error: unknown) => setLost(words(error)));
  }, []);
  const asked = useMemo(() => blanks(job).map((name) => said[name] ?? fresh(job, name)), [job, said]);
  const files = useMemo(() => {
    const own = new Set(ownFiles(job, dropped.map(({ path }) => path)));
    return dropped.filter(({ path }) => own.has(path));
  }, [job, dropped]);
  const wrong = about.name ? wrongName(about.name) : null;
  const wrongPicture = picture && picture.size > PICTURE_BYTES_MAX ? `It has ${bytes(picture.size)}, and may have ${bytes(PICTURE_BYTES_MAX)}` : null;
  const ready = readJobFile(job).ok && !wrong && !wrongPicture && asked.every((blank) => wrongBlank(blank) === null) && sum(files) <= FILES_BYTES_MAX;
  const publishing = useMutation({
    mutationFn: () => publish({ ...about, job, inputs: inputsOf(asked) }, files, picture),
    onSuccess: async () => {
      await cache.invalidateQueries({ queryKey: ["catalogue"] });
      go(`/catalogue/${encodeURIComponent(about.name)}`);
    },
  });
  const take = async (folder: Folder) => {
    setLost(null);
    setDropped((before) => [...before.filter(({ path }) => folder.files.every((one) => one.path !== path)), ...folder.files]);
    const found = findJobFile(folder.files.map(({ path }) => path));
    const file = folder.files.find(({ path }) => path === found)?.file;
    if (file) setJob(await file.text());
  };
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    if (ready) publishing.mutate();
  };
  return (
    <>
      <Head title="Publish a template">A job file with blanks that others fill in. They pay for their runs; what it typically costs is learned from them.</Head>
      <form className="columns" onSubmit={send}>
        <div className="stack">
          <Bed title="Job file" lead={<>Write <code>{"{{name}}"}</code> where others fill something in. What is published under a name of yours again is its new version.</>}>
            <textarea className="textarea" aria-label="Job file with blanks" rows={18} spellCheck={false} value={job} onChange={(event) => setJob(event.target.value)} />
            <Mistake job={job} />
          </Bed>
          <Bed title="What others fill in" lead={asked.length > 0 ? "As it stands in the job file, from top to bottom." : undefined}>
            {asked.length > 0 ? <BlanksEditor blanks={asked} onChange={(blank) => setSaid({ ...said, [blank.name]: blank })} /> : <p className="soft">Nothing: there are no blanks in the job file.</p>}
          </Bed>
        </div>
        <div className="stack">
          <Bed title="About it">
            <About words={about} wrong={wrong} onChange={setAbout} picture={{ wrong: wrongPicture, onPicked: setPicture }} />
          </Bed>
          <Bed title="Its files" lead="What its job reads and nobody fills in: programs, scripts, data. Everybody who runs it gets a copy.">
            <div className="stack">
              <DropZone small what="the template's folder" about="Only files that the job file reads are published. A job.toml in it becomes the job file." onPicked={(folder) => void take(folder)} onWrong={setLost} />
              {lost ? <p className="wrong">{lost}</p> : null}
              <Published files={files} lost={absent(job, dropped.map(({ path }) => path))} />
            </div>
          </Bed>
          {publishing.error ? <Trouble error={publishing.error} /> : null}
          <div>
            <button type="submit" className="button main" disabled={!ready || publishing.isPending}>
              {publishing.isPending ? "Publishing" : "Publish"}
            </button>
          </div>
        </div>
      </form>
    </>
  );
}

type Words = Pick<Publication, "name" | "title" | "about" | "kind">;

function About(props: { words: Words; wrong: string | null; onChange: (words: Words) => void; picture: { wrong: string | null; onPicked: (file: File | null) => void } }) {
  const { words, wrong, picture } = props;
  const set = (change: Partial<Words>) => props.onChange({ ...words, ...change });
  return (
    <div className="stack">
      <Field label="Name" hint="In its address; it cannot be changed later" wrong={wrong}>
        {(id, described) => <input id={id} className="input" required maxLength={40} spellCheck={false} autoComplete="off" value={words.name} aria-describedby={described} aria-invalid={wrong !== null} onChange={(event) => set({ name: event.target.value })} />}
      </Field>
      <Field label="Title">{(id) => <input id={id} className="input" required maxLength={80} value={words.title} onChange={(event) => set({ title: event.target.value })} />}</Field>
      <Field label="What it does, in a sentence">{(id) => <input id={id} className="input" required maxLength={1000} value={words.about} onChange={(event) => set({ about: event.target.value })} />}</Field>
      <Field label="Kind">
        {(id) => (
          <select id={id} className="select" value={words.kind} onChange={(event) => set({ kind: event.target.value as Words["kind"] })}>
            {KINDS.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Picture, optional" hint="PNG, JPEG, GIF or WebP of at most 512 KiB; without one, a drawing stands for its kind" wrong={picture.wrong}>
        {(id, described) => <input id={id} type="file" className="input" accept="image/png,image/jpeg,image/gif,image/webp" aria-describedby={described} aria-invalid={picture.wrong !== null} onChange={(event) => picture.onPicked(event.target.files?.[0] ?? null)} />}
      </Field>
    </div>
  );
}

function Mistake({ job }: { job: string }) {
  const read = readJobFile(job);
  if (read.ok) return null;
  return (
    <p className="wrong" role="alert">
      {read.line ? `Line ${read.line}: ` : ""}
      {read.reason}
    </p>
  );
}

function Published({ files, lost }: { files: Picked[]; lost: string[] }) {
  const size = sum(files);
  return (
    <>
      {files.length > 0 ? (
        <p className="small">
          {counted(files.length, "file")} will be published, {bytes(size)}: <span className="mono wrap-anywhere">{files.slice(0, 8).map(({ path }) => path).join(", ")}</span>
          {files.length > 8 ? " and others" : ""}
        </p>
      ) : null}
      {size > FILES_BYTES_MAX ? <p className="wrong">A template has at most {bytes(FILES_BYTES_MAX)}. Let whoever runs it bring the rest: make it a blank.</p> : null}
      {lost.length > 0 ? (
        <p className="wrong">
          The job file reads <span className="mono">{lost.join(", ")}</span>. Drop {lost.length === 1 ? "it" : "them"} here, or make a blank of it.
        </p>
      ) : null}
    </>
  );
}
