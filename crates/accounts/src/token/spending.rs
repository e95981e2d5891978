//! What tokens spend: reserved before something is submitted, given back if it was refused, lowered to what it came to.
//!
//! Each spending has a purpose, such as the number of a submission: whoever repeats one reserves nothing more, and whoever
//! wants more under the same purpose reserves the rest.
use super::TokenId;
use crate::{Accounts, Error, Refusal};
use gleaner_wire::Amount;
use rusqlite::{Connection, OptionalExtension, params};

/// Spendings of one token.
pub const SPENDINGS_PER_TOKEN_MAX: u64 = 100_000;

/// What came of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// The amount counts from now on.
    Now,
    /// It counted already.
    Before,
    /// Less than this counted already; now all of it does.
    Raised,
}

/// What was reserved before.
struct Spending {
    amount: u64,
    /// Whether it is known what it came to.
    settled: bool,
}

fn find(db: &Connection, token: TokenId, purpose: &str) -> Result<Option<Spending>, Error> {
    let query = "SELECT amount, settled FROM spending WHERE token = ?1 AND purpose = ?2";
    let row = |row: &rusqlite::Row<'_>| Ok(Spending { amount: row.get(0)?, settled: row.get(1)? });
    Ok(db.query_row(query, params![token.0, purpose], row).optional()?)
}

