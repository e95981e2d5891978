//! The server as OpenSSH's own clients see it.

mod client;
mod inside;
mod limits;
mod logins;
mod transfers;
