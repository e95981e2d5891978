//! The desk: a client that runs beside a hub and does for people in a browser, and for programs, what the command line does
//! at a terminal. It keeps a folder for each account with its data secret and its wallet, takes uploads, quotes and submits
//! jobs, gives workers their keys, checks receipts, approves settlements, opens results and writes invoices.
//!
//! It talks to the hub as any client does; the hub's own code still opens nothing. But what goes through the desk can be
//! read by who runs it: who wants to keep data from the hub's machine uses the command line. Who asks is checked by whoever
//! calls it; here each account only ever reaches what is its own.

mod account;
mod bells;
mod books;
mod catalogue;
mod config;
mod desk;
mod dispute;
mod error;
mod follow;
mod http;
mod images;
mod invoice;
mod ordering;
mod owed;
mod paths;
mod quote;
mod results;
mod stake;
mod trees;
mod turns;
mod votes;
mod wallet;

pub use account::folder_of;
pub use catalogue::{Form, Format, Kind, Property, PropertyType, TemplateView, TypicalView};
pub use config::{Config, Limits};
pub use desk::Desk;
pub use error::Error;
pub use http::{Need, Route, document, router, routes};
pub use invoice::Invoice;
pub use ordering::{Ordered, Wanted};
pub use quote::{Binding, Choice, PriceRange, Quoted, TimeRange};
pub use results::{PictureItem, ResultItem, ResultKind};
pub use wallet::WalletView;
