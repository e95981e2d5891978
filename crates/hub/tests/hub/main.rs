//! The hub from outside: real sockets, real SQLite, a worker that speaks the wire protocol by hand.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod acme;
mod again;
mod api;
mod authority;
mod dashboard;
mod data;
mod disk;
mod farewell;
mod figures;
mod handshake;
mod hostile;
mod idempotency;
mod inbox;
mod journal;
mod kill;
mod listing;
mod live;
mod machines;
mod metrics;
mod misuse;
mod often;
mod owner;
mod people;
mod place;
mod progress;
mod screen;
mod seeding;
mod theft;
mod tls;
mod watch;
mod webhooks;
mod work;
mod worker;
