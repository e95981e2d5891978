//! Webhooks and what is on its way to them, on disk: an event waits here until it is delivered or given up.
use gleaner_accounts::token::TokenId;
use gleaner_wire::api::JobSummary;
use gleaner_wire::webhook::{DeliveryState, DeliveryView, JobEvent, WebhookMessage, WebhookView};
use gleaner_wire::{JobId, Millis};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Webhooks of one owner.
pub(super) const PER_OWNER_MAX: u64 = 20;
/// Webhooks of all owners.
pub(super) const ALL_MAX: u64 = 10_000;
/// Requests under way for one owner at a time: whoever answers slowly keeps its own webhooks waiting, and no others.
pub(super) const UNDERWAY_PER_OWNER_MAX: usize = 4;
/// Events that wait for one webhook; further ones are given up at once, and the log says so.
const WAITING_MAX: u64 = 10_000;
/// Deliveries that a log keeps at least, and for how long it keeps more.
const LOG_ROWS: u64 = 200;
const LOG_MS: u64 = 3 * 24 * 60 * 60 * 1000;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS hook (
        id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, url TEXT NOT NULL, events TEXT NOT NULL,
        requester TEXT, secret TEXT NOT NULL, created INTEGER NOT NULL, token INTEGER);
    CREATE TABLE IF NOT EXISTS delivery (
        id INTEGER PRIMARY KEY AUTOINCREMENT, hook INTEGER NOT NULL, event TEXT NOT NULL, job INTEGER NOT NULL,
        body TEXT NOT NULL, state INTEGER NOT NULL, tries INTEGER NOT NULL, created INTEGER NOT NULL, tried INTEGER,
        due INTEGER, status INTEGER, error TEXT, UNIQUE (hook, event, job));
    DROP INDEX IF EXISTS delivery_due;
    CREATE INDEX IF NOT EXISTS delivery_next ON delivery (hook, due) WHERE state = 0;
    CREATE INDEX IF NOT EXISTS delivery_hook ON delivery (hook, id);
    CREATE TABLE IF NOT EXISTS seen (one INTEGER PRIMARY KEY CHECK (one = 1), at INTEGER NOT NULL);
";

/// A webhook with what is not shown.
#[derive(Clone, Debug)]
pub(super) struct Hook {
    pub(super) id: u64,
    pub(super) url: String,
    pub(super) events: Vec<JobEvent>,
    pub(super) requester: Option<String>,
    pub(super) created: u64,
    /// The API token that it was made with, if it was one: it goes when that does.
    pub(super) token: Option<TokenId>,
    /// The requesters of its owner, if those are all that it may be told of.
    pub(super) of: Option<Vec<String>>,
}

impl Hook {
    fn wants(&self, event: JobEvent, job: &JobSummary) -> bool {
        let owned = self.of.as_ref().is_none_or(|names| names.contains(&job.requester));
        owned && self.events.contains(&event) && self.requester.as_ref().is_none_or(|name| *name == job.requester)
    }
}

/// An event that is to be sent now.
#[derive(Clone, Debug)]
pub(super) struct Due {
    pub(super) id: u64,
    pub(super) hook: u64,
    pub(super) owner: String,
    pub(super) url: String,
    pub(super) secret: String,
    pub(super) event: String,
    pub(super) body: String,
    pub(super) tries: u32,
}

/// The next event of a webhook.
struct Next {
    id: u64,
    hook: u64,
    owner: String,
    due: u64,
}

/// A request that is under way.
#[derive(Clone, Debug)]
pub(super) struct Underway {
    pub(super) hook: u64,
    pub(super) owner: String,
}

/// How a try ended.
pub(super) struct Tried {
    pub(super) state: DeliveryState,
    pub(super) at: u64,
    /// When it is tried next.
    pub(super) due: Option<u64>,
    pub(super) status: Option<u16>,
    pub(super) error: Option<String>,
}

pub(super) struct Store {
    db: Connection,
}

fn number(state: DeliveryState) -> u8 {
    match state {
        DeliveryState::Waiting => 0,
        DeliveryState::Delivered => 1,
        DeliveryState::GivenUp => 2,
    }
}

