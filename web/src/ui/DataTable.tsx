// A table that can be sorted, and folds into cards where there is no room.
import { type ColumnDef, createSortedRowModel, rowSortingFeature, type SortingState, tableFeatures, useTable } from "@tanstack/react-table";
import { type ReactNode, useMemo, useState } from "react";

const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel() });

export interface Column<T> {
  id: string;
  head: string;
  cell: (row: T) => ReactNode;
  /** What it is sorted by; a column without cannot be sorted. */
  by?: (row: T) => number | string | bigint;
  number?: boolean;
  /** The cell that names its row. */
  lead?: boolean;
  /** Whether its head is only for those who hear it. */
  unnamed?: boolean;
}

export interface TableProps<T> {
  rows: T[];
  columns: Column<T>[];
  id: (row: T) => string;
  label: string;
  sorting?: SortingState;
  /** How many rows are shown before somebody asks for all. */
  first?: number;
}

function compare(one: unknown, two: unknown): number {
  if (typeof one === "string" && typeof two === "string") return one.localeCompare(two, "en", { numeric: true });
  return (one as number) < (two as number) ? -1 : (one as number) > (two as number) ? 1 : 0;
}

export function DataTable<T extends object>(props: TableProps<T>) {
  const [sorting, setSorting] = useState<SortingState>(props.sorting ?? []);
  const columns = useMemo(
    () =>
      props.columns.map(
        (column): ColumnDef<typeof features, T> => ({
          id: column.id,
          accessorFn: column.by ?? (() => null),
          enableSorting: column.by !== undefined,
          sortFn: (one, two, id) => compare(one.getValue(id), two.getValue(id)),
          sortDescFirst: column.number,
        }),
      ),
    [props.columns],
  );
  const table = useTable({ features, columns, data: props.rows, getRowId: props.id, state: { sorting }, onSortingChange: setSorting });
  const [all, setAll] = useState(false);
  const rows = table.getRowModel().rows;
  const cut = all || props.first === undefined ? rows : rows.slice(0, props.first);
  const shown = new Map(props.columns.map((column) => [column.id, column]));
  return (
    <div className="table-wrap" tabIndex={0}>
      <table className="table folds">
        <caption className="hidden">{props.label}</caption>
        <thead>
          <tr>
            {props.columns.map((column) => {
              const sorted = sorting.find((one) => one.id === column.id);
              return (
                <th key={column.id} className={column.number ? "number" : undefined} scope="col" aria-sort={sorted ? (sorted.desc ? "descending" : "ascending") : undefined}>
                  {column.by ? (
                    <button type="button" onClick={() => table.getColumn(column.id)?.toggleSorting()}>
                      {column.head}
                      <span aria-hidden="true">{sorted ? (sorted.desc ? " ↓" : " ↑") : ""}</span>
                    </button>
                  ) : column.unnamed ? (
                    <span className="hidden">{column.head}</span>
                  ) : (
                    column.head
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {cut.map((row) => (
            <tr key={row.id}>
              {row.getAllCells().map((cell) => {
                const column = shown.get(cell.column.id) as Column<T>;
                const names = [column.number ? "number" : "", column.lead ? "lead" : ""].join(" ").trim();
                return (
                  <td key={cell.id} className={names || undefined} data-label={column.unnamed ? "" : column.head}>
                    {column.cell(row.original)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {cut.length < rows.length ? (
        <button type="button" className="button small show-all" onClick={() => setAll(true)}>
          Show all {rows.length}
        </button>
      ) : null}
    </div>
  );
}
