//! The hub: a thin shell around the pure core.
//!
//! It journals what happens, applies it to the core and performs the effects that come out: messages to workers,
//! answers to requesters, records of ended jobs. No decision about price, placement or trust lives here.
//!
//! One thread, the keeper, owns the core and the journal; everything else talks to it through bounded channels.

pub mod access;
mod answers;
mod attempts;
mod clock;
mod config;
mod data;
mod doors;
mod error;
mod extra;
mod figures;
mod http;
mod hub;
mod inbox;
mod journal;
mod keeper;
mod live;
mod lock;
mod logs;
mod machines;
mod managed;
mod metrics;
pub mod money;
mod people;
mod proof;
mod screen;
mod session;
mod status;
mod tls;
mod token;
mod traces;
mod webhooks;

pub use config::{Bucket, Config, SignUp, Site};
pub use error::Error;
pub use extra::{Description, Extra, Need, Place, Routes};
pub use hub::{Hub, start};
pub use inbox::Sftp;
pub use managed::ManagedConfig;
pub use tls::{Acme, CertificateError, DIRECTORY as ACME_DIRECTORY, Tls, TlsError};
pub use webhooks::is_public;

/// The OpenAPI document of the HTTP API, as JSON, with the routes of a room beside the hub.
pub fn openapi(beside: Option<&Description>) -> String {
    http::openapi_text(beside)
}
