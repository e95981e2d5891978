//! Who published which template, which jobs were made of it, and what those cost.
use gleaner_wire::{Amount, Hash};
use rusqlite::OptionalExtension;

use super::{Books, now_ms};
use crate::Error;

/// How long it is remembered which template a job file was made of, before it is submitted.
const RENDERED_MS: u64 = 7 * 24 * 3600 * 1000;
/// Runs of a template that are learned from: the newest.
const RUNS_MAX: u32 = 100;

/// A template that somebody published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) name: String,
    pub(crate) account: String,
    /// What people call who published it.
    pub(crate) by: String,
    pub(crate) version: String,
    pub(crate) at_ms: u64,
}

/// What runs of a template cost and took: the middle of those that were done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Typical {
    pub(crate) runs: u32,
    pub(crate) cost: Amount,
    pub(crate) time_ms: u64,
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Published> {
    Ok(Published { name: row.get(0)?, account: row.get(1)?, by: row.get(2)?, version: row.get(3)?, at_ms: row.get(4)? })
}

impl Books {
    /// Writes down a template. False if its name is somebody else's.
    pub(crate) async fn publish(&self, new: &Published) -> Result<bool, Error> {
        let Published { name, account, by, version, at_ms } = new.clone();
        let upsert = "INSERT INTO template (name, account, by, version, at_ms) VALUES (?1, ?2, ?3, ?4, ?5) \
                      ON CONFLICT (name) DO UPDATE SET by = ?3, version = ?4, at_ms = ?5 WHERE account = ?2";
        let changed = self.with(move |connection| connection.execute(upsert, (name, account, by, version, at_ms)));
        Ok(changed.await? == 1)
    }

    /// One template.
    pub(crate) async fn template(&self, name: &str) -> Result<Option<Published>, Error> {
        let name = name.to_owned();
        let find = "SELECT name, account, by, version, at_ms FROM template WHERE name = ?1";
        self.with(move |connection| connection.query_row(find, [name], read).optional()).await
    }

    /// The templates whose names come after this one.
    pub(crate) async fn templates(&self, after: &str, limit: u32) -> Result<Vec<Published>, Error> {
        let after = after.to_owned();
        let find = "SELECT name, account, by, version, at_ms FROM template WHERE name > ?1 ORDER BY name LIMIT ?2";
        self.with(move |connection| connection.prepare(find)?.query_map((after, limit), read)?.collect()).await
    }

    /// How many templates an account has published.
    pub(crate) async fn templates_of(&self, account: &str) -> Result<u32, Error> {
        let account = account.to_owned();
        let count = "SELECT count(*) FROM template WHERE account = ?1";
        self.with(move |connection| connection.query_row(count, [account], |row| row.get(0))).await
    }

    /// Forgets a template. False if this account has published none of that name.
    pub(crate) async fn unpublish(&self, account: &str, name: &str) -> Result<bool, Error> {
        let (account, name) = (account.to_owned(), name.to_owned());
        let delete = "DELETE FROM template WHERE name = ?1 AND account = ?2";
        Ok(self.with(move |connection| connection.execute(delete, (name, account))).await? == 1)
    }

    /// Notes that a job file was made of a template.
    pub(crate) async fn note_rendered(&self, job: Hash, template: &str) -> Result<(), Error> {
        let (template, now) = (template.to_owned(), now_ms());
        self.with(move |connection| {
            connection.execute("DELETE FROM rendered WHERE at_ms < ?1", [now.saturating_sub(RENDERED_MS)])?;
            let insert = "INSERT OR REPLACE INTO rendered (hash, template, at_ms) VALUES (?1, ?2, ?3)";
            connection.execute(insert, (&job.0[..], template, now)).map(|_| ())
        })
        .await
    }

    /// The template that a job file was made of, if it is as it was made.
    pub(crate) async fn rendered(&self, job: Hash) -> Result<Option<String>, Error> {
        let find = "SELECT template FROM rendered WHERE hash = ?1";
        self.with(move |connection| connection.query_row(find, [&job.0[..]], |row| row.get(0)).optional()).await
    }

