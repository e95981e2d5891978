//! How many payments one core takes in a second, beside the hashes alone that they cannot do without.
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use alloy_primitives::{Address, B256, U256, keccak256};
use gleaner_wire::Amount;
use rustix::time::{ClockId, clock_gettime};

use super::{Anchor, Channel, Domain, Error, Payee, Payment, STEPS_MAX};
use crate::account::Account;

/// What to measure. Every payment is one unit.
#[derive(Clone, Debug)]
pub struct Load {
    /// How many channels pay in turn.
    pub channels: u32,
    /// How many payments there are in all; rounded up to whole chains of every channel.
    pub payments: u64,
    /// The payee's file and how much it may take between two writes to disk; none to write nothing.
    pub store: Option<(PathBuf, Amount)>,
}

/// What was measured, on one thread. Signing, and making words, is the payer's work and not in it.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Payments taken.
    pub payments: u64,
    /// Signatures of anchors checked among them.
    pub anchors: u64,
    /// Processor time of checking and booking them.
    pub cpu: Duration,
    /// The same by the clock, with the waiting for disks and neighbours.
    pub wall: Duration,
    /// Processor time of as many hashes of 32 bytes: the floor.
    pub floor: Duration,
}

impl Rate {
    /// Payments in a second of one core.
    pub fn per_second(&self) -> f64 {
        self.payments as f64 / self.cpu.as_secs_f64()
    }

    /// Hashes in a second of one core.
    pub fn hashes_per_second(&self) -> f64 {
        self.payments as f64 / self.floor.as_secs_f64()
    }
}

/// Pays and takes payments, and measures the taking alone.
pub fn measure(load: &Load) -> Result<Rate, Error> {
    let domain = Domain { chain_id: 1, vouchers: Address::repeat_byte(1) };
    let mut payee = match &load.store {
        Some((path, unsynced_max)) => Payee::open(path, domain, *unsynced_max)?,
        None => Payee::open(Path::new(":memory:"), domain, Amount(u64::MAX))?,
    };
    let payer = Account::from_words("who measures vouchers");
    let ids = (0..load.channels.max(1)).map(|nonce| domain.channel(payer.address(), Address::ZERO, U256::from(nonce)));
    let channels: Vec<B256> = ids.collect();
    for id in &channels {
        let funds = Amount(i64::MAX.unsigned_abs());
        payee.announce(Channel { id: *id, payer: payer.address(), funds, step: Amount(1) })?;
    }
    let rounds = load.payments.div_ceil(u64::from(STEPS_MAX) * channels.len() as u64);
    let mut rate = Rate { payments: 0, anchors: 0, cpu: Duration::ZERO, wall: Duration::ZERO, floor: Duration::ZERO };
    for round in 0..rounds {
        let payments = prepare(&domain, &payer, &channels, round);
        rate.anchors += channels.len() as u64;
        rate.payments += payments.len() as u64;
        let (cpu, wall) = timed(|| payments.iter().try_for_each(|payment| payee.accept(payment).map(drop)))?;
        (rate.cpu, rate.wall) = (rate.cpu + cpu, rate.wall + wall);
        rate.floor += timed(|| Ok(hash(payments.len())))?.0;
    }
    Ok(rate)
}

/// One whole chain of each channel, its words in turn with those of the others.
fn prepare(domain: &Domain, payer: &Account, channels: &[B256], round: u64) -> Vec<Payment> {
    let base = Amount(round * u64::from(STEPS_MAX));
    let chains: Vec<Vec<B256>> = channels.iter().map(|id| words(keccak256(id))).collect();
    let mut payments = Vec::new();
    for index in 1..=STEPS_MAX {
        for (channel, words) in channels.iter().zip(&chains) {
            let anchor = Anchor { channel: *channel, base, tip: words[0], step: Amount(1), steps: STEPS_MAX };
            let anchor = (index == 1).then(|| (anchor.clone(), anchor.sign(domain, payer)));
            payments.push(Payment { channel: *channel, anchor, index, word: words[index as usize] });
        }
    }
    payments
}

fn words(seed: B256) -> Vec<B256> {
    let mut words: Vec<B256> =
        std::iter::successors(Some(seed), |word| Some(keccak256(word))).take(STEPS_MAX as usize + 1).collect();
    words.reverse();
    words
}

fn hash(times: usize) -> B256 {
    (0..times).fold(B256::ZERO, |word, _| keccak256(black_box(word)))
}

fn timed<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<(Duration, Duration), Error> {
    let (wall, cpu) = (Instant::now(), thread_time());
    black_box(work()?);
    Ok((thread_time().saturating_sub(cpu), wall.elapsed()))
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
