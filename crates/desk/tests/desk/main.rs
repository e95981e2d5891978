//! The desk as people and programs meet it: over HTTP, beside a real hub.
mod access;
mod banker;
mod catalogue;
mod confined;
mod dispute;
mod files;
mod liar;
mod limits;
mod money;
mod ordering;
mod owed;
mod place;
mod private;
mod quotes;
mod stake;
mod votes;
mod worker;
