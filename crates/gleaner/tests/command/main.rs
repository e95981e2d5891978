//! The commands, as people run them: against real hubs, workers, chains and devices. One binary, because each would
//! compile half of the project once more.
#[path = "../../../chain/tests/anvil/mod.rs"]
mod anvil;
#[path = "../../../sandbox/tests/sandbox/attacker.rs"]
#[expect(clippy::unwrap_used, reason = "as in the tests of the sandbox")]
mod attacker;
#[path = "../../../hub/tests/hub/authority.rs"]
mod authority;
#[path = "../../../sandbox/tests/sandbox/box_image.rs"]
#[expect(clippy::unwrap_used, reason = "as in the tests of the sandbox")]
mod box_image;
#[path = "../../../trace/tests/listening/mod.rs"]
mod listening;
mod network;
#[path = "../../../sandbox/tests/sandbox/podman.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "as in the tests of the sandbox, and not all of it is needed here")]
mod podman;
mod programs;
#[path = "../../../sandbox/tests/sandbox/registry.rs"]
#[expect(clippy::unwrap_used, reason = "as in the tests of the sandbox")]
mod registry;

mod addon;
mod auction;
mod chaos;
mod cold_wallet;
mod crowd;
mod data;
mod demo;
mod desk;
mod direct;
mod doctor;
mod end_to_end;
mod fiat;
mod liars;
mod machines;
mod market_index;
mod money;
mod observability;
mod orders;
mod outside;
mod owner;
mod page;
mod presence;
mod processes;
mod provider;
mod quote;
mod race;
mod readme;
mod receipts;
mod snapshots;
mod tls;
mod training;
