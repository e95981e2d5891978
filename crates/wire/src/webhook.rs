//! Webhooks: requests that a hub sends when something happens to a job, as JSON.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

use crate::api::{JobState, JobSummary};
use crate::{JobId, Millis};

/// The header with the moment and the signature: `t=SECONDS,v1=HMAC`.
pub const SIGNATURE_HEADER: &str = "gleaner-signature";
/// The header with the kind of event.
pub const EVENT_HEADER: &str = "gleaner-event";
/// The header with the number of the delivery, the same whenever it is tried.
pub const DELIVERY_HEADER: &str = "gleaner-delivery";

/// What can happen to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum JobEvent {
    /// It was taken.
    #[serde(rename = "job.submitted")]
    Submitted,
    /// All its tasks are done.
    #[serde(rename = "job.done")]
    Done,
    /// It failed.
    #[serde(rename = "job.failed")]
    Failed,
    /// It was cancelled.
    #[serde(rename = "job.cancelled")]
    Cancelled,
}

impl JobEvent {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Submitted, Self::Done, Self::Failed, Self::Cancelled];

    /// As it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Submitted => "job.submitted",
            Self::Done => "job.done",
            Self::Failed => "job.failed",
            Self::Cancelled => "job.cancelled",
        }
    }

    /// How a job that stands so has ended; nothing if it has not.
    pub fn of_end(state: &JobState) -> Option<Self> {
        match state {
            JobState::Ordered | JobState::Running => None,
            JobState::Done => Some(Self::Done),
            JobState::Cancelled => Some(Self::Cancelled),
            JobState::Failed { .. } => Some(Self::Failed),
        }
    }
}

impl fmt::Display for JobEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A text that names nothing that happens to jobs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is nothing that happens to a job")]
pub struct JobEventError(String);

impl FromStr for JobEvent {
    type Err = JobEventError;

    fn from_str(text: &str) -> Result<Self, JobEventError> {
        Self::ALL.into_iter().find(|event| event.word() == text).ok_or_else(|| JobEventError(text.into()))
    }
}

/// A webhook to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// Where requests go: `https://…`.
    pub url: String,
    /// What is told; everything if not said.
    #[serde(default)]
    pub events: Option<Vec<JobEvent>>,
    /// Only jobs of this requester.
    #[serde(default)]
    pub requester: Option<String>,
}

/// A webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WebhookView {
    /// Its number.
    pub id: u64,
    /// Where requests go.
    pub url: String,
    /// What is told.
    pub events: Vec<JobEvent>,
    /// Of whose jobs; of all, if not said.
    pub requester: Option<String>,
    /// When it was made.
    pub created_at: Millis,
    /// Events that wait to be delivered, or to be tried again.
    pub waiting: u64,
}

/// A webhook that was just made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WebhookMade {
    /// The webhook.
    #[serde(flatten)]
    pub webhook: WebhookView,
    /// What requests are signed with; it is shown this once.
    pub secret: String,
}

/// A page of webhooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WebhooksPage {
    /// The webhooks, oldest first.
    pub items: Vec<WebhookView>,
    /// Where the next page starts, if there is more.
    pub next: Option<String>,
}

/// What a webhook is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WebhookMessage {
    /// What happened.
    pub event: JobEvent,
    /// When.
    pub at: Millis,
    /// The job as it stood then.
    pub job: JobSummary,
}

/// Where a delivery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It waits to be sent, or to be tried again.
    Waiting,
    /// It was answered with a status of 200 to 299.
    Delivered,
    /// It was tried too often.
    GivenUp,
}

/// An event on its way to a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeliveryView {
    /// Its number.
    pub id: u64,
    /// What happened.
    pub event: JobEvent,
    /// To which job.
    pub job: JobId,
    /// Where it stands.
    pub state: DeliveryState,
    /// How often it was tried.
    pub tries: u32,
    /// When it happened.
    pub created_at: Millis,
    /// When it was tried last.
    pub tried_at: Option<Millis>,
    /// When it is tried next.
    pub next_at: Option<Millis>,
    /// The status of the last answer.
    pub status: Option<u16>,
    /// What went wrong the last time.
    pub error: Option<String>,
}

/// A page of deliveries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeliveriesPage {
    /// The deliveries, newest first.
    pub items: Vec<DeliveryView>,
    /// Where the next page starts, if there is more.
    pub next: Option<String>,
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_by_the_words_they_are_written_with() {
        for event in JobEvent::ALL {
            assert_eq!(serde_json::to_value(event).expect("plain data"), event.word());
            assert_eq!(event.word().parse(), Ok(event));
        }
        assert!("job.dreamt".parse::<JobEvent>().is_err());
    }
}
