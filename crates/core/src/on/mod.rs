//! What each event does, one file each.
mod attempts_finished;
mod holds;
mod hub_started;
mod job_archived;
mod job_cancelled;
mod job_submitted;
mod leases_renewed;
mod order_closed;
mod order_locked;
mod repriced;
mod stake_seen;
mod worker_joined;
mod worker_left;
mod worker_paused;
