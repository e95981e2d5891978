//! Where a task runs: seats (devices of workers), an index over those with room, and needs against offers.
//!
//! Seats are sorted into classes by what needs can ask for, and within a class into cells by speed and price. The order
//! in which cells are tried is fixed for each preference, so the best seat is found by looking at a few bits.
mod bits;
mod cell;
mod index;
mod seat;
mod shape;

pub(crate) use bits::Bits;
pub(crate) use cell::{CELLS, Cell, PREFERS, row};
pub(crate) use index::{Index, Tier};
pub use seat::SeatId;
pub(crate) use seat::{Named, Seat, SeatRuntime};
pub(crate) use shape::{ClassId, Classes, ShapeId, Shapes, memory_step, octave};
