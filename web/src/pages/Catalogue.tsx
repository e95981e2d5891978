import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import type { Template } from "../api/views";
import * as queries from "../api/queries";
import { Picture } from "../catalogue/Picture";
import "../catalogue/catalogue.css";
import { counted } from "../format/number";
import { span } from "../format/time";
import { Answer, Empty, Head, More, Switch } from "../ui/parts";
import { Money } from "../ui/words";

const KINDS = [
  ["", "All"],
  ["render", "Render"],
  ["train", "Train"],
  ["sweep", "Sweep"],
  ["workflow", "Workflow"],
] as const;

export default function Catalogue() {
  const [kind, setKind] = useState<(typeof KINDS)[number][0]>("");
  const catalogue = useInfiniteQuery(queries.catalogue(kind));
  return (
    <>
      <Head
        title="Catalogue"
        actions={
          <Link href="/catalogue/publish" className="button">
            Publish a template
          </Link>
        }
      >
        Jobs that somebody has made and you can run: fill in the form, see the price, run it.
      </Head>
      <div className="stack">
        <Switch label="Kind of template" value={kind} choices={KINDS} onChange={setKind} />
        <Answer query={catalogue} what="templates" lines={8}>
          {({ pages }) => {
            const shown = pages.flatMap((page) => page.items);
            return shown.length > 0 ? (
              <ul className="templates">
                {shown.map((template) => (
                  <Card key={template.name} template={template} />
                ))}
              </ul>
            ) : (
              <Empty title={kind ? `No template to ${kind} yet` : "No templates yet"} action={<Link href="/catalogue/publish">Publish the first</Link>}>
                A template is a job file with blanks. Anybody can publish one.
              </Empty>
            );
          }}
        </Answer>
        <More list={catalogue} text="More templates" />
      </div>
    </>
  );
}

function Card({ template }: { template: Template }) {
  return (
    <li className="template">
      <Picture template={template} />
      <div className="stack tight">
        <h2>
          <Link href={`/catalogue/${encodeURIComponent(template.name)}`}>{template.title}</Link>
        </h2>
        <p className="soft">{template.about}</p>
        <p className="small faint">
          {template.typical ? (
            <>
              typically <Money amount={template.typical.cost} /> and {span(template.typical.time_ms)}, from {counted(template.runs, "run")}
            </>
          ) : (
            "nobody has run it yet, so its cost is not known"
          )}
        </p>
        <p className="small faint">
          {template.kind}, by {template.author}
        </p>
      </div>
    </li>
  );
}
