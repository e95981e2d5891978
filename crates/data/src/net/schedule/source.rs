//! What the scheduler knows of one source: what it holds, how fast it is, and how it has behaved.
use crate::store::Bitmap;
use std::collections::BTreeSet;
use std::time::Duration;

/// A request is as long as part of a round trip takes at the source's speed, within these bounds: long enough that asking
/// hardly counts, short enough to be given to somebody else soon, and to be little when one side is killed.
const REQUEST_TIME_MAX: Duration = Duration::from_millis(80);
const REQUEST_TIME_MIN: Duration = Duration::from_millis(15);
const REQUESTS_PER_ROUND_TRIP: u32 = 4;
/// The smallest request, and what a new source is probed with.
pub const REQUEST_BYTES_MIN: u64 = 64 * 1024;
/// The largest request.
pub const REQUEST_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Requests that a source which answers has outstanding, so that it never waits for the next one: what it is asked for is
/// lost if this side is killed, so on a slow line no more than that. On a long one more, because what one stream has under
/// way is bounded.
const OUTSTANDING_MIN: usize = 2;
const OUTSTANDING_MAX: usize = 12;
/// More than the fewest are not outstanding for longer than this time, or so many round trips, at the source's speed.
const OUTSTANDING_TIME: Duration = Duration::from_millis(50);
const OUTSTANDING_ROUND_TRIPS: u32 = 3;
/// Speed is looked at in stretches of at least this time.
const SAMPLE_TIME: Duration = Duration::from_millis(50);
/// How much the newest stretch counts.
const SAMPLE_WEIGHT: f64 = 0.4;
/// After so many chunks in a row that a source does not have it is asked for more at a time.
const LACKED_MIN: u32 = 4;
/// A source that gives less than this in the time it is allowed to be silent counts as silent.
const SIGN_OF_LIFE_BYTES: u64 = 4 * 1024;
const SILENCE_MIN: Duration = Duration::from_secs(2);
const SILENCE_MAX: Duration = Duration::from_secs(15);
/// Silences and failures in a row after which a source is dropped.
const STRIKES_MAX: u32 = 5;
/// Half of the first pause; every one after a failure is twice as long as the one before, up to four seconds.
const PAUSE_FIRST: Duration = Duration::from_millis(250);

/// How a source is reached, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Route {
    /// In the same network.
    Lan,
    /// Directly, through the internet.
    Direct,
    /// The hub's cache.
    Hub,
    /// Through a relay, which carries it for others too.
    Relay,
}

/// Whose data it is that a source sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Where the dataset comes from; its line is what a swarm spares.
    Origin,
    /// The machine of the dataset's owner, who has sent it to the origin already: unless it is in the same network, it is
    /// asked only for what nobody else has.
    Owner,
    /// Somebody who fetches the same dataset.
    Peer,
}

/// What a source holds of the dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Everything, until it says otherwise of a chunk.
    All,
    /// The chunks at these positions.
    These(Bitmap),
}

/// What was measured of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Bytes of chunks that it was the first to send.
    pub bytes: u64,
    /// Bytes that were of no use.
    pub wasted: u64,
    /// Bytes a second.
    pub speed: f64,
    /// From asking to the first bytes.
    pub round_trip: Duration,
    /// Requests it has not answered in full yet.
    pub outstanding: usize,
}

/// What a silent source gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    No,
    Pause,
    Drop,
}

#[derive(Debug)]
pub(super) struct Source {
    pub route: Route,
    pub role: Role,
    holds: Holds,
    lacks: BTreeSet<u32>,
    /// Chunks in a row that it did not have.
    lacked: u32,
    pub outstanding: Vec<u64>,
    pub outstanding_bytes: u64,
    speed: Option<f64>,
    round_trip: Option<Duration>,
    first_asked: Option<Duration>,
    sample_since: Duration,
    sample_bytes: u64,
    sign: Duration,
    sign_bytes: u64,
    last_request_bytes: u64,
    strikes: u32,
    paused_until: Duration,
    pub useful: u64,
    pub wasted: u64,
    /// Found nothing to ask at this count of changes; not to be looked at before this moment.
    pub barren: Option<(u64, Duration)>,
    /// When it was looked last whether it could overtake others.
    pub looked: Duration,
}

