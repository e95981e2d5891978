// The quote: cheap, balanced and fast side by side, before anything is paid.
import { Link } from "wouter";
import type { Choice, DeskQuote, DeskWallet } from "../api/pending";
import { units } from "../format/amount";
import { counted } from "../format/number";
import { span } from "../format/time";
import { Bed, Trouble } from "../ui/parts";
import { Money } from "../ui/words";

const WORDS: Record<Choice["name"], string> = { cheap: "Cheap", balanced: "Balanced", fast: "Fast" };

export function Choices(props: {
  quoted: DeskQuote;
  choice: string;
  onChoice: (name: string) => void;
  wallet: DeskWallet | undefined;
  busy: boolean;
  error: unknown;
  onRun: () => void;
}) {
  const { quoted, wallet } = props;
  const chosen = quoted.choices.find((one) => one.name === props.choice);
  const cap = chosen?.cap ?? quoted.cap;
  const short = wallet ? units(cap) > units(wallet.balance) + units(wallet.deposited) : false;
  return (
    <Bed title="What it would cost" lead={`${counted(quoted.tasks, "task")}. Prices are for all of them together.`}>
      <div className="stack">
        {quoted.reasons.map((reason) => (
          <div key={reason.code + reason.text} className="notice straw">
            <p>{reason.text}</p>
          </div>
        ))}
        <div className="choices" role="radiogroup" aria-label="How it should run">
          {quoted.choices.map((one) => (
            <One key={one.name} choice={one} chosen={one.name === props.choice} onChoose={() => props.onChoice(one.name)} />
          ))}
        </div>
        <p className="soft">
          <Money amount={cap} /> is set aside while it runs. What is not used comes back to you.
          {wallet ? (
            <>
              {" "}
              You have <Money amount={units(wallet.balance) + units(wallet.deposited)} />.
            </>
          ) : null}
        </p>
        {short ? (
          <div className="notice straw">
            <strong>Your wallet has less than that</strong>
            <p>
              {wallet?.faucet ? "On this network a faucet gives tokens away. " : ""}
              <Link href="/wallet">Open your wallet</Link>, then come back; this page keeps the job file as long as it stays open.
            </p>
          </div>
        ) : null}
        {props.error ? <Trouble error={props.error} /> : null}
        <div>
          <button type="button" className="button main" disabled={props.busy || short} onClick={props.onRun}>
            {props.busy ? "Submitting" : "Pay and run"}
          </button>
        </div>
      </div>
    </Bed>
  );
}

function One({ choice, chosen, onChoose }: { choice: Choice; chosen: boolean; onChoose: () => void }) {
  return (
    <label className="choice">
      <input type="radio" name="choice" checked={chosen} onChange={onChoose} />
      <span className="choice-name">{WORDS[choice.name] ?? choice.name}</span>
      <span className="choice-price">{choice.price ? <Money amount={choice.price} /> : "not known yet"}</span>
      <span>{choice.finish_ms ? finish(choice.finish_ms) : "nobody knows yet how long it takes"}</span>
      <span className="soft small">{choice.why}</span>
      <span className="faint small">{choice.rests_on > 0 ? `from ${counted(choice.rests_on, "earlier task")} like these` : "no task like these has run yet, so the cap is all that is sure"}</span>
    </label>
  );
}

function finish([from, to]: [number, number]): string {
  return span(from) === span(to) ? `done in about ${span(to)}` : `done in ${span(from)} to ${span(to)}`;
}
