//! What each limited token has spent or reserved.
use gleaner_wire::{Amount, SpendLimit};
use rusqlite::{Connection, OptionalExtension};

use super::Books;
use crate::Error;

/// It would be too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Over {
    /// What was spent before.
    pub(crate) spent: Amount,
}

fn spent(connection: &Connection, account: &str, token: &str) -> rusqlite::Result<u64> {
    let find = "SELECT units FROM spent WHERE account = ?1 AND token = ?2";
    Ok(connection.query_row(find, (account, token), |row| row.get(0)).optional()?.unwrap_or(0))
}

fn set(connection: &Connection, account: &str, token: &str, units: u64) -> rusqlite::Result<()> {
    let upsert = "INSERT INTO spent (account, token, units) VALUES (?1, ?2, ?3) \
                  ON CONFLICT (account, token) DO UPDATE SET units = ?3";
    connection.execute(upsert, (account, token, units)).map(|_| ())
}

impl Books {
    /// Takes an amount from what a token may spend, or says that it would be too much.
    pub(crate) async fn take(
        &self,
        account: &str,
        limit: &SpendLimit,
        amount: Amount,
    ) -> Result<Result<(), Over>, Error> {
        let (account, limit) = (account.to_owned(), limit.clone());
        self.with(move |connection| {
            let change = connection.transaction()?;
            let before = spent(&change, &account, &limit.token)?;
            let after = before.checked_add(amount.0).filter(|after| *after <= limit.max.0);
            let Some(after) = after else { return Ok(Err(Over { spent: Amount(before) })) };
            set(&change, &account, &limit.token, after)?;
            change.commit()?;
            Ok(Ok(()))
        })
        .await
    }

    /// Gives back what was taken and not spent.
    pub(crate) async fn give_back(&self, account: &str, token: &str, amount: Amount) -> Result<(), Error> {
        let (account, token) = (account.to_owned(), token.to_owned());
        self.with(move |connection| {
            let change = connection.transaction()?;
            let before = spent(&change, &account, &token)?;
            set(&change, &account, &token, before.saturating_sub(amount.0))?;
            change.commit()
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_token_spends_up_to_its_limit_and_not_a_unit_more() {
        let dir = tempfile::tempdir().expect("a folder");
        let books = Books::open(&dir.path().join("desk.db")).expect("opens");
        let limit = SpendLimit { token: "t".into(), max: Amount(10) };
        assert_eq!(books.take("ada", &limit, Amount(7)).await.expect("asked"), Ok(()));
        assert_eq!(books.take("ada", &limit, Amount(4)).await.expect("asked"), Err(Over { spent: Amount(7) }));
        assert_eq!(books.take("bob", &limit, Amount(10)).await.expect("asked"), Ok(()), "it is another's");
        books.give_back("ada", "t", Amount(5)).await.expect("given");
        assert_eq!(books.take("ada", &limit, Amount(8)).await.expect("asked"), Ok(()));
        assert_eq!(books.take("ada", &limit, Amount(u64::MAX)).await.expect("asked"), Err(Over { spent: Amount(10) }));
    }
}
