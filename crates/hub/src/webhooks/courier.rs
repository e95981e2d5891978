//! Takes events to webhooks: puts down what happened, sends what is due, and tries again what did not arrive.
use super::guard::{self, Guard};
use super::sign::signature;
use super::store::{Due, Hook, Tried, Underway};
use super::{Happened, OPERATOR, Trouble, Webhooks, owning_account};
use crate::clock::wall_ms;
use crate::journal::{Archive, JobFilter};
use crate::keeper::Handle;
use crate::metrics::Metrics;
use crate::people::People;
use gleaner_wire::Millis;
use gleaner_wire::api::JobSummary;
use gleaner_wire::webhook::{DELIVERY_HEADER, DeliveryState, EVENT_HEADER, JobEvent, SIGNATURE_HEADER};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// Requests under way at a time, for each webhook one, and for each owner a few.
const UNDERWAY_MAX: usize = 16;
/// How long an answer may take.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);
/// How long to wait after each try that failed, in seconds. After the last one an event is given up.
const BACKOFF_SECONDS: [u64; 8] = [1, 10, 60, 600, 3600, 3 * 3600, 6 * 3600, 12 * 3600];
/// What is known of webhooks and their owners is looked at again before something is sent that is older than this.
const KNOWN_FOR: Duration = Duration::from_secs(5);
/// The longest time without a look at what is due.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Ended jobs that are looked at for what was not put down, and how far back before the last thing that was.
const RECOVERED_JOBS: u32 = 10_000;
const RECOVERED_MS: u64 = 10 * 60 * 1000;
/// The longest reason that a log keeps.
const ERROR_CHARS_MAX: usize = 300;

/// What is known of webhooks.
#[derive(Default)]
struct Known {
    hooks: Vec<Hook>,
    silent: HashSet<u64>,
    /// Those whose token is no more.
    ended: Vec<u64>,
}

/// What takes events to webhooks; it has to run for any to arrive.
pub(crate) struct Courier {
    webhooks: Webhooks,
    happened: mpsc::Receiver<Happened>,
    metrics: Arc<Metrics>,
    underway: Vec<Underway>,
    hooks: Vec<Hook>,
    /// Webhooks that nothing is sent to for now, because their owners are suspended or not known.
    silent: HashSet<u64>,
    looked_at: Option<Instant>,
    people: Arc<People>,
}

impl Courier {
    pub(super) fn new(
        webhooks: Webhooks,
        happened: mpsc::Receiver<Happened>,
        metrics: Arc<Metrics>,
        people: Arc<People>,
    ) -> Self {
        let (underway, hooks, silent) = (Vec::new(), Vec::new(), HashSet::new());
        Self { webhooks, happened, metrics, underway, hooks, silent, looked_at: None, people }
    }

    /// Works until the hub stops. What is under way then is tried again at the next start.
    pub(crate) async fn run(mut self, keeper: Handle, archive: Archive, mut stopping: watch::Receiver<bool>) {
        let client = match client(self.webhooks.private()) {
            Ok(client) => client,
            Err(error) => {
                tracing::error!(%error, "no webhook is served: no client could be made");
                return;
            }
        };
        let mut tries = JoinSet::new();
        self.reload().await;
        self.recover(&keeper, &archive).await;
        loop {
            let wait = self.send_due(&client, &mut tries).await;
            let mut some = Vec::new();
            tokio::select! {
                count = self.happened.recv_many(&mut some, 256), if !self.happened.is_closed() || !self.happened.is_empty() => {
                    if count > 0 {
                        self.put_down(some).await;
                    }
                }
                Some(tried) = tries.join_next() => self.note(tried.ok()).await,
                () = self.webhooks.shared.changed.notified() => self.reload().await,
                () = tokio::time::sleep(wait) => {}
                _ = stopping.changed() => return,
            }
            if self.webhooks.shared.behind.swap(false, Relaxed) {
                self.recover(&keeper, &archive).await;
            }
        }
    }

