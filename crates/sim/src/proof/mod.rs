//! Proof of Sync against cheats: a world of claims, lots, audits and polls, with a stake behind every worker.
//!
//! Rates, draws, polls and tolerances are the core's own functions. What a world adds is people: honest ones whose machines
//! sometimes go away, and liars of many kinds, who come back under a new name and with a new stake after they were thrown out.
mod audit;
mod noise;
mod people;
mod rows;
mod setting;
mod tally;
mod world;

pub use rows::{Goal, Group, Row, rows, run, run_all};
pub use setting::{Kind, Lazy, Setting};
pub use tally::Outcome;
pub use world::STEADY_AFTER_PERCENT;