impl Source {
    pub fn new(now: Duration, route: Route, role: Role, holds: Holds) -> Self {
        Self {
            route,
            role,
            holds,
            lacks: BTreeSet::new(),
            lacked: 0,
            outstanding: Vec::new(),
            outstanding_bytes: 0,
            speed: None,
            round_trip: None,
            first_asked: None,
            sample_since: now,
            sample_bytes: 0,
            sign: now,
            sign_bytes: 0,
            last_request_bytes: 0,
            strikes: 0,
            paused_until: Duration::ZERO,
            useful: 0,
            wasted: 0,
            barren: None,
            looked: Duration::ZERO,
        }
    }

    pub fn holds(&self, position: u32) -> bool {
        let listed = match &self.holds {
            Holds::All => true,
            Holds::These(bits) => bits.contains(position as usize),
        };
        listed && !self.lacks.contains(&position)
    }

    /// Whether its line is spared: it is asked only for what nobody else has.
    pub fn is_spared(&self) -> bool {
        self.role == Role::Owner && self.route != Route::Lan
    }

    pub fn set_holds(&mut self, holds: Holds) {
        self.holds = holds;
        self.lacks.clear();
        self.barren = None;
    }

    pub fn set_route(&mut self, route: Route, round_trip: Option<Duration>) {
        self.route = route;
        self.round_trip = round_trip.or(self.round_trip);
    }

    /// It is not to count as faster than this.
    pub fn cap(&mut self, limit: u64) {
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let limit = limit.max(1) as f64;
        self.speed = self.speed.map(|speed| speed.min(limit));
    }

    pub fn lacks(&mut self, position: u32) {
        self.lacks.insert(position);
        self.lacked += 1;
    }

    /// A chunk came from it.
    pub fn gave(&mut self, bytes: u64) {
        self.useful += bytes;
        self.lacked = 0;
    }

    /// The length of a request to one that does not have what it is asked for: to say so costs nothing, and the sooner it
    /// is known of everything, the better.
    pub fn lacking_bytes(&self) -> u64 {
        if self.lacked < LACKED_MIN {
            0
        } else {
            REQUEST_BYTES_MAX.min(REQUEST_BYTES_MIN << (self.lacked / LACKED_MIN).min(7))
        }
    }

    /// Bytes a second, once it has sent any.
    pub fn speed(&self) -> Option<f64> {
        self.speed
    }

    pub fn round_trip(&self) -> Duration {
        self.round_trip.unwrap_or_default()
    }

    pub fn is_paused(&self, now: Duration) -> bool {
        now < self.paused_until
    }

    pub fn has_room(&self, now: Duration) -> bool {
        let enough = OUTSTANDING_TIME.max(self.round_trip() * OUTSTANDING_ROUND_TRIPS);
        let allowed = match self.speed {
            None => 1,
            Some(_) if self.time_for(self.outstanding_bytes) < enough => OUTSTANDING_MAX,
            Some(_) => OUTSTANDING_MIN,
        };
        !self.is_paused(now) && self.outstanding.len() < allowed
    }

    /// The length of the next request: as its speed allows, but never suddenly much more than the last one.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a few megabytes")]
    pub fn request_bytes(&self) -> u64 {
        let Some(speed) = self.speed else { return REQUEST_BYTES_MIN };
        let time = (self.round_trip() / REQUESTS_PER_ROUND_TRIP).clamp(REQUEST_TIME_MIN, REQUEST_TIME_MAX);
        let wanted = (speed * time.as_secs_f64()) as u64;
        wanted.min(self.last_request_bytes * 4).clamp(REQUEST_BYTES_MIN, REQUEST_BYTES_MAX)
    }

