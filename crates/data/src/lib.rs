//! Content-addressed data.
//!
//! - [`store`]: the bounded store of sealed chunks that every worker and hub has.
pub mod store;
