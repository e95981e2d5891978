//! From a job file to a graph of tasks, or a refusal that names the place and the reason.
//!
//! Each `[[task]]` becomes a group; its elements stay a count, so a job of ten million tasks plans in no time.
mod blender;
mod check;
mod container;
mod error;
mod group;
mod order;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::job_file::{JobFile, Prefer};
use gleaner_wire::market::Market;
use gleaner_wire::{Amount, Extent, Millis, Needs, Quote, TASKS_MAX, TaskSpec};
use serde::{Deserialize, Serialize};

pub use error::{Error, Reason};

/// The longest time limit of a job and of a task.
pub const TIME_MAX: Millis = Millis(30 * 86_400_000);
/// The time limit of a job that names none.
pub const JOB_TIME_DEFAULT: Millis = Millis(86_400_000);

/// A planned job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    /// What people call it.
    pub name: String,
    /// What matters more, time or money.
    pub prefer: Prefer,
    /// How its workers are found and how firmly they are held.
    pub market: Market,
    /// The price cap, if the job names one.
    pub price_max: Option<Amount>,
    /// The time limit of the whole job.
    pub time_max: Millis,
    /// What the hub has promised for it; the shell has seen its own signature under it.
    pub quote: Option<Quote>,
    /// The `[[task]]`s, in the order of the file.
    pub groups: Vec<Group>,
}

/// One `[[task]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// What its workers are told.
    pub spec: TaskSpec,
    /// What its workers must have.
    pub needs: Needs,
    /// Whether a known result may be used.
    pub memo: bool,
}

impl Graph {
    /// How many tasks.
    pub fn tasks(&self) -> u64 {
        self.groups.iter().map(|group| group.spec.extent.count()).sum()
    }
}

/// Plans a job.
pub fn plan(file: &JobFile) -> Result<Graph, Error> {
    if !is_printable(&file.name, 128) {
        return Err(Error::new("name", Reason::Text(128)));
    }
    if file.tasks.is_empty() {
        return Err(Error::new("task", Reason::NoTasks));
    }
    if file.tasks.len() > usize::from(u16::MAX) {
        return Err(Error::new("task", Reason::TooManyGroups));
    }
    let time_max = span("budget.time_max", file.budget.time_max.as_deref(), JOB_TIME_DEFAULT)?;
    if file.budget.price_max == Some(Amount::ZERO) {
        return Err(Error::new("budget.price_max", Reason::Free));
    }
    let names = order::names(file)?;
    let extents = extents(file)?;
    let groups = file.tasks.iter().enumerate();
    let groups = groups.map(|(at, _)| group::plan_group(file, at, &names, &extents)).collect::<Result<Vec<_>, _>>()?;
    order::refuse_cycles(file, &names)?;
    let (prefer, market, price_max) = (file.prefer, file.market, file.budget.price_max);
    Ok(Graph { name: file.name.clone(), prefer, market, price_max, time_max, quote: None, groups })
}

/// What the elements of each group are; refused where there are more than the limit in all.
fn extents(file: &JobFile) -> Result<Vec<Extent>, Error> {
    let mut total = 0_u64;
    let mut extents = Vec::with_capacity(file.tasks.len());
    for (at, task) in file.tasks.iter().enumerate() {
        let extent = group::extent(task, at)?;
        total = total.saturating_add(extent.count());
        if total > TASKS_MAX {
            return Err(Error::new(format!("task[{at}]"), Reason::TooManyTasks(total)));
        }
        extents.push(extent);
    }
    Ok(extents)
}

fn span(at: &str, text: Option<&str>, default: Millis) -> Result<Millis, Error> {
    let Some(text) = text else { return Ok(default) };
    let span = Millis::parse_span(text).map_err(|error| Error::new(at, Reason::Quantity(error)))?;
    if span == Millis(0) || span > TIME_MAX {
        return Err(Error::new(at, Reason::TimeMax));
    }
    Ok(span)
}

fn is_printable(text: &str, chars_max: usize) -> bool {
    !text.trim().is_empty() && text.chars().count() <= chars_max && !text.chars().any(char::is_control)
}

/// Names become file and folder names, so only letters, digits, `-`, `_` and inner dots are taken.
fn is_name(text: &str) -> bool {
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    (1..=64).contains(&text.len()) && plain && !text.starts_with('.') && !text.ends_with('.')
}

#[cfg(test)]
mod tests;
