//! Rounds: their claims are written down before chance is asked, and what chance said is written down before anybody acts
//! on it.
use crate::keeper::Handle;
use crate::money::Money;
use gleaner_core::Event;
use gleaner_wire::Hash;
use rusqlite::{Connection, OptionalExtension, params};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// Rounds that wait to be drawn: there is one at a time, and after a restart it may come twice.
const WAITING_MAX: usize = 16;
/// The wait before a round that could not be drawn is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// A drawn round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    /// What stands for its claims, in order.
    pub(crate) leaves: Vec<Hash>,
    /// What lots were drawn from.
    pub(crate) seed: Hash,
    /// The proof that the seed came from a chain after the claims, if it did.
    pub(crate) beacon: Option<Vec<u8>>,
}

/// What is written down of rounds.
#[derive(Clone)]
pub(crate) struct Rounds {
    db: Arc<Mutex<Connection>>,
}

impl Rounds {
    /// Opens or makes the table.
    pub(crate) fn open(path: &Path) -> Result<Self, rusqlite::Error> {
        let db = Connection::open(path)?;
        db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        db.pragma_update(None, "synchronous", "FULL")?;
        db.execute_batch(
            "CREATE TABLE IF NOT EXISTS round (number INTEGER PRIMARY KEY, leaves BLOB NOT NULL, seed BLOB NOT NULL, beacon BLOB)",
        )?;
        Ok(Self { db: Arc::new(Mutex::new(db)) })
    }

    /// A drawn round.
    pub(crate) fn get(&self, number: u64) -> Result<Option<Round>, rusqlite::Error> {
        let db = self.db.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statement = db.prepare_cached("SELECT leaves, seed, beacon FROM round WHERE number = ?1")?;
        let found = statement.query_row([number], |row| {
            Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, [u8; 32]>(1)?, row.get::<_, Option<Vec<u8>>>(2)?))
        });
        Ok(found.optional()?.map(|(leaves, seed, beacon)| {
            let leaves = leaves.chunks_exact(32).map(|leaf| Hash(leaf.try_into().expect("chunks of 32")));
            Round { leaves: leaves.collect(), seed: Hash(seed), beacon }
        }))
    }

    /// Writes a round down; the first that was written counts.
    fn keep(&self, number: u64, round: &Round) -> Result<Round, rusqlite::Error> {
        let leaves: Vec<u8> = round.leaves.iter().flat_map(|leaf| leaf.0).collect();
        {
            let db = self.db.lock().unwrap_or_else(PoisonError::into_inner);
            db.prepare_cached("INSERT OR IGNORE INTO round (number, leaves, seed, beacon) VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![number, leaves, round.seed.0, round.beacon])?;
        }
        Ok(self.get(number)?.unwrap_or_else(|| round.clone()))
    }
}

/// Draws rounds, one after another. The keeper hands them over and never waits.
#[derive(Clone)]
pub(crate) struct Drawer {
    waiting: mpsc::Sender<(u64, Vec<Hash>)>,
}

/// What a drawer works with.
pub(crate) struct Drawing {
    receiver: mpsc::Receiver<(u64, Vec<Hash>)>,
    rounds: Rounds,
}

impl Drawer {
    /// A drawer, and what does its work once everything else is open.
    pub(crate) fn new(rounds: Rounds) -> (Self, Drawing) {
        let (waiting, receiver) = mpsc::channel(WAITING_MAX);
        (Self { waiting }, Drawing { receiver, rounds })
    }

    /// Hands a round over. One that finds no room comes again with the next restart of the hub, and there never is more than
    /// one that matters.
    pub(crate) fn draw(&self, number: u64, leaves: Vec<Hash>) {
        if self.waiting.try_send((number, leaves)).is_err() {
            tracing::error!(number, "a round of claims was not handed over to be drawn");
        }
    }
}

impl Drawing {
    /// Draws until the hub stops.
    pub(crate) async fn run(mut self, keeper: Handle, money: Option<Arc<Money>>, mut stopping: watch::Receiver<bool>) {
        loop {
            let next = tokio::select! {
                next = self.receiver.recv() => next,
                _ = stopping.changed() => return,
            };
            let Some((number, leaves)) = next else { return };
            loop {
                let drawn = tokio::select! {
                    drawn = self.draw(number, &leaves, &keeper, money.as_deref()) => drawn,
                    _ = stopping.changed() => return,
                };
                match drawn {
                    Ok(seed) => {
                        // A hub that stops is told of the round again when it starts.
                        let _ = keeper.tell(Event::RoundDrawn { round: number, seed }).await;
                        break;
                    }
                    Err(reason) => tracing::warn!(number, reason, "a round of claims cannot be drawn yet"),
                }
                tokio::select! {
                    () = tokio::time::sleep(AGAIN) => {}
                    _ = stopping.changed() => return,
                }
            }
        }
    }

    /// The seed of a round, which the core acts on next; by then it knows what everybody in the round has to lose.
    async fn draw(&self, number: u64, leaves: &[Hash], keeper: &Handle, money: Option<&Money>) -> Result<Hash, String> {
        let seed = self.seed(number, leaves, money).await?;
        if let Some(money) = money {
            money.see_locks(keeper).await.map_err(|trouble| trouble.to_string())?;
        }
        Ok(seed)
    }

    async fn seed(&self, number: u64, leaves: &[Hash], money: Option<&Money>) -> Result<Hash, String> {
        let rounds = self.rounds.clone();
        let known = blocking(move || rounds.get(number)).await?;
        if let Some(round) = known.filter(|round| round.leaves == leaves) {
            return Ok(round.seed);
        }
        let (seed, beacon) = match money {
            Some(money) => money.draw_round(number, leaves).await?,
            None => {
                let mut seed = [0; 32];
                getrandom::fill(&mut seed).map_err(|error| error.to_string())?;
                (Hash(seed), None)
            }
        };
        let (rounds, round) = (self.rounds.clone(), Round { leaves: leaves.to_vec(), seed, beacon });
        Ok(blocking(move || rounds.keep(number, &round)).await?.seed)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, rusqlite::Error> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?;
    done.map_err(|error| error.to_string())
}
