import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useRef, useState } from "react";
import * as hub from "../api/hub";
import { words } from "../api/http";
import type { FileTree } from "../api/views";
import * as queries from "../api/queries";
import { say } from "../app/toast";
import { Datasets } from "../files/Datasets";
import { bytes, count, counted } from "../format/number";
import { DropZone } from "../newjob/DropZone";
import type { Folder } from "../newjob/folder";
import { type Progress, upload } from "../newjob/upload";
import { type Column, DataTable } from "../ui/DataTable";
import { Answer, Bed, Empty, Head, Trouble } from "../ui/parts";
import { Sheet } from "../ui/Sheet";
import { Meter, When } from "../ui/words";
import "../newjob/newjob.css";

export default function Files() {
  const files = useQuery(queries.files);
  const [removing, setRemoving] = useState<FileTree | null>(null);
  const columns = useMemo<Column<FileTree>[]>(
    () => [
      { id: "name", head: "Name", lead: true, by: (file) => file.name, cell: (file) => <strong className="wrap-anywhere">{file.name}</strong> },
      { id: "files", head: "Files", number: true, by: (file) => file.files, cell: (file) => count(file.files) },
      { id: "bytes", head: "Size", number: true, by: (file) => file.bytes, cell: (file) => bytes(file.bytes) },
      { id: "at", head: "Changed", number: true, by: (file) => file.modified_at, cell: (file) => <When at={file.modified_at} /> },
      {
        id: "do",
        head: "Remove",
        unnamed: true,
        number: true,
        cell: (file) => (
          <button type="button" className="button small danger" onClick={() => setRemoving(file)}>
            Remove
          </button>
        ),
      },
    ],
    [],
  );
  return (
    <>
      <Head title="Files">Folders that your jobs read, sent once and used as often as you like, and datasets that the hub keeps for you.</Head>
      <div className="stack">
        <Sender />
        <Bed flush title="Your files" lead="Sent from here or with a new job. Whoever runs this desk can read them.">
          <Answer query={files} what="files">
            {(page) =>
              page.items.length > 0 ? (
                <DataTable rows={page.items} columns={columns} id={(file) => file.name} label="Files" />
              ) : (
                <Empty title="Nothing here yet">Drop a folder above, and name it in a job file. Folders that come with a new job appear here too.</Empty>
              )
            }
          </Answer>
        </Bed>
        <Datasets />
      </div>
      {removing ? <Removing file={removing} onClose={() => setRemoving(null)} /> : null}
    </>
  );
}

function Sender() {
  const [progress, setProgress] = useState<Progress | null>(null);
  const [wrong, setWrong] = useState<string | null>(null);
  const stop = useRef<AbortController>(null);
  const cache = useQueryClient();
  const sending = useMutation({
    mutationFn: async (folder: Folder) => {
      setWrong(null);
      stop.current = new AbortController();
      await upload(folder.name, folder.files, setProgress, stop.current.signal);
      return folder;
    },
    onSuccess: (folder) => say(`${folder.name} is here.`),
    onSettled: () => {
      setProgress(null);
      void cache.invalidateQueries({ queryKey: ["files"] });
    },
  });
  if (progress)
    return (
      <Bed title="Sending">
        <div className="stack tight">
          <Meter share={progress.total > 0 ? progress.sent / progress.total : 1} tone="corn" label="Files sent" />
          <p className="small soft" role="status">
            {bytes(progress.sent)} of {bytes(progress.total)}: {progress.path}
          </p>
          <div>
            <button type="button" className="button small" onClick={() => stop.current?.abort()}>
              Stop
            </button>
          </div>
        </div>
      </Bed>
    );
  return (
    <>
      <DropZone what="a folder or files" about="Everything in it is sent. A broken upload goes on where it stopped." onPicked={(folder) => sending.mutate(folder)} onWrong={setWrong} />
      {wrong ? <p className="notice straw">{wrong}</p> : null}
      {sending.error ? <Trouble error={sending.error} /> : null}
    </>
  );
}

function Removing({ file, onClose }: { file: FileTree; onClose: () => void }) {
  const cache = useQueryClient();
  const remove = async () => {
    try {
      await hub.removeFiles(file.name);
      say(`${file.name} is removed.`);
    } catch (error) {
      say(words(error));
    }
    onClose();
    await cache.invalidateQueries({ queryKey: ["files"] });
  };
  return (
    <Sheet title={`Remove ${file.name}?`} onClose={onClose}>
      <p>
        {counted(file.files, "file")}, {bytes(file.bytes)}. Jobs that have begun keep what they read; new ones cannot read it any more.
      </p>
      <div className="row">
        <button type="button" className="button danger" onClick={() => void remove()}>
          Remove it
        </button>
        <button type="button" className="button" onClick={onClose}>
          Keep it
        </button>
      </div>
    </Sheet>
  );
}