impl Accounts {
    /// Reserves what a submission may cost at most, if the token may spend so much. What was reserved for it before is a part of
    /// that; what it came to in the end is known to be all.
    pub fn reserve(&self, token: TokenId, purpose: &str, amount: Amount) -> Result<Reserved, Error> {
        self.write(|db| {
            let before = find(db, token, purpose)?;
            if before.as_ref().is_some_and(|before| before.settled || before.amount >= amount.0) {
                return Ok(Reserved::Before);
            }
            let more = Amount(amount.0 - before.as_ref().map_or(0, |before| before.amount));
            let query =
                "SELECT spend_max, spent, (SELECT count(*) FROM spending WHERE token = ?1) FROM token WHERE id = ?1";
            let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Option<u64>>(0)?, row.get::<_, u64>(1)?, row.get(2)?));
            let found: Option<(Option<u64>, u64, u64)> = db.query_row(query, [token.0], row).optional()?;
            let (max, spent, count) = found.ok_or(Refusal::NotFound("token"))?;
            let left = Amount(max.unwrap_or(0).saturating_sub(spent));
            if more > left {
                return Err(Refusal::OverLimit { left, needed: more }.into());
            }
            if before.is_none() && count >= SPENDINGS_PER_TOKEN_MAX {
                return Err(
                    Refusal::TooMany { what: "submissions with one token", max: SPENDINGS_PER_TOKEN_MAX }.into()
                );
            }
            let query = "INSERT INTO spending (token, purpose, amount) VALUES (?1, ?2, ?3) \
                         ON CONFLICT (token, purpose) DO UPDATE SET amount = excluded.amount";
            db.execute(query, params![token.0, purpose, amount.0])?;
            db.execute("UPDATE token SET spent = spent + ?2 WHERE id = ?1", params![token.0, more.0])?;
            Ok(if before.is_some() { Reserved::Raised } else { Reserved::Now })
        })
    }

    /// Gives back what was reserved for something that was refused; again, nothing.
    pub fn give_back(&self, token: TokenId, purpose: &str) -> Result<(), Error> {
        self.write(|db| {
            let Some(Spending { amount, .. }) = find(db, token, purpose)? else { return Ok(()) };
            db.execute("DELETE FROM spending WHERE token = ?1 AND purpose = ?2", params![token.0, purpose])?;
            db.execute("UPDATE token SET spent = spent - ?2 WHERE id = ?1", params![token.0, amount])?;
            Ok(())
        })
    }

    /// Lowers what was reserved to what it came to, which is final; it is never raised.
    pub fn came_to(&self, token: TokenId, purpose: &str, amount: Amount) -> Result<(), Error> {
        self.write(|db| {
            let Some(Spending { amount: reserved, .. }) = find(db, token, purpose)? else { return Ok(()) };
            let final_amount = reserved.min(amount.0);
            let query = "UPDATE spending SET amount = ?3, settled = 1 WHERE token = ?1 AND purpose = ?2";
            db.execute(query, params![token.0, purpose, final_amount])?;
            let rest = reserved - final_amount;
            db.execute("UPDATE token SET spent = spent - ?2 WHERE id = ?1", params![token.0, rest])?;
            Ok(())
        })
    }

    /// The purposes of spendings of which it is not known yet what they came to.
    pub fn open_spendings(&self, token: TokenId, limit: u32) -> Result<Vec<String>, Error> {
        self.read(|db| {
            let query = "SELECT purpose FROM spending WHERE token = ?1 AND NOT settled ORDER BY purpose LIMIT ?2";
            let mut statement = db.prepare_cached(query)?;
            let purposes = statement.query_map(params![token.0, limit], |row| row.get(0))?;
            Ok(purposes.collect::<Result<_, _>>()?)
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::store::tests::{NOW, accounts, made, open, visit};
    use crate::token::tests::ask;
    use crate::token::{Scope, Scopes};
    use proptest::prelude::*;

    fn spender(accounts: &Accounts, max: u64) -> TokenId {
        let id = made(accounts, "orchard");
        let scopes = Scopes { spend_max: Some(Amount(max)), ..Scopes::of(&[Scope::Submit]) };
        accounts.make_token(visit(NOW), id, &ask(scopes)).unwrap().token.id
    }

    fn spent(accounts: &Accounts) -> Amount {
        let id = accounts.account_named("orchard").unwrap().unwrap().id;
        accounts.tokens(id).unwrap()[0].spent
    }

    #[test]
    fn a_token_spends_up_to_its_limit_and_no_more() {
        let (dir, accounts) = accounts();
        let token = spender(&accounts, 100);
        assert_eq!(accounts.reserve(token, "a", Amount(60)).unwrap(), Reserved::Now);
        let over = accounts.reserve(token, "b", Amount(41)).unwrap_err();
        let Error::Refused(Refusal::OverLimit { left, needed }) = over else { panic!("{over}") };
        assert_eq!((left, needed), (Amount(40), Amount(41)));
        drop(accounts);
        let accounts = open(&dir);
        assert!(accounts.reserve(token, "b", Amount(41)).is_err(), "a restart forgets nothing");
        assert_eq!(accounts.reserve(token, "b", Amount(40)).unwrap(), Reserved::Now);
        assert_eq!(spent(&accounts), Amount(100));
    }

    #[test]
    fn a_repeated_submission_is_reserved_once_and_a_refused_one_given_back_once() {
        let (_dir, accounts) = accounts();
        let token = spender(&accounts, 100);
        accounts.reserve(token, "a", Amount(60)).unwrap();
        assert_eq!(accounts.reserve(token, "a", Amount(60)).unwrap(), Reserved::Before);
        accounts.give_back(token, "a").unwrap();
        accounts.give_back(token, "a").unwrap();
        assert_eq!(spent(&accounts), Amount(0));
        accounts.reserve(token, "a", Amount(100)).unwrap();
        accounts.came_to(token, "a", Amount(30)).unwrap();
        accounts.came_to(token, "a", Amount(90)).unwrap();
        assert_eq!(spent(&accounts), Amount(30));
    }

    #[test]
    fn more_under_the_same_purpose_is_reserved_too_or_refused() {
        let (_dir, accounts) = accounts();
        let token = spender(&accounts, 100);
        accounts.reserve(token, "a", Amount(10)).unwrap();
        accounts.reserve(token, "b", Amount(50)).unwrap();
        let over = accounts.reserve(token, "a", Amount(51)).unwrap_err();
        let Error::Refused(Refusal::OverLimit { left, needed }) = over else { panic!("{over}") };
        assert_eq!((left, needed, spent(&accounts)), (Amount(40), Amount(41), Amount(60)));
        assert_eq!(accounts.reserve(token, "a", Amount(50)).unwrap(), Reserved::Raised);
        assert_eq!(
            accounts.reserve(token, "a", Amount(20)).unwrap(),
            Reserved::Before,
            "it is never lowered by asking"
        );
        assert_eq!(spent(&accounts), Amount(100));
        accounts.came_to(token, "a", Amount(5)).unwrap();
        assert_eq!(accounts.reserve(token, "a", Amount(50)).unwrap(), Reserved::Before, "it is over");
        assert_eq!(spent(&accounts), Amount(55));
        accounts.give_back(token, "b").unwrap();
        assert_eq!(spent(&accounts), Amount(5));
    }

    #[test]
    fn what_is_final_is_not_looked_at_again() {
        let (_dir, accounts) = accounts();
        let token = spender(&accounts, 100);
        for purpose in ["a", "b", "c"] {
            accounts.reserve(token, purpose, Amount(20)).unwrap();
        }
        accounts.came_to(token, "b", Amount(90)).unwrap();
        assert_eq!(accounts.open_spendings(token, 10).unwrap(), ["a", "c"]);
        assert_eq!(spent(&accounts), Amount(60));
    }

    #[test]
    fn a_token_without_the_scope_spends_nothing() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        let token = accounts.make_token(visit(NOW), id, &ask(Scopes::of(&[Scope::Submit]))).unwrap().token.id;
        assert!(accounts.reserve(token, "a", Amount(1)).is_err());
        assert!(accounts.reserve(token, "a", Amount(0)).is_ok());
    }

    #[test]
    fn two_processes_at_once_do_not_spend_beyond_the_limit() {
        let (dir, accounts) = accounts();
        let token = spender(&accounts, 1000);
        let other = open(&dir);
        let spend = |accounts: &Accounts, who: &str| {
            (0..30).filter(|at| accounts.reserve(token, &format!("{who}{at}"), Amount(50)).is_ok()).count()
        };
        let taken: usize = std::thread::scope(|scope| {
            let threads = [scope.spawn(|| spend(&accounts, "a")), scope.spawn(|| spend(&other, "b"))];
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!((taken, spent(&accounts)), (20, Amount(1000)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn what_counts_is_the_sum_of_what_is_reserved(steps in prop::collection::vec((0_u8..3, 0_u8..4, 0_u64..60), 1..30)) {
            let (_dir, accounts) = accounts();
            let token = spender(&accounts, 100);
            let mut books = std::collections::BTreeMap::<u8, u64>::new();
            let mut over = std::collections::BTreeSet::<u8>::new();
            for (what, purpose, amount) in steps {
                let name = purpose.to_string();
                match what {
                    0 => match accounts.reserve(token, &name, Amount(amount)) {
                        Ok(Reserved::Now) => { prop_assert!(books.insert(purpose, amount).is_none()); }
                        Ok(Reserved::Raised) => {
                            prop_assert!(books.insert(purpose, amount).is_some_and(|before| before < amount));
                        }
                        Ok(Reserved::Before) => prop_assert!(books[&purpose] >= amount || over.contains(&purpose)),
                        Err(_) => {
                            let others = books.values().sum::<u64>() - books.get(&purpose).copied().unwrap_or(0);
                            prop_assert!(others + amount > 100);
                        }
                    },
                    1 => {
                        accounts.give_back(token, &name).unwrap();
                        books.remove(&purpose);
                        over.remove(&purpose);
                    }
                    _ => {
                        accounts.came_to(token, &name, Amount(amount)).unwrap();
                        if let Some(reserved) = books.get_mut(&purpose) {
                            *reserved = (*reserved).min(amount);
                            over.insert(purpose);
                        }
                    }
                }
                prop_assert_eq!(spent(&accounts), Amount(books.values().sum()));
            }
        }
    }
}
