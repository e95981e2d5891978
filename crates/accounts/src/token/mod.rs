//! API tokens: for programs that act for an account, with no more than their scopes and no longer than their time.
//!
//! A token is shown once, when it is made; only its hash is kept.
mod spending;
mod text;

pub use spending::{Reserved, SPENDINGS_PER_TOKEN_MAX};
pub use text::{PREFIX, TOKEN_CHARS};

use crate::account::{self, Account};
use crate::audit::{self, Kind};
use crate::{AccountId, Accounts, Error, Refusal, Secret, Visit};
use gleaner_wire::{Amount, Millis};
use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use std::fmt;
use text::Text;

/// Tokens of one account.
pub const TOKENS_PER_ACCOUNT_MAX: u64 = 100;
/// The longest life of a token.
pub const LIFE_MAX_MS: u64 = 366 * 24 * 3600 * 1000;
/// The longest label, in characters.
pub const LABEL_CHARS_MAX: usize = 64;
/// How exactly the last use is known; each use would be a write otherwise.
pub const USED_GRAIN_MS: u64 = 60 * 1000;

/// A token, numbered by its hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenId(pub u64);

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One thing that a token may be good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Looking at what is the account's.
    Read,
    /// Submitting and cancelling jobs, and what they need.
    Submit,
    /// Spending money, up to a limit.
    Spend,
    /// Sharing machines.
    Provide,
}

impl Scope {
    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Submit => "submit",
            Self::Spend => "spend",
            Self::Provide => "provide",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a token is good for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scopes {
    /// Looking at what is the account's.
    #[serde(default)]
    pub read: bool,
    /// Submitting jobs.
    #[serde(default)]
    pub submit: bool,
    /// Sharing machines.
    #[serde(default)]
    pub provide: bool,
    /// Spending up to so much over its whole life.
    #[serde(default, rename = "spend", skip_serializing_if = "Option::is_none")]
    pub spend_max: Option<Amount>,
}

impl Scopes {
    /// These scopes; a limit on spending is set apart.
    pub fn of(scopes: &[Scope]) -> Self {
        let has = |scope| scopes.contains(&scope);
        Self {
            read: has(Scope::Read),
            submit: has(Scope::Submit),
            provide: has(Scope::Provide),
            spend_max: has(Scope::Spend).then_some(Amount::ZERO),
        }
    }

    /// Whether it is good for this.
    pub fn has(&self, scope: Scope) -> bool {
        match scope {
            Scope::Read => self.read,
            Scope::Submit => self.submit,
            Scope::Spend => self.spend_max.is_some(),
            Scope::Provide => self.provide,
        }
    }
}

/// What is asked of a new token.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What its owner calls it.
    pub label: String,
    /// What it is good for.
    pub scopes: Scopes,
    /// When it ends.
    pub ends_at: Millis,
}

/// Why a token is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No label, or a long one.
    #[error("a token has a label of 1 to {LABEL_CHARS_MAX} printable characters")]
    Label,
    /// Good for nothing.
    #[error("a token needs at least one scope: read, submit, spend or provide")]
    NoScope,
    /// Already over, or too far away.
    #[error("a token ends in the future, and within {} days", LIFE_MAX_MS / (24 * 3600 * 1000))]
    End,
    /// More money than there is.
    #[error("a token cannot spend so much")]
    Amount,
}

/// A token, as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Token {
    /// Its number.
    pub id: TokenId,
    /// What its owner calls it.
    pub label: String,
    /// How it begins.
    pub hint: String,
    /// What it is good for.
    pub scopes: Scopes,
    /// What it has spent, and reserved to spend.
    pub spent: Amount,
    /// When it was made.
    pub made_at: Millis,
    /// When it ends.
    pub ends_at: Millis,
    /// When it was last used, about.
    pub used_at: Option<Millis>,
}

impl Token {
    /// Whether its last use is written down as exactly as it has to be.
    fn is_used_up_to(&self, now: Millis) -> bool {
        self.used_at.is_some_and(|used| now.since(used).0 < USED_GRAIN_MS)
    }
}

