import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useLocation } from "wouter";
import * as hub from "../api/hub";
import { blanks, inputsOf } from "../catalogue/blanks";
import { STARTER } from "../newjob/jobfile";
import { Bed, Field, Head, Trouble } from "../ui/parts";

const EXAMPLE = STARTER.replace('each = "0..3"                  # four tasks, numbered 0 to 3', 'each = "1..{{count}}"          # {{count}} becomes an input of the form').replace("hello from", "{{greeting}} from");

export default function Publish() {
  const [name, setName] = useState("");
  const [title, setTitle] = useState("");
  const [about, setAbout] = useState("");
  const [kind, setKind] = useState("workflow");
  const [job, setJob] = useState(EXAMPLE);
  const cache = useQueryClient();
  const [, go] = useLocation();
  const found = useMemo(() => blanks(job), [job]);
  const wrong = name && !/^[a-z0-9][a-z0-9-]{1,62}$/.test(name) ? "Small letters, digits and hyphens only" : null;
  const publishing = useMutation({
    mutationFn: () => hub.publish({ name, title, about, kind, job, inputs: inputsOf(found) }),
    onSuccess: async () => {
      await cache.invalidateQueries({ queryKey: ["catalogue"] });
      go(`/catalogue/${encodeURIComponent(name)}`);
    },
  });
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    if (!wrong) publishing.mutate();
  };
  return (
    <>
      <Head title="Publish a template">A job file with blanks that others fill in. They pay for their runs; what it typically costs is learned from them.</Head>
      <form className="columns" onSubmit={send}>
        <Bed title="About it">
          <div className="stack">
            <Field label="Name" hint="In its address; it cannot be changed later" wrong={wrong}>
              {(id, described) => <input id={id} className="input" required value={name} aria-describedby={described} aria-invalid={wrong !== null} onChange={(event) => setName(event.target.value)} />}
            </Field>
            <Field label="Title">{(id) => <input id={id} className="input" required value={title} onChange={(event) => setTitle(event.target.value)} />}</Field>
            <Field label="What it does, in a sentence">{(id) => <input id={id} className="input" required value={about} onChange={(event) => setAbout(event.target.value)} />}</Field>
            <Field label="Kind">
              {(id) => (
                <select id={id} className="select" value={kind} onChange={(event) => setKind(event.target.value)}>
                  {["render", "train", "sweep", "workflow"].map((one) => (
                    <option key={one}>{one}</option>
                  ))}
                </select>
              )}
            </Field>
            {publishing.error ? <Trouble error={publishing.error} /> : null}
            <div>
              <button type="submit" className="button main" disabled={publishing.isPending}>
                {publishing.isPending ? "Publishing" : "Publish"}
              </button>
            </div>
          </div>
        </Bed>
        <Bed title="Job file" lead={found.length > 0 ? `Inputs of its form: ${found.join(", ")}.` : "It has no blanks yet: write {{name}} where others fill something in."}>
          <textarea className="textarea" aria-label="Job file with blanks" rows={20} spellCheck={false} value={job} onChange={(event) => setJob(event.target.value)} />
        </Bed>
      </form>
    </>
  );
}
