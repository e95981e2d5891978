//! Who can be asked, remembered from one part of a dataset to the next.
use crate::net::carrier::Carrier;
use crate::net::fetch::Update;
use crate::net::schedule::{Holds, Role};
use gleaner_wire::WorkerKey;
use std::collections::BTreeMap;
use std::sync::Arc;

struct Known {
    carrier: Arc<dyn Carrier>,
    role: Role,
    holds: Holds,
}

/// Who can be asked, and who fetches the same.
#[derive(Default)]
pub(super) struct World {
    sources: BTreeMap<String, Known>,
    members: BTreeMap<WorkerKey, (u64, bool)>,
}

impl World {
    /// Remembers what it is told.
    pub(super) fn note(&mut self, update: &Update) {
        match update {
            Update::Joined { carrier, role, holds } => {
                let known = Known { carrier: Arc::clone(carrier), role: *role, holds: holds.clone() };
                self.sources.insert(carrier.name(), known);
            }
            Update::Holds { name, holds } => {
                if let Some(known) = self.sources.get_mut(name) {
                    known.holds = holds.clone();
                }
            }
            Update::Left { name } => drop(self.sources.remove(name)),
            Update::Member { key, held, complete } => drop(self.members.insert(*key, (*held, *complete))),
            Update::MemberLeft { key } => drop(self.members.remove(key)),
        }
    }

    /// Everything, for somebody who knows nothing yet.
    pub(super) fn updates(&self) -> Vec<Update> {
        let source = |known: &Known| Update::Joined {
            carrier: Arc::clone(&known.carrier),
            role: known.role,
            holds: known.holds.clone(),
        };
        let member = |(key, (held, complete)): (&WorkerKey, &(u64, bool))| Update::Member {
            key: *key,
            held: *held,
            complete: *complete,
        };
        self.members.iter().map(member).chain(self.sources.values().map(source)).collect()
    }
}