    /// Looks at which webhooks there are, and what each may be told. Those whose token is no more go with it.
    async fn reload(&mut self) {
        let (hooks, owners) = match self.webhooks.in_store(|store| Ok((store.hooks()?, store.owners()?))).await {
            Ok(found) => found,
            Err(error) => return tracing::warn!(%error, "the list of webhooks is an old one"),
        };
        let now = Millis(wall_ms());
        let told = self.people.ask(move |accounts| {
            let mut known = Known::default();
            for mut hook in hooks {
                if hook.token.map_or(Ok(false), |token| accounts.is_token(token, now).map(|is| !is))? {
                    known.ended.push(hook.id);
                    continue;
                }
                let owner = owners.get(&hook.id).map(String::as_str).unwrap_or_default();
                let account = owning_account(owner).map(|id| accounts.account(id)).transpose()?.flatten();
                hook.of = match account {
                    Some(account) if !account.suspended => Some(accounts.payers(account.id)?),
                    None if owner == OPERATOR => None,
                    // Its owner is suspended, or nobody knows whose it is: it is told nothing.
                    Some(_) | None => {
                        known.silent.insert(hook.id);
                        Some(Vec::new())
                    }
                };
                known.hooks.push(hook);
            }
            Ok(known)
        });
        let known = match told.await {
            Ok(known) => known,
            Err(error) => return tracing::warn!(?error, "the list of webhooks is an old one"),
        };
        (self.hooks, self.silent, self.looked_at) = (known.hooks, known.silent, Some(Instant::now()));
        if !known.ended.is_empty() {
            self.silent.extend(&known.ended);
            let removed = self.webhooks.in_store(move |store| store.remove_all(&known.ended)).await;
            if let Err(error) = removed {
                tracing::warn!(%error, "webhooks of tokens that are no more stay, and are told nothing");
            }
        }
    }

