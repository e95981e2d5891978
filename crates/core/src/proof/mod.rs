//! Proof of Sync: how sure one can be that a result is right, in numbers that anybody can reckon again.
//!
//! Everything here is a pure function of what it is given: rates of audits from a worker's record and stake, lots from a seed
//! that nobody could foresee, decisions from polls. `audit` has the part that lives in the state.
mod draw;
mod policy;
mod poll;
mod rate;
mod stake;
mod tolerance;

pub(crate) use draw::lot;
pub use draw::{COMPARE_LOT, Candidate, REFEREE_LOT, WHOLE, auditors, is_selected};
pub use policy::Policy;
pub use poll::{Last, Step, Vote, last_word};
pub use rate::{Mark, RateView, Record, exposure_max, floor, rate, rate_needed};
pub use stake::{Costs, LIE};
pub use tolerance::{Known, Pair, SEEN_MIN, Tolerances};
