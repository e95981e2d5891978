//! Quotes that were given, with the hub's signed offers, so that a job can be ordered by exactly what somebody has seen.
use gleaner_wire::job_file::Prefer;
use gleaner_wire::{Hash, Millis, SignedQuote};
use rusqlite::OptionalExtension;

use super::{Books, now_ms};
use crate::Error;
use crate::images::Exact;

/// Quotes of one account that are remembered: the newest.
const QUOTES_MAX: u32 = 50;
/// How long one is remembered. Its offers end long before; a submission that is sent again needs them all the same.
const KEPT_MS: u64 = 24 * 3600 * 1000;

/// A quote that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// What it is for.
    pub(crate) work: Hash,
    /// Binding prices, at most one for each preference.
    pub(crate) offers: Vec<SignedQuote>,
    /// What the tags of its images stood for.
    pub(crate) images: Exact,
}

impl Kept {
    /// The binding price for what matters more.
    pub(crate) fn offer(&self, prefer: Prefer) -> Option<&SignedQuote> {
        self.offers.iter().find(|offer| offer.quote.prefer == prefer)
    }
}

/// Whether an offer binds no more, by this machine's clock, which is the hub's.
pub(crate) fn has_ended(offer: &SignedQuote) -> bool {
    offer.quote.until < Millis(now_ms())
}

impl Books {
    /// Remembers a quote. Old ones are forgotten, and of each account all but the newest.
    pub(crate) async fn keep_quote(&self, account: &str, id: &str, kept: &Kept) -> Result<(), Error> {
        let (account, id, work, now) = (account.to_owned(), id.to_owned(), kept.work, now_ms());
        let offers = serde_json::to_string(&kept.offers).expect("offers are plain data");
        let images = serde_json::to_string(&kept.images).expect("names are plain data");
        self.with(move |connection| {
            let change = connection.transaction()?;
            change.execute("DELETE FROM quote WHERE at_ms < ?1", [now.saturating_sub(KEPT_MS)])?;
            let insert = "INSERT OR REPLACE INTO quote (account, id, work, offers, at_ms) VALUES (?1, ?2, ?3, ?4, ?5)";
            change.execute(insert, (&account, &id, &work.0[..], &offers, now))?;
            let insert = "INSERT OR REPLACE INTO quoted_images (account, id, images) VALUES (?1, ?2, ?3)";
            change.execute(insert, (&account, &id, &images))?;
            let older = "DELETE FROM quote WHERE account = ?1 AND rowid NOT IN \
                         (SELECT rowid FROM quote WHERE account = ?1 ORDER BY at_ms DESC, rowid DESC LIMIT ?2)";
            change.execute(older, (&account, QUOTES_MAX))?;
            let gone = "DELETE FROM quoted_images WHERE (account, id) NOT IN (SELECT account, id FROM quote)";
            change.execute(gone, [])?;
            change.commit()
        })
        .await
    }

    /// A quote that was given to this account.
    pub(crate) async fn quote(&self, account: &str, id: &str) -> Result<Option<Kept>, Error> {
        let (account, id) = (account.to_owned(), id.to_owned());
        let find = "SELECT work, offers, coalesce(images, '{}') FROM quote LEFT JOIN quoted_images USING (account, id) \
                    WHERE account = ?1 AND id = ?2";
        let read = |row: &rusqlite::Row<'_>| {
            Ok((row.get::<_, [u8; 32]>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
        };
        let found = self.with(move |connection| connection.query_row(find, (account, id), read).optional()).await?;
        let Some((work, offers, images)) = found else { return Ok(None) };
        let offers = serde_json::from_str(&offers).map_err(|_| Error::Defect)?;
        let images = serde_json::from_str(&images).map_err(|_| Error::Defect)?;
        Ok(Some(Kept { work: Hash(work), offers, images }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::{Amount, Quote};

    fn offer(prefer: Prefer, until: u64) -> SignedQuote {
        let quote = Quote {
            work: Hash([7; 32]),
            prefer,
            price: Amount(12),
            expected: Amount(10),
            time_ms: Millis(5),
            time_high_ms: Millis(9),
            until: Millis(until),
        };
        SignedQuote { quote, signature: vec![9; 64] }
    }

    fn kept() -> Kept {
        let offers = vec![offer(Prefer::Cheap, 1), offer(Prefer::Fast, u64::MAX)];
        let images = Exact::from([("python:3".to_owned(), "docker.io/library/python@sha256:00".to_owned())]);
        Kept { work: Hash::of(b"a job"), offers, images }
    }

    #[tokio::test]
    async fn a_quote_is_kept_as_it_was_signed_for_whom_it_was_given() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("desk.db");
        Books::open(&path).expect("opens").keep_quote("ada", "q", &kept()).await.expect("kept");
        let books = Books::open(&path).expect("opens again");
        assert_eq!(books.quote("ada", "q").await.expect("asked"), Some(kept()));
        assert_eq!(books.quote("bob", "q").await.expect("asked"), None);
        assert_eq!(kept().offer(Prefer::Fast), Some(&offer(Prefer::Fast, u64::MAX)));
        assert_eq!(kept().offer(Prefer::Balanced), None);
        assert!(has_ended(&offer(Prefer::Cheap, 1)) && !has_ended(&offer(Prefer::Cheap, u64::MAX)));
    }

    #[tokio::test]
    async fn of_each_account_only_the_newest_are_kept() {
        let dir = tempfile::tempdir().expect("a folder");
        let books = Books::open(&dir.path().join("desk.db")).expect("opens");
        books.keep_quote("bob", "his", &kept()).await.expect("kept");
        for number in 0..=QUOTES_MAX {
            books.keep_quote("ada", &number.to_string(), &kept()).await.expect("kept");
        }
        assert_eq!(books.quote("ada", "0").await.expect("asked"), None);
        for id in ["1", "50"] {
            assert!(books.quote("ada", id).await.expect("asked").is_some(), "{id}");
        }
        assert!(books.quote("bob", "his").await.expect("asked").is_some(), "it is another's");
    }
}