    /// Puts down what happened, for those who want to be told.
    async fn put_down(&mut self, events: Vec<Happened>) {
        // A webhook may have been made a moment ago, and its bell not been heard yet.
        self.reload().await;
        if self.hooks.is_empty() {
            return;
        }
        let (hooks, now) = (self.hooks.clone(), wall_ms());
        let put = self.webhooks.in_store(move |store| store.happened(&hooks, &events, now)).await;
        if let Err(error) = put {
            tracing::warn!(%error, "events wait for the next look at jobs before webhooks hear of them");
            self.webhooks.shared.behind.store(true, Relaxed);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Looks for what happened and was not put down: in the core and in the archive.
    async fn recover(&mut self, keeper: &Handle, archive: &Archive) {
        if self.hooks.is_empty() {
            return;
        }
        let Ok(seen) = self.webhooks.in_store(|store| store.seen()).await else { return };
        let since = Millis(seen.saturating_sub(RECOVERED_MS));
        let live = keeper.ask(|core| core.jobs()).await.unwrap_or_default();
        let ended = archive.page(JobFilter::default(), RECOVERED_JOBS).await.unwrap_or_default();
        let events: Vec<Happened> = live.into_iter().chain(ended).flat_map(|job| of_job(&job, since)).collect();
        self.put_down(events).await;
    }

    /// Sends what is due. Returns how long nothing else is.
    async fn send_due(
        &mut self,
        client: &reqwest::Client,
        tries: &mut JoinSet<(Due, Result<u16, String>)>,
    ) -> Duration {
        let room = UNDERWAY_MAX - self.underway.len().min(UNDERWAY_MAX);
        if room == 0 || self.hooks.is_empty() {
            return LOOK_EVERY;
        }
        let (mut due, mut next) = match self.look_for_due(room).await {
            Ok(found) => found,
            Err(wait) => return wait,
        };
        if !due.is_empty() && self.looked_at.is_none_or(|at| at.elapsed() > KNOWN_FOR) {
            self.reload().await;
            (due, next) = match self.look_for_due(room).await {
                Ok(found) => found,
                Err(wait) => return wait,
            };
        }
        for one in due {
            self.underway.push(Underway { hook: one.hook, owner: one.owner.clone() });
            tries.spawn(send(client.clone(), one, self.webhooks.private()));
        }
        let wait = next.map_or(LOOK_EVERY, |next| Duration::from_millis(next.saturating_sub(wall_ms()).max(20)));
        wait.min(LOOK_EVERY)
    }

    /// What is due, and when something is next; or how long to wait before asking again.
    async fn look_for_due(&self, room: usize) -> Result<(Vec<Due>, Option<u64>), Duration> {
        let (now, underway, silent) = (wall_ms(), self.underway.clone(), self.silent.clone());
        let found = self.webhooks.in_store(move |store| store.due(now, &underway, &silent, room)).await;
        found.map_err(|error| {
            tracing::warn!(%error, "no webhook is served for a moment");
            Duration::from_secs(5)
        })
    }

    async fn note(&mut self, tried: Option<(Due, Result<u16, String>)>) {
        let Some((due, outcome)) = tried else {
            // A try that ended by a defect names nobody; all of them are looked at again.
            self.underway.clear();
            return;
        };
        self.underway.retain(|one| one.hook != due.hook);
        let tried = judge(due.tries, outcome, wall_ms());
        self.metrics.webhook_tried(tried.state);
        let (webhook, delivery) = (due.hook, due.id);
        let noted: Result<(), Trouble> =
            self.webhooks.in_store(move |store| store.tried(due.id, due.hook, &tried)).await;
        if let Err(error) = noted {
            tracing::warn!(%error, webhook, delivery, "a delivery to a webhook is not noted, and will be made again");
        }
    }
}

/// What a job has to tell that happened since a moment.
fn of_job(job: &JobSummary, since: Millis) -> Vec<Happened> {
    let submitted = (JobEvent::Submitted, job.submitted_at);
    let ended = JobEvent::of_end(&job.state).zip(job.ended_at);
    let all = [Some(submitted), ended].into_iter().flatten();
    all.filter(|(_, at)| *at >= since).map(|(event, at)| (event, at, job.clone())).collect()
}

/// What follows from a try.
fn judge(tries_before: u32, outcome: Result<u16, String>, now: u64) -> Tried {
    let (status, error) = match outcome {
        Ok(status @ 200..=299) => {
            return Tried { state: DeliveryState::Delivered, at: now, due: None, status: Some(status), error: None };
        }
        Ok(status) => (Some(status), format!("it was answered with the status {status}")),
        Err(reason) => (None, reason),
    };
    let pause = BACKOFF_SECONDS.get(tries_before as usize);
    let due = pause.map(|seconds| now + seconds * 1000);
    let state = if due.is_some() { DeliveryState::Waiting } else { DeliveryState::GivenUp };
    Tried { state, at: now, due, status, error: Some(error) }
}

fn client(private: bool) -> Result<reqwest::Client, reqwest::Error> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .timeout(ANSWER_TIME_MAX)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .dns_resolver(Arc::new(Guard { private }))
        .pool_max_idle_per_host(1)
        .user_agent(concat!("gleaner-hub/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Sends an event; the status of the answer, or why there is none.
async fn send(client: reqwest::Client, due: Due, private: bool) -> (Due, Result<u16, String>) {
    // The operator may have taken the allowance back since the webhook was made.
    let url = match guard::read(&due.url, private) {
        Ok(url) => url,
        Err(reason) => return (due, Err(reason)),
    };
    let request = client
        .post(url)
        .header("content-type", "application/json")
        .header(EVENT_HEADER, &due.event)
        .header(DELIVERY_HEADER, due.id)
        .header(SIGNATURE_HEADER, signature(&due.secret, wall_ms() / 1000, &due.body))
        .body(due.body.clone());
    let outcome = match request.send().await {
        Ok(response) => Ok(response.status().as_u16()),
        Err(error) => Err(reason(&error)),
    };
    (due, outcome)
}

/// All causes of an error in one line, without the address: it may have a secret in it.
fn reason(error: &reqwest::Error) -> String {
    let mut text = if error.is_timeout() { "no answer in time".to_owned() } else { "it could not be sent".to_owned() };
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text.chars().take(ERROR_CHARS_MAX).collect()
}
