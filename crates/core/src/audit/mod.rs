//! Audits: a result is a claim until it is checked, and only checked work is paid.
//!
//! Claims gather into rounds. When a round is drawn, lots decide which claims are computed again, and by whom; the others are
//! accepted. An audit is an attempt like any other at the same task on another owner's worker, so that nobody can tell
//! one from paid work. Where an answer differs, polls of more workers decide, and whoever was wrong loses its standing
//! and its stake. The numbers are `proof`'s; here they meet the state.
mod answer;
mod ask;
mod claim;
mod compare;
mod contest;
mod loss;
mod note;
mod round;
mod tolerate;
mod verdict;

pub use gleaner_wire::receipt::Verdict;
pub use note::{AnswerNote, AuditNote, Conviction, DrawNote, Proof};

pub(crate) use answer::is_answer;
pub(crate) use ask::Owner;
pub(crate) use claim::{Claim, Claims, Delivered};
