//! From a job file on disk to a job on the hub.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use gleaner_wire::api::{QuoteView, Submitted};
use gleaner_wire::job_file::{JOB_FILE_BYTES_MAX, JobFile, JobFileError, line_of};
use gleaner_wire::render::steps;
use gleaner_wire::{Hash, JobId, SignedOrder, SignedQuote, WorkerKey};
use reqwest::Method;
use tokio::sync::watch;

use crate::data::{Account, Attendant, Attending, Bringing, Inputs, JobKeys, Local, PushProgress, Steer};
use crate::{Client, Error};

/// A job file that was read, with the number of its one submission: sent twice, it makes one job.
#[derive(Clone, Debug)]
pub struct Draft {
    /// What it says.
    pub file: JobFile,
    path: PathBuf,
    text: String,
    /// For each task the one of the file that it came from: a rendering is several steps.
    origins: Vec<usize>,
    submission: u128,
    /// The quote that it is ordered by.
    quote: Option<SignedQuote>,
    /// Whether it may name only what lies in its folder, and data of its own requester.
    confined: bool,
}

impl Draft {
    /// Orders it by a quote: its cap is the quoted price, to the unit.
    pub fn order_by(&mut self, quote: SignedQuote) {
        (self.file.prefer, self.file.budget.price_max) = (quote.quote.prefer, Some(quote.quote.price));
        self.quote = Some(quote);
    }

    /// Reads a job file: TOML, or JSON if its name ends so.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let size = std::fs::metadata(path).map_err(Error::file("read the job file", path))?.len();
        let wrong = |line, reason| Error::JobFile { path: path.to_path_buf(), line, reason };
        if size > JOB_FILE_BYTES_MAX as u64 {
            return Err(wrong(None, format!("{size} bytes are over the limit of {JOB_FILE_BYTES_MAX}")));
        }
        let text = std::fs::read_to_string(path).map_err(Error::file("read the job file", path))?;
        Self::parse(text, path, fresh_submission(path)?)
    }

    fn parse(text: String, path: &Path, submission: u128) -> Result<Self, Error> {
        let wrong = |line, reason| Error::JobFile { path: path.to_path_buf(), line, reason };
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        let read = if is_json { JobFile::from_json(text.as_bytes()) } else { JobFile::from_toml(&text) };
        let mut file = read.map_err(|error| match error {
            JobFileError::Toml { line, reason } => wrong(Some(line), reason),
            JobFileError::TooLarge(_) | JobFileError::Json(_) => wrong(None, error.to_string()),
        })?;
        let origins = steps(&mut file);
        Ok(Self { file, path: path.to_path_buf(), text, origins, submission, quote: None, confined: false })
    }

    /// A job file of somebody who must not reach beyond a folder on this machine: TOML whose paths start there and stay there,
    /// and whose datasets are its requester's own. It is the submission with this number.
    pub fn confined(text: &str, folder: &Path, submission: u128) -> Result<Self, Error> {
        let draft = Self::parse(text.to_owned(), &folder.join("job.toml"), submission)?;
        Ok(Self { confined: true, ..draft })
    }

    /// Whether it may name only what lies in its folder, and data of its own requester.
    pub(crate) fn is_confined(&self) -> bool {
        self.confined
    }

    /// A job that was made in memory; its paths start from this folder.
    pub fn made(mut file: JobFile, folder: &Path) -> Result<Self, Error> {
        let origins = steps(&mut file);
        let path = folder.join("the command line");
        let submission = fresh_submission(&path)?;
        Ok(Self { file, text: String::new(), origins, submission, path, quote: None, confined: false })
    }

    /// The place in the file as its writer knows it.
    fn origin(&self, at: &str) -> String {
        let rest = at.strip_prefix("task[").and_then(|rest| rest.split_once(']'));
        let origin = rest.and_then(|(number, rest)| Some((self.origins.get(number.parse::<usize>().ok()?)?, rest)));
        origin.map_or_else(|| at.to_owned(), |(task, rest)| format!("task[{task}]{rest}"))
    }

    /// The folder that its paths start from.
    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// An error about the thing at `at`, with its line if the file has lines to speak of.
    pub(crate) fn wrong(&self, at: &str, reason: String) -> Error {
        let at = &self.origin(at);
        let line = line_of(&self.text, at);
        let reason = if line.is_some() { reason } else { format!("{at}: {reason}") };
        Error::JobFile { path: self.path.clone(), line, reason }
    }
}

impl Draft {
    /// An error of the hub, at its place in the file if it is about one.
    fn refused(&self, error: Error) -> Error {
        match error {
            Error::Refused(problem) => match &problem.at {
                Some(at) => self.wrong(at, problem.detail),
                None => Error::Refused(problem),
            },
            other => other,
        }
    }
}

/// A number that no other submission has.
fn fresh_submission(path: &Path) -> Result<u128, Error> {
    let mut bytes = [0; 16];
    let filled = getrandom::fill(&mut bytes).map_err(std::io::Error::other);
    filled.map_err(Error::file("draw a random number for", path))?;
    Ok(u128::from_le_bytes(bytes))
}

/// Where workers find a job's inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// On the hub: who submitted the job may leave.
    #[default]
    Hub,
    /// Large ones on this machine, for as long as the job is attended; the hub has only lists of them.
    Direct,
}

