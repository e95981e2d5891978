//! The governor against recorded device traces, and against random ones.
mod properties;
mod trace;
mod traces;
