//! The datasets that the elements of a group read.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use gleaner_wire::{IMAGE_BYTES_GUESS, InputSpec, Millis, TaskSpec, WorkerId};
use serde::{Deserialize, Serialize};

use super::Moving;
use super::fleet::HolderFleet;
use super::holders::{DataId, Holders};

/// What a group reads, if that is worth thinking about where it lies.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Inputs {
    /// Each dataset with the bytes that move to a machine that has nothing of it; the largest first.
    pub sets: Vec<(DataId, u64)>,
    /// The sum of that.
    pub bytes: u64,
    /// Whether that is a guess in part.
    pub is_guess: bool,
    /// Who holds it, as last looked at.
    pub fleet: HolderFleet,
}

impl Inputs {
    /// The inputs of a group, unless they are too small to matter.
    pub fn of(spec: &TaskSpec, holders: &mut Holders, bytes_min: u64) -> Option<Self> {
        let named = spec.inputs.iter().filter_map(InputSpec::data).chain(spec.work.program());
        let image = spec.work.registry_image().map(|digest| (digest, IMAGE_BYTES_GUESS));
        let roots: BTreeMap<_, _> = named.map(|data| (data.root.id, data.bytes)).chain(image).collect();
        let bytes = roots.values().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
        if bytes < bytes_min {
            return None;
        }
        let mut sets: Vec<_> = roots.into_iter().map(|(root, bytes)| (holders.acquire(root), bytes)).collect();
        sets.sort_by_key(|(_, bytes)| core::cmp::Reverse(*bytes));
        Some(Self { sets, bytes, is_guess: image.is_some(), fleet: HolderFleet::default() })
    }

    /// An element goes to a seat of this speed and this many slots: its worker will have the data, and what it lacks is
    /// moved there.
    pub fn begin(
        &mut self,
        holders: &mut Holders,
        worker: WorkerId,
        (speed, slots): (u32, u32),
        line: u64,
        now: Millis,
    ) -> Moving {
        let moving = Moving::of(self, holders, worker, line, now);
        if moving.bytes > 0 {
            let whole_at = now.after(moving.time.millis());
            self.sets.iter().for_each(|(id, _)| holders.expect(worker, *id, whole_at));
            // A seat that had next to nothing joins those who hold it; the others are counted already.
            if moving.bytes >= self.bytes {
                self.fleet.add(speed, slots, moving.time);
            }
        }
        moving
    }

    /// The group is gone.
    pub fn release(&self, holders: &mut Holders) {
        self.sets.iter().for_each(|(id, _)| holders.release(*id));
    }
}
