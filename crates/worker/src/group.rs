//! A `[[task]]` that this worker has elements of: its program and the inputs that all elements share, made ready
//! once, and what each element reads on top.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt, TryStreamExt, stream};
use gleaner_data::seal::{DatasetKey, Keys};
use gleaner_trace::Stage;
use gleaner_wire::{
    AttemptId, Cause, DataRef, Extent, Hash, InputSpec, JobId, Millis, Output, StartAttempt, TaskSpec, Work,
};
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

use crate::cell::ReadyImage;
use crate::content::Content;
use crate::depot::{Depot, GroupKeys, Opened};
use crate::failure::Failure;
use crate::hub_link::HubLink;
use crate::images::Images;
use crate::trail::Trails;
use crate::wasm::{PROGRAM_BYTES_MAX, Program, Wasm};
use crate::wgsl::SOURCE_BYTES_MAX;

/// Inputs of one attempt that are fetched at a time.
const FETCHES_AT_A_TIME: usize = 8;
/// A compiler takes many times the memory of its program, so that one program is compiled at a time in this process.
static COMPILERS: Semaphore = Semaphore::const_new(1);
/// Compiled programs that are kept beside those in use.
const PROGRAMS_MAX: usize = 64;

/// A `[[task]]`.
pub struct Group {
    /// The job it belongs to.
    pub job: JobId,
    /// What its elements are.
    pub spec: TaskSpec,
    /// Its position in the job.
    pub number: u16,
    keys: OnceCell<GroupKeys>,
    program: OnceCell<ReadyProgram>,
    inputs: OnceCell<SharedInputs>,
}

/// The inputs that all elements of a group share.
struct SharedInputs {
    /// By their position; `None` where each element has its own.
    ordered: Vec<Option<Content>>,
    /// The inputs of an element, if all are shared.
    whole: Option<Arc<Inputs>>,
}

/// A program that can run.
#[derive(Clone)]
pub enum ReadyProgram {
    /// Compiled WebAssembly.
    Wasm(Arc<Program>),
    /// The same, to compare two results of the task.
    Checker(Arc<Program>),
    /// The text of a kernel.
    Wgsl(Arc<str>),
    /// An image that the engine has.
    Container(Arc<ReadyImage>),
    /// A scene with everything that it links to.
    Blender(Arc<Opened>),
}

/// What one element reads.
pub struct Inputs {
    /// In the order of the specification.
    pub ordered: Vec<Content>,
    /// By name.
    pub folder: Content,
}

/// An attempt that can run.
pub struct Ready {
    /// The attempt.
    pub attempt: AttemptId,
    /// The element.
    pub index: u32,
    /// How long it may run.
    pub time: Millis,
    /// The group it belongs to.
    pub group: Arc<Group>,
    /// Its program.
    pub program: ReadyProgram,
    /// What it reads.
    pub inputs: Arc<Inputs>,
    /// What seals its output.
    pub keys: Arc<Keys>,
    /// What an earlier attempt has saved.
    pub checkpoint: Option<Content>,
}

/// Makes attempts ready: fetches and compiles.
pub struct Preparer {
    pub(crate) depot: Arc<Depot>,
    hub: HubLink,
    wasm: Option<Arc<Wasm>>,
    pub(crate) images: Images,
    programs: Mutex<HashMap<Hash, Arc<Program>>>,
}

/// A turn to compile.
struct Turn {
    _permit: SemaphorePermit<'static>,
}

impl Turn {
    async fn wait() -> Self {
        Self { _permit: COMPILERS.acquire().await.expect("nothing closes it") }
    }

    /// Compiles on a thread of its own. The turn goes there too: a compiler cannot be stopped, even if nobody waits
    /// for it any more.
    async fn compile<T: Send + 'static>(
        self,
        compile: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<(T, Self), Failure> {
        let compiled = tokio::task::spawn_blocking(move || compile().map(|program| (program, self)));
        let died = |_| Failure::new(Cause::BadInput, "the program cannot be compiled: the compiler gave up on it");
        compiled.await.map_err(died)?
    }
}

impl Group {
    /// A group, of which nothing is fetched yet.
    pub fn new(job: JobId, number: u16, spec: TaskSpec) -> Self {
        let (keys, program, inputs) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self { job, spec, number, keys, program, inputs }
    }

