// The quote: cheap, balanced and fast side by side, before anything is paid.
import { Link } from "wouter";
import { Refusal } from "../api/http";
import type { DeskChoice, DeskQuote, DeskWallet } from "../api/views";
import { units } from "../format/amount";
import { counted } from "../format/number";
import { clock } from "../format/time";
import { useNow } from "../ui/now";
import { Bed, Trouble } from "../ui/parts";
import { Money, Pill, type Tone } from "../ui/words";
import { finish, hasEnded, priceRange, reserved, sureWord } from "./offer";

const WORDS: Record<DeskChoice["name"], string> = { cheap: "Cheap", balanced: "Balanced", fast: "Fast" };
const TONES: Record<DeskChoice["sure"], Tone> = { unknown: "plain", guess: "plain", rough: "straw", fair: "corn", good: "leaf" };

export function Choices(props: {
  quoted: DeskQuote;
  choice: DeskChoice["name"];
  onChoice: (name: DeskChoice["name"]) => void;
  wallet: DeskWallet | undefined;
  busy: boolean;
  error: unknown;
  onRun: () => void;
  onAgain: () => void;
}) {
  const { quoted, wallet, error } = props;
  const now = useNow();
  const chosen = quoted.choices.find((one) => one.name === props.choice);
  const most = reserved(quoted, chosen);
  const short = wallet ? most > units(wallet.balance) + units(wallet.deposited) : false;
  const ended = hasEnded(chosen, now) || (error instanceof Refusal && error.code === "quote-expired");
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
            <One key={one.name} choice={one} cap={quoted.cap} chosen={one.name === props.choice} onChoose={() => props.onChoice(one.name)} />
          ))}
        </div>
        <p className="soft">
          <Money amount={most} /> is set aside while it runs, and nothing beyond it is ever charged. What is not used comes back to you.
          {wallet ? (
            <>
              {" "}
              You have <Money amount={units(wallet.balance) + units(wallet.deposited)} />.
            </>
          ) : null}
        </p>
        {short ? <TooPoor wallet={wallet} /> : null}
        {ended ? (
          <div className="notice straw" role="status">
            <strong>This price has run out</strong>
            <p>Prices bind for ten minutes. Ask for a new one; nothing was paid.</p>
          </div>
        ) : error ? (
          <Trouble error={error} />
        ) : null}
        <div>
          {ended ? (
            <button type="button" className="button main" disabled={props.busy} onClick={props.onAgain}>
              See the price again
            </button>
          ) : (
            <button type="button" className="button main" disabled={props.busy || short} onClick={props.onRun}>
              {props.busy ? "Submitting" : "Pay and run"}
            </button>
          )}
        </div>
      </div>
    </Bed>
  );
}

function TooPoor({ wallet }: { wallet: DeskWallet | undefined }) {
  return (
    <div className="notice straw">
      <strong>Your wallet has less than that</strong>
      <p>
        {wallet?.faucet ? "On this network a faucet gives tokens away. " : ""}
        <Link href="/wallet">Open your wallet</Link>, then come back; this page keeps the job file as long as it stays open.
      </p>
    </div>
  );
}

function One({ choice, cap, chosen, onChoose }: { choice: DeskChoice; cap: string; chosen: boolean; onChoose: () => void }) {
  return (
    <label className="choice">
      <input type="radio" name="choice" checked={chosen} onChange={onChoose} />
      <span className="choice-name">{WORDS[choice.name]}</span>
      <span className="choice-price">{choice.price ? <Money amount={choice.price.expected} /> : "not known yet"}</span>
      {choice.price ? <span>{priceRange(choice)}</span> : null}
      <span>{finish(choice)}</span>
      <span>
        <Pill tone={TONES[choice.sure]}>{sureWord(choice)}</Pill> <span className="soft small">{choice.why}</span>
      </span>
      <span className="faint small">
        {choice.binding ? (
          <>
            binding: <Money amount={choice.binding.price} /> and not more, if you order until {clock(choice.binding.until)}
          </>
        ) : (
          <>
            nothing binds but the cap: never more than <Money amount={cap} />
          </>
        )}
      </span>
    </label>
  );
}
