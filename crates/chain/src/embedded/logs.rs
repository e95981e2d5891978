//! Finding logs: which blocks mention an address or a topic, and which logs in them fit.
//!
//! The index holds, for each block, the first eight bytes of a hash of everything its logs mention. It may name a block
//! too many, never one too few; the logs themselves are compared in full.
use super::block::Block;
use super::{Error, store};
use crate::node::{LOGS_MAX, LogEntry, LogFilter};
use alloy_primitives::{Address, B256, Log};
use rusqlite::{Connection, params_from_iter};
use std::collections::BTreeSet;

/// The most values a query may allow for addresses and topics together.
pub(crate) const ALTERNATIVES_MAX: usize = 1_000;
/// What every block with any log mentions.
const ANY: i64 = 0;
/// Topics are told apart by their place; addresses have a place of their own.
const ADDRESS: u8 = 4;

/// What a query may end with instead of logs.
pub(crate) enum Refusal {
    TooMany,
    Store(Error),
}

impl<E: Into<Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Store(error.into())
    }
}

/// The first eight bytes as the database's integer.
pub(crate) fn index_key(bytes: &[u8]) -> i64 {
    bytes.first_chunk().copied().map_or(ANY, i64::from_be_bytes)
}

fn key(place: u8, value: &[u8]) -> i64 {
    let hash = blake3::Hasher::new().update(&[place]).update(value).finalize();
    index_key(hash.as_bytes())
}

/// Everything that the logs of a block mention.
pub(crate) fn keys_of(block: &Block) -> BTreeSet<i64> {
    let mut keys = BTreeSet::new();
    for log in block.outcomes.iter().flat_map(|outcome| &outcome.logs) {
        keys.insert(ANY);
        keys.insert(key(ADDRESS, log.address.as_slice()));
        for (place, topic) in (0u8..).zip(log.topics()) {
            keys.insert(key(place, topic.as_slice()));
        }
    }
    keys
}

/// The logs that fit, in order; refused if there are more than [`LOGS_MAX`].
pub(crate) fn find(db: &Connection, filter: &LogFilter) -> Result<Vec<LogEntry>, Refusal> {
    let alternatives: usize = filter.addresses.len() + filter.topics.iter().map(Vec::len).sum::<usize>();
    if alternatives > ALTERNATIVES_MAX {
        return Err(Refusal::TooMany);
    }
    let (question, values) = question(filter);
    let mut query = db.prepare_cached(&question)?;
    let mut rows = query.query(params_from_iter(values))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let number = row.get(0)?;
        let block = store::block(db, number)?.ok_or_else(|| Error::damaged(number, "it is missing"))?;
        collect(&block, filter, &mut found);
        if found.len() > LOGS_MAX {
            return Err(Refusal::TooMany);
        }
    }
    Ok(found)
}

/// The logs of one block that fit.
pub(crate) fn collect(block: &Block, filter: &LogFilter, found: &mut Vec<LogEntry>) {
    let mut index = 0;
    for (place, (transaction, outcome)) in (0..).zip(block.transactions.iter().zip(&block.outcomes)) {
        for log in &outcome.logs {
            if fits(log, filter) {
                found.push(LogEntry {
                    log: log.clone(),
                    block_number: block.header.number,
                    block_hash: block.hash,
                    timestamp: block.header.timestamp,
                    transaction: transaction.hash(),
                    place,
                    index,
                });
            }
            index += 1;
        }
    }
}

fn fits(log: &Log, filter: &LogFilter) -> bool {
    let address = filter.addresses.is_empty() || filter.addresses.contains(&log.address);
    let topic = |(place, allowed): (usize, &Vec<B256>)| {
        allowed.is_empty() || log.topics().get(place).is_some_and(|topic| allowed.contains(topic))
    };
    address && filter.topics.iter().enumerate().all(topic)
}

/// The question to the index: blocks in the range that mention one of each group.
fn question(filter: &LogFilter) -> (String, Vec<i64>) {
    let addresses: Vec<i64> =
        filter.addresses.iter().map(|address: &Address| key(ADDRESS, address.as_slice())).collect();
    let topics = (0u8..).zip(&filter.topics);
    let topics = topics.map(|(place, allowed)| allowed.iter().map(|topic| key(place, topic.as_slice())).collect());
    let mut groups: Vec<Vec<i64>> = [addresses].into_iter().chain(topics).filter(|group| !group.is_empty()).collect();
    // The last topic that is asked for tells most: earlier ones are often the name of an event.
    groups.reverse();
    if groups.is_empty() {
        groups.push(vec![ANY]);
    }
    let bound = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let mut values = vec![bound(filter.from_block), filter.to_block.map_or(i64::MAX, bound)];
    let mut text = String::from("SELECT DISTINCT m.block FROM mentioned m WHERE m.block BETWEEN ? AND ?");
    for (place, group) in groups.into_iter().enumerate() {
        let marks = vec!["?"; group.len()].join(",");
        text += &match place {
            0 => format!(" AND m.key IN ({marks})"),
            _ => format!(" AND EXISTS (SELECT 1 FROM mentioned o WHERE o.key IN ({marks}) AND o.block = m.block)"),
        };
        values.extend(group);
    }
    (text + " ORDER BY m.block", values)
}
