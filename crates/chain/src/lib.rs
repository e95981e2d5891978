//! Money on a chain. The only room that knows a blockchain.
//!
//! All rules about money are written once, as contracts. Here they run in an embedded EVM or on any chain behind
//! JSON-RPC, and everything above talks to both through [`Node`].
pub mod account;
pub mod beacon;
pub mod contracts;
pub mod deploy;
pub mod embedded;
pub mod fiat;
pub mod genesis;
pub mod market;
pub mod measure;
pub mod merkle;
pub mod model;
pub mod node;
pub mod order;
pub mod outbox;
pub mod ownership;
pub mod receipt;
pub mod remote;
pub mod rewards;
pub mod rpc;
pub mod sender;
pub mod views;
pub mod voucher;
pub mod wallet;

pub use account::Account;
pub use alloy_primitives as primitives;
pub use node::Node;
