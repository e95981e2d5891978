//! The commands, as people run them: against real hubs, workers, chains and devices. One binary, because each would
//! compile half of the project once more.
#[path = "../../../chain/tests/anvil/mod.rs"]
mod anvil;
mod network;
mod programs;

mod chaos;
mod data;
mod demo;
mod direct;
mod doctor;
mod end_to_end;
mod fiat;
mod money;
mod orders;
mod outside;
mod page;
mod processes;
mod snapshots;
