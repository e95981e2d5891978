import { useRef, useState } from "react";
import { words } from "../api/http";
import { Icon } from "../ui/Icon";
import { type Folder, fromDrop, fromList } from "./folder";

/** A place to drop a folder or files on; also by buttons, for those who cannot drag. */
export function DropZone({ onPicked, onWrong, what, about, small }: { onPicked: (folder: Folder) => void; onWrong: (text: string) => void; what: string; about: string; small?: boolean }) {
  const [over, setOver] = useState(false);
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const drop = async (event: React.DragEvent) => {
    event.preventDefault();
    setOver(false);
    try {
      onPicked(await fromDrop(event.dataTransfer.items));
    } catch (error) {
      onWrong(words(error));
    }
  };
  const chosen = (event: React.ChangeEvent<HTMLInputElement>) => {
    if (event.target.files?.length) onPicked(fromList(event.target.files));
    event.target.value = "";
  };
  return (
    <div
      className={`drop${over ? " over" : ""}${small ? " small" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => void drop(event)}
    >
      <Icon name="up" size={small ? 24 : 34} />
      <strong>Drop {what} here</strong>
      <p className="soft">{about}</p>
      <div className="row">
        <button type="button" className="button" onClick={() => folder.current?.click()}>
          Choose a folder
        </button>
        <button type="button" className="button" onClick={() => files.current?.click()}>
          Choose files
        </button>
      </div>
      <input ref={folder} type="file" hidden onChange={chosen} aria-label="Folder" {...{ webkitdirectory: "" }} />
      <input ref={files} type="file" hidden multiple onChange={chosen} aria-label="Files" />
    </div>
  );
}
