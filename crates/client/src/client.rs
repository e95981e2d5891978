//! The questions and orders of the API, one method each.
use gleaner_wire::api::{
    CaseView, ExplainView, Health, JobSummary, JobView, JobsPage, LedgerView, ResultsPage, WorkerView,
};
use gleaner_wire::prices::{DemandView, PriceHistory, PriceView};
use gleaner_wire::progress::TracedJob;
use gleaner_wire::query::WorkersPage;
use gleaner_wire::receipt::TaskReceipt;
use gleaner_wire::{Address, DeviceClass, JobId, WorkerId};
use reqwest::{Method, RequestBuilder};

use crate::connection::Connection;
use crate::data::{Account, HubData};
use crate::{Error, HubAddress, Token};

/// The most results asked for at once.
pub const RESULTS_PER_PAGE: u32 = 1000;

/// The most jobs asked for at once.
pub const JOBS_PER_PAGE: u32 = 1000;

/// The most workers asked for at once.
const WORKERS_PER_PAGE: usize = 1000;

/// The most receipts asked for at once.
pub const RECEIPTS_PER_PAGE: u64 = 200;

/// A hub, as one requester sees it. Clones share their connections.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) connection: Connection,
    requester: String,
    data: HubData,
    pub(crate) account: Option<Account>,
}

impl Client {
    /// A client of the hub at `url` (`https://HOST` or `http://HOST:PORT`), in the name of `requester`.
    pub fn new(url: &str, token: Token, requester: impl Into<String>) -> Result<Self, Error> {
        Self::at(&HubAddress::parse(url, None)?, token, requester)
    }

    /// The same of a hub that somebody in particular vouches for.
    pub fn at(hub: &HubAddress, token: Token, requester: impl Into<String>) -> Result<Self, Error> {
        let connection = Connection::new(hub, token)?;
        let data = HubData::over(connection.clone())?;
        Ok(Self { connection, requester: requester.into(), data, account: None })
    }

    /// The same, for somebody with data.
    #[must_use]
    pub fn with_account(self, account: Account) -> Self {
        Self { account: Some(account), ..self }
    }

    /// The same hub over the same connections, for another requester with data of its own.
    #[must_use]
    pub fn for_requester(&self, requester: impl Into<String>, account: Account) -> Self {
        Self { requester: requester.into(), account: Some(account), ..self.clone() }
    }

    /// Whose data is sealed and opened here.
    pub fn account(&self) -> Result<&Account, Error> {
        self.account.as_ref().ok_or(Error::NoAccount)
    }

    /// The hub's address.
    pub fn url(&self) -> &str {
        self.connection.url()
    }

    /// The hub's data.
    pub fn data(&self) -> &HubData {
        &self.data
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.connection.request(method, path).header("gleaner-requester", &self.requester)
    }

    /// In whose name it asks.
    pub fn requester(&self) -> &str {
        &self.requester
    }

