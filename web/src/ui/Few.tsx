import { type ReactNode, useState } from "react";

/** The first few of many, and the rest for who wants to see them. */
export function Few<T>({ items, first, what, children }: { items: T[]; first: number; what: string; children: (shown: T[]) => ReactNode }) {
  const [all, setAll] = useState(false);
  const folded = !all && items.length > first;
  return (
    <>
      {children(folded ? items.slice(0, first) : items)}
      {folded ? (
        <div>
          <button type="button" className="button small" onClick={() => setAll(true)}>
            Show all {items.length} {what}
          </button>
        </div>
      ) : null}
    </>
  );
}
