import { type ReactNode, useEffect, useId, useRef } from "react";
import { Icon } from "./Icon";

/** A dialog over the page. Escape and the cross close it; the browser keeps the focus inside. */
export function Sheet({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    if (element && !element.open) element.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog ref={dialog} className="sheet" aria-labelledby={id} onClose={onClose} onCancel={onClose}>
      <div className="stack">
        <div className="row spread">
          <h2 id={id}>{title}</h2>
          <button type="button" className="icon-button" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
