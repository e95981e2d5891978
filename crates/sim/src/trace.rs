//! A hash over everything that happened, so that two runs of one seed can be compared.
use gleaner_core::{Effect, Event};
use gleaner_wire::{Hash, Millis};

/// Larger than most events; the others are encoded on the side.
const EVENT_BYTES: usize = 4096;

/// The hash in the making.
pub(crate) struct Trace {
    hasher: blake3::Hasher,
    buffer: Vec<u8>,
}

impl Trace {
    pub fn new() -> Self {
        Self { hasher: blake3::Hasher::new(), buffer: vec![0; EVENT_BYTES] }
    }

    pub fn event(&mut self, now: Millis, event: &Event) {
        self.hasher.update(&now.0.to_le_bytes());
        match postcard::to_slice(event, &mut self.buffer) {
            Ok(bytes) => self.hasher.update(bytes),
            Err(_) => {
                let bytes = postcard::to_allocvec(event).expect("events hold nothing that postcard cannot encode");
                self.hasher.update(&bytes)
            }
        };
    }

    pub fn effect(&mut self, effect: &Effect) {
        let (kind, first, second, text): (u8, u64, u64, &str) = match effect {
            Effect::WelcomeWorker { worker, session } => (0, worker.0.into(), session.0, ""),
            Effect::StartAttempt { worker, attempt } => (1, worker.0.into(), attempt.0, ""),
            Effect::CancelAttempt { worker, attempt } => (2, worker.0.into(), attempt.0, ""),
            Effect::DisconnectWorker { worker, reason } => (3, worker.0.into(), 0, reason),
            Effect::AcceptJob { ticket, job, tasks, reserved } => {
                self.hasher.update(&[tasks.to_le_bytes(), reserved.0.to_le_bytes()].concat());
                (4, ticket.0, job.0, "")
            }
            Effect::RefuseJob { ticket, reason } => (5, ticket.0, 0, reason),
            Effect::AnnounceJob { job } => (6, job.0, 0, ""),
            Effect::AnnounceWorker { worker } => (7, worker.0.into(), 0, ""),
            Effect::AnnounceFailure { job, .. } => (8, job.0, 0, ""),
            Effect::ArchiveJob { job } => (9, job.0, 0, ""),
            Effect::RefuseWorker { session, reason } => (10, session.0, 0, reason),
            Effect::LockOrder { job } => (11, job.0, 0, ""),
            Effect::TellPaused { worker, paused } => (12, worker.0.into(), u64::from(*paused), ""),
            Effect::Screen { worker, session, device, runtime } => {
                self.hasher.update(&session.0.to_le_bytes());
                (13, worker.0.into(), u64::from(*device) << 8 | *runtime as u64, "")
            }
            Effect::AnnounceDemand => (15, 0, 0, ""),
            Effect::TellScreened { worker, device, runtime, verdict } => {
                self.hasher.update(&verdict.as_ref().map_or(0, |score| *score).to_le_bytes());
                let why = verdict.as_ref().err().map_or("", String::as_str);
                (14, worker.0.into(), u64::from(*device) << 8 | *runtime as u64, why)
            }
            Effect::DrawRound { round } => (18, *round, 0, ""),
            Effect::Accuse { job } => (19, job.0, 0, ""),
            Effect::InviteBid { worker, auction, device } => {
                (15, u64::from(worker.0) << 16 | u64::from(*device), auction.0, "")
            }
            Effect::AskReveal { worker, auction, device } => {
                (16, u64::from(worker.0) << 16 | u64::from(*device), auction.0, "")
            }
            Effect::DrawLot { auction } => (17, auction.0, 0, ""),
            Effect::YieldAttempt { worker, attempt, .. } => (20, worker.0.into(), attempt.0, ""),
        };
        let mut record = [kind; 17];
        record[1..9].copy_from_slice(&first.to_le_bytes());
        record[9..].copy_from_slice(&second.to_le_bytes());
        self.hasher.update(&record);
        self.hasher.update(text.as_bytes());
    }

    pub fn hash(&self) -> Hash {
        Hash(*self.hasher.finalize().as_bytes())
    }
}