impl Store {
    pub(super) fn open(path: &Path) -> Result<Self, rusqlite::Error> {
        let db = Connection::open(path)?;
        db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        db.pragma_update(None, "synchronous", "FULL")?;
        db.execute_batch(TABLES)?;
        // A file of before tokens were remembered.
        let columns = "SELECT count(*) FROM pragma_table_info('hook') WHERE name = 'token'";
        if db.query_row(columns, [], |row| row.get::<_, u64>(0))? == 0 {
            db.execute("ALTER TABLE hook ADD COLUMN token INTEGER", [])?;
        }
        Ok(Self { db })
    }

    /// Makes a webhook; none if its owner, or all together, have too many.
    pub(super) fn make(&mut self, owner: &str, secret: &str, hook: &Hook) -> Result<Option<u64>, rusqlite::Error> {
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let count = |query: &str, values: &[&dyn rusqlite::ToSql]| -> Result<u64, rusqlite::Error> {
            transaction.query_row(query, values, |row| row.get(0))
        };
        let mine = count("SELECT count(*) FROM hook WHERE owner = ?1", &[&owner])?;
        if mine >= PER_OWNER_MAX || count("SELECT count(*) FROM hook", &[])? >= ALL_MAX {
            return Ok(None);
        }
        let events: Vec<&str> = hook.events.iter().map(|event| event.word()).collect();
        transaction.execute(
            "INSERT INTO hook (owner, url, events, requester, secret, created, token) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                owner,
                hook.url,
                events.join(" "),
                hook.requester,
                secret,
                hook.created,
                hook.token.map(|token| token.0)
            ],
        )?;
        let id = transaction.last_insert_rowid().unsigned_abs();
        transaction.commit()?;
        Ok(Some(id))
    }

    /// The webhooks of an owner, oldest first, after one.
    pub(super) fn list(&self, owner: &str, after: u64, count: u32) -> Result<Vec<WebhookView>, rusqlite::Error> {
        let mut statement = self.db.prepare_cached(
            "SELECT id, url, events, requester, created, token, \
             (SELECT count(*) FROM delivery WHERE hook = hook.id AND state = 0) \
             FROM hook WHERE owner = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
        )?;
        let views = statement.query_map(params![owner, after, count], |row| {
            let Hook { id, url, events, requester, created, .. } = read_hook(row)?;
            let (created_at, waiting) = (Millis(created), row.get(6)?);
            Ok(WebhookView { id, url, events, requester, created_at, waiting })
        })?;
        views.collect()
    }

    /// Whether a webhook is an owner's.
    pub(super) fn is_of(&self, id: u64, owner: &str) -> Result<bool, rusqlite::Error> {
        let mut statement = self.db.prepare_cached("SELECT 1 FROM hook WHERE id = ?1 AND owner = ?2")?;
        statement.exists(params![id, owner])
    }

    /// Removes a webhook of an owner with everything that waits for it.
    pub(super) fn remove(&mut self, id: u64, owner: &str) -> Result<bool, rusqlite::Error> {
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let removed = transaction.execute("DELETE FROM hook WHERE id = ?1 AND owner = ?2", params![id, owner])? > 0;
        if removed {
            transaction.execute("DELETE FROM delivery WHERE hook = ?1", [id])?;
        }
        transaction.commit()?;
        Ok(removed)
    }

    /// Everything that could be told something.
    pub(super) fn hooks(&self) -> Result<Vec<Hook>, rusqlite::Error> {
        let mut statement =
            self.db.prepare_cached("SELECT id, url, events, requester, created, token FROM hook ORDER BY id")?;
        let hooks = statement.query_map([], read_hook)?;
        hooks.collect()
    }

    /// Whose each webhook is.
    pub(super) fn owners(&self) -> Result<HashMap<u64, String>, rusqlite::Error> {
        let mut statement = self.db.prepare_cached("SELECT id, owner FROM hook")?;
        let owners = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        owners.collect()
    }

    /// Up to when what happened is known here.
    pub(super) fn seen(&self) -> Result<u64, rusqlite::Error> {
        let seen = self.db.query_row("SELECT at FROM seen", [], |row| row.get(0)).optional()?;
        Ok(seen.unwrap_or(0))
    }

    /// Puts down what happened for those who want to be told; what was put down before is not again.
    pub(super) fn happened(
        &mut self,
        hooks: &[Hook],
        events: &[(JobEvent, Millis, JobSummary)],
        now: u64,
    ) -> Result<(), rusqlite::Error> {
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (event, at, job) in events {
            let wanted = hooks.iter().filter(|hook| hook.wants(*event, job) && at.0 >= hook.created);
            for hook in wanted {
                put(&transaction, hook, (*event, *at, job), now)?;
            }
        }
        transaction.execute("INSERT OR REPLACE INTO seen VALUES (1, ?1)", [now])?;
        transaction.commit()
    }

    /// What is to be sent next for each webhook, the longest due first: at most one for each, so that nobody's long queue
    /// hides another's.
    fn next(&self) -> Result<Vec<Next>, rusqlite::Error> {
        let mut statement = self.db.prepare_cached(
            "SELECT delivery.id, hook.id, owner, due FROM hook JOIN delivery ON delivery.id = \
             (SELECT id FROM delivery WHERE hook = hook.id AND state = 0 ORDER BY due LIMIT 1) ORDER BY due",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(Next { id: row.get(0)?, hook: row.get(1)?, owner: row.get(2)?, due: row.get(3)? })
        })?;
        rows.collect()
    }

    /// What is to be sent now, and when something else is due; without webhooks that cannot be told anything now, and no more
    /// for one owner than it may have under way.
    pub(super) fn due(
        &self,
        now: u64,
        underway: &[Underway],
        silent: &HashSet<u64>,
        count: usize,
    ) -> Result<(Vec<Due>, Option<u64>), rusqlite::Error> {
        let mut of_owner: HashMap<&str, usize> = HashMap::new();
        underway.iter().for_each(|one| *of_owner.entry(&one.owner).or_default() += 1);
        let next = self.next()?;
        let (mut found, mut later) = (Vec::new(), None);
        for one in &next {
            if silent.contains(&one.hook) || underway.iter().any(|other| other.hook == one.hook) {
                continue;
            }
            let many = of_owner.entry(&one.owner).or_default();
            // Whoever has to wait for its own requests is looked at again when one of them has ended.
            if *many >= UNDERWAY_PER_OWNER_MAX {
                continue;
            }
            if one.due > now || found.len() == count {
                later = Some(one.due);
                break;
            }
            *many += 1;
            found.push(self.whole(one)?);
        }
        Ok((found, later))
    }

    fn whole(&self, next: &Next) -> Result<Due, rusqlite::Error> {
        let mut statement = self.db.prepare_cached(
            "SELECT url, secret, event, body, tries FROM delivery JOIN hook ON hook.id = hook WHERE delivery.id = ?1",
        )?;
        statement.query_row([next.id], |row| {
            let (url, secret, event) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let (body, tries, owner) = (row.get(3)?, row.get(4)?, next.owner.clone());
            Ok(Due { id: next.id, hook: next.hook, owner, url, secret, event, body, tries })
        })
    }

    /// Removes webhooks with everything that waits for them, whoever's they are.
    pub(super) fn remove_all(&mut self, ids: &[u64]) -> Result<(), rusqlite::Error> {
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for id in ids {
            transaction.execute("DELETE FROM hook WHERE id = ?1", [id])?;
            transaction.execute("DELETE FROM delivery WHERE hook = ?1", [id])?;
        }
        transaction.commit()
    }

    /// Removes all webhooks of an owner.
    pub(super) fn remove_of(&mut self, owner: &str) -> Result<(), rusqlite::Error> {
        let ids = {
            let mut statement = self.db.prepare_cached("SELECT id FROM hook WHERE owner = ?1")?;
            let ids = statement.query_map([owner], |row| row.get(0))?;
            ids.collect::<Result<Vec<u64>, _>>()?
        };
        self.remove_all(&ids)
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> Result<u64, rusqlite::Error> {
        self.db.query_row("SELECT count(*) FROM delivery WHERE state = 0", [], |row| row.get(0))
    }

    /// Notes how a try ended. The oldest of a long log go.
    pub(super) fn tried(&mut self, id: u64, hook: u64, tried: &Tried) -> Result<(), rusqlite::Error> {
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let Tried { state, at, due, status, error } = tried;
        transaction.execute(
            "UPDATE delivery SET state = ?2, tries = tries + 1, tried = ?3, due = ?4, status = ?5, error = ?6 \
             WHERE id = ?1",
            params![id, number(*state), at, due, status, error],
        )?;
        transaction.execute(
            "DELETE FROM delivery WHERE hook = ?1 AND state > 0 AND created < ?2 AND id NOT IN \
             (SELECT id FROM delivery WHERE hook = ?1 ORDER BY id DESC LIMIT ?3)",
            params![hook, at.saturating_sub(LOG_MS), LOG_ROWS],
        )?;
        transaction.commit()
    }

    /// What was sent to a webhook, newest first, before one.
    pub(super) fn log(&self, hook: u64, before: u64, count: u32) -> Result<Vec<DeliveryView>, rusqlite::Error> {
        let mut statement = self.db.prepare_cached(
            "SELECT id, event, job, state, tries, created, tried, due, status, error FROM delivery \
             WHERE hook = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
        )?;
        let before = i64::try_from(before).unwrap_or(i64::MAX);
        let views = statement.query_map(params![hook, before, count], read_delivery)?;
        views.collect()
    }
}

