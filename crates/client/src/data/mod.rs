//! A requester's data: sealed here, pushed to a hub, pulled from it, and the keys that go with it.
//!
//! The secret never leaves this machine. A hub gets sealed chunks, their hashes and sizes, and keys that are wrapped for
//! the workers that got a task.
mod account;
mod attend;
mod direct;
mod hub;
mod inputs;
mod keys;
mod level;
mod pull;
mod push;

pub use account::Account;
pub use attend::{Attendant, Attending};
pub use direct::Local;
pub use gleaner_data::pack::Counts;
pub use hub::{HubData, Kept, KeysFound, List};
pub(crate) use inputs::{Bringing, Inputs};
pub use keys::JobKeys;
pub use pull::{Opens, Pull, PullProgress, Pulled, root_of, root_within};
pub use push::{Push, PushProgress, Pushed, Steer};

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes out of hexadecimal digits.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}
