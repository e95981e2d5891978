//! Errors as RFC 9457 has them. What went wrong inside is logged, and not told to strangers.
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gleaner_client::registry::RegistryError;
use gleaner_wire::api::Problem;

use crate::Error;

/// How far an upload is.
pub(super) const OFFSET: HeaderName = HeaderName::from_static("upload-offset");

/// A refusal on its way to the client.
#[derive(Debug)]
pub(super) struct Refusal {
    problem: Box<Problem>,
    offset: Option<u64>,
}

impl Refusal {
    /// A refusal with a stable word for programs.
    pub(super) fn new(status: StatusCode, kind: &str, title: &str, detail: impl Into<String>) -> Self {
        let (code, title, detail) = (kind.to_owned(), title.to_owned(), detail.into());
        let (kind, status) = (code.clone(), status.as_u16());
        let problem = Problem { kind, code, title, status, detail, at: None, line: None };
        Self { problem: Box::new(problem), offset: None }
    }

    /// Nobody knows who asks.
    pub(super) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "nobody knows who asks", "sign in, or send a token")
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.problem).expect("a problem is plain data");
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response = (status, [(header::CONTENT_TYPE, kind)], body).into_response();
        if let Some(offset) = self.offset {
            response.headers_mut().insert(OFFSET, HeaderValue::from(offset));
        }
        response
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let detail = error.to_string();
        let refuse = |status, kind: &str, title: &str| Self::new(status, kind, title, detail.clone());
        match error {
            Error::NotFound(_) => refuse(StatusCode::NOT_FOUND, "not-found", "not found"),
            Error::Wrong(_) => refuse(StatusCode::BAD_REQUEST, "bad-request", "the request makes no sense"),
            Error::Job { line, .. } => {
                let mut refusal = refuse(StatusCode::UNPROCESSABLE_ENTITY, "job-refused", "the job is refused");
                refusal.problem.line = line;
                refusal
            }
            Error::Template(_) => {
                refuse(StatusCode::UNPROCESSABLE_ENTITY, "template-refused", "the template is refused")
            }
            Error::Image(error) => of_registry(&error),
            Error::OtherQuote => refuse(StatusCode::CONFLICT, "other-quote", "the quote is for another job"),
            Error::QuoteExpired => refuse(StatusCode::CONFLICT, "quote-expired", "the quote has run out"),
            Error::NameTaken(_) => refuse(StatusCode::CONFLICT, "name-taken", "the name is taken"),
            Error::Busy => refuse(StatusCode::SERVICE_UNAVAILABLE, "busy", "the file is being written"),
            Error::NoChain => refuse(StatusCode::NOT_FOUND, "no-chain", "there is no chain here"),
            Error::NotNow(_) => refuse(StatusCode::CONFLICT, "not-now", "that cannot be done now"),
            Error::OverLimit { .. } => refuse(StatusCode::FORBIDDEN, "spend-limit", "the token may not spend as much"),
            Error::NoKey => refuse(StatusCode::BAD_REQUEST, "idempotency-key-missing", "a key is missing"),
            Error::KeyReused => {
                refuse(StatusCode::UNPROCESSABLE_ENTITY, "idempotency-key-reused", "the key was used before")
            }
            Error::Unknown => refuse(StatusCode::CONFLICT, "outcome-unknown", "whether it was done is not known"),
            Error::TooMany(_) => refuse(StatusCode::TOO_MANY_REQUESTS, "too-many", "too much at once"),
            Error::Hub(error) => of_hub(error),
            Error::Money(error) => of_money(error),
            Error::Upload(error) => of_upload(&error),
            error @ (Error::Books(_) | Error::File { .. } | Error::Defect) => of_desk(&error),
        }
    }
}

fn of_desk(error: &Error) -> Refusal {
    let source = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    match error {
        Error::File { path, .. } => tracing::error!(%error, source, path = %path.display(), "the desk failed"),
        error => tracing::error!(%error, source, "the desk failed"),
    }
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "desk", "the desk failed", error.to_string())
}