fn put(
    db: &Connection,
    hook: &Hook,
    (event, at, job): (JobEvent, Millis, &JobSummary),
    now: u64,
) -> Result<(), rusqlite::Error> {
    let message = WebhookMessage { event, at, job: job.clone() };
    let body = serde_json::to_string(&message).expect("a message is plain data");
    let waiting: u64 = db
        .prepare_cached("SELECT count(*) FROM delivery WHERE hook = ?1 AND state = 0")?
        .query_row([hook.id], |row| row.get(0))?;
    let full = (waiting >= WAITING_MAX).then_some("too many events wait for this webhook");
    let state = number(if full.is_some() { DeliveryState::GivenUp } else { DeliveryState::Waiting });
    let due = full.is_none().then_some(now);
    db.prepare_cached(
        "INSERT OR IGNORE INTO delivery (hook, event, job, body, state, tries, created, due, error) \
         VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8)",
    )?
    .execute(params![hook.id, event.word(), job.id.0, body, state, at.0, due, full])?;
    Ok(())
}

fn read_hook(row: &Row<'_>) -> Result<Hook, rusqlite::Error> {
    let events: String = row.get(2)?;
    let events = events.split(' ').filter_map(|word| word.parse().ok()).collect();
    let token = row.get::<_, Option<u64>>(5)?.map(TokenId);
    let (id, url, requester, created) = (row.get(0)?, row.get(1)?, row.get(3)?, row.get(4)?);
    Ok(Hook { id, url, events, requester, created, token, of: None })
}

fn read_delivery(row: &Row<'_>) -> Result<DeliveryView, rusqlite::Error> {
    let event: String = row.get(1)?;
    let state = match row.get::<_, u8>(3)? {
        0 => DeliveryState::Waiting,
        1 => DeliveryState::Delivered,
        _ => DeliveryState::GivenUp,
    };
    Ok(DeliveryView {
        id: row.get(0)?,
        event: event.parse().unwrap_or(JobEvent::Submitted),
        job: JobId(row.get(2)?),
        state,
        tries: row.get(4)?,
        created_at: Millis(row.get(5)?),
        tried_at: row.get::<_, Option<u64>>(6)?.map(Millis),
        next_at: row.get::<_, Option<u64>>(7)?.map(Millis),
        status: row.get(8)?,
        error: row.get(9)?,
    })
}
