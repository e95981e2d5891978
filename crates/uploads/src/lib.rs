//! Files that people bring over HTTP, whole or in pieces: a folder for each user, no way out of it, and no more than it may
//! hold.
//!
//! It knows neither HTTP nor jobs. Who uses it says who the users are, and what becomes of the files.

mod arriving;
mod books;
mod folder;
mod name;

pub use arriving::{Arriving, Error, Piece, Taken};
pub use books::{Books, Full, Limits};
pub use folder::{Arrived, Part, arrived, discard, finish, open_part, part_name, scan, user_folder};
pub use name::{OWN_PREFIX, Spot, Top, User};