fn of_registry(error: &RegistryError) -> Refusal {
    let detail = format!("{error}. Name the image by its digest (NAME@sha256:…), or bring it as a file");
    match error {
        RegistryError::Name(_) | RegistryError::NotPublic(_) => {
            Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "job-refused", "the job is refused", detail)
        }
        RegistryError::Refused { .. } | RegistryError::NoDigest(_) => {
            Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "image-unknown", "the registry has no such image", detail)
        }
        RegistryError::Unreachable { host, source } => {
            tracing::info!(host, %source, "a registry does not answer");
            let detail = format!("{detail}; or try again in a moment");
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "registry", "the registry does not answer", detail)
        }
    }
}

fn of_hub(error: gleaner_client::Error) -> Refusal {
    match error {
        // What the hub refuses about the request is for who made it; that it does not know the desk is not.
        gleaner_client::Error::Refused(problem)
            if (400..500).contains(&problem.status) && !matches!(problem.status, 401 | 403) =>
        {
            Refusal { problem, offset: None }
        }
        gleaner_client::Error::NoKeys(job) => {
            let detail = format!("the keys of job {job} are not at this desk");
            Refusal::new(StatusCode::NOT_FOUND, "no-keys", "the results cannot be opened here", detail)
        }
        error => {
            tracing::warn!(%error, "the hub did not do what the desk asked");
            let detail = "the hub does not answer the desk as it should; nothing is lost, try again in a moment";
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "hub", "the hub does not answer", detail)
        }
    }
}

fn of_money(error: gleaner_requester::Error) -> Refusal {
    use gleaner_chain::sender::Failure;
    use gleaner_requester::Error as Money;
    let detail = error.to_string();
    match error {
        Money::Hub(error) => of_hub(error),
        Money::TooPoor { .. } => {
            Refusal::new(StatusCode::PAYMENT_REQUIRED, "too-poor", "there is not enough money", detail)
        }
        Money::TooMuch | Money::Overflow => {
            Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "too-much", "no amount is as large", detail)
        }
        Money::Send(Failure::Refused(_) | Failure::Reverted { .. }) => {
            Refusal::new(StatusCode::CONFLICT, "chain-refused", "the contracts refuse", detail)
        }
        error => {
            tracing::warn!(%error, "money did not move");
            let detail = "the chain does not answer as it should; look at the wallet before you try again";
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "chain", "the chain does not answer", detail)
        }
    }
}

fn of_upload(error: &gleaner_uploads::Error) -> Refusal {
    use gleaner_uploads::Error as Upload;
    let refuse = |status, kind: &str, title: &str| Refusal::new(status, kind, title, error.to_string());
    match error {
        Upload::Offset(offset) => {
            let refusal = refuse(StatusCode::CONFLICT, "offset", "a piece is missing or twice here");
            Refusal { offset: Some(*offset), ..refusal }
        }
        Upload::Full => {
            let detail = "there is no room for the file: remove files that you do not need any more";
            Refusal::new(StatusCode::INSUFFICIENT_STORAGE, "storage", "no room for the upload", detail)
        }
        Upload::Silence => refuse(StatusCode::REQUEST_TIMEOUT, "silence", "nothing arrives"),
        Upload::Broken(_) | Upload::TooMuch => refuse(StatusCode::BAD_REQUEST, "bad-request", "the upload broke off"),
        Upload::Write(source) => {
            tracing::error!(%source, "an upload could not be written");
            let detail = "the file could not be written: try again later";
            Refusal::new(StatusCode::INSUFFICIENT_STORAGE, "storage", "the upload could not be kept", detail)
        }
        Upload::InTheWay(_) => {
            let detail = "a file or folder of that name is in the way";
            Refusal::new(StatusCode::CONFLICT, "in-the-way", "the file cannot be put in its place", detail)
        }
    }
}