    /// What runs of a template cost and took; none while none was done.
    pub(crate) async fn typical(&self, template: &str) -> Result<Option<Typical>, Error> {
        let template = template.to_owned();
        let find = "SELECT paid, ran_ms FROM job WHERE template = ?1 AND outcome = 'done' AND paid IS NOT NULL \
                    ORDER BY job DESC LIMIT ?2";
        let runs: Vec<(u64, u64)> = self
            .with(move |connection| {
                let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get::<_, Option<u64>>(1)?.unwrap_or(0)));
                connection.prepare(find)?.query_map((template, RUNS_MAX), read)?.collect()
            })
            .await?;
        let (mut costs, mut times): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
        costs.sort_unstable();
        times.sort_unstable();
        let middle = |sorted: &[u64]| sorted.get(sorted.len() / 2).copied();
        let count = u32::try_from(costs.len()).unwrap_or(u32::MAX);
        let typical = middle(&costs).zip(middle(&times));
        Ok(typical.map(|(cost, time_ms)| Typical { runs: count, cost: Amount(cost), time_ms }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NewJob, Paid};
    use super::*;
    use gleaner_wire::JobId;

    fn published(name: &str, account: &str) -> Published {
        let (name, account, by) = (name.to_owned(), account.to_owned(), account.to_owned());
        Published { name, account, by, version: "1".into(), at_ms: 1 }
    }

    #[tokio::test]
    async fn a_name_is_whose_it_was_first() {
        let dir = tempfile::tempdir().expect("a folder");
        let books = Books::open(&dir.path().join("desk.db")).expect("opens");
        assert!(books.publish(&published("a", "ada")).await.expect("asked"));
        assert!(!books.publish(&published("a", "bob")).await.expect("asked"));
        assert!(books.publish(&Published { version: "2".into(), ..published("a", "ada") }).await.expect("asked"));
        assert!(books.publish(&published("b", "ada")).await.expect("asked"));
        assert_eq!(books.template("a").await.expect("asked").expect("there").version, "2");
        assert_eq!(books.templates_of("ada").await.expect("counted"), 2);
        assert_eq!(books.templates("a", 9).await.expect("listed"), [published("b", "ada")]);
        assert!(!books.unpublish("bob", "a").await.expect("asked"));
        assert!(books.unpublish("ada", "a").await.expect("asked"));
    }

    #[tokio::test]
    async fn what_a_template_costs_is_learned_from_what_was_done() {
        let dir = tempfile::tempdir().expect("a folder");
        let books = Books::open(&dir.path().join("desk.db")).expect("opens");
        assert_eq!(books.typical("t").await.expect("asked"), None);
        for (job, outcome, paid, ran) in
            [(1, "done", 5, 100), (2, "done", 900, 9000), (3, "done", 7, 300), (4, "failed", 1, 1)]
        {
            let new = NewJob {
                job: JobId(job),
                account: "ada".into(),
                name: "x".into(),
                prefer: None,
                template: Some("t".into()),
                cap: Amount(1000),
                order: None,
            };
            books.add_job(&new).await.expect("noted");
            books.ended(JobId(job), outcome, 1, ran).await.expect("noted");
            let job = books.job_of("ada", JobId(job)).await.expect("asked").expect("hers");
            books.close(&job, &Paid { paid: Amount(paid), ..Paid::default() }).await.expect("closed");
        }
        let typical = Typical { runs: 3, cost: Amount(7), time_ms: 300 };
        assert_eq!(books.typical("t").await.expect("asked"), Some(typical));
        assert_eq!(books.typical("u").await.expect("asked"), None);
    }

    #[tokio::test]
    async fn a_job_file_that_was_changed_is_not_the_templates_any_more() {
        let dir = tempfile::tempdir().expect("a folder");
        let books = Books::open(&dir.path().join("desk.db")).expect("opens");
        books.note_rendered(Hash::of(b"job"), "t").await.expect("noted");
        assert_eq!(books.rendered(Hash::of(b"job")).await.expect("asked").as_deref(), Some("t"));
        assert_eq!(books.rendered(Hash::of(b"jobs")).await.expect("asked"), None);
    }
}
