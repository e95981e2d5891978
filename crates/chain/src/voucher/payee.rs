//! The payee's side: takes words, one hash each, and keeps the last one on disk.
use std::collections::HashMap;
use std::path::Path;

use alloy_primitives::{Address, B256, Bytes};
use gleaner_wire::Amount;
use rusqlite::Connection;

use super::{Anchor, Domain, Error, Payment, Refused, STEPS_MAX, Voucher, hashed, store, verify, word};

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS channel (
    channel BLOB PRIMARY KEY, payer BLOB NOT NULL, funds INTEGER NOT NULL, step INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS voucher (
    channel BLOB PRIMARY KEY, base INTEGER NOT NULL, tip BLOB NOT NULL, step INTEGER NOT NULL,
    steps INTEGER NOT NULL, signature BLOB NOT NULL, place INTEGER NOT NULL, word BLOB NOT NULL) STRICT;";

/// A channel as the payee has seen it on the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its id.
    pub id: B256,
    /// Who pays, and signs anchors.
    pub payer: Address,
    /// What it holds for the payee.
    pub funds: Amount,
    /// The agreed price of one step.
    pub step: Amount,
}

struct Book {
    channel: Channel,
    closing: bool,
    last: Option<Voucher>,
    dirty: bool,
}

impl Book {
    fn total(&self) -> Amount {
        let last = self.last.as_ref();
        last.and_then(|voucher| voucher.anchor.total(voucher.index)).unwrap_or_default()
    }

    fn check_anchor(&self, domain: &Domain, anchor: &Anchor, signature: &[u8]) -> Result<(), Refused> {
        if anchor.channel != self.channel.id {
            return Err(Refused::Anchor("it names another channel"));
        }
        if anchor.steps > STEPS_MAX {
            return Err(Refused::Anchor("it has too many steps"));
        }
        if anchor.step != self.channel.step {
            return Err(Refused::Anchor("it pays another amount a step"));
        }
        if anchor.base < self.total() {
            return Err(Refused::Anchor("its base is less than was paid"));
        }
        verify(anchor, domain, self.channel.payer, signature)
    }

    /// Takes a word of the chain at hand.
    fn advance(&mut self, index: u32, word: B256) -> Result<Amount, Refused> {
        let before = self.total();
        let last = self.last.as_mut().ok_or(Refused::NoAnchor)?;
        if index <= last.index || index > last.anchor.steps {
            return Err(Refused::Order);
        }
        let total = last.anchor.total(index).ok_or(Refused::Unfunded)?;
        if total > self.channel.funds {
            return Err(Refused::Unfunded);
        }
        if hashed(word, index - last.index) != last.word {
            return Err(Refused::Word);
        }
        (last.index, last.word) = (index, word);
        self.dirty = true;
        Ok(Amount(total.0 - before.0))
    }
}

/// Takes payments from many channels. What was taken since the last write to disk never exceeds a limit.
pub struct Payee {
    db: Connection,
    domain: Domain,
    books: HashMap<B256, Book>,
    unsynced: Amount,
    unsynced_max: Amount,
}

impl Payee {
    /// Opens the store. At most `unsynced_max` can be lost by a crash; zero writes every payment to disk.
    pub fn open(path: &Path, domain: Domain, unsynced_max: Amount) -> Result<Self, Error> {
        let db = store(path, SCHEMA)?;
        let books = load(&db)?;
        Ok(Self { db, domain, books, unsynced: Amount::ZERO, unsynced_max })
    }

    /// A channel was seen on the chain, or has been given more money.
    pub fn announce(&mut self, channel: Channel) -> Result<(), Error> {
        let Channel { id, payer, funds, step } = channel;
        let statement = "INSERT OR REPLACE INTO channel VALUES (?1, ?2, ?3, ?4)";
        self.db.execute(statement, rusqlite::params![id.as_slice(), payer.as_slice(), funds.0, step.0])?;
        let book = self.books.entry(id).or_insert(Book { channel, closing: false, last: None, dirty: false });
        book.channel = channel;
        Ok(())
    }

    /// The payer of a channel was seen to leave: nothing more is taken, what was taken should be redeemed.
    pub fn closing(&mut self, channel: B256) {
        if let Some(book) = self.books.get_mut(&channel) {
            book.closing = true;
        }
    }

