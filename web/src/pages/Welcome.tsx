// Where a link leads that signs in once, such as the one that `gleaner demo` prints. What it carries is behind the `#`, which no
// log sees, and is taken out of the address at once.
import { useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import "../account/account.css";
import { useThen } from "../account/then";
import * as hub from "../api/hub";
import { enter } from "../app/session";
import { Bed, Trouble, Waiting } from "../ui/parts";

export default function Welcome() {
  const then = useThen();
  const [, go] = useLocation();
  const [error, setError] = useState<unknown>(null);
  const begun = useRef(false);
  useEffect(() => {
    const come = async () => {
      const code = location.hash.slice(1);
      history.replaceState(null, "", location.pathname + location.search);
      setError(null);
      if (!code) throw new Error("This address has lost what signs you in: it stands behind the # of the link. Open the link once more, all of it.");
      await hub.signInByLink(code);
      await enter();
      go(then, { replace: true });
    };
    const begin = () => void come().catch(setError);
    if (!begun.current) begin();
    begun.current = true;
    // Another link that is opened in the same tab loads nothing anew.
    window.addEventListener("hashchange", begin);
    return () => window.removeEventListener("hashchange", begin);
  }, [then, go]);
  return (
    <div className="gate">
      <h1>Welcome</h1>
      {error ? (
        <Bed>
          <div className="stack">
            <Trouble error={error} />
            <p>
              A link signs in once and for five minutes. Press Enter where the demo runs, and it prints another one; or{" "}
              <Link href="/">look at the network</Link>, which everybody may.
            </p>
          </div>
        </Bed>
      ) : (
        <Waiting what="your session" />
      )}
    </div>
  );
}
