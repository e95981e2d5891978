//! Asking, and breaking off: what had come is saved, be it whole or the beginning of a chunk.
use super::place::Place;
use super::run::Engine;
use crate::net::carrier::{Arrival, Carrier, Delivery};
use crate::net::frames::Frame;
use crate::net::inbox::Inbox;
use crate::net::schedule::{Effect, RequestId, SourceId};
use gleaner_wire::BlobRef;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::task::AbortHandle;

/// A request under way.
pub(super) struct Asked {
    source: SourceId,
    task: AbortHandle,
    inbox: Arc<Inbox>,
}

impl<P: Place> Engine<P> {
    /// Does what was planned.
    pub(super) fn perform(&mut self, effects: Vec<Effect>) {
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            let mut more = Vec::new();
            match effect {
                Effect::Ask { source, request, positions } => self.ask(source, request, &positions),
                Effect::Cancel { request } => self.break_off(request, &mut more),
                Effect::Reset { source } => self.carriers.get(&source).iter().for_each(|carrier| carrier.reset()),
                Effect::Drop { source } => {
                    if let Some(carrier) = self.let_go(source, &mut more) {
                        tracing::info!(source = carrier.name(), "a source that stays silent is dropped");
                    }
                }
            }
            effects.extend(more);
        }
        while self.tasks.try_join_next().is_some() {}
    }

    fn ask(&mut self, source: SourceId, request: RequestId, positions: &[u32]) {
        let Some(carrier) = self.carriers.get(&source).map(Arc::clone) else { return };
        // Something planned before this may have brought it meanwhile.
        let blobs: Vec<BlobRef> = positions.iter().filter_map(|position| self.blobs.get(position)).copied().collect();
        if blobs.is_empty() {
            return;
        }
        let begun = if carrier.goes_on() { self.begun(&carrier.name(), &blobs) } else { Vec::new() };
        let (delivery, inbox) = Delivery::new(
            (source, request),
            blobs,
            begun,
            self.to.clone(),
            Arc::clone(&self.room),
            Arc::clone(&self.steering.pace),
        );
        let to = self.to.clone();
        let task = self.tasks.spawn(async move {
            let outcome = carrier.want(delivery).await;
            let _ = to.send((source, request, Arrival::Ended(outcome))).await;
        });
        self.requests.insert(request, Asked { source, task, inbox });
    }

    /// What a source has sent already of these.
    fn begun(&mut self, name: &str, blobs: &[BlobRef]) -> Vec<Vec<u8>> {
        blobs.iter().map(|blob| self.kept.take(&blob.id, name)).collect()
    }

    fn break_off(&mut self, request: RequestId, effects: &mut Vec<Effect>) {
        if let Some(asked) = self.requests.remove(&request) {
            asked.task.abort();
            self.save(request, &asked, effects);
        }
    }

    /// Ends every request.
    pub(super) fn break_off_all(&mut self, effects: &mut Vec<Effect>) {
        for request in self.requests.keys().copied().collect::<Vec<_>>() {
            self.break_off(request, effects);
        }
        self.tasks.abort_all();
    }

    /// Takes what a request that has ended had brought and not handed over.
    pub(super) fn save(&mut self, request: RequestId, asked: &Asked, effects: &mut Vec<Effect>) {
        let left = asked.inbox.close();
        for frame in left.frames {
            match frame {
                Frame::Chunk(chunk) => self.take(asked.source, chunk, None, effects),
                Frame::Absent(blob) => self.absent(request, &blob),
            }
        }
        let goes_on = self.carriers.get(&asked.source).filter(|carrier| carrier.goes_on());
        let name = goes_on.map(|carrier| carrier.name());
        for (blob, bytes) in left.begun {
            let length = bytes.len() as u64;
            let lost = match &name {
                Some(name) if self.positions.contains_key(&blob.id) => self.kept.put(blob.id, name.clone(), bytes),
                Some(_) | None => length,
            };
            if lost > 0 {
                self.scheduler.wasted(asked.source, lost);
            }
        }
    }

    /// Breaks off what a source is asked for, and its connection with it.
    pub(super) fn let_go(&mut self, source: SourceId, effects: &mut Vec<Effect>) -> Option<Arc<dyn Carrier>> {
        let asked = self.requests.iter().filter(|(_, asked)| asked.source == source);
        for request in asked.map(|(request, _)| *request).collect::<Vec<_>>() {
            self.break_off(request, effects);
        }
        let carrier = self.carriers.remove(&source);
        carrier.iter().for_each(|carrier| carrier.reset());
        carrier
    }
}