/// A token that has just been made: the only moment at which its text is known.
#[derive(Debug)]
pub struct NewToken {
    /// What is kept of it.
    pub token: Token,
    /// The text, for its owner.
    pub text: Secret,
}

/// Somebody who has shown a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Whose it is.
    pub account: Account,
    /// Which one.
    pub token: Token,
}

const COLUMNS: &str = "token.id, token.label, token.hint, token.read, token.submit, token.provide, token.spend_max, \
                       token.spent, token.made_ms, token.ends_ms, token.used_ms";

/// Reads a token whose columns begin at one.
fn read_token(row: &Row<'_>, first: usize) -> rusqlite::Result<Token> {
    let scopes = Scopes {
        read: row.get(first + 3)?,
        submit: row.get(first + 4)?,
        provide: row.get(first + 5)?,
        spend_max: row.get::<_, Option<u64>>(first + 6)?.map(Amount),
    };
    Ok(Token {
        id: TokenId(row.get(first)?),
        label: row.get(first + 1)?,
        hint: row.get(first + 2)?,
        scopes,
        spent: Amount(row.get(first + 7)?),
        made_at: Millis(row.get(first + 8)?),
        ends_at: Millis(row.get(first + 9)?),
        used_at: row.get::<_, Option<u64>>(first + 10)?.map(Millis),
    })
}

fn check(asked: &Asked, now: Millis) -> Result<(), Fault> {
    let label = &asked.label;
    let fits = (1..=LABEL_CHARS_MAX).contains(&label.chars().count());
    if !fits || label.trim() != label || label.chars().any(char::is_control) {
        return Err(Fault::Label);
    }
    if asked.scopes == Scopes::default() {
        return Err(Fault::NoScope);
    }
    if asked.ends_at <= now || asked.ends_at > now.after(Millis(LIFE_MAX_MS)) {
        return Err(Fault::End);
    }
    // The database counts up to here.
    if asked.scopes.spend_max.is_some_and(|max| max.0 > i64::MAX.unsigned_abs()) {
        return Err(Fault::Amount);
    }
    Ok(())
}

