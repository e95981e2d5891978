//! How a job goes over time and over its graph, as JSON: attempts for a chart by worker, and its `[[task]]`s with what leads
//! from one to the other.
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::api::{JobState, JobView};
use crate::{AttemptId, Cause, Extent, JobId, Millis, Runtime, WorkerId};

/// One job, whole, and where its trace is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TracedJob {
    /// The job.
    #[serde(flatten)]
    pub view: JobView,
    /// The trace under which its spans are found, 32 hexadecimal digits; none if the hub sends no spans.
    #[serde(default)]
    pub trace_id: Option<String>,
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AttemptState {
    /// It runs, or waits on its worker.
    Running,
    /// It delivered a result.
    Done,
    /// It failed or was lost, or its result was found wrong.
    Failed,
    /// It was called off: another was faster, or its job ended.
    Cancelled,
}

/// One try of a task on one worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttemptView {
    /// The attempt.
    pub attempt: AttemptId,
    /// The task, as `name[index]`.
    pub task: String,
    /// The position of its `[[task]]` in the job.
    pub group: u16,
    /// The element.
    pub index: u32,
    /// The worker.
    pub worker: WorkerId,
    /// Its name.
    pub worker_name: String,
    /// When it was placed.
    pub started_at: Millis,
    /// When it ended.
    pub ended_at: Option<Millis>,
    /// What became of it.
    pub state: AttemptState,
    /// Why it failed, if it did.
    pub cause: Option<Cause>,
    /// Why it was placed there.
    pub why: String,
    /// Whether it was a second attempt beside a slow one.
    pub second: bool,
}

/// The attempts of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttemptsView {
    /// The job.
    pub job: JobId,
    /// The newest ones, in the order in which they were placed.
    pub items: Vec<AttemptView>,
    /// How many more there were before.
    pub not_listed: u64,
}

/// A job as a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GraphView {
    /// The job.
    pub job: JobId,
    /// Where it stands.
    #[serde(flatten)]
    pub state: JobState,
    /// Its `[[task]]`s.
    pub nodes: Vec<GraphNode>,
    /// What leads from one to another.
    pub edges: Vec<GraphEdge>,
}

/// One `[[task]]` of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GraphNode {
    /// Its position in the job.
    pub group: u16,
    /// Its name.
    pub name: String,
    /// Its runtime.
    pub runtime: Runtime,
    /// What its elements are.
    pub extent: Extent,
    /// How many elements.
    pub tasks: u64,
    /// How many elements stand where.
    pub counts: GraphCounts,
}

/// How many elements of a `[[task]]` stand where; together they are all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GraphCounts {
    /// Wait for what they read.
    pub blocked: u64,
    /// Wait for a worker.
    pub queued: u64,
    /// Run.
    pub running: u64,
    /// Are delivered and not checked yet.
    pub unchecked: u64,
    /// Are done.
    pub done: u64,
    /// Will not be done, because the job ended before.
    pub dropped: u64,
}

/// One `[[task]]` reads what another delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GraphEdge {
    /// Which delivers, by its position.
    pub from: u16,
    /// Which reads.
    pub to: u16,
}

impl GraphView {
    /// The graph of a job.
    pub fn of(view: &JobView) -> Self {
        let has_ended = view.summary.state.has_ended();
        let mut edges = Vec::new();
        let nodes = (0..).zip(&view.groups).map(|(group, of)| {
            edges.extend(of.reads.iter().map(|from| GraphEdge { from: *from, to: group }));
            // Two attempts may run at one element, and what waits for its inputs is in no queue.
            let known = of.done.saturating_add(of.unchecked).saturating_add(of.queued);
            let open = of.tasks.saturating_sub(known);
            let running = of.running.min(open);
            let rest = open - running;
            let (blocked, queued, dropped) =
                if has_ended { (0, 0, rest + running + of.queued) } else { (rest, of.queued, 0) };
            let running = if has_ended { 0 } else { running };
            let counts = GraphCounts { blocked, queued, running, unchecked: of.unchecked, done: of.done, dropped };
            let (name, runtime, extent, tasks) = (of.name.clone(), of.runtime, of.extent, of.tasks);
            GraphNode { group, name, runtime, extent, tasks, counts }
        });
        let nodes = nodes.collect();
        edges.dedup();
        Self { job: view.summary.id, state: view.summary.state.clone(), nodes, edges }
    }
}
