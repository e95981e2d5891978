//! Names of tasks, and the order that their inputs put them in.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use gleaner_wire::job_file::JobFile;

use super::{Error, Reason, is_name};

/// The position of each task by name.
pub(super) fn names(file: &JobFile) -> Result<BTreeMap<&str, u16>, Error> {
    let mut names = BTreeMap::new();
    for (at, task) in file.tasks.iter().enumerate() {
        let place = || format!("task[{at}].name");
        if !is_name(&task.name) {
            return Err(Error::new(place(), Reason::Name(task.name.clone())));
        }
        if names.insert(task.name.as_str(), at as u16).is_some() {
            return Err(Error::new(place(), Reason::NameTwice(task.name.clone())));
        }
    }
    Ok(names)
}

/// Refuses tasks that wait for each other, naming the way round.
pub(super) fn refuse_cycles(file: &JobFile, names: &BTreeMap<&str, u16>) -> Result<(), Error> {
    let mut waits = vec![0_usize; file.tasks.len()];
    let mut readers = vec![Vec::new(); file.tasks.len()];
    for (reader, task) in file.tasks.iter().enumerate() {
        for from in task.inputs.iter().filter_map(|input| input.from.as_deref()) {
            waits[reader] += 1;
            readers[usize::from(names[from])].push(reader);
        }
    }
    let mut ready: Vec<usize> = (0..waits.len()).filter(|at| waits[*at] == 0).collect();
    while let Some(at) = ready.pop() {
        for reader in &readers[at] {
            waits[*reader] -= 1;
            if waits[*reader] == 0 {
                ready.push(*reader);
            }
        }
    }
    match waits.iter().position(|left| *left > 0) {
        None => Ok(()),
        Some(at) => Err(describe_cycle(file, names, &waits, at)),
    }
}

/// Follows inputs among the tasks that never became ready until one comes round again.
fn describe_cycle(file: &JobFile, names: &BTreeMap<&str, u16>, waits: &[usize], start: usize) -> Error {
    let mut path = vec![start];
    loop {
        let at = path[path.len() - 1];
        let blocked = |from: &str| waits[usize::from(names[from])] > 0;
        let inputs = file.tasks[at].inputs.iter().enumerate();
        let next = inputs.filter_map(|(position, input)| Some((position, input.from.as_deref()?)));
        let (position, from) =
            next.into_iter().find(|(_, from)| blocked(from)).expect("a blocked task has a blocked input");
        let next = usize::from(names[from]);
        if let Some(first) = path.iter().position(|seen| *seen == next) {
            let mut round: Vec<&str> = path[first..].iter().map(|at| file.tasks[*at].name.as_str()).collect();
            round.push(from);
            let text: String = round.join(" ← ");
            return Error::new(format!("task[{at}].input[{position}].from"), Reason::Cycle(text));
        }
        path.push(next);
    }
}
