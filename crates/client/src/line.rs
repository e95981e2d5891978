//! How fast a hub is reached, measured by moving bytes that mean nothing.
use std::time::{Duration, Instant};

use gleaner_wire::LINE_PIECE_BYTES;
use reqwest::Method;

use crate::{Client, Error};

/// Pieces that are moved in one direction, at most, and how long that may take.
const PIECES_MAX: usize = 16;
const TIME_MAX: Duration = Duration::from_millis(1500);
/// Answers that are timed.
const ANSWERS: usize = 5;

/// One transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// How much.
    pub bytes: u64,
    /// How long it took, answer included.
    pub took: Duration,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMeasured {
    /// The quickest answer.
    pub round_trip: Duration,
    /// From the hub.
    pub down: Vec<Moved>,
    /// To the hub.
    pub up: Vec<Moved>,
}

impl Client {
    /// Measures the line to the hub, for a few seconds at most.
    pub async fn measure_line(&self) -> Result<LineMeasured, Error> {
        let mut round_trip = Duration::MAX;
        for _ in 0..ANSWERS {
            let begun = Instant::now();
            self.health().await?;
            round_trip = round_trip.min(begun.elapsed());
        }
        Ok(LineMeasured { round_trip, down: self.moved(Method::GET).await?, up: self.moved(Method::POST).await? })
    }

    /// Moves pieces for a while; a line that is too slow for one within that time is measured by that one.
    async fn moved(&self, method: Method) -> Result<Vec<Moved>, Error> {
        let (first, mut moved) = (Instant::now(), Vec::new());
        while moved.len() < PIECES_MAX && first.elapsed() < TIME_MAX {
            let request = self.request(method.clone(), "/line");
            let sends = method == Method::POST;
            let request = if sends { request.body(vec![0x5a; LINE_PIECE_BYTES]) } else { request };
            let begun = Instant::now();
            let answer = self.connection.answer_once(request).await?;
            let bytes = if sends { LINE_PIECE_BYTES } else { answer.len() };
            moved.push(Moved { bytes: bytes as u64, took: begun.elapsed() });
        }
        Ok(moved)
    }
}
