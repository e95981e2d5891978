//! The operator's desk: books each payment once, keeps to limits, remembers what is to be done and what is owed.
use std::path::Path;

use alloy_primitives::Address;
use gleaner_wire::Amount;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::BODY_BYTES_MAX;
use super::event::{Event, Fact, Malformed};
use super::signature::{Secret, SignatureError, verify};

const DAY_SECONDS: u64 = 86_400;

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS event (id TEXT PRIMARY KEY, received INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS payment (
        id TEXT PRIMARY KEY, account BLOB NOT NULL, currency TEXT NOT NULL, cents INTEGER NOT NULL,
        booked_day INTEGER, amount INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS payment_by_day ON payment (booked_day);
    CREATE TABLE IF NOT EXISTS refund (payment TEXT PRIMARY KEY, cents INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS instruction (
        key TEXT PRIMARY KEY, account BLOB NOT NULL, amount INTEGER NOT NULL,
        stage INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS debt (account BLOB PRIMARY KEY, amount INTEGER NOT NULL) STRICT, WITHOUT ROWID;
";

/// Nobody has been given the instruction yet, so that it may still be made smaller.
const NEW: u8 = 0;
/// It was given out, and may be on its way.
const OFFERED: u8 = 1;
/// The outbox has it.
const QUEUED: u8 = 2;

/// What the operator lets the desk do by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The currency that is sold for, in three small letters.
    pub currency: String,
    /// What one cent buys.
    pub per_cent: Amount,
    /// The most that one payment may buy.
    pub payment_max: Amount,
    /// The most that all payments of a day (of UTC) may buy.
    pub day_max: Amount,
    /// Whether real money is meant; rehearsals and real payments are never mixed.
    pub live: bool,
}

/// Something to do on the chain: deposit `amount` for `account` out of the operator's tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The key under which the outbox does it once.
    pub key: String,
    /// Whose deposit.
    pub account: Address,
    /// How much.
    pub amount: Amount,
}

/// Why a payment waits for the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It is in another currency.
    Currency,
    /// It is above the limit of one payment.
    PaymentLimit,
    /// With it the day would be above its limit.
    DayLimit,
}

/// What a message came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Credits are to be deposited.
    Deposit(Instruction),
    /// A payment went to pay off what its buyer owed, in whole.
    DebtPaid {
        /// The buyer.
        account: Address,
        /// How much.
        amount: Amount,
    },
    /// A payment waits until the operator releases or refunds it.
    Held {
        /// Which payment.
        payment: String,
        /// Why.
        reason: Held,
    },
    /// A payment was refunded.
    Refund {
        /// The buyer.
        account: Address,
        /// What the refunded cents had bought.
        amount: Amount,
        /// What the buyer owes now in all.
        debt: Amount,
    },
    /// It was known before.
    Repeated,
    /// It does not concern us, or not yet.
    Ignored,
}

/// Why a message was not taken.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is larger than any real one.
    #[error("the message has more than {BODY_BYTES_MAX} bytes")]
    TooLarge,
    /// It is not believed.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// It is signed, but not understood.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// A rehearsal among real payments, or the other way round.
    #[error("the message is {}, but this desk is not", if *live { "about real money" } else { "a rehearsal" })]
    WrongMode {
        /// What the message is about.
        live: bool,
    },
    /// The operator named a payment that does not wait.
    #[error("no payment {0} waits to be released")]
    NotHeld(String),
    /// The amounts are beyond anything that can be bought.
    #[error("the payment's amount is beyond any number of credits")]
    Amount,
    /// The books cannot be written or read: the payment provider should send the message again.
    #[error("the desk's books failed")]
    Store(#[from] rusqlite::Error),
}

impl Error {
    /// Whether the sender should try again later; the others would fail again.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Store(_))
    }
}

/// Books and rules of one operator.
#[derive(Debug)]
pub struct Desk {
    db: Connection,
    secrets: Vec<Secret>,
    limits: Limits,
}

