// A new job: what to run, what it would cost, and only then: pay and run.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import * as hub from "../api/hub";
import { idempotencyKey } from "../api/http";
import * as queries from "../api/queries";
import type { DeskChoice, DeskQuote } from "../api/views";
import { bytes, counted } from "../format/number";
import { currentDraft, type Draft, setDraft } from "../newjob/draft";
import { DropZone } from "../newjob/DropZone";
import { CONTAINER, exampleFiles, exampleFor, PRIMES } from "../newjob/examples";
import type { Folder, Picked } from "../newjob/folder";
import { findJobFile, missing, named, readJobFile } from "../newjob/jobfile";
import { Choices } from "../newjob/Choices";
import { type Progress, upload } from "../newjob/upload";
import { Bed, Head, Trouble } from "../ui/parts";
import { Meter } from "../ui/words";
import "../newjob/newjob.css";

export default function NewJob() {
  const [draft, setShown] = useState<Draft | null>(currentDraft);
  const change = (next: Draft | null) => {
    setDraft(next);
    setShown(next);
  };
  return (
    <>
      <Head title="New job">You see the price before anything is paid, and nothing beyond what it binds is charged.</Head>
      {draft ? <Editing draft={draft} onChange={change} /> : <Beginning onDraft={change} />}
    </>
  );
}

function Beginning({ onDraft }: { onDraft: (draft: Draft) => void }) {
  const [wrong, setWrong] = useState<string | null>(null);
  const picked = async (folder: Folder) => {
    const paths = folder.files.map(({ path }) => path);
    const found = findJobFile(paths);
    const file = folder.files.find(({ path }) => path === found)?.file;
    if (folder.files.length === 0) return setWrong("There are no files in that.");
    if (!file) setWrong(null);
    onDraft({ source: file ? await file.text() : exampleFor(paths), name: folder.name, files: folder.files, from: found, rooted: false });
  };
  return (
    <div className="stack">
      <DropZone what="a folder or a job file" about="You see what will be sent before anything is: only files that the job file names." onPicked={(folder) => void picked(folder)} onWrong={setWrong} />
      {wrong ? (
        <p className="notice straw" role="alert">
          {wrong}
        </p>
      ) : null}
      <div className="columns">
        <Bed title="Begin with a template" lead="Render a scene, train a model, sweep over values, or run a workflow: fill in a form.">
          <Link href="/catalogue" className="button">
            Open the catalogue
          </Link>
        </Bed>
        <Bed title="Write a job file" lead="A few lines of TOML: what to run, how often, and what it may cost.">
          <Examples onDraft={onDraft} />
        </Bed>
      </div>
    </div>
  );
}

function Examples({ onDraft }: { onDraft: (draft: Draft) => void }) {
  const starting = useMutation({
    mutationFn: exampleFiles,
    onSuccess: (files) => onDraft({ source: PRIMES, name: "primes-example", files, from: "the example", rooted: false }),
  });
  return (
    <div className="stack tight">
      <div className="row">
        <button type="button" className="button" disabled={starting.isPending} onClick={() => starting.mutate()}>
          Start with an example
        </button>
        <button type="button" className="button" onClick={() => onDraft({ source: CONTAINER, name: "container-example", files: [], from: "the example of a container", rooted: false })}>
          With a container
        </button>
      </div>
      <p className="small soft">The example counts primes with a program that it brings along. The container's image comes from a registry, which the hub and the machines have to reach.</p>
      {starting.error ? <Trouble error={starting.error} /> : null}
    </div>
  );
}

