//! Whole datasets: folders that are packed, changed, packed again and unpacked, with faults in between.
mod changes;
mod folders;
mod look;
mod parcels;
mod resume;
mod world;
