//! Why a job is refused, and where the mistake stands.
use alloc::string::String;
use gleaner_wire::{ByteSize, EachError, QuantityError, TASKS_MAX};

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Error {
    /// Where, such as `task[2].input[0].from`.
    pub at: String,
    /// Why.
    pub reason: Reason,
}

impl Error {
    pub(super) fn new(at: impl Into<String>, reason: Reason) -> Self {
        Self { at: at.into(), reason }
    }
}

/// Why a job is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Empty, long or unprintable.
    #[error("this must be 1 to {0} printable characters")]
    Text(usize),
    /// Not usable as a file name.
    #[error("`{0}` is not a name: use 1 to 64 letters, digits, -, _ and dots inside")]
    Name(String),
    /// Used before.
    #[error("the name `{0}` is used twice")]
    NameTwice(String),
    /// Nothing to do.
    #[error("the job has no [[task]]")]
    NoTasks,
    /// More than fit an index.
    #[error("a job may have at most 65,535 [[task]] entries; use `each` for arrays")]
    TooManyGroups,
    /// Too many elements.
    #[error("the job would have {0} tasks; the limit is {TASKS_MAX}")]
    TooManyTasks(u64),
    /// A duration or a size that cannot be read.
    #[error("{0}")]
    Quantity(QuantityError),
    /// A range that cannot be read.
    #[error("{0}")]
    Each(EachError),
    /// A time limit of nothing or of years.
    #[error("a time limit must be between 1 ms and 30 days")]
    TimeMax,
    /// Nobody works for nothing.
    #[error("a price cap of 0 buys nothing; leave price_max out for the default of 1 GLN")]
    Free,
    /// Two forms at once.
    #[error("a task is either an array (`each`), tiles (`tiles`) or a sweep (`sweep`), not several of them")]
    TwoExtents,
    /// A grid that cannot be.
    #[error("tiles need a picture and a tile of 1 to 65,536 pixels a side, the tile not larger than the picture")]
    Tiles,
    /// A file that the client has not stored.
    #[error("`{0}` is a path; a hub takes references (data:…) to datasets that were pushed before")]
    NotStored(String),
    /// None or several of `file`, `folder`, `dataset` and `from`.
    #[error("an input is one of `file`, `folder`, `dataset`, or the output of another task (`from`)")]
    InputForm,
    /// No such task.
    #[error("there is no task named `{0}`")]
    UnknownTask(String),
    /// Elements do not match.
    #[error("same_index needs as many elements on both sides: `{from}` has {theirs}, this task has {ours}")]
    SameIndex {
        /// The other task.
        from: String,
        /// Its elements.
        theirs: u64,
        /// Our elements.
        ours: u64,
    },
    /// Shares do not come out even.
    #[error("`per` = {per} needs {per} outputs for each of the {ours} elements: `{from}` has {theirs}")]
    Per {
        /// The other task.
        from: String,
        /// Its elements.
        theirs: u64,
        /// Our elements.
        ours: u64,
        /// How many each reads.
        per: u32,
    },
    /// None or both of the ways to name an image.
    #[error("a container needs an image: `container.image` from a registry, or `program` in OCI layout, and not both")]
    ImageForm,
    /// An image that may change.
    #[error(
        "`{0}` does not say which image exactly: write NAME@sha256:DIGEST (`gleaner run --image` finds the digest)"
    )]
    Digest(String),
    /// A rendering that does not say which frames.
    #[error("a rendering names its frames in blender.frames, such as \"1-250\", and has neither `each` nor `tiles`")]
    FramesForm,
    /// A rendering that was not made into steps.
    #[error("a rendering is submitted in steps, as `gleaner run` makes them")]
    NoSteps,
    /// A task without one.
    #[error("a {0} task needs a program")]
    NoProgram(gleaner_wire::Runtime),
    /// A task that waits for itself.
    #[error("these tasks wait for each other: {0}")]
    Cycle(String),
    /// A setting of the other runtime.
    #[error("`{0}` belongs to the {1} runtime")]
    WrongRuntime(&'static str, &'static str),
    /// A device without the runtime.
    #[error("no {0} device runs {1} programs")]
    ImpossibleDevice(&'static str, &'static str),
    /// A task that cannot fit where it asks to be.
    #[error("the kernel's buffers take {buffers}, more than the {memory} it asks for in needs.memory")]
    BuffersOverMemory {
        /// What the buffers take.
        buffers: ByteSize,
        /// What is asked for.
        memory: ByteSize,
    },
    /// A number out of its range.
    #[error("{0} must be {1}")]
    Range(&'static str, &'static str),
    /// A setting of another check.
    #[error("`{0}` belongs to a check of kind {1}")]
    WrongCheck(&'static str, &'static str),
    /// A check by a program that is not named.
    #[error(
        "a check by a program names the task's input that is the checker: {{ kind = \"program\", input = \"NAME\" }}"
    )]
    NoChecker,
    /// Not a file of this task.
    #[error("`{0}` is no file among the inputs of this task; the checker is an input with `file`")]
    CheckInput(String),
}