    /// The attempt, if nothing has to be fetched for it.
    pub fn ready_at_once(self: &Arc<Self>, start: &StartAttempt) -> Option<Ready> {
        if start.checkpoint.is_some() || start.compare.is_some() {
            return None;
        }
        let (keys, program, shared) = (self.keys.get()?, self.program.get()?, self.inputs.get()?);
        let inputs = match &shared.whole {
            Some(inputs) => inputs.clone(),
            None if start.outputs.iter().all(|output| output.content().is_some()) => {
                self.inputs(shared.with_own(keys, self, start)?).ok()?
            }
            None => return None,
        };
        Some(self.attempt(start, program, keys, inputs, None))
    }

    pub(crate) fn attempt(
        self: &Arc<Self>,
        start: &StartAttempt,
        program: &ReadyProgram,
        keys: &GroupKeys,
        inputs: Arc<Inputs>,
        checkpoint: Option<Content>,
    ) -> Ready {
        Ready {
            attempt: start.attempt,
            index: start.index,
            time: start.time_ms.min(self.spec.limits.time_ms),
            group: self.clone(),
            program: program.clone(),
            inputs,
            keys: Arc::clone(&keys.output),
            checkpoint,
        }
    }

    /// What the elements are of the task whose output an input is.
    fn extent_of(&self, position: usize) -> Extent {
        match self.spec.inputs.get(position) {
            Some(
                InputSpec::Output { extent, .. } | InputSpec::Gather { extent, .. } | InputSpec::Share { extent, .. },
            ) => *extent,
            Some(InputSpec::File { .. } | InputSpec::Folder { .. }) | None => Extent::Single,
        }
    }

    /// The elements of another task whose outputs one element reads here: one, or its share of them.
    fn shares(&self, position: usize, index: u32) -> (std::ops::Range<u32>, bool) {
        match self.spec.inputs.get(position) {
            Some(InputSpec::Share { per, .. }) => {
                let first = index.saturating_mul(*per);
                (first..first.saturating_add(*per), true)
            }
            Some(
                InputSpec::Output { .. } | InputSpec::Gather { .. } | InputSpec::File { .. } | InputSpec::Folder { .. },
            )
            | None => (index..index.saturating_add(1), false),
        }
    }

    fn inputs(&self, contents: Vec<Content>) -> Result<Arc<Inputs>, Failure> {
        let names = self.spec.inputs.iter().map(|input| input.name().to_owned());
        let folder = Content::folder(names.zip(contents.iter().cloned()).collect());
        let folder =
            folder.ok_or_else(|| Failure::new(Cause::BadInput, "the names of the inputs are not safe paths"))?;
        Ok(Arc::new(Inputs { ordered: contents, folder }))
    }
}

impl SharedInputs {
    /// The inputs of an element whose own ones all travelled inline.
    fn with_own(&self, keys: &GroupKeys, group: &Group, start: &StartAttempt) -> Option<Vec<Content>> {
        let mut own = start.outputs.iter().copied();
        let content = |(position, shared): (usize, &Option<Content>)| match shared {
            Some(content) => Some(content.clone()),
            None => {
                let keys = keys.of_input(position).ok()?;
                let (elements, is_share) = group.shares(position, start.index);
                let contents =
                    elements.map(|element| Depot::inline(own.next()?, &keys, &group.extent_of(position), element).ok());
                one_or_all(contents.collect::<Option<Vec<_>>>()?, is_share)
            }
        };
        self.ordered.iter().enumerate().map(content).collect()
    }
}

impl Preparer {
    /// Fetches into this depot from this hub; compiles for this runtime, if there is one.
    pub fn new(depot: Arc<Depot>, hub: HubLink, wasm: Option<Arc<Wasm>>, images: Images) -> Self {
        Self { depot, hub, wasm, images, programs: Mutex::default() }
    }

    /// Makes an attempt ready.
    pub async fn prepare(&self, group: &Arc<Group>, start: &StartAttempt, trails: &Trails) -> Result<Ready, Failure> {
        let begun = trails.now();
        let keys = self.keys(group).await;
        trails.passed(start.attempt, Stage::Keys, begun);
        let (keys, begun) = (keys?, trails.now());
        let ready = self.fetch(group, start, keys).await;
        trails.passed(start.attempt, Stage::Fetch, begun);
        ready
    }

