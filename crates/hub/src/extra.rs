//! Rooms beside the hub that answer requests at its address. They are its clients and know nothing of its inside; the hub
//! knows nothing of theirs.
use crate::Error;
use axum::Router;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Where such a room finds the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The hub's address, as this machine reaches it.
    pub url: String,
    /// The file with the operator's token.
    pub token_file: PathBuf,
    /// The hub's folder, which is locked for it.
    pub dir: PathBuf,
}

/// What it takes to use a route of such a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// To read what is the account's.
    Read,
    /// To submit jobs and change files.
    Submit,
    /// To spend the account's money.
    Spend,
    /// To order jobs with it, which requesters do.
    Order,
}

/// The routes of such a room.
#[derive(Debug)]
pub struct Routes {
    /// What serves them.
    pub router: Router,
    /// What they are.
    pub description: Description,
}

/// What routes such a room has, what it takes to use each, and how programs do. One that is not listed is not served.
#[derive(Clone)]
pub struct Description {
    /// Method, path as axum writes it, and need.
    pub needs: Vec<(&'static str, &'static str, Need)>,
    /// The room's part of the OpenAPI document. The hub adds what holds for all routes alike.
    pub document: utoipa::openapi::OpenApi,
}

impl fmt::Debug for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Description").field("needs", &self.needs).finish_non_exhaustive()
    }
}

type Open = dyn Fn(&Place) -> Result<Routes, Box<dyn std::error::Error + Send + Sync>> + Send + Sync;

/// What opens such rooms, once it is known where the hub is.
#[derive(Clone)]
pub struct Extra(Arc<Open>);

impl Extra {
    /// Rooms that answer what the router says. It is made within the hub's runtime, before the hub answers anybody; their
    /// requests are let through as the hub's own are, with an [`gleaner_wire::Asker`] that says who asks.
    pub fn new(
        open: impl Fn(&Place) -> Result<Routes, Box<dyn std::error::Error + Send + Sync>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(open))
    }

    pub(crate) fn open(&self, place: &Place) -> Result<Routes, Error> {
        (self.0)(place).map_err(Error::Extra)
    }
}

impl fmt::Debug for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Extra")
    }
}
