//! The desk as people and programs meet it: over HTTP, beside a real hub.
mod catalogue;
mod confined;
mod files;
mod limits;
mod money;
mod ordering;
mod place;
