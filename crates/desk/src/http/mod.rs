//! The desk over HTTP: one module for each thing it serves, one table of all routes.
//!
//! Who asks comes as an [`gleaner_wire::Asker`] with the request; a request without one is refused where it matters.
mod asker;
mod body;
mod catalogue;
mod disposition;
mod dispute;
mod files;
mod jobs;
mod owed;
mod problem;
mod results;
mod stake;
mod votes;
mod wallet;

use std::sync::Arc;

use axum::Router;
use axum::routing::{MethodRouter, delete, get, head, post, put};
use utoipa::OpenApi;

use crate::Desk;

/// What a caller must be allowed to use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing: it shows what everybody may see.
    Nothing,
    /// To read what is its account's.
    Read,
    /// To submit jobs and change files.
    Submit,
    /// To spend its account's money.
    Spend,
    /// To order jobs with it, which requesters do.
    Order,
}

/// A route of the desk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The method.
    pub method: &'static str,
    /// The path, as axum writes it.
    pub path: &'static str,
    /// What it takes to use it.
    pub need: Need,
}

type Handler = MethodRouter<Arc<Desk>>;

const fn route(method: &'static str, path: &'static str, need: Need) -> Route {
    Route { method, path, need }
}

/// Every route there is.
fn table() -> Vec<(Route, Handler)> {
    use Need::{Nothing, Order, Read, Spend, Submit};
    vec![
        (route("GET", "/api/v1/files", Read), get(files::list)),
        (route("GET", "/api/v1/files/{name}", Read), get(files::show)),
        (route("DELETE", "/api/v1/files/{name}", Submit), delete(files::remove)),
        (route("HEAD", "/api/v1/files/{name}/{*path}", Read), head(files::arrived)),
        (route("PUT", "/api/v1/files/{name}/{*path}", Submit), put(files::bring)),
        (route("POST", "/api/v1/desk/quote", Read), post(jobs::quote)),
        (route("POST", "/api/v1/desk/jobs", Order), post(jobs::submit)),
        (route("GET", "/api/v1/desk/jobs/{job}/results", Read), get(results::list)),
        (route("GET", "/api/v1/desk/jobs/{job}/results/{task}/{index}/{*path}", Read), get(results::open)),
        (route("GET", "/api/v1/desk/jobs/{job}/preview/{task}", Read), get(results::preview)),
        (route("GET", "/api/v1/desk/jobs/{job}/archive", Read), get(results::archive)),
        (route("GET", "/api/v1/desk/jobs/{job}/invoice", Read), get(jobs::invoice)),
        (route("GET", "/api/v1/desk/jobs/{job}/dispute", Read), get(dispute::show)),
        (route("POST", "/api/v1/desk/jobs/{job}/dispute", Spend), post(dispute::object)),
        (route("GET", "/api/v1/desk/invoices", Read), get(jobs::invoices)),
        (route("GET", "/api/v1/desk/invoices.csv", Read), get(jobs::invoices_csv)),
        (route("GET", "/api/v1/desk/wallet", Read), get(wallet::show)),
        (route("GET", "/api/v1/desk/wallet/history", Read), get(wallet::history)),
        (route("POST", "/api/v1/desk/wallet/faucet", Submit), post(wallet::faucet)),
        (route("POST", "/api/v1/desk/wallet/deposit", Spend), post(wallet::deposit)),
        (route("POST", "/api/v1/desk/wallet/withdraw", Spend), post(wallet::withdraw)),
        (route("GET", "/api/v1/desk/wallet/overdue", Read), get(owed::overdue)),
        (route("POST", "/api/v1/desk/wallet/release", Spend), post(owed::release)),
        (route("GET", "/api/v1/desk/rewards", Read), get(owed::rewards)),
        (route("POST", "/api/v1/desk/rewards/claim", Spend), post(owed::claim)),
        (route("GET", "/api/v1/desk/stake", Read), get(stake::show)),
        (route("POST", "/api/v1/desk/stake/add", Spend), post(stake::add)),
        (route("POST", "/api/v1/desk/stake/unbond", Spend), post(stake::unbond)),
        (route("POST", "/api/v1/desk/stake/claim", Spend), post(stake::claim)),
        (route("GET", "/api/v1/desk/votes", Read), get(votes::list)),
        (route("POST", "/api/v1/desk/votes/cast", Spend), post(votes::cast)),
        (route("POST", "/api/v1/desk/votes/delegate", Spend), post(votes::delegate)),
        (route("GET", "/api/v1/catalogue", Nothing), get(catalogue::list)),
        (route("POST", "/api/v1/catalogue", Submit), post(catalogue::publish)),
        (route("GET", "/api/v1/catalogue/{template}", Nothing), get(catalogue::show)),
        (route("DELETE", "/api/v1/catalogue/{template}", Submit), delete(catalogue::remove)),
        (route("GET", "/api/v1/catalogue/{template}/picture", Nothing), get(catalogue::picture)),
        (route("POST", "/api/v1/catalogue/{template}/render", Submit), post(catalogue::render)),
    ]
}

/// What the desk's routes take, answer and refuse. What holds for all routes alike the hub adds.
#[derive(OpenApi)]
#[openapi(
    tags(
        (name = "desk", description = "Jobs without the program: quotes, orders, opened results, money, stake, votes and invoices"),
        (name = "files", description = "An account's files, which its jobs read"),
        (name = "catalogue", description = "Job files with blanks that people fill in")
    ),
    paths(
        files::list, files::show, files::remove, files::arrived, files::bring,
        jobs::quote, jobs::submit, jobs::invoice, jobs::invoices, jobs::invoices_csv,
        results::list, results::open, results::preview, results::archive,
        dispute::show, dispute::object,
        wallet::show, wallet::history, wallet::faucet, wallet::deposit, wallet::withdraw,
        owed::overdue, owed::release, owed::rewards, owed::claim,
        stake::show, stake::add, stake::unbond, stake::claim,
        votes::list, votes::cast, votes::delegate,
        catalogue::list, catalogue::publish, catalogue::show, catalogue::remove, catalogue::picture, catalogue::render
    )
)]
struct Document;

/// The desk's part of the OpenAPI document.
pub fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}

/// All routes of the desk, with what it takes to use them.
pub fn routes() -> Vec<Route> {
    table().into_iter().map(|(route, _)| route).collect()
}

/// Serves a desk, which ends with what this returns.
pub fn router(desk: Desk) -> Router {
    let router = table().into_iter().fold(Router::new(), |router, (route, handler)| router.route(route.path, handler));
    router.with_state(Arc::new(desk))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_route_stands_once_in_the_table() {
        let all = routes();
        let different: BTreeSet<_> = all.iter().map(|route| (route.method, route.path)).collect();
        assert_eq!(different.len(), all.len());
        assert!(all.iter().all(|route| route.path.starts_with("/api/v1/")));
    }

    #[test]
    fn every_route_is_described_and_no_other() {
        let served: BTreeSet<String> =
            routes().iter().map(|route| format!("{} {}", route.method, route.path.replace("{*", "{"))).collect();
        let document = serde_json::to_value(document()).expect("plain data");
        let paths = document["paths"].as_object().expect("paths").iter();
        let described: BTreeSet<String> = paths
            .flat_map(|(path, methods)| {
                let methods = methods.as_object().expect("methods").keys();
                methods.map(move |method| format!("{} {path}", method.to_uppercase()))
            })
            .collect();
        assert_eq!(served, described);
    }
}
