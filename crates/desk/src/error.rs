//! Why the desk does not do something, in words for the person who asked.
use std::io;
use std::path::{Path, PathBuf};

use gleaner_wire::Amount;

/// Why the desk does not do something.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such thing, or it is somebody else's.
    #[error("{0}")]
    NotFound(String),
    /// The request makes no sense.
    #[error("{0}")]
    Wrong(String),
    /// The job file is refused.
    #[error("{reason}")]
    Job {
        /// What is wrong with it.
        reason: String,
        /// On which line, if that is known.
        line: Option<usize>,
    },
    /// The quote that was seen is for another job.
    #[error("the quote is for another job than this one: have it quoted again")]
    OtherQuote,
    /// The quote that was seen does not bind any more.
    #[error("the quote has run out, or is not known at this desk: have the job quoted again")]
    QuoteExpired,
    /// A template, or what is filled into it, is refused.
    #[error("{0}")]
    Template(String),
    /// The name is somebody else's.
    #[error("a template called `{0}` was published by somebody else: choose another name")]
    NameTaken(String),
    /// What a tag of an image stands for is not known.
    #[error(transparent)]
    Image(#[from] gleaner_client::registry::RegistryError),
    /// The hub did not answer, or said no.
    #[error(transparent)]
    Hub(#[from] gleaner_client::Error),
    /// Money did not move.
    #[error(transparent)]
    Money(#[from] gleaner_requester::Error),
    /// A file is not taken.
    #[error(transparent)]
    Upload(#[from] gleaner_uploads::Error),
    /// Somebody else brings the same file at the moment.
    #[error("another request writes this file: try again in a moment")]
    Busy,
    /// The hub's money is on no chain.
    #[error("this hub's money is on no chain: there is nothing to deposit or withdraw")]
    NoChain,
    /// It makes sense, but not as things stand.
    #[error("{0}")]
    NotNow(String),
    /// The token may not spend as much.
    #[error("this token may spend {max} GLN in all: {reason}")]
    OverLimit {
        /// What it may spend.
        max: Amount,
        /// What is left, and what would have been spent.
        reason: String,
    },
    /// Something that spends must be repeatable.
    #[error(
        "send a header `Idempotency-Key` of 1 to 200 printable characters, a new one for each thing that you want done"
    )]
    NoKey,
    /// The key was used for something else.
    #[error("this `Idempotency-Key` was used for another request: take a new one")]
    KeyReused,
    /// Whether it was done is not known.
    #[error(
        "whether this was done is not known, because the hub ended meanwhile: look at the wallet's history, and take a new `Idempotency-Key` if it was not"
    )]
    Unknown,
    /// Too much at once.
    #[error("{0}")]
    TooMany(String),
    /// What the desk keeps cannot be read or written.
    #[error("the desk cannot use its books")]
    Books(#[from] rusqlite::Error),
    /// A file of the desk cannot be read or written.
    #[error("the desk cannot {doing} one of its files")]
    File {
        /// What was tried.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// A part of the desk ended by a defect.
    #[error("a part of the desk ended by a defect")]
    Defect,
}

impl Error {
    pub(crate) fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { doing, path, source }
    }

    pub(crate) fn not_found(what: impl Into<String>) -> Self {
        Self::NotFound(what.into())
    }

    /// An error about a job file, without the path of the folder on this machine, and with paths as the file has them.
    pub(crate) fn of_job(error: gleaner_client::Error, folder: &Path, tree: Option<&str>) -> Self {
        let here = folder.display().to_string();
        let tree = tree.map(|tree| format!("`{tree}/")).unwrap_or_else(|| "`".to_owned());
        let hide = |text: String| text.replace(&format!("{here}/"), "").replace(&here, "").replace(&tree, "`");
        match error {
            gleaner_client::Error::JobFile { line, reason, .. } => Self::Job { reason: hide(reason), line },
            gleaner_client::Error::Pack { reason, .. } => Self::Job { reason: hide(reason), line: None },
            gleaner_client::Error::Fetch { what, .. } => Self::Job {
                reason: format!("the dataset {what} is not yours, or the hub does not hold it"),
                line: None,
            },
            other => Self::Hub(other),
        }
    }
}
