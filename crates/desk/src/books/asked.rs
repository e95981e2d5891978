//! What was asked for under which key, so that asking twice does it once.
use gleaner_wire::Hash;
use rusqlite::OptionalExtension;

use super::{Books, now_ms};
use crate::Error;

/// How long a key is remembered.
const KEPT_MS: u64 = 7 * 24 * 3600 * 1000;

/// What a key stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// Nothing so far.
    New,
    /// The same request, which has no answer yet.
    Before,
    /// The same request, with its answer.
    Answered(String),
    /// Another request.
    Other,
}

impl Books {
    /// Notes that something is asked for.
    pub(crate) async fn begin(&self, account: &str, key: &str, what: Hash) -> Result<Begun, Error> {
        let (account, key, now) = (account.to_owned(), key.to_owned(), now_ms());
        self.with(move |connection| {
            let change = connection.transaction()?;
            change.execute("DELETE FROM asked WHERE at_ms < ?1", [now.saturating_sub(KEPT_MS)])?;
            let find = "SELECT what, answer FROM asked WHERE account = ?1 AND key = ?2";
            let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Option<String>>(1)?));
            let found = change.query_row(find, (&account, &key), read).optional()?;
            let begun = match found {
                None => {
                    let insert = "INSERT INTO asked (account, key, what, at_ms) VALUES (?1, ?2, ?3, ?4)";
                    change.execute(insert, (&account, &key, &what.0[..], now))?;
                    Begun::New
                }
                Some((other, _)) if other != what.0 => Begun::Other,
                Some((_, None)) => Begun::Before,
                Some((_, Some(answer))) => Begun::Answered(answer),
            };
            change.commit()?;
            Ok(begun)
        })
        .await
    }

    /// Keeps the answer.
    pub(crate) async fn answer(&self, account: &str, key: &str, answer: String) -> Result<(), Error> {
        let (account, key) = (account.to_owned(), key.to_owned());
        let update = "UPDATE asked SET answer = ?3 WHERE account = ?1 AND key = ?2";
        self.with(move |connection| connection.execute(update, (&account, &key, &answer)).map(|_| ())).await
    }

    /// Nothing was done, so the key is free again.
    pub(crate) async fn forget(&self, account: &str, key: &str) -> Result<(), Error> {
        let (account, key) = (account.to_owned(), key.to_owned());
        let delete = "DELETE FROM asked WHERE account = ?1 AND key = ?2 AND answer IS NULL";
        self.with(move |connection| connection.execute(delete, (&account, &key)).map(|_| ())).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_key_stands_for_one_request_of_one_account() {
        let dir = tempfile::tempdir().expect("a folder");
        let books = Books::open(&dir.path().join("desk.db")).expect("opens");
        let (one, other) = (Hash::of(b"one"), Hash::of(b"other"));
        assert_eq!(books.begin("ada", "k", one).await.expect("begun"), Begun::New);
        assert_eq!(books.begin("ada", "k", one).await.expect("begun"), Begun::Before);
        assert_eq!(books.begin("ada", "k", other).await.expect("begun"), Begun::Other);
        assert_eq!(books.begin("bob", "k", other).await.expect("begun"), Begun::New);
        books.answer("ada", "k", "7".into()).await.expect("kept");
        books.forget("ada", "k").await.expect("asked");
        books.forget("bob", "k").await.expect("forgotten");
        assert_eq!(books.begin("ada", "k", one).await.expect("begun"), Begun::Answered("7".into()));
        assert_eq!(books.begin("bob", "k", one).await.expect("begun"), Begun::New);
    }
}
