import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import * as hub from "../api/hub";
import type { Template as View, TemplateInput } from "../api/views";
import * as queries from "../api/queries";
import { useSession } from "../app/session";
import { say } from "../app/toast";
import "../catalogue/catalogue.css";
import { allWrong, defaults, ordered, typed, type Values } from "../catalogue/form";
import { Picture } from "../catalogue/Picture";
import { counted } from "../format/number";
import { span } from "../format/time";
import { setDraft } from "../newjob/draft";
import { fromList, type Picked } from "../newjob/folder";
import { Answer, Bed, Field, Head, Trouble } from "../ui/parts";
import { Sheet } from "../ui/Sheet";
import { Figure, Figures, Money } from "../ui/words";

export default function Template({ name }: { name: string }) {
  const template = useQuery(queries.template(name));
  return (
    <Answer query={template} what="the template" lines={8}>
      {(view) => <Shown template={view} />}
    </Answer>
  );
}

function Shown({ template }: { template: View }) {
  return (
    <>
      <Head title={template.title} actions={<RemoveButton template={template} />}>
        {template.about}
      </Head>
      <div className="template-page">
        <div className="stack">
          <Picture template={template} />
          <Figures>
            <Figure label="Typical cost" tone="straw" value={template.typical ? <Money amount={template.typical.cost} /> : "not known"} note={template.typical ? `learned from ${counted(template.runs, "run")}` : "nobody has run it yet"} />
            <Figure label="Typical time" value={template.typical ? span(template.typical.time_ms) : "not known"} note="from submitting to the last result" />
          </Figures>
          <p className="small soft">
            {template.kind}, published by {template.author}
          </p>
        </div>
        <div className="stack">
          <Form template={template} />
          <Bed title="What it runs" lead="The job file, with blanks in double braces.">
            <pre className="code" tabIndex={0}>
              {template.job}
            </pre>
          </Bed>
        </div>
      </div>
    </>
  );
}

/** Takes a template of one's own out of the catalogue, after a question. */
function RemoveButton({ template }: { template: View }) {
  const [asking, setAsking] = useState(false);
  const session = useSession();
  const cache = useQueryClient();
  const [, go] = useLocation();
  const removing = useMutation({
    mutationFn: () => hub.unpublish(template.name),
    onSuccess: async () => {
      say(`${template.title} is not in the catalogue any more.`);
      go("/catalogue");
      cache.removeQueries({ queryKey: queries.template(template.name).queryKey });
      await cache.invalidateQueries({ queryKey: ["catalogue", "of"] });
    },
  });
  // What came with the program was published by nobody.
  if (!session || template.published_at == null || template.author !== session.account.name) return null;
  return (
    <>
      <button type="button" className="button danger" onClick={() => setAsking(true)}>
        Remove
      </button>
      {asking ? (
        <Sheet title={`Remove ${template.title}?`} onClose={() => setAsking(false)}>
          <p>Nobody finds it in the catalogue after that, and its name is free. Jobs that were made of it go on.</p>
          {removing.error ? <Trouble error={removing.error} /> : null}
          <div className="row">
            <button type="button" className="button danger" disabled={removing.isPending} onClick={() => removing.mutate()}>
              Remove it
            </button>
            <button type="button" className="button" onClick={() => setAsking(false)}>
              Keep it
            </button>
          </div>
        </Sheet>
      ) : null}
    </>
  );
}

function Form({ template }: { template: View }) {
  const [values, setValues] = useState<Values>(() => defaults(template));
  const [files, setFiles] = useState<Record<string, Picked[]>>({});
  const [tried, setTried] = useState(false);
  const session = useSession();
  const [path, go] = useLocation();
  const found = allWrong(template, values);
  const tree = `${template.name}-files`;
  const rendering = useMutation({
    mutationFn: () => hub.render(template.name, typed(template, values)),
    onSuccess: ({ job }) => {
      setDraft({ source: job, name: tree, files: Object.values(files).flat(), from: `the template “${template.title}”`, rooted: true });
      go("/jobs/new");
    },
  });
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (Object.keys(found).length > 0) return;
    if (session) rendering.mutate();
    else go(`/sign-in?then=${encodeURIComponent(path)}`);
  };
  const inputs = ordered(template);
  return (
    <Bed title="Fill in">
      <form className="stack" onSubmit={send} noValidate>
        {inputs.length === 0 ? <p className="soft">There is nothing to fill in.</p> : null}
        {inputs.map(([name, input]) => (
          <Input
            key={name}
            input={input}
            value={values[name] ?? ""}
            wrong={tried ? (found[name] ?? null) : null}
            required={template.inputs.required.includes(name)}
            tree={tree}
            onChange={(value, picked) => {
              setValues((known) => ({ ...known, [name]: value }));
              if (picked) setFiles((known) => ({ ...known, [name]: picked }));
            }}
          />
        ))}
        {rendering.error ? <Trouble error={rendering.error} /> : null}
        <div>
          <button type="submit" className="button main" disabled={rendering.isPending}>
            {session === null ? "Sign in to run it" : rendering.isPending ? "Making the job file" : "See the price"}
          </button>
        </div>
      </form>
    </Bed>
  );
}

function Input(props: { input: TemplateInput; value: string | boolean; wrong: string | null; required: boolean; tree: string; onChange: (value: string | boolean, picked?: Picked[]) => void }) {
  const { input, value, onChange } = props;
  const label = `${input.title}${props.required ? "" : ", optional"}`;
  if (input.type === "boolean")
    return (
      <label className="check">
        <input type="checkbox" checked={value === true} onChange={(event) => onChange(event.target.checked)} />
        <span>
          {input.title}
          {input.description ? <span className="hint soft small"> {input.description}</span> : null}
        </span>
      </label>
    );
  return (
    <Field label={label} hint={input.description} wrong={props.wrong}>
      {(id, described) => <Control id={id} described={described} input={input} tree={props.tree} value={String(value)} invalid={props.wrong !== null} onChange={onChange} />}
    </Field>
  );
}

function Control(props: { id: string; described: string | undefined; input: TemplateInput; tree: string; value: string; invalid: boolean; onChange: (value: string, picked?: Picked[]) => void }) {
  const { input } = props;
  const common = { id: props.id, "aria-describedby": props.described, "aria-invalid": props.invalid };
  if (input.enum)
    return (
      <select {...common} className="select" value={props.value} onChange={(event) => props.onChange(event.target.value)}>
        {input.enum.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    );
  if (input.type === "file" || input.type === "folder") {
    const whole = input.type === "folder" ? { webkitdirectory: "" } : {};
    const chosen = (event: React.ChangeEvent<HTMLInputElement>) => {
      if (!event.target.files?.length) return;
      const folder = fromList(event.target.files);
      const picked = input.type === "folder" ? folder.files.map(({ path, file }) => ({ path: `${folder.name}/${path}`, file })) : folder.files;
      // Paths begin with the name under which the files are sent.
      props.onChange(`${props.tree}/${input.type === "folder" ? folder.name : (picked[0]?.path ?? "")}`, picked);
    };
    return <input {...common} type="file" className="input" onChange={chosen} {...whole} />;
  }
  const number = input.type === "integer" || input.type === "number";
  return <input {...common} className="input" inputMode={number ? "decimal" : undefined} value={props.value} onChange={(event) => props.onChange(event.target.value)} />;
}
