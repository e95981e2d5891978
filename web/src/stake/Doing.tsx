// What moves something on the chain: a form with an amount, and a button.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { idempotencyKey } from "../api/http";
import { say } from "../app/toast";
import { exact, parseAmount, units } from "../format/amount";
import { Bed, Field, Trouble } from "../ui/parts";
import { Keys } from "../wallet/keys";

/** Does something once for each wish, says so, and asks for the wallet again. */
export function useDoing(act: (key: string, ...wish: string[]) => Promise<unknown>, done: string) {
  const [keys] = useState(() => new Keys(idempotencyKey));
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (wish: string[]) => act(keys.of(...wish), ...wish),
    onSuccess: async (_, wish) => {
      keys.done(...wish);
      say(done);
      await cache.invalidateQueries({ queryKey: ["wallet"] });
    },
  });
}

/** A button that does something, and what went wrong with it. */
export function Act(props: { text: string; done: string; act: (key: string) => Promise<unknown>; main?: boolean; disabled?: boolean }) {
  const doing = useDoing((key) => props.act(key), props.done);
  return (
    <div className="stack tight">
      {doing.error ? <Trouble error={doing.error} /> : null}
      <div>
        <button type="button" className={`button${props.main ? " main" : ""}`} disabled={props.disabled || doing.isPending} onClick={() => doing.mutate([])}>
          {doing.isPending ? "Waiting for the chain" : props.text}
        </button>
      </div>
    </div>
  );
}

interface Movement {
  title: string;
  lead: ReactNode;
  verb: string;
  done: string;
  most: string;
  act: (key: string, amount: string) => Promise<unknown>;
  /** What else is wished, apart from the amount: another wish is another order. */
  wish?: string;
  children?: ReactNode;
}

/** A form that asks how much. */
export function AmountForm(props: Movement) {
  const [typed, setTyped] = useState("");
  const doing = useDoing((key, amount) => props.act(key, amount as string), props.done);
  const value = parseAmount(typed);
  const wrong = wrongAmount(typed, props.most);
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    if (value && !wrong) doing.mutate([exact(value), props.wish ?? ""], { onSuccess: () => setTyped("") });
  };
  return (
    <Bed title={props.title} lead={props.lead}>
      <form className="stack" onSubmit={send}>
        <Field label="Amount" wrong={wrong}>
          {(id, described) => (
            <span className="with-unit">
              <input id={id} className="input" inputMode="decimal" autoComplete="off" value={typed} aria-describedby={described} aria-invalid={wrong !== null} onChange={(event) => setTyped(event.target.value)} />
              GLN
              <button type="button" className="button small" onClick={() => setTyped(exact(units(props.most)))}>
                All
              </button>
            </span>
          )}
        </Field>
        {props.children}
        {doing.error ? <Trouble error={doing.error} /> : null}
        <div>
          <button type="submit" className="button" disabled={!value || wrong !== null || doing.isPending}>
            {doing.isPending ? "Waiting for the chain" : props.verb}
          </button>
        </div>
      </form>
    </Bed>
  );
}

/** What is wrong with an amount as somebody typed it; null if nothing is, or nothing was typed. */
export function wrongAmount(typed: string, most: string): string | null {
  if (typed === "") return null;
  const value = parseAmount(typed);
  if (value === null) return "Write a number of GLN, such as 2.5";
  return value > units(most) ? `That is more than the ${exact(units(most))} GLN there are` : null;
}
