// Webhooks: requests that the hub sends to a program of yours whenever something happens to one of your jobs.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Link } from "wouter";
import * as hub from "../api/hub";
import { words } from "../api/http";
import * as queries from "../api/queries";
import type { DeliveryView, JobEvent, WebhookMade, WebhookView } from "../api/views";
import { say } from "../app/toast";
import { type Column, DataTable } from "../ui/DataTable";
import { Answer, Bed, Copy, Empty, Field, Trouble } from "../ui/parts";
import { Sheet } from "../ui/Sheet";
import { Pill, When } from "../ui/words";
import { deliveryState, deliveryWords, EVENTS, eventWords, wrongAddress } from "./webhooks";

export function Webhooks() {
  const webhooks = useQuery(queries.webhooks);
  const [made, setMade] = useState<WebhookMade | null>(null);
  const [open, setOpen] = useState<WebhookView | null>(null);
  const cache = useQueryClient();
  const removing = useMutation({
    mutationFn: hub.removeWebhook,
    onSuccess: () => say("The webhook is removed, with everything that waited for it."),
    onError: (error) => say(words(error)),
    onSettled: () => cache.invalidateQueries({ queryKey: queries.webhooks.queryKey }),
  });
  const columns = useMemo<Column<WebhookView>[]>(
    () => [
      { id: "url", head: "Webhook", lead: true, by: (one) => one.url, cell: (one) => <strong className="wrap-anywhere">{one.url}</strong> },
      { id: "events", head: "Is told", cell: (one) => eventWords(one.events) },
      { id: "waiting", head: "Waiting", number: true, by: (one) => one.waiting, cell: (one) => one.waiting },
      { id: "made", head: "Made", by: (one) => one.created_at, cell: (one) => <When at={one.created_at} /> },
      {
        id: "do",
        head: "Deliveries, remove",
        unnamed: true,
        number: true,
        cell: (one) => (
          <span className="row">
            <button type="button" className="button small" onClick={() => setOpen(one)}>
              Deliveries
            </button>
            <button type="button" className="button small danger" aria-label={`Remove the webhook to ${one.url}`} onClick={() => removing.mutate(one.id)}>
              Remove
            </button>
          </span>
        ),
      },
    ],
    [removing],
  );
  return (
    <div className="stack">
      {made ? <Once made={made} onDone={() => setMade(null)} /> : null}
      <Bed flush title="Webhooks" lead="Requests to a program of yours whenever something happens to one of your jobs. What is not answered is tried again, for about a day.">
        <Answer query={webhooks} what="webhooks">
          {(page) => (page.items.length > 0 ? <DataTable rows={page.items} columns={columns} id={(one) => String(one.id)} label="Webhooks" /> : <Empty title="No webhooks">Make one below when a program should hear of your jobs.</Empty>)}
        </Answer>
      </Bed>
      <Make onMade={setMade} />
      {open ? <Deliveries webhook={open} onClose={() => setOpen(null)} /> : null}
    </div>
  );
}

function Once({ made, onDone }: { made: WebhookMade; onDone: () => void }) {
  return (
    <div className="notice straw" role="status">
      <strong>Here is the secret, once</strong>
      <p>
        Requests to <span className="wrap-anywhere">{made.url}</span> carry <code>gleaner-signature: t=SECONDS,v1=HMAC</code>: HMAC-SHA256 with this secret over the seconds, a full stop and the body. A program that checks it
        knows that they are the hub's.
      </p>
      <code className="code">{made.secret}</code>
      <div className="row">
        <Copy text={made.secret} />
        <button type="button" className="button small" onClick={onDone}>
          I have it
        </button>
      </div>
    </div>
  );
}

function Make({ onMade }: { onMade: (made: WebhookMade) => void }) {
  const [url, setUrl] = useState("");
  const [events, setEvents] = useState<JobEvent[]>(EVENTS.map(([event]) => event));
  const cache = useQueryClient();
  const wrong = url ? wrongAddress(url.trim()) : null;
  const making = useMutation({
    mutationFn: () => hub.makeWebhook({ url: url.trim(), events }),
    onSuccess: (made) => {
      setUrl("");
      onMade(made);
    },
    onSettled: () => cache.invalidateQueries({ queryKey: queries.webhooks.queryKey }),
  });
  const toggle = (event: JobEvent) => setEvents(events.includes(event) ? events.filter((one) => one !== event) : [...events, event]);
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    making.mutate();
  };
  return (
    <Bed title="Make a webhook">
      <form className="stack" onSubmit={send}>
        <Field label="Address" wrong={wrong} hint="Where requests go: over https, and nowhere in the hub's own network">
          {(id, described) => <input id={id} className="input" type="url" required maxLength={2000} placeholder="https://example.org/gleaner" value={url} aria-describedby={described} aria-invalid={wrong !== null} onChange={(event) => setUrl(event.target.value)} />}
        </Field>
        <fieldset className="scopes">
          <legend>What it is told</legend>
          {EVENTS.map(([event, name]) => (
            <label key={event} className="check">
              <input type="checkbox" checked={events.includes(event)} onChange={() => toggle(event)} />
              <span>
                {name} <code className="soft">{event}</code>
              </span>
            </label>
          ))}
        </fieldset>
        {making.error ? <Trouble error={making.error} /> : null}
        <div>
          <button type="submit" className="button main" disabled={making.isPending || wrong !== null || url === "" || events.length === 0}>
            Make the webhook
          </button>
        </div>
      </form>
    </Bed>
  );
}

const COLUMNS: Column<DeliveryView>[] = [
  { id: "event", head: "Event", lead: true, by: (one) => one.id, cell: (one) => <code>{one.event}</code> },
  { id: "job", head: "Job", by: (one) => one.job, cell: (one) => <Link href={`/jobs/${one.job}`}>job {one.job}</Link> },
  {
    id: "state",
    head: "State",
    by: (one) => one.state,
    cell: (one) => {
      const [tone, text] = deliveryState(one.state);
      return <Pill tone={tone}>{text}</Pill>;
    },
  },
  { id: "tries", head: "How it went", cell: (one) => <span className="wrap-anywhere">{deliveryWords(one)}</span> },
  { id: "next", head: "Tried next", by: (one) => one.next_at ?? 0, cell: (one) => (one.next_at ? <When at={one.next_at} /> : "not again") },
];

function Deliveries({ webhook, onClose }: { webhook: WebhookView; onClose: () => void }) {
  const deliveries = useQuery(queries.deliveries(webhook.id));
  return (
    <Sheet title="What was sent, newest first" onClose={onClose}>
      <p className="wrap-anywhere soft">{webhook.url}</p>
      <Answer query={deliveries} what="deliveries">
        {(page) => (page.items.length > 0 ? <DataTable rows={page.items} columns={COLUMNS} id={(one) => String(one.id)} label="Deliveries" first={20} /> : <Empty title="Nothing was sent yet">Whatever happens to your jobs from now on is listed here.</Empty>)}
      </Answer>
    </Sheet>
  );
}
