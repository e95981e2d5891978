//! Who people are to a hub: their accounts, the ways they prove it, and what follows from that.
//!
//! | module | holds |
//! |---|---|
//! | [`account`] | names, roles, and the accounts themselves |
//! | [`passphrase`] | which passphrases are taken, and their Argon2id hashes |
//! | [`passkey`] | WebAuthn: options for the browser, and the checks of what comes back |
//! | [`wallet`] | EIP-4361 messages and the signatures under them |
//! | [`totp`] | the second factor: codes by time, and recovery codes |
//! | [`link`] | links that sign in once, for whoever runs a hub on their own machine |
//! | [`challenge`] | what is to be signed: single use, expiring, and nothing to remember until it is used |
//! | [`sign_in`] | how these become a session |
//! | [`session`] | sessions of browsers, and what protects them from forged requests |
//! | [`token`] | API tokens: scopes, expiry, and what they may spend |
//! | [`lockout`], [`rate`] | how guessing is slowed down |
//! | [`ownership`] | which requesters and workers are an account's |
//! | [`audit`] | what happened, for the account and for the operator |
//!
//! There is no HTTP here and no hub: [`Accounts`] is one SQLite file beside one key file, and may be opened by the hub and
//! by the command line at the same time. The moment of a call is passed in with [`Visit`], chance with [`Chance`]. Calls
//! block; those that hash a passphrase take tens of milliseconds, so an asynchronous caller moves them to a thread.
pub mod account;
pub mod audit;
pub mod challenge;
mod chance;
mod error;
mod key;
pub mod link;
pub mod lockout;
mod memory;
pub mod ownership;
pub mod passkey;
pub mod passphrase;
pub mod rate;
mod schema;
mod secret;
pub mod session;
pub mod sign_in;
mod site;
mod store;
pub mod token;
pub mod totp;
mod visit;
pub mod wallet;

pub use account::{Account, AccountId, Name, Role, Roles};
pub use chance::{Chance, SystemChance};
pub use error::{Error, Refusal};
pub use secret::Secret;
pub use site::{Site, SiteError};
pub use store::{Accounts, Settings};
pub use visit::Visit;
