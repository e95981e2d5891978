import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import * as hub from "../api/hub";
import * as queries from "../api/queries";
import type { DatasetView } from "../api/views";
import { say } from "../app/toast";
import { bytes, counted, percent, short } from "../format/number";
import { type Column, DataTable } from "../ui/DataTable";
import { Answer, Bed, Empty, Switch, Trouble } from "../ui/parts";
import { Sheet } from "../ui/Sheet";
import { When } from "../ui/words";
import { heldShare, keptFor, listed } from "./datasets";

const WHICH = [
  ["pushed", "Pushed"],
  ["all", "Of jobs too"],
] as const;

/** What the hub keeps for the account, with what takes it away. */
export function Datasets() {
  const datasets = useQuery(queries.datasets);
  const [which, setWhich] = useState<(typeof WHICH)[number][0]>("pushed");
  const [removing, setRemoving] = useState<DatasetView | null>(null);
  const columns = useMemo<Column<DatasetView>[]>(
    () => [
      { id: "root", head: "Dataset", lead: true, cell: ({ data }) => <code title={data.root.id}>{short(data.root.id)}</code> },
      { id: "kind", head: "Kept because", by: keptFor, cell: keptFor },
      {
        id: "bytes",
        head: "Size",
        number: true,
        by: ({ data }) => data.bytes,
        cell: (dataset) => (
          <>
            {bytes(dataset.data.bytes)}
            {heldShare(dataset) < 1 ? <span className="small soft"> ({percent(heldShare(dataset))} here)</span> : null}
          </>
        ),
      },
      { id: "at", head: "Came", number: true, by: ({ made_ms }) => made_ms, cell: ({ made_ms }) => <When at={made_ms} /> },
      { id: "until", head: "Kept until", number: true, by: ({ until_ms }) => until_ms ?? Number.MAX_SAFE_INTEGER, cell: ({ until_ms }) => (until_ms === null ? "you remove it" : <When at={until_ms} />) },
      {
        id: "do",
        head: "Remove",
        unnamed: true,
        number: true,
        cell: (dataset) => (
          <button type="button" className="button small danger" aria-label={`Remove the dataset ${short(dataset.data.root.id)}`} onClick={() => setRemoving(dataset)}>
            Remove
          </button>
        ),
      },
    ],
    [],
  );
  return (
    <Bed
      flush
      title="Your datasets"
      lead={
        <>
          Sealed, and so are their names: the hub keeps them and cannot read them. <code>gleaner data list</code> shows what you have called yours.
        </>
      }
      actions={<Switch label="Which datasets" value={which} choices={WHICH} onChange={setWhich} />}
    >
      <Answer query={datasets} what="datasets">
        {({ items }) => {
          const shown = listed(items, which);
          return shown.length > 0 ? (
            <DataTable rows={shown} columns={columns} id={({ data }) => data.root.id} label="Datasets" first={50} />
          ) : (
            <Empty title={which === "pushed" ? "You have pushed no dataset" : "Nothing is kept for you"}>
              <code>gleaner data push FOLDER</code> brings one that jobs of the command line can read as often as they like.
            </Empty>
          );
        }}
      </Answer>
      {removing ? <Removing dataset={removing} onClose={() => setRemoving(null)} /> : null}
    </Bed>
  );
}

function Removing({ dataset, onClose }: { dataset: DatasetView; onClose: () => void }) {
  const cache = useQueryClient();
  const removing = useMutation({
    mutationFn: () => hub.removeDataset(dataset.data.root.id),
    onSuccess: () => {
      say("The dataset is removed.");
      onClose();
    },
    onSettled: () => cache.invalidateQueries({ queryKey: ["datasets"] }),
  });
  return (
    <Sheet title={`Remove ${short(dataset.data.root.id)}?`} onClose={onClose}>
      <p>
        {bytes(dataset.data.bytes)} in {counted(dataset.chunks, "chunk")}, {keptFor(dataset)}. Nobody can bring it back; who needs it again pushes it again.
      </p>
      {removing.error ? <Trouble error={removing.error} /> : null}
      <div className="row">
        <button type="button" className="button danger" disabled={removing.isPending} onClick={() => removing.mutate()}>
          Remove it
        </button>
        <button type="button" className="button" onClick={onClose}>
          Keep it
        </button>
      </div>
    </Sheet>
  );
}