impl Desk {
    /// Opens the books in this file.
    pub fn open(path: &Path, secrets: Vec<Secret>, limits: Limits) -> Result<Self, Error> {
        let db = Connection::open(path)?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "FULL")?;
        db.execute_batch(SCHEMA)?;
        Ok(Self { db, secrets, limits })
    }

    /// Takes a message with its signature header, at `now` in Unix seconds. What it comes to is on disk before this
    /// returns, and the payment provider may be told that it arrived.
    pub fn receive(&mut self, header: &str, body: &[u8], now: u64) -> Result<Outcome, Error> {
        if body.len() > BODY_BYTES_MAX {
            return Err(Error::TooLarge);
        }
        verify(&self.secrets, header, body, now)?;
        let event = Event::parse(body)?;
        if event.live != self.limits.live {
            return Err(Error::WrongMode { live: event.live });
        }
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let insert = "INSERT INTO event VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        if transaction.execute(insert, params![event.id, now])? == 0 {
            return Ok(Outcome::Repeated);
        }
        let outcome = match event.fact {
            Fact::Paid { payment, account, cents, currency } => {
                let paid = Paid { payment, account, cents, currency };
                Books { db: &transaction, limits: &self.limits }.paid(&paid, now / DAY_SECONDS)?
            }
            Fact::Refunded { payment, cents, currency: _ } => {
                Books { db: &transaction, limits: &self.limits }.refunded(&payment, cents)?
            }
            Fact::Other { kind: _ } => Outcome::Ignored,
        };
        transaction.commit()?;
        Ok(outcome)
    }

    /// Books a payment that was held, whatever the limits say: the operator has looked at it.
    pub fn release(&mut self, payment: &str, now: u64) -> Result<Outcome, Error> {
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let books = Books { db: &transaction, limits: &self.limits };
        let (paid, booked) = books.payment(payment)?.ok_or_else(|| Error::NotHeld(payment.to_owned()))?;
        if booked || paid.currency != self.limits.currency {
            return Err(Error::NotHeld(payment.to_owned()));
        }
        let outcome = books.book(&paid, now / DAY_SECONDS)?;
        transaction.commit()?;
        Ok(outcome)
    }

    /// What the outbox has not got yet, in the order of keys. Push each under its key, then tell [`Desk::queued`];
    /// after a crash in between it is listed again, and the key keeps it from being done twice.
    pub fn pending(&mut self) -> Result<Vec<Instruction>, Error> {
        self.db.execute("UPDATE instruction SET stage = ?1 WHERE stage = ?2", params![OFFERED, NEW])?;
        let mut query =
            self.db.prepare("SELECT key, account, amount FROM instruction WHERE stage = ?1 ORDER BY key")?;
        let rows = query.query_map([OFFERED], |row| {
            Ok(Instruction {
                key: row.get(0)?,
                account: row.get::<_, [u8; 20]>(1)?.into(),
                amount: Amount(row.get(2)?),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The outbox has the instruction with this key.
    pub fn queued(&mut self, key: &str) -> Result<(), Error> {
        self.db.execute("UPDATE instruction SET stage = ?1 WHERE key = ?2", params![QUEUED, key])?;
        Ok(())
    }

    /// What an account owes for refunded payments.
    pub fn debt(&self, account: Address) -> Result<Amount, Error> {
        Ok(debt(&self.db, account)?)
    }

    /// An account has sent tokens back to the operator; returns what it owes still.
    pub fn returned(&mut self, account: Address, amount: Amount) -> Result<Amount, Error> {
        let left = Amount(debt(&self.db, account)?.0.saturating_sub(amount.0));
        set_debt(&self.db, account, left)?;
        Ok(left)
    }
}

struct Paid {
    payment: String,
    account: Address,
    cents: u64,
    currency: String,
}

/// What is done within one transaction of the database.
struct Books<'a> {
    db: &'a Transaction<'a>,
    limits: &'a Limits,
}

impl Books<'_> {
    fn paid(&self, paid: &Paid, day: u64) -> Result<Outcome, Error> {
        if self.payment(&paid.payment)?.is_some() {
            return Ok(Outcome::Repeated);
        }
        let insert = "INSERT INTO payment VALUES (?1, ?2, ?3, ?4, NULL, 0)";
        let cents = i64::try_from(paid.cents).map_err(|_| Error::Amount)?;
        self.db.execute(insert, params![paid.payment, paid.account.as_slice(), paid.currency, cents])?;
        match self.reason_to_hold(paid, day)? {
            Some(reason) => Ok(Outcome::Held { payment: paid.payment.clone(), reason }),
            None => self.book(paid, day),
        }
    }

    fn reason_to_hold(&self, paid: &Paid, day: u64) -> Result<Option<Held>, Error> {
        if paid.currency != self.limits.currency {
            return Ok(Some(Held::Currency));
        }
        let amount = match self.worth(paid.cents) {
            Ok(amount) if amount <= self.limits.payment_max => amount,
            Ok(_) | Err(_) => return Ok(Some(Held::PaymentLimit)),
        };
        let query = "SELECT coalesce(sum(amount), 0) FROM payment WHERE booked_day = ?1";
        let today = Amount(self.db.query_row(query, [day], |row| row.get(0))?);
        let within = today.checked_add(amount).is_some_and(|sum| sum <= self.limits.day_max);
        Ok((!within).then_some(Held::DayLimit))
    }

    /// Books a payment less what was refunded of it, and less what its buyer owes.
    fn book(&self, paid: &Paid, day: u64) -> Result<Outcome, Error> {
        let refunded = self.refunded_cents(&paid.payment)?.min(paid.cents);
        let amount = self.worth(paid.cents - refunded)?;
        let update = "UPDATE payment SET booked_day = ?2, amount = ?3 WHERE id = ?1";
        self.db.execute(update, params![paid.payment, day, amount.0])?;
        let owed = debt(self.db, paid.account)?;
        let off = owed.min(amount);
        set_debt(self.db, paid.account, Amount(owed.0 - off.0))?;
        let rest = Amount(amount.0 - off.0);
        if rest == Amount::ZERO {
            return Ok(Outcome::DebtPaid { account: paid.account, amount: off });
        }
        let instruction = Instruction { key: key(&paid.payment), account: paid.account, amount: rest };
        let insert = "INSERT INTO instruction VALUES (?1, ?2, ?3, ?4)";
        self.db.execute(insert, params![instruction.key, paid.account.as_slice(), rest.0, NEW])?;
        Ok(Outcome::Deposit(instruction))
    }

    fn refunded(&self, payment: &str, cents: u64) -> Result<Outcome, Error> {
        let before = self.refunded_cents(payment)?;
        // Messages tell sums, and may come in any order: the largest is the newest.
        if cents <= before {
            return Ok(Outcome::Repeated);
        }
        let cents = i64::try_from(cents).map_err(|_| Error::Amount)?;
        self.db.execute("INSERT OR REPLACE INTO refund VALUES (?1, ?2)", params![payment, cents])?;
        let Some((paid, true)) = self.payment(payment)? else { return Ok(Outcome::Ignored) };
        let gone = cents.unsigned_abs().min(paid.cents) - before.min(paid.cents);
        let amount = self.worth(gone)?;
        let left = Amount(amount.0 - self.withdraw_unsent(payment, amount)?.0);
        let owed = debt(self.db, paid.account)?.checked_add(left).ok_or(Error::Amount)?;
        set_debt(self.db, paid.account, owed)?;
        Ok(Outcome::Refund { account: paid.account, amount, debt: owed })
    }

    /// Takes as much as possible off a deposit that nobody has been given yet; returns how much that was.
    fn withdraw_unsent(&self, payment: &str, amount: Amount) -> Result<Amount, Error> {
        let key = key(payment);
        let query = "SELECT amount FROM instruction WHERE key = ?1 AND stage = ?2";
        let waiting = self.db.query_row(query, params![key, NEW], |row| row.get(0)).optional()?;
        let Some(waiting) = waiting.map(Amount) else { return Ok(Amount::ZERO) };
        let taken = waiting.min(amount);
        match waiting.0 - taken.0 {
            0 => self.db.execute("DELETE FROM instruction WHERE key = ?1", [key])?,
            rest => self.db.execute("UPDATE instruction SET amount = ?2 WHERE key = ?1", params![key, rest])?,
        };
        Ok(taken)
    }

    /// A payment, and whether it is booked.
    fn payment(&self, payment: &str) -> Result<Option<(Paid, bool)>, Error> {
        let query = "SELECT account, currency, cents, booked_day IS NOT NULL FROM payment WHERE id = ?1";
        let row = self.db.query_row(query, [payment], |row| {
            let account = row.get::<_, [u8; 20]>(0)?.into();
            let paid = Paid { payment: payment.to_owned(), account, currency: row.get(1)?, cents: row.get(2)? };
            Ok((paid, row.get(3)?))
        });
        Ok(row.optional()?)
    }

    fn refunded_cents(&self, payment: &str) -> Result<u64, Error> {
        let query = "SELECT cents FROM refund WHERE payment = ?1";
        Ok(self.db.query_row(query, [payment], |row| row.get(0)).optional()?.unwrap_or(0))
    }

    fn worth(&self, cents: u64) -> Result<Amount, Error> {
        let units = cents.checked_mul(self.limits.per_cent.0).filter(|units| i64::try_from(*units).is_ok());
        units.map(Amount).ok_or(Error::Amount)
    }
}

fn key(payment: &str) -> String {
    format!("fiat/{payment}")
}

fn debt(db: &Connection, account: Address) -> Result<Amount, rusqlite::Error> {
    let query = "SELECT amount FROM debt WHERE account = ?1";
    let row = db.query_row(query, [account.as_slice()], |row| row.get(0)).optional()?;
    Ok(Amount(row.unwrap_or(0)))
}

fn set_debt(db: &Connection, account: Address, amount: Amount) -> Result<(), rusqlite::Error> {
    db.execute("INSERT OR REPLACE INTO debt VALUES (?1, ?2)", params![account.as_slice(), amount.0])?;
    Ok(())
}
