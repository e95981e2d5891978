//! Making a comparison ready: two results in the open, and where they are compared.
use std::sync::Arc;

use gleaner_wire::check::{Check, Compared};
use gleaner_wire::{Cause, InputSpec, Output, StartAttempt, Work};

use super::Pair;
use crate::content::Content;
use crate::depot::missing;
use crate::failure::Failure;
use crate::group::{Group, Inputs, Preparer, Ready, ReadyProgram};

/// The names under which a checker sees the two results, beside the inputs of the task.
const RESULTS: [&str; 2] = ["a", "b"];

/// What there is to compare.
pub enum Comparison {
    /// Nothing more: it is known.
    Known(Compared),
    /// By the requester's program, on a device that runs such.
    OnDevice(Box<Ready>),
    /// By this worker itself.
    AtDesk(Pair),
}

impl Preparer {
    /// Makes ready what compares two results of an element.
    pub async fn comparison(
        &self,
        group: &Arc<Group>,
        start: &StartAttempt,
        outputs: [Output; 2],
    ) -> Result<Comparison, Failure> {
        let check = match (&group.spec.work, group.spec.check) {
            // Bytes are compared by the hub alone; it asks for more where a card has drawn them.
            (Work::Blender { .. }, Check::Exact) => Check::PICTURE,
            (_, check) => check,
        };
        if check == Check::None {
            return Err(Failure::new(Cause::HubFault, "results of this task are not compared"));
        }
        // What has the same name has the same bytes.
        if outputs[0] == outputs[1] {
            return Ok(Comparison::Known(Compared::SAME));
        }
        let Some(results) = self.results(group, start.index, outputs).await? else {
            return Ok(Comparison::Known(Compared::APART));
        };
        match check {
            Check::Program { input } => {
                let ready = self.checker(group, start, input, results).await?;
                Ok(Comparison::OnDevice(Box::new(ready)))
            }
            Check::None | Check::Exact | Check::Numeric { .. } | Check::Image { .. } => {
                let spec = &group.spec;
                Ok(Comparison::AtDesk(Pair::new(results, check, &spec.work, &spec.extent, start.index)))
            }
        }
    }

    /// Two results in the open; `None` if one of them is not what it should be, and so not the same as anything.
    async fn results(&self, group: &Group, index: u32, outputs: [Output; 2]) -> Result<Option<[Content; 2]>, Failure> {
        let keys = self.keys(group).await?;
        let mut opened = Vec::with_capacity(outputs.len());
        for output in outputs {
            match Box::pin(self.depot.output(output, &keys.output, &group.spec.extent, index)).await {
                Ok(content) => opened.push(content),
                Err(failure) if failure.cause == Cause::BadInput => {
                    tracing::debug!(%failure, "a result to be compared does not open");
                    return Ok(None);
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(opened.try_into().ok())
    }

    /// The requester's program, which sees both results beside the inputs of the task.
    async fn checker(
        &self,
        group: &Arc<Group>,
        start: &StartAttempt,
        input: u16,
        results: [Content; 2],
    ) -> Result<Ready, Failure> {
        let position = usize::from(input);
        let Some(InputSpec::File { data, .. }) = group.spec.inputs.get(position) else {
            return Err(Failure::new(Cause::HubFault, "the task has no such checker"));
        };
        let keys = self.keys(group).await?;
        let opens = keys.task.input_key(position).ok_or_else(missing)?;
        let program = self.compiled(*data, &opens).await?;
        let inputs = self.inputs(group, start).await?;
        let names = group.spec.inputs.iter().map(|input| input.name().to_owned());
        let files = names.zip(inputs.ordered.iter().cloned());
        let results = RESULTS.iter().map(|name| (*name).to_owned()).zip(results);
        let folder = Content::folder(files.chain(results).collect());
        let refuse = || Failure::new(Cause::BadInput, "an input of the task has the name of a result");
        let inputs = Inputs { ordered: inputs.ordered.clone(), folder: folder.ok_or_else(refuse)? };
        let program = ReadyProgram::Checker(program);
        Ok(group.attempt(start, &program, keys, Arc::new(inputs), None))
    }
}
