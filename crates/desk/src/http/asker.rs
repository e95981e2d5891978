//! Who asks, as the request carries it.
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use gleaner_wire::Asker;

use super::problem::Refusal;

/// Who asks.
pub(super) struct Who(pub(super) Asker);

impl<S: Sync> FromRequestParts<S> for Who {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        parts.extensions.get::<Asker>().cloned().map(Self).ok_or_else(Refusal::unauthorized)
    }
}
