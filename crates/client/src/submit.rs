//! From a job file on disk to a job on the hub.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gleaner_wire::api::Submitted;
use gleaner_wire::job_file::{JOB_FILE_BYTES_MAX, JobFile, JobFileError, Source, line_of};
use gleaner_wire::{BlobRef, Hash, SignedOrder};
use reqwest::Method;

use crate::{Client, Error};

/// A job file that was read, with the number of its one submission: sent twice, it makes one job.
#[derive(Clone, Debug)]
pub struct Draft {
    /// What it says.
    pub file: JobFile,
    path: PathBuf,
    text: String,
    submission: u128,
}

impl Draft {
    /// Reads a job file: TOML, or JSON if its name ends so.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let size = std::fs::metadata(path).map_err(Error::file("read the job file", path))?.len();
        let wrong = |line, reason| Error::JobFile { path: path.to_path_buf(), line, reason };
        if size > JOB_FILE_BYTES_MAX as u64 {
            return Err(wrong(None, format!("{size} bytes are over the limit of {JOB_FILE_BYTES_MAX}")));
        }
        let text = std::fs::read_to_string(path).map_err(Error::file("read the job file", path))?;
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        let read = if is_json { JobFile::from_json(text.as_bytes()) } else { JobFile::from_toml(&text) };
        let file = read.map_err(|error| match error {
            JobFileError::Toml { line, reason } => wrong(Some(line), reason),
            JobFileError::TooLarge(_) | JobFileError::Json(_) => wrong(None, error.to_string()),
        })?;
        Ok(Self { file, path: path.to_path_buf(), text, submission: fresh_submission(path)? })
    }

    /// An error about the thing at `at`, with its line if the file has lines to speak of.
    fn wrong(&self, at: &str, reason: String) -> Error {
        let line = line_of(&self.text, at);
        let reason = if line.is_some() { reason } else { format!("{at}: {reason}") };
        Error::JobFile { path: self.path.clone(), line, reason }
    }
}

fn fresh_submission(path: &Path) -> Result<u128, Error> {
    let mut bytes = [0; 16];
    let filled = getrandom::fill(&mut bytes).map_err(std::io::Error::other);
    filled.map_err(Error::file("draw a random number for", path))?;
    Ok(u128::from_le_bytes(bytes))
}

/// A job as it is sent: its files are on the hub, and its bytes are final, so that an order can name their hash.
#[derive(Clone, Debug)]
pub struct Package<'a> {
    draft: &'a Draft,
    /// The job, with blobs in place of files.
    pub file: JobFile,
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
    /// Stores the files that a job names, as far as the hub does not hold them, and submits it without an order.
    pub async fn submit(&self, draft: &Draft) -> Result<Submitted, Error> {
        let package = self.pack(draft).await?;
        self.send(&package, None).await
    }

    /// Stores the files that a job names, as far as the hub does not hold them.
    pub async fn pack<'a>(&self, draft: &'a Draft) -> Result<Package<'a>, Error> {
        let file = self.store_sources(draft).await?;
        let body = serde_json::to_vec(&file).map_err(|error| Error::answer(self.url(), error))?;
        Ok(Package { draft, file, body })
    }

    /// Submits a job, with its order where the hub's money is on a chain.
    pub async fn send(&self, package: &Package<'_>, order: Option<&SignedOrder>) -> Result<Submitted, Error> {
        let draft = package.draft;
        let request = self.connection.request(Method::POST, "/jobs").body(package.body.clone());
        let request = request.header("content-type", "application/json");
        let request = request.header("idempotency-key", format!("{:032x}", draft.submission));
        let request = match order {
            Some(order) => {
                let text = serde_json::to_string(order).map_err(|error| Error::answer(self.url(), error))?;
                // The requester of a job with an order is who signed it.
                request.header("gleaner-requester", order.order.requester.to_string()).header("gleaner-order", text)
            }
            None => request.header("gleaner-requester", self.requester()),
        };
        match self.connection.json(request).await {
            Err(Error::Refused(problem)) => Err(match &problem.at {
                Some(at) => draft.wrong(at, problem.detail),
                None => Error::Refused(problem),
            }),
            outcome => outcome,
        }
    }

    async fn store_sources(&self, draft: &Draft) -> Result<JobFile, Error> {
        let mut file = draft.file.clone();
        let mut stored = BTreeMap::new();
        for (number, task) in file.tasks.iter_mut().enumerate() {
            self.store_source(draft, &mut stored, &format!("task[{number}].program"), &mut task.program).await?;
            for (place, input) in task.inputs.iter_mut().enumerate() {
                if let Some(source) = &mut input.file {
                    let at = format!("task[{number}].input[{place}].file");
                    self.store_source(draft, &mut stored, &at, source).await?;
                }
            }
        }
        Ok(file)
    }

    async fn store_source(
        &self,
        draft: &Draft,
        stored: &mut BTreeMap<String, BlobRef>,
        at: &str,
        source: &mut Source,
    ) -> Result<(), Error> {
        let Source::Path(name) = &*source else { return Ok(()) };
        let blob = match stored.get(name) {
            Some(blob) => *blob,
            None => {
                let path = draft.path.parent().unwrap_or(Path::new("")).join(name);
                let blob = self.blobs().store_file(&path).await.map_err(|error| match error {
                    Error::File { source, .. } => draft.wrong(at, format!("cannot read `{name}`: {source}")),
                    other => other,
                })?;
                stored.insert(name.clone(), blob);
                blob
            }
        };
        *source = Source::Blob(blob);
        Ok(())
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
