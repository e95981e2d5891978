//! Who listens, and what of lists they may see.
use gleaner_wire::WorkerId;
use gleaner_wire::live::Topic;
use std::collections::HashSet;

/// Who listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Viewer {
    /// Whoever runs the hub.
    Operator,
    /// An account: its own jobs and machines.
    Account {
        /// The requesters that it pays as.
        requesters: HashSet<String>,
        /// Its workers.
        workers: HashSet<WorkerId>,
    },
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
            // What is not theirs is as silent as what is not there.
            Self::Operator | Self::Account { .. } => true,
            Self::Public => topic == Topic::Network,
        }
    }

    /// Whether an event on a topic that it watches is for it.
    pub(super) fn sees(&self, about: &About) -> bool {
        match self {
            Self::Operator => true,
            Self::Account { requesters, workers } => match about {
                About::Anybody => true,
                About::Requester(name) => requesters.contains(name),
                About::Worker(worker) => workers.contains(worker),
            },
            Self::Public => *about == About::Anybody,
        }
    }
}
