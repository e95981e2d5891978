//! A refusal, as its asker reads it.
use super::{CODE, Refusal};
use crate::net::Error;
use crate::net::protocol::Code;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// A refusal, as its asker reads it: a status, a code for programs and a sentence for people.
pub(super) struct Refused {
    status: StatusCode,
    code: Code,
    text: String,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        let (status, code) = match refusal {
            Refusal::Unknown => (StatusCode::UNAUTHORIZED, Code::NotGranted),
            Refusal::Forbidden => (StatusCode::FORBIDDEN, Code::NotGranted),
            Refusal::NoRoom => (StatusCode::INSUFFICIENT_STORAGE, Code::TooMuch),
        };
        Self { status, code, text: refusal.to_string() }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        let (status, code) = match &error {
            Error::Grant(_) => (StatusCode::FORBIDDEN, Code::NotGranted),
            Error::TooMuch { .. } => (StatusCode::PAYLOAD_TOO_LARGE, Code::TooMuch),
            Error::Malformed(_) => (StatusCode::BAD_REQUEST, Code::Malformed),
            Error::Store(crate::store::Error::DiskFull | crate::store::Error::NoRoom { .. }) => {
                (StatusCode::INSUFFICIENT_STORAGE, Code::Storage)
            }
            Error::Bind { .. }
            | Error::Lost { .. }
            | Error::Refused(_)
            | Error::Receipt(_)
            | Error::Lied(_)
            | Error::Store(_)
            | Error::NoSource { .. }
            | Error::Stopped
            | Error::Relay { .. } => (StatusCode::INTERNAL_SERVER_ERROR, Code::Storage),
        };
        Self { status, code, text: error.to_string() }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.status, [(CODE, self.code.number().to_string())], self.text).into_response()
    }
}
