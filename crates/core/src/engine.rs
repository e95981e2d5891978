//! Which build of its engine a rendering gets where the job names none: one for all of its steps, since builds differ in
//! their pixels. It is the one that most owners have when the job comes; if none is there, the one that first delivers.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::{Needs, Runtime, Stage, Work};

use crate::attempt::Attempt;
use crate::audit::Owner;
use crate::job::work_hash;
use crate::plan::Graph;
use crate::state::Core;

impl Core {
    /// The build of Blender that most owners have whose online machines fit each of these needs; of equals the one with more
    /// slots, then the first by name. A build that one owner has alone could be made up by it, and nobody could check it.
    pub fn popular_engine(&self, needs: &[&Needs]) -> Option<String> {
        let named: Vec<_> = needs.iter().map(|needs| self.classes.named(needs)).collect();
        let mut fitting: BTreeMap<u16, Vec<(BTreeSet<Owner>, u64)>> = BTreeMap::new();
        for seat in self.seats.iter().filter(|seat| seat.counted && !needs.is_empty()) {
            let Some(offered) = seat.runtime(Runtime::Blender) else { continue };
            let counts = fitting.entry(offered.engine).or_insert_with(|| alloc::vec![Default::default(); needs.len()]);
            for (((owners, slots), needs), named) in counts.iter_mut().zip(needs).zip(&named) {
                if seat.fits(needs, *named) {
                    owners.insert(self.owner(seat.worker));
                    *slots += u64::from(seat.slots);
                }
            }
        }
        let (mut most, mut best) = ((0, 0), None);
        for (name, number) in self.classes.engines() {
            let counts = fitting.get(&number).into_iter().flatten();
            let fitting = counts.map(|(owners, slots)| (owners.len(), *slots)).min().unwrap_or_default();
            if fitting > most {
                (most, best) = (fitting, Some(name));
            }
        }
        best.map(Into::into)
    }

    /// A job is about to be taken: its renderings get the build that most owners have.
    pub(crate) fn choose_engine(&self, graph: &mut Graph) {
        let open: Vec<&Needs> = graph.groups.iter().map(|group| &group.needs).filter(|needs| is_open(needs)).collect();
        let Some(engine) = self.popular_engine(&open) else { return };
        for group in graph.groups.iter_mut().filter(|group| is_open(&group.needs)) {
            group.needs.engine = Some(engine.clone());
        }
    }

    /// A first look at a scene was delivered while nothing was known about builds: what follows gets the build that looked.
    pub(crate) fn follow_engine(&mut self, attempt: &Attempt) {
        let job = self.jobs.get_mut(&attempt.job).expect("an attempt's job is there");
        let plan = &job.groups[usize::from(attempt.group)].plan;
        let looks = matches!(plan.spec.work, Work::Blender { stage: Stage::Look { .. }, .. });
        let Some(engine) = self.classes.engine_name(attempt.engine).filter(|_| looks && is_open(&plan.needs)) else {
            return;
        };
        // What still waits for whole groups was never queued, so nothing else knows its shape.
        for group in job.groups.iter_mut().filter(|group| group.waits > 0 && is_open(&group.plan.needs)) {
            group.plan.needs.engine = Some(engine.into());
            group.work_hash = work_hash(&group.plan);
            let shape = self.shapes.acquire(&self.classes, &group.plan.needs, job.prefer);
            self.shapes.release(core::mem::replace(&mut group.shape, shape));
        }
    }
}

/// Whether it is not said yet which build is needed, and matters.
pub(crate) fn is_open(needs: &Needs) -> bool {
    needs.runtime == Runtime::Blender && needs.engine.is_none()
}