/// A job as it is sent: its data is on the hub, sealed, and its bytes are final, so that an order can name their hash.
#[derive(Clone, Debug)]
pub struct Package<'a> {
    draft: &'a Draft,
    /// The job, with datasets in place of files.
    pub file: JobFile,
    keys: JobKeys,
    locals: Vec<Local>,
    body: Vec<u8>,
}

impl Package<'_> {
    /// The hash that an order for this job names.
    pub fn job(&self) -> Hash {
        Hash::of(&self.body)
    }

    /// The number of the submission, which is the nonce of its order.
    pub fn submission(&self) -> u128 {
        self.draft.submission
    }
}

impl Client {
    /// Pushes the files that a job names, as far as the hub does not have them, and submits it without an order. Who
    /// wants it to run keeps what comes with it: workers ask for the keys.
    pub async fn submit(&self, draft: &Draft) -> Result<(Submitted, Attending), Error> {
        let package = self.pack(draft, None, Way::Hub, |_, _| {}).await?;
        let submitted = self.send(&package, None).await?;
        let attending = self.attendant(&package, submitted.job).start();
        Ok((submitted, attending))
    }

    /// Pushes the files that a job names, as far as the hub does not have them, or only the lists of them;
    /// `progress` hears of each, and `steer` tells how.
    pub async fn pack<'a>(
        &self,
        draft: &'a Draft,
        steer: Option<watch::Receiver<Steer>>,
        way: Way,
        mut progress: impl FnMut(&str, &PushProgress),
    ) -> Result<Package<'a>, Error> {
        let account = self.account()?;
        let bringing = match way {
            Way::Hub => Bringing::All,
            Way::Direct => Bringing::Lists,
        };
        let mut inputs = self.inputs(draft, bringing, steer)?;
        let file = inputs.push_all(&mut progress).await?;
        let (locals, keys) = (inputs.locals(), JobKeys::of(account, &file, draft.submission, &inputs.keys));
        let body = serde_json::to_vec(&file).map_err(|error| Error::answer(self.url(), error))?;
        Ok(Package { draft, file, keys, locals, body })
    }

    fn inputs<'a>(
        &'a self,
        draft: &'a Draft,
        bringing: Bringing,
        steer: Option<watch::Receiver<Steer>>,
    ) -> Result<Inputs<'a>, Error> {
        let (pushed, keys, roots) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        let (account, hub, owner) = (self.account()?, self.data(), self.requester());
        Ok(Inputs { account, hub, owner, draft, pushed, keys, bringing, roots, steer })
    }

    /// What a job would cost. Its files are read here as far as they have changed, so that the hub can tell whether it
    /// knows them; none of them is sent.
    pub async fn quote(&self, draft: &Draft) -> Result<QuoteView, Error> {
        let file = self.inputs(draft, Bringing::Names, None)?.push_all(&mut |_, _| {}).await?;
        self.put_in("/quote", &file).await.map_err(|error| draft.refused(error))
    }

    /// Gives workers the keys of a job that was just submitted.
    pub fn attendant(&self, package: &Package<'_>, job: JobId) -> Attendant {
        let owner = self.account.as_ref().map_or(WorkerKey([0; 32]), Account::machine_key);
        let attendant = Attendant::new(self.data().clone(), job, package.submission(), owner, package.keys.clone());
        match &self.account {
            Some(account) => attendant.offering(account, package.locals.clone()),
            None => attendant,
        }
    }

    /// Submits a job, with its order where the hub's money is on a chain.
    pub async fn send(&self, package: &Package<'_>, order: Option<&SignedOrder>) -> Result<Submitted, Error> {
        let draft = package.draft;
        // First of all for oneself, so that whoever has the secret can open the results and give others the keys.
        let (own, groups) =
            (self.account()?.machine_key(), u16::try_from(package.keys.tasks.len()).unwrap_or(u16::MAX));
        let kept: Vec<_> = (0..groups).filter_map(|group| package.keys.wrap(draft.submission, group, own)).collect();
        for some in kept.chunks(1000) {
            self.data().leave_keys(draft.submission, own, some).await?;
        }
        let request = self.connection.request(Method::POST, "/jobs").body(package.body.clone());
        let request = request.header("content-type", "application/json");
        let request = request.header("idempotency-key", format!("{:032x}", draft.submission));
        let request = match &draft.quote {
            Some(quote) => {
                let text = serde_json::to_string(quote).map_err(|error| Error::answer(self.url(), error))?;
                request.header("gleaner-quote", text)
            }
            None => request,
        };
        let request = match order {
            Some(order) => {
                let text = serde_json::to_string(order).map_err(|error| Error::answer(self.url(), error))?;
                // The requester of a job with an order is who signed it.
                request.header("gleaner-requester", order.order.requester.to_string()).header("gleaner-order", text)
            }
            None => request.header("gleaner-requester", self.requester()),
        };
        self.connection.json(request).await.map_err(|error| draft.refused(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_a_job_file_is_reported_with_file_and_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("job.toml");
        std::fs::write(&path, "name = \"x\"\n[budget]\nprice_max = \"lots\"\n").expect("written");
        let error = Draft::read(&path).expect_err("not an amount").to_string();
        assert!(error.contains("job.toml:3: `lots` is not an amount"), "{error}");
    }

    #[test]
    fn two_drafts_of_a_file_are_two_submissions() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("job.toml");
        std::fs::write(&path, "name = \"x\"\n").expect("written");
        let drafts = [Draft::read(&path).expect("reads"), Draft::read(&path).expect("reads")];
        assert_ne!(drafts[0].submission, drafts[1].submission);
    }
}
