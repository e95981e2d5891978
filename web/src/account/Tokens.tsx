import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import * as hub from "../api/hub";
import { words } from "../api/http";
import type { Scope, TokenView } from "../api/views";
import * as queries from "../api/queries";
import { say } from "../app/toast";
import { parseAmount } from "../format/amount";
import { type Column, DataTable } from "../ui/DataTable";
import { Answer, Bed, Copy, Empty, Field, Trouble } from "../ui/parts";
import { When } from "../ui/words";
import { scopeWords } from "./scopes";

const SCOPES: [Scope, string, string][] = [
  ["read", "Read", "see your jobs, files, machines and money"],
  ["submit", "Submit", "submit and cancel jobs"],
  ["spend", "Spend", "pay for them, up to a limit"],
  ["provide", "Provide", "share machines in your name"],
];
const DAYS = [
  ["7", "7 days"],
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "a year"],
] as const;

export function Tokens() {
  const tokens = useQuery(queries.tokens);
  const [made, setMade] = useState<string | null>(null);
  const cache = useQueryClient();
  const removing = useMutation({
    mutationFn: hub.removeToken,
    onSuccess: () => say("The token is revoked. It stops working at once."),
    onError: (error) => say(words(error)),
    onSettled: () => cache.invalidateQueries({ queryKey: ["account"] }),
  });
  const columns = useMemo<Column<TokenView>[]>(
    () => [
      { id: "label", head: "Token", lead: true, by: (token) => token.label, cell: (token) => <strong>{token.label}</strong> },
      { id: "scopes", head: "May", cell: (token) => scopeWords(token.scopes, token.spent) },
      { id: "used", head: "Used", by: (token) => token.used_at ?? 0, cell: (token) => (token.used_at ? <When at={token.used_at} /> : "never") },
      { id: "ends", head: "Ends", by: (token) => token.ends_at, cell: (token) => <When at={token.ends_at} /> },
      {
        id: "do",
        head: "Revoke",
        unnamed: true,
        number: true,
        cell: (token) => (
          <button type="button" className="button small danger" onClick={() => removing.mutate(token.id)}>
            Revoke
          </button>
        ),
      },
    ],
    [removing],
  );
  return (
    <div className="stack">
      {made ? <Once token={made} onDone={() => setMade(null)} /> : null}
      <Bed flush title="Tokens" lead="For programs that act for you: the Python SDK, scripts, machines that you share.">
        <Answer query={tokens} what="tokens">
          {(page) => (page.items.length > 0 ? <DataTable rows={page.items} columns={columns} id={(token) => String(token.id)} label="Tokens" /> : <Empty title="No tokens">Make one below when a program needs it.</Empty>)}
        </Answer>
      </Bed>
      <Make onMade={setMade} />
    </div>
  );
}

function Once({ token, onDone }: { token: string; onDone: () => void }) {
  return (
    <div className="notice straw" role="status">
      <strong>Here is your token, once</strong>
      <p>Only its hash is kept, so nobody can show it again. Put it where the program finds it, and nowhere else.</p>
      <code className="code">{token}</code>
      <div className="row">
        <Copy text={token} />
        <button type="button" className="button small" onClick={onDone}>
          I have it
        </button>
      </div>
    </div>
  );
}

function Make({ onMade }: { onMade: (token: string) => void }) {
  const [label, setLabel] = useState("");
  const [chosen, setChosen] = useState<Scope[]>(["read"]);
  const [limit, setLimit] = useState("1");
  const [days, setDays] = useState("30");
  const cache = useQueryClient();
  const wrong = chosen.includes("spend") && parseAmount(limit) === null ? "Write a number of GLN, such as 5" : null;
  const making = useMutation({
    mutationFn: () =>
      hub.makeToken({
        label: label.trim(),
        scopes: { read: chosen.includes("read"), submit: chosen.includes("submit"), provide: chosen.includes("provide"), ...(chosen.includes("spend") ? { spend: limit.trim() } : {}) },
        ends_at: Date.now() + Number(days) * 86_400_000,
      }),
    onSuccess: ({ text }) => {
      setLabel("");
      onMade(text);
    },
    onSettled: () => cache.invalidateQueries({ queryKey: ["account"] }),
  });
  const toggle = (scope: Scope) => setChosen(chosen.includes(scope) ? chosen.filter((one) => one !== scope) : [...chosen, scope]);
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    making.mutate();
  };
  return (
    <Bed title="Make a token">
      <form className="stack" onSubmit={send}>
        <Field label="What it is for">{(id) => <input id={id} className="input" required maxLength={64} placeholder="notebook on my laptop" value={label} onChange={(event) => setLabel(event.target.value)} />}</Field>
        <fieldset className="scopes">
          <legend>What it may do</legend>
          {SCOPES.map(([scope, name, about]) => (
            <label key={scope} className="check">
              <input type="checkbox" checked={chosen.includes(scope)} onChange={() => toggle(scope)} />
              <span>
                {name}: <span className="soft">{about}</span>
              </span>
            </label>
          ))}
        </fieldset>
        {chosen.includes("spend") ? (
          <Field label="Over its whole life, at most (GLN)" wrong={wrong}>
            {(id, described) => <input id={id} className="input" inputMode="decimal" value={limit} aria-describedby={described} onChange={(event) => setLimit(event.target.value)} />}
          </Field>
        ) : null}
        <Field label="Ends after">
          {(id) => (
            <select id={id} className="select" value={days} onChange={(event) => setDays(event.target.value)}>
              {DAYS.map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          )}
        </Field>
        {making.error ? <Trouble error={making.error} /> : null}
        <div>
          <button type="submit" className="button main" disabled={making.isPending || chosen.length === 0 || wrong !== null}>
            Make the token
          </button>
        </div>
      </form>
    </Bed>
  );
}
