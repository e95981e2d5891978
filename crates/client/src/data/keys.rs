//! The keys of a job: for each task what it opens and what seals its output. All come from the requester's secret.
use gleaner_data::seal::{AccountSecret, DatasetKey, SignedTaskKeys, TaskKeys};
use gleaner_wire::api::KeysLeft;
use gleaner_wire::job_file::{JobFile, Source, TaskFile};
use gleaner_wire::{Hash, WorkerKey};
use std::collections::BTreeMap;

use super::Account;

/// The keys of every `[[task]]` of a job, in order.
#[derive(Clone, Debug, Default)]
pub struct JobKeys {
    /// The keys of each.
    pub tasks: Vec<SignedTaskKeys>,
}

impl JobKeys {
    /// The keys of a job whose files are pushed; `known` has what opens each of its datasets.
    pub(crate) fn of(account: &Account, file: &JobFile, submission: u128, known: &BTreeMap<Hash, DatasetKey>) -> Self {
        let owner = account.machine();
        let outputs: Vec<AccountSecret> = file.tasks.iter().map(|task| output_secret(account, task)).collect();
        let names: BTreeMap<&str, usize> = file.tasks.iter().map(|task| task.name.as_str()).zip(0..).collect();
        let key = |source: &Source| match source {
            Source::Data(data) => known.get(&data.root.id).map(|key| *key.expose()),
            Source::Path(_) => None,
        };
        let mut tasks = Vec::with_capacity(file.tasks.len());
        for ((group, task), output) in (0..).zip(&file.tasks).zip(&outputs) {
            let mut inputs = Vec::with_capacity(task.inputs.len());
            for input in &task.inputs {
                let from = input.from.as_deref().and_then(|name| names.get(name)).map(|at| *outputs[*at].expose());
                let data = input.file.as_ref().or(input.folder.as_ref()).and_then(key);
                // What is neither is refused by the hub, with its line.
                inputs.push(data.or(from).unwrap_or_default());
            }
            let program = task.program.as_ref().and_then(key).unwrap_or_default();
            tasks.push(TaskKeys { program, output: *output.expose(), inputs }.sign(submission, group, &owner));
        }
        Self { tasks }
    }

    /// Wraps the keys of a task for a machine.
    pub(crate) fn wrap(&self, submission: u128, group: u16, receiver: WorkerKey) -> Option<KeysLeft> {
        let keys = self.tasks.get(usize::from(group))?;
        match keys.wrap(submission, group, receiver) {
            Ok(wrapped) => Some(KeysLeft { group, receiver, keys: super::hex(&wrapped) }),
            Err(error) => {
                tracing::warn!(%error, "keys are not wrapped");
                None
            }
        }
    }
}

/// What a task's output is sealed with: it depends on what decides the output, so that equal work has one result,
/// whichever job asks for it; and on nothing else.
fn output_secret(account: &Account, task: &TaskFile) -> AccountSecret {
    let root = |source: &Source| match source {
        Source::Data(data) => data.root.id.to_string(),
        Source::Path(path) => path.clone(),
    };
    let files: Vec<(&str, String)> = task
        .inputs
        .iter()
        .filter_map(|input| Some((input.name.as_str(), root(input.file.as_ref().or(input.folder.as_ref())?))))
        .collect();
    let program = task.program.as_ref().map(root);
    let more = (&task.sweep, &task.container, &task.blender);
    let work = postcard::to_allocvec(&("output", program, &task.args, files, more));
    account.secret().derive(&work.expect("texts can be encoded"))
}
