// The task graph: a box for each group, a grain for each task, lit as they move.
import { useQuery } from "@tanstack/react-query";
import { Controls, type Edge as FlowEdge, Handle, MarkerType, type Node, type NodeProps, Position, ReactFlow } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { useMemo } from "react";
import * as queries from "../api/queries";
import type { AttemptView, GroupView, JobView } from "../api/views";
import { counted, progress } from "../format/number";
import { spanMicros } from "../format/time";
import { hasEnded } from "../live/merge";
import { type Grain, grains } from "../ui/Kernels";
import { blocked, cells, edgesOf, layout } from "./graph";
import { extentWords, tilesOf } from "./task";

const WIDTH = 250;
const ACROSS = WIDTH + 90;
const DOWN = 190;

type GroupNode = Node<{ group: GroupView; states: Grain[]; columns: number; notReady: number }, "tasks">;

const TYPES = { tasks: Box };
const NONE: AttemptView[] = [];

export default function Graph({ job }: { job: JobView }) {
  const attempts = useQuery(queries.attempts(job.id)).data?.items ?? NONE;
  const ended = hasEnded(job);
  const nodes = useMemo(() => nodesOf(job.groups, attempts, ended), [job.groups, attempts, ended]);
  const edges = useMemo(() => flowEdges(job.groups), [job.groups]);
  const rows = Math.max(1, ...nodes.map((node) => Math.ceil(node.data.states.length / node.data.columns)));
  const tall = new Map<number, number>();
  for (const node of nodes) tall.set(node.position.x, (tall.get(node.position.x) ?? 0) + 1);
  const height = Math.min(620, Math.max(230, Math.max(...tall.values()) * (DOWN + Math.max(0, rows - 6) * 8) + 40));
  return (
    <div className="graph" style={{ height: `${height}px` }}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={TYPES}
        fitView
        fitViewOptions={{ padding: 0.12, maxZoom: 1 }}
        minZoom={0.2}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        zoomOnScroll={false}
        preventScrolling={false}
        aria-label="Task graph"
      >
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
}

function nodesOf(groups: GroupView[], attempts: AttemptView[], ended: boolean): GroupNode[] {
  const places = layout(
    groups.map((group) => group.name),
    edgesOf(groups),
  );
  return groups.map((group, index) => {
    const place = places[index] as { column: number; row: number };
    const states = cells(group, index, attempts) ?? grains(group, 200);
    const tiles = tilesOf(group.extent);
    const columns = tiles && group.tasks === states.length ? Math.ceil(tiles.width / tiles.tile_width) : Math.max(10, Math.ceil(Math.sqrt(states.length * 2.4)));
    return {
      id: group.name,
      type: "tasks" as const,
      position: { x: place.column * ACROSS, y: place.row * DOWN },
      data: { group, states, columns, notReady: ended ? 0 : blocked(group) },
      ariaLabel: `${group.name}: ${group.done} of ${counted(group.tasks, "task")} done`,
    };
  });
}

function flowEdges(groups: GroupView[]): FlowEdge[] {
  return edgesOf(groups).map(({ from, to }) => {
    const source = groups.find((group) => group.name === from);
    const target = groups.find((group) => group.name === to);
    return {
      id: `${from} to ${to}`,
      source: from,
      target: to,
      animated: (target?.running ?? 0) > 0,
      className: source && source.done === source.tasks ? "ripe" : undefined,
      markerEnd: { type: MarkerType.ArrowClosed, width: 18, height: 18 },
    };
  });
}

function Box({ data }: NodeProps<GroupNode>) {
  const { group, states, columns, notReady } = data;
  const tone = group.done === group.tasks ? "ripe" : group.running > 0 ? "alight" : "";
  const step = WIDTH / Math.max(columns, 12);
  const grain = Math.min(11, step * 0.56);
  return (
    <div className={`group-box ${tone}`} style={{ width: `${WIDTH + 32}px` }}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <div className="row spread">
        <strong>{group.name}</strong>
        <span className="faint small">{group.runtime}</span>
      </div>
      <svg className="kernels" viewBox={`0 0 ${WIDTH} ${Math.ceil(states.length / columns) * step}`} aria-hidden="true">
        {states.map((state, index) => {
          const x = ((index % columns) + 0.5) * step;
          const y = (Math.floor(index / columns) + 0.5) * step;
          return <rect key={index} className={state} x={x - grain / 2} y={y - grain / 2} width={grain} height={grain} rx={grain / 4} transform={`rotate(45 ${x} ${y})`} />;
        })}
      </svg>
      <p className="small soft">
        {progress(group.done, group.tasks)} of {counted(group.tasks, "task")}
        {group.running > 0 ? `, ${group.running} running` : ""}
        {group.unchecked > 0 ? `, ${group.unchecked} being checked` : ""}
        {group.queued > 0 ? `, ${group.queued} waiting` : ""}
        {notReady > 0 ? `, ${notReady} not ready: they read what is not done` : ""}
      </p>
      <p className="small faint">
        {extentWords(group.extent)}
        {group.predicted_micros && group.done < group.tasks ? `, about ${spanMicros(group.predicted_micros)} each at speed 1000` : ""}
        {group.saved > 0 ? `, ${group.saved} with a checkpoint` : ""}
      </p>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}