function Editing({ draft, onChange }: { draft: Draft; onChange: (draft: Draft | null) => void }) {
  const [quote, setQuote] = useState<{ quote: DeskQuote; folder: string | undefined } | null>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const stop = useRef<AbortController>(null);
  const read = useMemo(() => readJobFile(draft.source), [draft.source]);
  const placed = new Map(draft.files.map((picked) => [draft.rooted ? `${draft.name}/${picked.path}` : picked.path, picked]));
  const needed = read.ok ? named(read.file, [...placed.keys()]).flatMap((path) => placed.get(path) ?? []) : [];
  const asking = useMutation({
    mutationFn: async () => {
      stop.current = new AbortController();
      if (needed.length > 0) await upload(draft.name, needed, setProgress, stop.current.signal);
      setProgress(null);
      const folder = needed.length > 0 && !draft.rooted ? draft.name : undefined;
      return { quote: await hub.quote(draft.source, folder), folder };
    },
    onSuccess: setQuote,
    onSettled: () => setProgress(null),
  });
  const edit = (source: string) => {
    setQuote(null);
    asking.reset();
    onChange({ ...draft, source });
  };
  return (
    <div className="stack">
      <Bed
        title="Job file"
        lead={draft.from ? `From ${draft.from}.` : draft.files.length > 0 ? "That folder had no job file, so here is one to begin with." : undefined}
        actions={
          <button type="button" className="button small plain" onClick={() => onChange(null)}>
            Start over
          </button>
        }
      >
        <Editor source={draft.source} onChange={edit} />
        <About draft={draft} read={read} needed={needed} />
        <div className="row">
          <button type="button" className="button main" disabled={!read.ok || asking.isPending} onClick={() => asking.mutate()}>
            {asking.isPending ? (progress ? "Sending files" : "Asking what it costs") : "See the price"}
          </button>
          {progress ? (
            <button type="button" className="button" onClick={() => stop.current?.abort()}>
              Stop
            </button>
          ) : null}
        </div>
        {progress ? <Sending progress={progress} /> : null}
        {asking.error ? <Trouble error={asking.error} /> : null}
      </Bed>
      {quote ? <Paying key={quote.quote.quote} draft={draft} quoted={quote.quote} folder={quote.folder} onAgain={() => asking.mutate()} /> : null}
    </div>
  );
}

function Editor({ source, onChange }: { source: string; onChange: (source: string) => void }) {
  const rows = Math.min(28, Math.max(10, source.split("\n").length + 1));
  return <textarea className="textarea" aria-label="Job file" spellCheck={false} rows={rows} value={source} onChange={(event) => onChange(event.target.value)} />;
}

function About({ draft, read, needed }: { draft: Draft; read: ReturnType<typeof readJobFile>; needed: Picked[] }) {
  if (!read.ok)
    return (
      <p className="wrong" role="alert">
        {read.line ? `Line ${read.line}: ` : ""}
        {read.reason}
      </p>
    );
  // What a template names beside the form's files is at the desk already.
  const lost = draft.rooted ? [] : missing(read.file, draft.files.map(({ path }) => path));
  const size = needed.reduce((sum, { file }) => sum + file.size, 0);
  return (
    <div className="stack tight small">
      <p>
        <strong>{read.file.name}</strong>: {read.file.tasks.length} <code>[[task]]</code> ({read.file.tasks.map((task) => `${task.name}, ${task.runtime}`).join("; ")})
        {read.file.cap ? `, never more than ${read.file.cap}` : ", no cap yet: add price_max to [budget]"}.
      </p>
      {needed.length > 0 ? (
        <p className="soft">
          {counted(needed.length, "file")} of it will be sent, {bytes(size)}. Whoever runs this desk can read them; to keep data from the hub, use the command line.
        </p>
      ) : null}
      {lost.length > 0 ? (
        <p className="wrong">
          Named, but not dropped here: {lost.join(", ")}. Drop the folder that has {lost.length === 1 ? "it" : "them"}.
        </p>
      ) : null}
    </div>
  );
}

function Sending({ progress }: { progress: Progress }) {
  return (
    <div className="stack tight">
      <Meter share={progress.total > 0 ? progress.sent / progress.total : 1} tone="corn" label="Files sent" />
      <p className="small soft" role="status">
        {bytes(progress.sent)} of {bytes(progress.total)}: {progress.path}. Leave the page open until it is sent. If it breaks off, drop the same folder again: what has arrived is not sent twice.
      </p>
    </div>
  );
}

function Paying({ draft, quoted, folder, onAgain }: { draft: Draft; quoted: DeskQuote; folder: string | undefined; onAgain: () => void }) {
  const [choice, setChoice] = useState<DeskChoice["name"]>("balanced");
  const wallet = useQuery(queries.wallet);
  const [, go] = useLocation();
  const cache = useQueryClient();
  // The same key for every try of this submission: a lost answer must not pay twice.
  const key = useRef(idempotencyKey());
  const submitting = useMutation({
    mutationFn: () => hub.submit({ job: draft.source, folder, choice, quote: quoted.quote }, key.current),
    onSuccess: async (submitted) => {
      setDraft(null);
      await cache.invalidateQueries({ queryKey: ["jobs"] });
      go(`/jobs/${submitted.job}`);
    },
  });
  return (
    <Choices quoted={quoted} choice={choice} onChoice={setChoice} wallet={wallet.data} busy={submitting.isPending} error={submitting.error} onRun={() => submitting.mutate()} onAgain={onAgain} />
  );
}
