//! The payer's side: makes chains, signs their tips, shows one word after the other.
use std::path::Path;

use alloy_primitives::{B256, keccak256};
use gleaner_wire::Amount;
use rusqlite::{Connection, OptionalExtension};

use super::{Anchor, Domain, Error, Payment, Refused, STEPS_MAX, hashed, store, word};
use crate::account::Account;

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS chain (
    channel BLOB PRIMARY KEY, funds INTEGER NOT NULL, base INTEGER NOT NULL, step INTEGER NOT NULL,
    steps INTEGER NOT NULL, seed BLOB NOT NULL, used INTEGER NOT NULL) STRICT;";

/// Pays from one channel. The chain's seed is on disk before its tip is signed.
pub struct Payer {
    db: Connection,
    domain: Domain,
    account: Account,
    anchor: Anchor,
    /// What the channel holds.
    funds: Amount,
    seed: B256,
    /// All words of the chain, the tip first: 32 KiB.
    words: Vec<B256>,
    used: u32,
    /// Whether the payee has been given the anchor since this payer was opened.
    announced: bool,
}

impl Payer {
    /// Opens the store and goes on with the channel if it is known, else begins its first chain.
    pub fn open(
        path: &Path,
        domain: Domain,
        account: Account,
        channel: B256,
        funds: Amount,
        step: Amount,
    ) -> Result<Self, Error> {
        let db = store(path, SCHEMA)?;
        let anchor = Anchor { channel, base: Amount::ZERO, tip: B256::ZERO, step, steps: 0 };
        let (seed, words) = (B256::ZERO, vec![B256::ZERO]);
        let mut payer = Self { db, domain, account, anchor, funds, seed, words, used: 0, announced: false };
        if !payer.load()? {
            payer.begin()?;
        }
        Ok(payer)
    }

    fn load(&mut self) -> Result<bool, Error> {
        let query = "SELECT base, step, steps, seed, used FROM chain WHERE channel = ?1";
        let row = self.db.query_row(query, [self.anchor.channel.as_slice()], |row| {
            Ok((row.get::<_, u64>(0)?, row.get::<_, u64>(1)?, row.get(2)?, row.get::<_, Vec<u8>>(3)?, row.get(4)?))
        });
        let Some((base, step, steps, seed, used)) = row.optional()? else { return Ok(false) };
        if steps > STEPS_MAX || used > steps {
            return Err(Error::Damaged("more words than a chain has"));
        }
        (self.anchor.base, self.anchor.step) = (Amount(base), Amount(step));
        self.grow(word(&seed)?, steps);
        self.used = used;
        Ok(true)
    }

    fn grow(&mut self, seed: B256, steps: u32) {
        let mut words = vec![seed];
        for _ in 0..steps {
            words.push(keccak256(words.last().expect("the seed is there")));
        }
        words.reverse();
        (self.anchor.tip, self.anchor.steps) = (words[0], steps);
        (self.seed, self.words, self.used, self.announced) = (seed, words, 0, false);
    }

    /// Begins a new chain on top of what was paid, as long as the money allows.
    fn begin(&mut self) -> Result<(), Error> {
        let (paid, step) = (self.paid(), self.anchor.step);
        let left = self.funds.checked_sub(paid).unwrap_or_default();
        let affordable = left.0.checked_div(step.0).unwrap_or(0);
        if affordable == 0 {
            return Err(Error::UsedUp { left, step });
        }
        let steps = affordable.min(STEPS_MAX.into()) as u32;
        let mut seed = B256::ZERO;
        getrandom::fill(seed.as_mut_slice()).expect("the system gives randomness");
        self.anchor.base = paid;
        self.grow(seed, steps);
        self.save()
    }

    /// Writes the chain and how far it is used to disk. Needed for the chain only; how far it is used can be learned
    /// from the payee again.
    pub fn save(&mut self) -> Result<(), Error> {
        let statement = "INSERT OR REPLACE INTO chain VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let anchor = &self.anchor;
        self.db.execute(
            statement,
            rusqlite::params![
                anchor.channel.as_slice(),
                self.funds.0,
                anchor.base.0,
                anchor.step.0,
                anchor.steps,
                self.seed.as_slice(),
                self.used
            ],
        )?;
        Ok(())
    }

    /// Pays so many steps, with the anchor if the payee does not have it yet.
    pub fn pay(&mut self, steps: u32) -> Result<Payment, Error> {
        if self.used == self.anchor.steps {
            self.begin()?;
        }
        // What is left of a chain is paid first; the caller sees by the index how far it came.
        self.used = self.anchor.steps.min(self.used.saturating_add(steps));
        let anchor = (!self.announced).then(|| (self.anchor.clone(), self.anchor.sign(&self.domain, &self.account)));
        self.announced = true;
        let word = self.words[self.used as usize];
        Ok(Payment { channel: self.anchor.channel, anchor, index: self.used, word })
    }

    /// Learns from the payee how far the chain is used, after a crash of this side. The word proves it.
    pub fn resume(&mut self, index: u32, word: B256) -> Result<(), Refused> {
        if index > self.anchor.steps {
            return Err(Refused::Order);
        }
        if hashed(word, index) != self.anchor.tip {
            return Err(Refused::Word);
        }
        self.used = self.used.max(index);
        Ok(())
    }

    /// Gives the anchor again with the next payment, for a payee that crashed before it had written it down.
    pub fn repeat_anchor(&mut self) {
        self.announced = false;
    }

    /// More money was put into the channel.
    pub fn fund(&mut self, funds: Amount) -> Result<(), Error> {
        self.funds = funds;
        self.save()
    }

    /// What has been paid in all.
    pub fn paid(&self) -> Amount {
        self.anchor.total(self.used).expect("a chain is never longer than the channel's money")
    }
}
