//! The same files with every tool, over lines that are near, far and lossy.
use super::files::Data;
use super::line::Line;
use super::stage::{Cost, Stage};
use super::table::{self, Costs};
use super::tool::{Tool, Way};
use super::{Moves, chosen, say};
use anyhow::{Context, Result, anyhow, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// What is moved, and from where.
struct Plan<'a> {
    wanted: &'a Moves,
    kinds: Vec<Data>,
    tools: Vec<Tool>,
    source: PathBuf,
    failed: AtomicU32,
}

/// All lines that are wanted.
pub fn measure(wanted: &Moves) -> Result<()> {
    let source = wanted.common.cleared()?.join("source");
    std::fs::create_dir_all(&source)?;
    let (kinds, tools, failed) = (chosen(&wanted.kinds), chosen(&wanted.tools), AtomicU32::new(0));
    let plan = Plan { wanted, kinds, tools, source, failed };
    for data in &plan.kinds {
        data.write(&plan.source, wanted.common.sizes())?;
    }
    let (lossy, clear): (Vec<Line>, Vec<Line>) = chosen(&wanted.lines).into_iter().partition(|line| line.loses());
    for line in clear {
        let mut costs = Costs::new();
        for tool in &plan.tools {
            costs.extend(with_tool(&plan, line, *tool));
        }
        table::print(line, &plan.kinds, &plan.tools, wanted, &costs);
    }
    over_lossy(&plan, &lossy)?;
    match plan.failed.into_inner() {
        0 => Ok(()),
        failed => bail!("{failed} transfers failed, and are in no table"),
    }
}

/// Those that wait for lost packets wait beside each other, each on a line of its own; the others run alone.
fn over_lossy(plan: &Plan, lines: &[Line]) -> Result<()> {
    let (waiting, busy): (Vec<Tool>, Vec<Tool>) =
        plan.tools.iter().copied().partition(|tool| tool.waits_for_lost_packets());
    let mut all = vec![Costs::new(); lines.len()];
    for (line, costs) in lines.iter().zip(&mut all) {
        for tool in &busy {
            costs.extend(with_tool(plan, *line, *tool));
        }
    }
    let beside = std::thread::scope(|scope| {
        let threads: Vec<_> = lines
            .iter()
            .enumerate()
            .flat_map(|(place, line)| waiting.iter().map(move |tool| (place, *line, *tool)))
            .map(|(place, line, tool)| (place, scope.spawn(move || with_tool(plan, line, tool))))
            .collect();
        let ended = |(place, thread): (usize, std::thread::ScopedJoinHandle<'_, Costs>)| {
            Ok((place, thread.join().map_err(|_| anyhow!("a thread ended"))?))
        };
        threads.into_iter().map(ended).collect::<Result<Vec<_>>>()
    })?;
    beside.into_iter().for_each(|(place, costs)| all[place].extend(costs));
    for (line, costs) in lines.iter().zip(&all) {
        table::print(*line, &plan.kinds, &plan.tools, plan.wanted, costs);
    }
    Ok(())
}

/// Everything with one tool over one line: the fastest of all rounds.
fn with_tool(plan: &Plan, line: Line, tool: Tool) -> Costs {
    let mut costs = Costs::new();
    for data in (0..plan.wanted.rounds).flat_map(|_| &plan.kinds) {
        let what = format!("{} · {} · {}", line.title(), data.title(plan.wanted.common.sizes()), tool.title());
        let moved = match there_and_back(plan, line, tool, *data) {
            Ok(moved) => moved,
            // The others go on; it stands in no table, and this program fails in the end.
            Err(error) => {
                say(&format!("{what} FAILED: {error:#}"));
                plan.failed.fetch_add(1, Ordering::Relaxed);
                continue;
            }
        };
        for (way, cost) in Way::BOTH.into_iter().zip(moved) {
            let Some(cost) = cost else { continue };
            let given_up = if cost.near.is_given_up() { ", given up" } else { "" };
            let (seconds, processor) = (cost.near.seconds, cost.processor());
            say(&format!("{what} · {}: {seconds:.2} s{given_up}, processor {processor:.2} s", way.title()));
            let best = costs.entry((*data, way, tool)).or_insert(cost);
            if seconds < best.near.seconds {
                *best = cost;
            }
        }
    }
    costs
}

/// Pushes, pulls what was pushed, and compares.
fn there_and_back(plan: &Plan, line: Line, tool: Tool, data: Data) -> Result<[Option<Cost>; 2]> {
    let common = &plan.wanted.common;
    let folder = common.folder.join(format!("{line:?}-{tool:?}"));
    if folder.exists() {
        std::fs::remove_dir_all(&folder).context("removing what a failed transfer left")?;
    }
    let stage = Stage::start(tool, line.shape(), folder, &common.gleaner)?;
    let push = stage.run(&tool.line(Way::Push, data, &plan.source, &stage)?, common.limit)?;
    let is_there = !push.near.is_given_up() || put_there(tool, data, &plan.source, &stage)?;
    let pull = if is_there {
        let pull = stage.run(&tool.line(Way::Pull, data, &plan.source, &stage)?, common.limit)?;
        if !pull.near.is_given_up() {
            compare(&plan.source.join(data.name()), &stage.folder().join("target").join(data.name()))?;
        }
        Some(pull)
    } else {
        None
    };
    stage.clear()?;
    Ok([Some(push), pull])
}

/// Gives the server what it should have been sent, so that the way back can be measured all the same. Whether that is
/// possible: a hub takes what was sealed only.
fn put_there(tool: Tool, data: Data, source: &Path, stage: &Stage) -> Result<bool> {
    let (from, served) = (source.join(data.name()), stage.folder().join("served"));
    // Whoever is still writing goes on beside it.
    std::fs::rename(&served, stage.folder().join("given-up"))?;
    std::fs::create_dir(&served)?;
    let mut command = match tool {
        Tool::Gleaner => return Ok(false),
        Tool::RsyncSsh | Tool::RsyncPlain | Tool::Scp => {
            let mut command = Command::new("cp");
            command.arg("-rT").arg(&from).arg(served.join(data.name()));
            command
        }
        Tool::Curl | Tool::Stream if data.is_folder() => {
            let mut command = Command::new("tar");
            command.arg("cf").arg(served.join("moved")).arg("-C").arg(&from).arg(".");
            command
        }
        Tool::Curl | Tool::Stream => {
            let mut command = Command::new("cp");
            command.arg(&from).arg(served.join("moved"));
            command
        }
    };
    let copied = command.status().context("giving the server what it should have been sent")?;
    if !copied.success() {
        bail!("{command:?} ended with {copied}");
    }
    Ok(true)
}

fn compare(sent: &Path, arrived: &Path) -> Result<()> {
    let inside = arrived.join(sent.file_name().unwrap_or_default());
    let arrived = if sent.is_file() && arrived.is_dir() { inside } else { arrived.to_owned() };
    let same = Command::new("diff").args(["-rq", "--"]).arg(sent).arg(&arrived).status()?;
    if !same.success() {
        bail!("{} is not what {} was", arrived.display(), sent.display());
    }
    Ok(())
}