    async fn fetch(&self, group: &Arc<Group>, start: &StartAttempt, keys: &GroupKeys) -> Result<Ready, Failure> {
        let program = group.program.get_or_try_init(|| Box::pin(self.program(group, keys, start.attempt))).await?;
        let inputs = self.inputs(group, start).await?;
        let checkpoint = match start.checkpoint {
            Some(saved) => Some(self.checkpoint(group, keys, saved, start.index).await?),
            None => None,
        };
        tracing::debug!("an attempt is ready to run");
        Ok(group.attempt(start, program, keys, inputs, checkpoint))
    }

    /// The keys of a group, asked for once.
    pub(crate) async fn keys<'a>(&self, group: &'a Group) -> Result<&'a GroupKeys, Failure> {
        group.keys.get_or_try_init(|| self.depot.keys(group.job, group.number)).await
    }

    /// What an element reads.
    pub(crate) async fn inputs(&self, group: &Group, start: &StartAttempt) -> Result<Arc<Inputs>, Failure> {
        let keys = self.keys(group).await?;
        let shared = group.inputs.get_or_try_init(|| Box::pin(self.shared_inputs(group, keys))).await?;
        if let Some(inputs) = &shared.whole {
            return Ok(inputs.clone());
        }
        let mut own = start.outputs.iter();
        let mut contents = Vec::with_capacity(shared.ordered.len());
        for (position, shared) in shared.ordered.iter().enumerate() {
            contents.push(match shared {
                Some(content) => content.clone(),
                None => {
                    let missing = || Failure::new(Cause::HubFault, "the hub left out an output that the task reads");
                    let keys = keys.of_input(position)?;
                    let (elements, is_share) = group.shares(position, start.index);
                    let mut read = Vec::new();
                    for element in elements {
                        let output = *own.next().ok_or_else(missing)?;
                        let extent = group.extent_of(position);
                        read.push(Box::pin(self.depot.output(output, &keys, &extent, element)).await?);
                    }
                    one_or_all(read, is_share).ok_or_else(missing)?
                }
            });
        }
        group.inputs(contents)
    }

    /// What an earlier attempt has saved; it was sealed like an output.
    async fn checkpoint(&self, group: &Group, keys: &GroupKeys, saved: Output, index: u32) -> Result<Content, Failure> {
        Box::pin(self.depot.output(saved, &keys.output, &group.spec.extent, index)).await
    }

    async fn program(&self, group: &Group, keys: &GroupKeys, attempt: AttemptId) -> Result<ReadyProgram, Failure> {
        let opens = keys.task.program_key();
        Ok(match &group.spec.work {
            Work::Wasm { module, .. } => ReadyProgram::Wasm(self.compiled(*module, &opens).await?),
            Work::Wgsl { kernel, .. } => ReadyProgram::Wgsl(self.source(*kernel, &opens).await?),
            Work::Container { image, .. } => {
                let image = Box::pin(self.images.get(image, &self.depot, &opens, attempt)).await?;
                ReadyProgram::Container(Arc::new(image))
            }
            Work::Blender { project, .. } => ReadyProgram::Blender(self.depot.dataset(*project, &opens).await?),
        })
    }

    async fn shared_inputs(&self, group: &Group, keys: &GroupKeys) -> Result<SharedInputs, Failure> {
        let mut inputs = Vec::new();
        for (position, input) in group.spec.inputs.iter().enumerate() {
            let opens = || keys.task.input_key(position).ok_or_else(crate::depot::missing);
            inputs.push(match input {
                InputSpec::File { data, .. } => {
                    let file = self.depot.dataset(*data, &opens()?).await?.file();
                    Some(Content::File(Arc::new(file.map_err(|error| unreadable(&error))?)))
                }
                InputSpec::Folder { data, .. } => {
                    let opened = self.depot.dataset(*data, &opens()?).await?;
                    Some(opened.content().map_err(|error| unreadable(&error))?)
                }
                InputSpec::Output { .. } | InputSpec::Share { .. } => None,
                InputSpec::Gather { group: from, extent, .. } => {
                    Some(self.gather(group.job, *from, &keys.of_input(position)?, extent).await?)
                }
            });
        }
        let whole = inputs.iter().cloned().collect::<Option<Vec<_>>>();
        let whole = whole.map(|contents| group.inputs(contents)).transpose()?;
        Ok(SharedInputs { ordered: inputs, whole })
    }

    /// A program, compiled once.
    pub(crate) async fn compiled(&self, module: DataRef, opens: &DatasetKey) -> Result<Arc<Program>, Failure> {
        if let Some(program) = self.known(module) {
            return Ok(program);
        }
        let missing = || Failure::new(Cause::HubFault, "this worker does not offer wasm");
        let wasm = self.wasm.clone().ok_or_else(missing)?;
        // It is fetched before its turn, so that nobody waits for a slow network, and read within it.
        let fetched = self.depot.dataset(module, opens).await?;
        let turn = Turn::wait().await;
        if let Some(program) = self.known(module) {
            return Ok(program);
        }
        let bytes = self.depot.read_file(module, opens, PROGRAM_BYTES_MAX).await?;
        drop(fetched);
        let (program, turn) = turn.compile(move || wasm.compile(&bytes).map(Arc::new)).await?;
        self.keep(module, &program);
        drop(turn);
        Ok(program)
    }

    /// A program that is compiled already.
    fn known(&self, module: DataRef) -> Option<Arc<Program>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner).get(&module.root.id).cloned()
    }

    fn keep(&self, module: DataRef, program: &Arc<Program>) {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if programs.len() >= PROGRAMS_MAX {
            programs.retain(|_, program| Arc::strong_count(program) > 1);
        }
        if programs.len() < PROGRAMS_MAX {
            programs.insert(module.root.id, program.clone());
        }
    }

    async fn source(&self, kernel: DataRef, opens: &DatasetKey) -> Result<Arc<str>, Failure> {
        let bytes = self.depot.read_file(kernel, opens, SOURCE_BYTES_MAX).await?;
        let text =
            String::from_utf8(bytes).map_err(|_| Failure::new(Cause::BadInput, "the kernel is not UTF-8 text"))?;
        Ok(text.into())
    }

    /// The outputs of all elements of another group.
    async fn gather(&self, job: JobId, group: u16, keys: &Keys, extent: &Extent) -> Result<Content, Failure> {
        let bytes = self.hub.with(|hub| async move { hub.outputs(job, group).await }).await?;
        let outputs = postcard::from_bytes::<Vec<Output>>(&bytes)
            .map_err(|_| Failure::new(Cause::HubFault, "the hub's list of outputs makes no sense"))?;
        let contents = stream::iter((0..).zip(outputs))
            .map(|(index, output)| self.depot.output(output, keys, extent, index))
            .buffered(FETCHES_AT_A_TIME);
        Ok(Content::Gather(Arc::new(contents.try_collect().await?)))
    }
}