impl Accounts {
    /// Makes a token.
    pub fn make_token(&self, visit: Visit, account: AccountId, asked: &Asked) -> Result<NewToken, Error> {
        check(asked, visit.now).map_err(Refusal::from)?;
        let text = Text::random(&*self.chance)?;
        self.write(|db| {
            db.execute("DELETE FROM token WHERE account = ?1 AND ends_ms <= ?2", params![account.0, visit.now.0])?;
            let count = "SELECT count(*) FROM token WHERE account = ?1";
            let count: u64 = db.query_row(count, [account.0], |row| row.get(0))?;
            if count >= TOKENS_PER_ACCOUNT_MAX {
                return Err(Refusal::TooMany { what: "tokens of one account", max: TOKENS_PER_ACCOUNT_MAX }.into());
            }
            let scopes = asked.scopes;
            db.execute(
                "INSERT INTO token (hash, account, label, hint, read, submit, provide, spend_max, made_ms, ends_ms) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    text.hash(),
                    account.0,
                    asked.label,
                    text.hint(),
                    scopes.read,
                    scopes.submit,
                    scopes.provide,
                    scopes.spend_max.map(|max| max.0),
                    visit.now.0,
                    asked.ends_at.0
                ],
            )?;
            let id = db.last_insert_rowid();
            let query = format!("SELECT {COLUMNS} FROM token WHERE id = ?1");
            let token = db.query_row(&query, [id], |row| read_token(row, 0))?;
            audit::note(db, visit, Some(account), Kind::TokenMade, &format!("{} {}", token.hint, token.label))?;
            Ok(NewToken { token, text: text.into_secret() })
        })
    }

    /// Whose token this is, if it is one and has not ended.
    pub fn token(&self, visit: Visit, text: &str) -> Result<Option<Shown>, Error> {
        let Some(hash) = Text::parse(text).map(|text| text.hash()) else { return Ok(None) };
        let version = self.memory.version();
        let found = self.read(|db| {
            let query = format!(
                "SELECT {}, {COLUMNS} FROM token JOIN account ON account.id = token.account WHERE token.hash = ?1",
                account::COLUMNS
            );
            let row = |row: &Row<'_>| Ok(Shown { account: account::read_account(row)?, token: read_token(row, 5)? });
            Ok(db.prepare_cached(&query)?.query_row([hash], row).optional()?)
        })?;
        let Some(shown) = found else { return Ok(None) };
        if shown.token.ends_at <= visit.now || shown.account.suspended {
            return Ok(None);
        }
        if !shown.token.is_used_up_to(visit.now) {
            self.write(|db| {
                let query = "UPDATE token SET used_ms = ?2 WHERE id = ?1";
                db.prepare_cached(query)?.execute(params![shown.token.id.0, visit.now.0])?;
                Ok(())
            })?;
        }
        self.memory.keep(version, |known| {
            known.tokens.insert(hash, shown.clone());
        });
        Ok(Some(shown))
    }

    /// Whose token this is, if that is remembered: it was read before, and nothing was written since. Waits for nothing.
    pub fn recall_token(&self, visit: Visit, text: &str) -> Option<Shown> {
        let hash = Text::parse(text)?.hash();
        let shown = self.memory.recall(|known| known.tokens.get(&hash).cloned())?;
        (shown.token.ends_at > visit.now && shown.token.is_used_up_to(visit.now)).then_some(shown)
    }

    /// Whether there is a token with this number that has not ended.
    pub fn is_token(&self, id: TokenId, now: Millis) -> Result<bool, Error> {
        self.read(|db| {
            let mut statement = db.prepare_cached("SELECT 1 FROM token WHERE id = ?1 AND ends_ms > ?2")?;
            Ok(statement.exists(params![id.0, now.0])?)
        })
    }

    /// The tokens of an account, the newest first; ended ones stay listed until the next one is made.
    pub fn tokens(&self, account: AccountId) -> Result<Vec<Token>, Error> {
        self.read(|db| {
            let query = format!("SELECT {COLUMNS} FROM token WHERE account = ?1 ORDER BY id DESC");
            let mut statement = db.prepare_cached(&query)?;
            let rows = statement.query_map([account.0], |row| read_token(row, 0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Makes a token worthless.
    pub fn revoke_token(&self, visit: Visit, account: AccountId, id: TokenId) -> Result<(), Error> {
        self.write(|db| {
            let query = "DELETE FROM token WHERE id = ?1 AND account = ?2 RETURNING hint";
            let hint: Option<String> = db.query_row(query, params![id.0, account.0], |row| row.get(0)).optional()?;
            let hint = hint.ok_or(Refusal::NotFound("token"))?;
            audit::note(db, visit, Some(account), Kind::TokenRevoked, &hint)
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
pub(crate) mod tests {
    use super::*;
    use crate::store::tests::{NOW, accounts, made, visit};

    /// A token for a day.
    pub(crate) fn ask(scopes: Scopes) -> Asked {
        Asked { label: "a script".to_owned(), scopes, ends_at: NOW.after(Millis(24 * 3600 * 1000)) }
    }

    fn refusal<T>(result: Result<T, Error>) -> Refusal {
        match result {
            Err(Error::Refused(refusal)) => refusal,
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("not refused"),
        }
    }

    #[test]
    fn a_token_is_good_for_its_scopes_until_its_end() {
        let (dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        let made = accounts.make_token(visit(NOW), id, &ask(Scopes::of(&[Scope::Read]))).unwrap();
        let shown = accounts.token(visit(NOW), made.text.expose()).unwrap().unwrap();
        assert_eq!((shown.account.id, shown.token.scopes), (id, Scopes::of(&[Scope::Read])));
        assert!(shown.token.scopes.has(Scope::Read) && !shown.token.scopes.has(Scope::Spend));
        assert!(accounts.token(visit(made.token.ends_at), made.text.expose()).unwrap().is_none());
        drop(accounts);
        let bytes = std::fs::read(dir.path().join("accounts.db")).unwrap();
        let text = made.text.expose().as_bytes();
        assert!(!bytes.windows(text.len()).any(|window| window == text), "only the hash is kept");
    }

    #[test]
    fn a_listing_shows_how_a_token_begins_and_when_it_was_used() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        let made = accounts.make_token(visit(NOW), id, &ask(Scopes::of(&[Scope::Read]))).unwrap();
        assert_eq!(accounts.tokens(id).unwrap(), std::slice::from_ref(&made.token));
        assert!(made.text.expose().starts_with(&made.token.hint));
        let later = NOW.after(Millis(5));
        accounts.token(visit(later), made.text.expose()).unwrap();
        assert_eq!(accounts.tokens(id).unwrap()[0].used_at, Some(later));
    }

    #[test]
    fn a_revoked_token_is_worthless_and_nobody_revokes_anothers() {
        let (_dir, accounts) = accounts();
        let (id, other) = (made(&accounts, "orchard"), made(&accounts, "barley"));
        let made = accounts.make_token(visit(NOW), id, &ask(Scopes::of(&[Scope::Read]))).unwrap();
        assert_eq!(refusal(accounts.revoke_token(visit(NOW), other, made.token.id)), Refusal::NotFound("token"));
        accounts.revoke_token(visit(NOW), id, made.token.id).unwrap();
        assert!(accounts.token(visit(NOW), made.text.expose()).unwrap().is_none());
    }

    #[test]
    fn tokens_of_a_suspended_account_are_worthless() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        let made = accounts.make_token(visit(NOW), id, &ask(Scopes::of(&[Scope::Read]))).unwrap();
        accounts.suspend(visit(NOW), id).unwrap();
        assert!(accounts.token(visit(NOW), made.text.expose()).unwrap().is_none());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        let good = ask(Scopes::of(&[Scope::Read]));
        for (asked, fault) in [
            (Asked { label: String::new(), ..good.clone() }, Fault::Label),
            (Asked { label: "a\nb".to_owned(), ..good.clone() }, Fault::Label),
            (Asked { scopes: Scopes::default(), ..good.clone() }, Fault::NoScope),
            (Asked { ends_at: NOW, ..good.clone() }, Fault::End),
            (Asked { ends_at: Millis(u64::MAX), ..good.clone() }, Fault::End),
            (
                Asked { scopes: Scopes { spend_max: Some(Amount(u64::MAX)), ..Scopes::default() }, ..good },
                Fault::Amount,
            ),
        ] {
            assert_eq!(refusal(accounts.make_token(visit(NOW), id, &asked)), Refusal::Token(fault));
        }
    }

    #[test]
    fn there_are_only_so_many_and_ended_ones_make_room() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        let asked = ask(Scopes::of(&[Scope::Read]));
        for _ in 0..TOKENS_PER_ACCOUNT_MAX {
            accounts.make_token(visit(NOW), id, &asked).unwrap();
        }
        let full = refusal(accounts.make_token(visit(NOW), id, &asked));
        assert!(matches!(full, Refusal::TooMany { .. }), "{full}");
        let later = Asked { ends_at: asked.ends_at.after(Millis(1000)), ..asked.clone() };
        accounts.make_token(visit(asked.ends_at), id, &later).unwrap();
        assert_eq!(accounts.tokens(id).unwrap().len(), 1);
    }

    #[test]
    fn scopes_read_as_people_write_them() {
        let scopes: Scopes = serde_json::from_str(r#"{"read":true,"spend":"2.5"}"#).unwrap();
        assert_eq!(scopes, Scopes { read: true, spend_max: Some(Amount(2_500_000_000)), ..Scopes::default() });
        assert!(serde_json::from_str::<Scopes>(r#"{"everything":true}"#).is_err());
    }
}
