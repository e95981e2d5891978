//! A job's log as lines of JSON; followed, it stays open until the job has ended.
use super::Shared;
use super::jobs::{job_id, view};
use super::parameters::Parameters;
use super::problem::Problem;
use crate::logs::Progress;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use gleaner_wire::JobId;
use gleaner_wire::api::LogView;
use serde::Deserialize;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::sync::watch;
use tokio::time::timeout;

/// Bytes that are read at a time.
const READ_BYTES: usize = 64 * 1024;
/// How often a quiet log's follower asks whether the job has ended.
const ASK_MS: u64 = 1000;

/// What a log may be asked.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Asked {
    /// Whether to stay until the job has ended.
    #[serde(default)]
    follow: bool,
    /// How many lines to leave out at the beginning.
    #[serde(default)]
    after: u64,
}

/// `GET /api/v1/jobs/{job}/logs`: the lines after the first `after`.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/logs",
    operation_id = "read_log",
    tag = "jobs",
    summary = "The log of a job, one JSON object a line",
    params(Asked),
    responses(
        (status = 200, description = "The lines", body = LogView, content_type = "application/x-ndjson"),
        (status = 404, description = "`not-found`: there is no such job")
    ),
    security(("operator" = []))
)]
pub(super) async fn logs(
    State(shared): State<Arc<Shared>>,
    Path(job): Path<String>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Response, Problem> {
    let job = job_id(&job)?;
    let ended = view(&shared, job).await?.summary.state.has_ended();
    let progress = shared.logs.follow(job);
    let follower = Follower { shared, job, file: None, skip: asked.after, last: ended || !asked.follow, progress };
    let lines = stream::try_unfold(follower, |mut follower| async move {
        let piece = follower.next().await?;
        Ok::<_, io::Error>(piece.map(|piece| (piece, follower)))
    });
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

struct Follower {
    shared: Arc<Shared>,
    job: JobId,
    file: Option<File>,
    /// Lines that are not wanted.
    skip: u64,
    /// Whether what is there now is all there will be.
    last: bool,
    progress: watch::Receiver<Progress>,
}

impl Follower {
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            // Noted before reading, so that a line that arrives meanwhile is not waited past.
            let closed = self.progress.borrow_and_update().closed;
            let piece = self.read().await?;
            if !piece.is_empty() {
                let piece = self.skip_lines(piece);
                if !piece.is_empty() {
                    return Ok(Some(piece));
                }
                continue;
            }
            if self.last || closed {
                return Ok(None);
            }
            self.wait().await?;
        }
    }

    async fn read(&mut self) -> io::Result<Vec<u8>> {
        if self.file.is_none() {
            match File::open(self.shared.logs.path(self.job)).await {
                Ok(file) => self.file = Some(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(error),
            }
        }
        let mut piece = Vec::new();
        if let Some(file) = &mut self.file {
            file.take(READ_BYTES as u64).read_to_end(&mut piece).await?;
        }
        Ok(piece)
    }

    fn skip_lines(&mut self, piece: Vec<u8>) -> Bytes {
        let piece = Bytes::from(piece);
        let mut start = 0;
        while self.skip > 0 {
            let Some(end) = piece[start..].iter().position(|byte| *byte == b'\n') else { return Bytes::new() };
            start += end + 1;
            self.skip -= 1;
        }
        piece.slice(start..)
    }

    async fn wait(&mut self) -> io::Result<()> {
        match timeout(Duration::from_millis(ASK_MS), self.progress.changed()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => {
                let job = self.job;
                let summary = self.shared.keeper.ask(move |core| core.job_summary(job)).await;
                let summary = summary.map_err(io::Error::other)?;
                self.last = summary.is_none_or(|summary| summary.state.has_ended());
                Ok(())
            }
        }
    }
}