/// One output, or the share of several as a folder.
fn one_or_all(mut contents: Vec<Content>, is_share: bool) -> Option<Content> {
    if is_share { Some(Content::Gather(Arc::new(contents))) } else { contents.pop() }
}

fn unreadable(error: &std::io::Error) -> Failure {
    Failure::new(Cause::BadInput, format!("an input cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn programs_are_compiled_one_at_a_time() {
        let busy = Arc::new(AtomicUsize::new(0));
        let compilers: Vec<_> = (0..8).map(|_| tokio::spawn(compile(busy.clone()))).collect();
        for compiler in compilers {
            assert_eq!(compiler.await.expect("does not panic"), 1);
        }
    }

    /// Says how many were busy at most while it was.
    async fn compile(busy: Arc<AtomicUsize>) -> usize {
        let work = move || {
            busy.fetch_add(1, Ordering::SeqCst);
            let most = (0..10_000).map(|_| {
                std::thread::yield_now();
                busy.load(Ordering::SeqCst)
            });
            let most = most.max().unwrap_or_default();
            busy.fetch_sub(1, Ordering::SeqCst);
            Ok(most)
        };
        Turn::wait().await.compile(work).await.expect("works").0
    }

    #[tokio::test]
    async fn a_compiler_that_panics_gives_its_turn_back() {
        let died = Turn::wait().await.compile(|| -> Result<(), Failure> { panic!("as a compiler might") }).await;
        assert_eq!(died.err().map(|failure| failure.cause), Some(Cause::BadInput));
        Turn::wait().await.compile(|| Ok(())).await.expect("works");
    }
}