    /// Takes a payment and says what it came to.
    pub fn accept(&mut self, payment: &Payment) -> Result<Amount, Error> {
        let book = self.books.get_mut(&payment.channel).ok_or(Refused::Unknown)?;
        if book.closing {
            return Err(Refused::Closing.into());
        }
        let came = match &payment.anchor {
            None => book.advance(payment.index, payment.word)?,
            Some((anchor, signature)) => renew(book, &self.domain, anchor, signature, payment)?,
        };
        self.unsynced = self.unsynced.checked_add(came).unwrap_or(self.unsynced_max);
        if self.unsynced > self.unsynced_max {
            self.sync()?;
        }
        Ok(came)
    }

    /// Writes everything that was taken to disk.
    pub fn sync(&mut self) -> Result<(), Error> {
        let transaction = self.db.transaction()?;
        for book in self.books.values_mut().filter(|book| book.dirty) {
            let Some(voucher) = &book.last else { continue };
            save(&transaction, voucher)?;
        }
        transaction.commit()?;
        // Only what the commit covered counts as written.
        self.books.values_mut().for_each(|book| book.dirty = false);
        self.unsynced = Amount::ZERO;
        Ok(())
    }

    /// What redeems a channel; also what tells a payer that crashed how far it had paid.
    pub fn voucher(&self, channel: B256) -> Option<&Voucher> {
        self.books.get(&channel).and_then(|book| book.last.as_ref())
    }

    /// What a channel has paid in all.
    pub fn total(&self, channel: B256) -> Amount {
        self.books.get(&channel).map(Book::total).unwrap_or_default()
    }
}

/// Goes on with a new anchor, if it and its first word are good; else everything stays as it was.
fn renew(
    book: &mut Book,
    domain: &Domain,
    anchor: &Anchor,
    signature: &Bytes,
    payment: &Payment,
) -> Result<Amount, Refused> {
    // A payer that came back gives the same anchor again.
    if book.last.as_ref().is_some_and(|last| last.anchor == *anchor) {
        return book.advance(payment.index, payment.word);
    }
    book.check_anchor(domain, anchor, signature)?;
    let before = book.total();
    let first = Voucher { anchor: anchor.clone(), signature: signature.clone(), index: 0, word: anchor.tip };
    let last = book.last.replace(first);
    let jump = anchor.base.0 - before.0;
    match book.advance(payment.index, payment.word) {
        Ok(came) => Ok(Amount(came.0 + jump)),
        Err(refused) => {
            book.last = last;
            Err(refused)
        }
    }
}

fn save(db: &Connection, voucher: &Voucher) -> Result<(), rusqlite::Error> {
    let anchor = &voucher.anchor;
    let statement = "INSERT OR REPLACE INTO voucher VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    db.prepare_cached(statement)?.execute(rusqlite::params![
        anchor.channel.as_slice(),
        anchor.base.0,
        anchor.tip.as_slice(),
        anchor.step.0,
        anchor.steps,
        &voucher.signature[..],
        voucher.index,
        voucher.word.as_slice()
    ])?;
    Ok(())
}

fn load(db: &Connection) -> Result<HashMap<B256, Book>, Error> {
    let mut books = HashMap::new();
    let mut channels = db.prepare("SELECT channel, payer, funds, step FROM channel")?;
    let mut rows = channels.query([])?;
    while let Some(row) = rows.next()? {
        let id = word(&row.get::<_, Vec<u8>>(0)?)?;
        let payer = row.get::<_, Vec<u8>>(1)?;
        let payer = Address::try_from(&payer[..]).map_err(|_| Error::Damaged("an address of a wrong length"))?;
        let channel = Channel { id, payer, funds: Amount(row.get(2)?), step: Amount(row.get(3)?) };
        books.insert(id, Book { channel, closing: false, last: None, dirty: false });
    }
    let mut vouchers = db.prepare("SELECT channel, base, tip, step, steps, signature, place, word FROM voucher")?;
    let mut rows = vouchers.query([])?;
    while let Some(row) = rows.next()? {
        let channel = word(&row.get::<_, Vec<u8>>(0)?)?;
        let (base, tip) = (Amount(row.get(1)?), word(&row.get::<_, Vec<u8>>(2)?)?);
        let anchor = Anchor { channel, base, tip, step: Amount(row.get(3)?), steps: row.get(4)? };
        let (signature, index) = (Bytes::from(row.get::<_, Vec<u8>>(5)?), row.get(6)?);
        let voucher = Voucher { anchor, signature, index, word: word(&row.get::<_, Vec<u8>>(7)?)? };
        let book = books.get_mut(&channel).ok_or(Error::Damaged("a voucher of no channel"))?;
        book.last = Some(voucher);
    }
    Ok(books)
}
