//! The queues of waiting groups, by shape and requester.
use gleaner_wire::{JobId, Micros};

use crate::share::RequesterId;
use crate::state::Core;

impl Core {
    /// Puts a group into its queue, or takes it out, as it has elements waiting or not.
    pub(crate) fn queue(&mut self, id: JobId, at: u16) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let takes = job.is_running() && !job.out_of_money;
        let group = &mut job.groups[usize::from(at)];
        let waits = takes && group.ready() > 0 && !group.sale.is_open();
        if group.queued == waits {
            return;
        }
        group.queued = waits;
        group.waits_since = waits.then_some(self.now);
        let (requester, shape_id) = (job.requester, group.shape);
        let shape = &mut self.shapes[shape_id];
        if waits {
            let clock = self.share.wait(requester);
            shape.waiting.insert((clock, requester));
            shape.queues.entry(requester).or_default().insert((id, at));
            self.shapes.active.insert(shape_id);
            self.watch_demand();
            self.look_when_late(id, at);
            return;
        }
        self.share.stop_waiting(requester);
        let queue = shape.queues.get_mut(&requester).expect("a queued group is in its queue");
        queue.remove(&(id, at));
        if queue.is_empty() {
            shape.queues.remove(&requester);
            shape.waiting.remove(&(self.share.clock(requester), requester));
            if shape.waiting.is_empty() {
                self.shapes.active.remove(&shape_id);
            }
        }
    }

    /// Counts device time placed for a requester, and moves it back in the queues it stands in.
    pub(crate) fn charge(&mut self, requester: RequesterId, predicted: Option<Micros>) {
        let before = self.share.clock(requester);
        self.share.charge(requester, predicted);
        let after = self.share.clock(requester);
        self.shapes.rekey(requester, before, after);
    }
}