    /// What a path of the API answers, such as `/chain`; for what this crate has no type of.
    pub async fn get<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.connection.json(self.request(Method::GET, path)).await
    }

    /// What a path of the API answers, byte by byte.
    pub async fn bytes(&self, path: &str) -> Result<Vec<u8>, Error> {
        Ok(self.connection.answer(self.request(Method::GET, path)).await?.to_vec())
    }

    /// Sends something to a path of the API and returns its answer. It may be sent again if nobody answers.
    pub async fn put_in<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        body: &impl serde::Serialize,
    ) -> Result<T, Error> {
        self.connection.json(self.request(Method::POST, path).json(body)).await
    }

    /// Makes a wallet that the desk keeps an account's. Only the operator may.
    pub async fn add_desk_wallet(&self, account: u64, address: &str) -> Result<(), Error> {
        let path = format!("/accounts/{account}/wallets/{address}");
        self.connection.answer(self.request(Method::PUT, &path)).await.map(|_| ())
    }

    /// Puts something at a path of the API. It may be put there again if nobody answers.
    pub async fn put(&self, path: &str, body: &impl serde::Serialize) -> Result<(), Error> {
        self.connection.answer(self.request(Method::PUT, path).json(body)).await.map(|_| ())
    }

    /// Removes what is at a path of the API.
    pub async fn remove(&self, path: &str) -> Result<(), Error> {
        self.connection.answer(self.request(Method::DELETE, path)).await.map(|_| ())
    }

    async fn post(&self, path: &str) -> Result<(), Error> {
        self.connection.answer(self.request(Method::POST, path)).await.map(|_| ())
    }

    /// Whether the hub is there and well. Tried once only, so that a missing hub is noticed at once.
    pub async fn health(&self) -> Result<Health, Error> {
        let body = self.connection.answer_once(self.request(Method::GET, "/health")).await?;
        self.connection.read_json(&body)
    }

    /// The newest jobs, at most [`JOBS_PER_PAGE`].
    pub async fn jobs(&self) -> Result<Vec<JobSummary>, Error> {
        Ok(self.jobs_page(JOBS_PER_PAGE, None).await?.items)
    }

    /// A page of the jobs, newest first.
    pub async fn jobs_page(&self, limit: u32, cursor: Option<&str>) -> Result<JobsPage, Error> {
        let request = self.request(Method::GET, "/jobs").query(&[("limit", limit)]);
        let request = if let Some(cursor) = cursor { request.query(&[("cursor", cursor)]) } else { request };
        self.connection.json(request).await
    }

    /// One job.
    pub async fn job(&self, job: JobId) -> Result<JobView, Error> {
        self.get(&format!("/jobs/{job}")).await
    }

    /// One job, and where its trace is.
    pub async fn traced_job(&self, job: JobId) -> Result<TracedJob, Error> {
        self.get(&format!("/jobs/{job}")).await
    }

    /// Why a job stands where it stands.
    pub async fn explain(&self, job: JobId) -> Result<ExplainView, Error> {
        self.get(&format!("/jobs/{job}/explain")).await
    }

    /// Those who were found wrong in a job, or a provider in any, and what the court of the chain made of it.
    pub async fn cases(&self, job: Option<JobId>, provider: Option<Address>) -> Result<Vec<CaseView>, Error> {
        let request = self.request(Method::GET, "/cases");
        let request = if let Some(job) = job { request.query(&[("job", job.0)]) } else { request };
        let provider = provider.map(|provider| provider.to_string());
        let request = if let Some(provider) = provider { request.query(&[("provider", provider)]) } else { request };
        self.connection.json(request).await
    }

    /// Stops a job.
    pub async fn cancel(&self, job: JobId) -> Result<(), Error> {
        self.post(&format!("/jobs/{job}/cancel")).await
    }

    /// A page of a job's results: those of one `[[task]]`, or of all, from the cursor `from` on.
    pub async fn results(&self, job: JobId, task: Option<&str>, from: u64) -> Result<ResultsPage, Error> {
        self.some_results(job, task, from, RESULTS_PER_PAGE).await
    }

    /// The same of so many elements, done or not. A cursor is the number of the `[[task]]` times 2³², and the element.
    pub async fn some_results(
        &self,
        job: JobId,
        task: Option<&str>,
        from: u64,
        elements: u32,
    ) -> Result<ResultsPage, Error> {
        let request = self.request(Method::GET, &format!("/jobs/{job}/results"));
        let request = request.query(&[("from", from), ("limit", u64::from(elements))]);
        let request = if let Some(task) = task { request.query(&[("task", task)]) } else { request };
        self.connection.json(request).await
    }

    /// Some receipts of a job's settled tasks, from the one with the number `first` on; none after the last.
    pub async fn task_receipts(&self, job: JobId, first: u64) -> Result<Vec<TaskReceipt>, Error> {
        let request = self.request(Method::GET, &format!("/jobs/{job}/proofs"));
        self.connection.json(request.query(&[("first", first), ("count", RECEIPTS_PER_PAGE)])).await
    }

    /// All workers, in the order of first joining.
    pub async fn workers(&self) -> Result<Vec<WorkerView>, Error> {
        let (mut workers, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.search("", WORKERS_PER_PAGE, cursor.as_deref()).await?;
            workers.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                workers.sort_by_key(|worker| worker.id);
                return Ok(workers);
            }
        }
    }

    /// A page of the workers that match a query, cheapest first.
    pub async fn search(&self, query: &str, limit: usize, cursor: Option<&str>) -> Result<WorkersPage, Error> {
        let request = self.request(Method::GET, "/workers").query(&[("query", query)]).query(&[("limit", limit)]);
        let request = if let Some(cursor) = cursor { request.query(&[("cursor", cursor)]) } else { request };
        self.connection.json(request).await
    }

    /// Says whether the platform owns a worker, by its number or, if it has not joined yet, by its key.
    pub async fn manage(&self, worker: &str, managed: bool) -> Result<Option<WorkerView>, Error> {
        let action = if managed { "manage" } else { "unmanage" };
        self.connection.json(self.request(Method::POST, &format!("/workers/{worker}/{action}"))).await
    }

    /// How many managed workers the hub wants.
    pub async fn demand(&self) -> Result<DemandView, Error> {
        self.get("/demand").await
    }

    /// What each class of devices is worth.
    pub async fn prices(&self) -> Result<Vec<PriceView>, Error> {
        self.get("/prices").await
    }

    /// What a class of devices was worth over time.
    pub async fn price_history(&self, class: DeviceClass) -> Result<PriceHistory, Error> {
        self.get(&format!("/prices?class={class}")).await
    }

    /// One worker.
    pub async fn worker(&self, worker: WorkerId) -> Result<WorkerView, Error> {
        self.get(&format!("/workers/{worker}")).await
    }

    /// Gives a worker no new work.
    pub async fn pause(&self, worker: WorkerId) -> Result<(), Error> {
        self.post(&format!("/workers/{worker}/pause")).await
    }

    /// Gives a paused worker work again.
    pub async fn resume(&self, worker: WorkerId) -> Result<(), Error> {
        self.post(&format!("/workers/{worker}/resume")).await
    }

    /// Gives a worker that lost its standing another chance.
    pub async fn readmit(&self, worker: WorkerId) -> Result<(), Error> {
        self.post(&format!("/workers/{worker}/readmit")).await
    }

    /// The hub's books.
    pub async fn ledger(&self) -> Result<LedgerView, Error> {
        self.get("/ledger").await
    }
}
