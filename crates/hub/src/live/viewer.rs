//! Who listens, and what of lists they may see.
use gleaner_wire::WorkerId;
use gleaner_wire::live::Topic;

/// Who listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Viewer {
    /// Whoever runs the hub.
    Operator,
    /// Anybody.
    Public,
}

/// Whom an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// Nobody in particular.
    Anybody,
    /// Somebody's job.
    Requester(String),
    /// Somebody's machine.
    Worker(WorkerId),
}

impl Viewer {
    /// Whether it may watch a topic at all.
    pub(crate) fn may_watch(&self, topic: Topic) -> bool {
        match self {
            Self::Operator => true,
            Self::Public => topic == Topic::Network,
        }
    }

    /// Whether an event on a topic that it watches is for it.
    pub(super) fn sees(&self, about: &About) -> bool {
        match self {
            Self::Operator => true,
            Self::Public => *about == About::Anybody,
        }
    }
}