    /// When it will have sent this many bytes more, by what is known now.
    pub fn time_for(&self, bytes: u64) -> Duration {
        let Some(speed) = self.speed else { return SILENCE_MIN };
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        Duration::from_secs_f64((bytes as f64 / speed.max(1.0)).min(1e6))
    }

    pub fn asked(&mut self, now: Duration, request: u64, bytes: u64) {
        if self.outstanding.is_empty() {
            (self.sample_since, self.sample_bytes) = (now, 0);
            (self.sign, self.sign_bytes) = (now, 0);
            self.first_asked = Some(now);
        }
        self.outstanding.push(request);
        self.outstanding_bytes += bytes;
        self.last_request_bytes = bytes.max(REQUEST_BYTES_MIN);
    }

    /// Takes a request off the books with the bytes that it still had to bring.
    pub fn settled(&mut self, now: Duration, request: u64, left: u64) {
        self.outstanding.retain(|other| *other != request);
        self.outstanding_bytes -= left;
        self.sample(now);
    }

    /// Bytes came in, whatever they are worth.
    pub fn received(&mut self, now: Duration, bytes: u64) {
        if let Some(asked) = self.first_asked.take() {
            let taken = now.saturating_sub(asked);
            self.round_trip = Some(self.round_trip.map_or(taken, |known| (known * 3 + taken) / 4));
        }
        self.sample_bytes += bytes;
        self.sign_bytes += bytes;
        if self.sign_bytes >= SIGN_OF_LIFE_BYTES {
            (self.sign, self.sign_bytes) = (now, 0);
            self.strikes = 0;
        }
        if now.saturating_sub(self.sample_since) >= SAMPLE_TIME {
            self.sample(now);
        }
    }

    fn sample(&mut self, now: Duration) {
        let time = now.saturating_sub(self.sample_since).max(Duration::from_millis(1));
        if self.sample_bytes == 0 {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let speed = self.sample_bytes as f64 / time.as_secs_f64();
        self.speed = Some(self.speed.map_or(speed, |known| known + (speed - known) * SAMPLE_WEIGHT));
        (self.sample_since, self.sample_bytes) = (now, 0);
    }

    /// How long it has been silent with something outstanding.
    pub fn silent_for(&self, now: Duration) -> Duration {
        if self.outstanding.is_empty() { Duration::ZERO } else { now.saturating_sub(self.sign) }
    }

    /// Judges its silence; a pause lengthens with every one in a row, and it is probed anew afterwards.
    pub fn judge(&mut self, now: Duration) -> Silence {
        // Of one that has never answered nothing can be expected, so it gets the shortest time.
        let expected = self.speed.map_or(Duration::ZERO, |_| self.round_trip() + self.time_for(REQUEST_BYTES_MIN / 4));
        if self.silent_for(now) < (expected * 4).clamp(SILENCE_MIN, SILENCE_MAX) {
            return Silence::No;
        }
        self.strike(now)
    }

    /// Its silence up to now does not count.
    pub fn excuse(&mut self, now: Duration) {
        (self.sign, self.sign_bytes) = (now, 0);
        self.first_asked = None;
    }

    /// One failure more in a row.
    pub fn strike(&mut self, now: Duration) -> Silence {
        self.strikes += 1;
        self.speed = None;
        self.paused_until = now + PAUSE_FIRST * (1 << self.strikes.min(STRIKES_MAX - 1));
        if self.strikes >= STRIKES_MAX { Silence::Drop } else { Silence::Pause }
    }

    pub fn figures(&self) -> Figures {
        Figures {
            bytes: self.useful,
            wasted: self.wasted,
            speed: self.speed.unwrap_or(0.0),
            round_trip: self.round_trip(),
            outstanding: self.outstanding.len(),
        }
    }
}
