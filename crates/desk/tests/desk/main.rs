//! The desk as people and programs meet it: over HTTP, beside a real hub.
mod access;
mod catalogue;
mod confined;
mod files;
mod images;
mod limits;
mod money;
mod ordering;
mod place;
mod private;
mod quotes;
mod registry;
mod worker;
