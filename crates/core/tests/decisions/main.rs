//! The core's decisions, seen from outside: events go in, effects and views come out.
mod budget;
mod data;
mod explain;
mod failures;
mod graph;
mod leases;
mod network;
mod orders;
mod placement;
mod share;
mod stragglers;
