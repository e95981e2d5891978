//! A job's log, line by line; a lost connection goes on after the last line that arrived.
use bytes::BytesMut;
use gleaner_wire::JobId;
use gleaner_wire::api::LogView;
use reqwest::{Method, Response};

use crate::connection::TRIES_MAX;
use crate::{Client, Error, backoff};

/// The longest line of a log that is read.
const LINE_BYTES_MAX: usize = 1024 * 1024;

/// The lines of a job's log.
pub struct Logs {
    client: Client,
    job: JobId,
    follow: bool,
    seen: u64,
    tried: u32,
    response: Option<Response>,
    rest: BytesMut,
}

impl Client {
    /// A job's log; with `follow`, until the job ends.
    pub fn logs(&self, job: JobId, follow: bool) -> Logs {
        let (response, rest) = (None, BytesMut::new());
        Logs { client: self.clone(), job, follow, seen: 0, tried: 0, response, rest }
    }
}

impl Logs {
    /// The next line; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<LogView>, Error> {
        loop {
            if let Some(line) = self.take_line()? {
                (self.seen, self.tried) = (self.seen + 1, 0);
                return Ok(Some(line));
            }
            match self.read_more().await {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) if error.is_transient() && self.tried + 1 < TRIES_MAX => {
                    (self.response, self.rest) = (None, BytesMut::new());
                    tokio::time::sleep(backoff::delay(self.tried)).await;
                    self.tried += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn take_line(&mut self) -> Result<Option<LogView>, Error> {
        let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') else {
            if self.rest.len() > LINE_BYTES_MAX {
                return Err(Error::answer(self.client.url(), "a line of the log is too long"));
            }
            return Ok(None);
        };
        let line = self.rest.split_to(end + 1);
        self.client.connection.read_json(&line).map(Some)
    }

    /// Reads on; false at the end. A follower may hear nothing for long, so silence is no error here.
    async fn read_more(&mut self) -> Result<bool, Error> {
        let response = match &mut self.response {
            Some(response) => response,
            none => {
                let request = self.client.request(Method::GET, &format!("/jobs/{}/logs", self.job));
                let request = request.query(&[("follow", self.follow.to_string()), ("after", self.seen.to_string())]);
                let response = self.client.connection.send_once(request).await?;
                none.insert(self.client.connection.agreed(response).await?)
            }
        };
        let lost = |source: reqwest::Error| Error::unreachable(self.client.url(), source.without_url());
        let piece = response.chunk().await.map_err(lost)?;
        self.rest.extend_from_slice(piece.as_deref().unwrap_or_default());
        Ok(piece.is_some())
    }
}
