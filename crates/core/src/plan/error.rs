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
    #[error("`{0}` is not a name: use 1 to 64 letters, digits, - and _")]
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
    #[error("a task is either an array (`each`) or tiles (`tiles`), not both")]
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
}
