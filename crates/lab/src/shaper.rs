//! A thread that carries packets from one device to another, as the line between them would.
use super::frame::{BYTES_MAX, Frame};
use super::line::{Fate, Line};
use super::{Error, Shape};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, read, write};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// Buffers that are taken in before those that are due go out.
const READS_AT_ONCE: usize = 64;
/// What leaves a line with a rate in this time may leave it in one piece.
const PIECE_NS: u64 = 1_000_000;
/// While there is traffic, the thread looks this often: a 32nd of the delay, within these bounds. Each look costs a
/// switch between threads, so many packets are taken and handed over at a time.
const GRAIN_NS_MIN: u64 = 50_000;
const GRAIN_NS_MAX: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// What a direction of a line has carried, counted from the IP header on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Packets that arrived or will.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that the line lost.
    pub lost: u64,
    /// Packets for which the queue had no room.
    pub overflowed: u64,
}

/// What the thread and its owner share.
struct Desk {
    shape: Mutex<Shape>,
    packets: AtomicU64,
    bytes: AtomicU64,
    lost: AtomicU64,
    overflowed: AtomicU64,
    bell: OwnedFd,
    over: AtomicBool,
}

/// One direction of a line, at work until it is dropped.
pub struct Shaper {
    desk: Arc<Desk>,
    thread: Option<JoinHandle<()>>,
}

impl Shaper {
    /// Starts to carry.
    pub fn start(from: Arc<OwnedFd>, to: Arc<OwnedFd>, seed: u64) -> Result<Self, Error> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let desk = Arc::new(Desk {
            shape: Mutex::default(),
            packets: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
            bell: bell.map_err(|why| Error::system("making an event")(why.into()))?,
            over: AtomicBool::new(false),
        });
        let carrier = Carrier {
            from,
            to,
            desk: Arc::clone(&desk),
            line: Line::new(seed),
            start: Instant::now(),
            under_way: VecDeque::new(),
        };
        let thread = thread::Builder::new().name("line".to_owned()).spawn(move || carrier.run());
        Ok(Self { desk, thread: Some(thread.map_err(Error::system("starting a thread"))?) })
    }

    /// Shapes it otherwise from now on. What is under way arrives as it would have.
    pub fn set(&self, shape: Shape) {
        *self.desk.shape.lock().unwrap_or_else(PoisonError::into_inner) = shape;
    }

    /// How it is shaped.
    pub fn shape(&self) -> Shape {
        *self.desk.shape.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it has carried.
    pub fn carried(&self) -> Carried {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let desk = &self.desk;
        Carried {
            packets: count(&desk.packets),
            bytes: count(&desk.bytes),
            lost: count(&desk.lost),
            overflowed: count(&desk.overflowed),
        }
    }
}

impl Drop for Shaper {
    fn drop(&mut self) {
        self.desk.over.store(true, Ordering::Relaxed);
        let _ = write(&self.desk.bell, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct Carrier {
    from: Arc<OwnedFd>,
    to: Arc<OwnedFd>,
    desk: Arc<Desk>,
    line: Line,
    start: Instant,
    /// When each buffer is due, in the order in which they are.
    under_way: VecDeque<(u64, Vec<u8>)>,
}

impl Carrier {
    fn run(mut self) {
        let mut buffer = vec![0; BYTES_MAX];
        while !self.desk.over.load(Ordering::Relaxed) {
            let shape = *self.desk.shape.lock().unwrap_or_else(PoisonError::into_inner);
            let taken = self.take_in(&shape, &mut buffer);
            self.put_out();
            if taken < READS_AT_ONCE {
                self.wait(&shape, taken > 0);
            }
        }
    }

    fn now(&self) -> u64 {
        // The line's clock starts at a second, so that nothing is before its beginning.
        SECOND + u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX / 2)
    }

    /// Takes what the sender has put on the line; says how many buffers that were.
    fn take_in(&mut self, shape: &Shape, buffer: &mut [u8]) -> usize {
        let now = self.now();
        for taken in 0..READS_AT_ONCE {
            match read(&self.from, &mut *buffer) {
                Ok(length) => self.take(shape, now, &buffer[..length]),
                Err(Errno::INTR) => {}
                Err(_) => return taken,
            }
        }
        READS_AT_ONCE
    }

    /// Decides about each packet of a buffer, and lets those go on together that lie between two lost ones.
    fn take(&mut self, shape: &Shape, now: u64, bytes: &[u8]) {
        let Some(frame) = Frame::new(bytes) else { return };
        let piece_max = shape.rate.map_or(u64::MAX, |rate| rate / 8 * PIECE_NS / SECOND);
        let (mut first, mut piece) = (0, 0);
        for packet in 0..frame.packets() {
            let length = frame.length(packet) as u64;
            let fate = self.line.send(shape, now, length);
            self.count(fate, length);
            if fate == Fate::Kept {
                piece += length;
            }
            if fate != Fate::Kept || piece >= piece_max {
                let end = if fate == Fate::Kept { packet + 1 } else { packet };
                self.let_go(shape, &frame, first, end);
                (first, piece) = (packet + 1, 0);
            }
        }
        self.let_go(shape, &frame, first, frame.packets());
    }

    fn let_go(&mut self, shape: &Shape, frame: &Frame<'_>, from: usize, to: usize) {
        if from < to {
            self.under_way.push_back((self.line.arrival(shape), frame.cut(from, to)));
        }
    }

    fn count(&self, fate: Fate, length: u64) {
        let add = |count: &AtomicU64, more| {
            count.fetch_add(more, Ordering::Relaxed);
        };
        match fate {
            Fate::Kept => {
                add(&self.desk.packets, 1);
                add(&self.desk.bytes, length);
            }
            Fate::Lost => add(&self.desk.lost, 1),
            Fate::Overflowed => add(&self.desk.overflowed, 1),
        }
    }

    /// Hands over what is due. A device that does not take it has been taken down, as a cable is pulled.
    fn put_out(&mut self) {
        let now = self.now();
        while self.under_way.front().is_some_and(|(due, _)| *due <= now) {
            if let Some((_, bytes)) = self.under_way.pop_front() {
                let _ = write(&self.to, &bytes);
            }
        }
    }

    /// Waits until something is due or comes. What comes while there is traffic is not waited for: it comes anyway.
    fn wait(&self, shape: &Shape, traffic: bool) {
        let grain = (shape.delay.as_nanos() as u64 / 32).clamp(GRAIN_NS_MIN, GRAIN_NS_MAX);
        let due = self.under_way.front().map(|(due, _)| due.saturating_sub(self.now()).max(grain));
        let wait = if traffic { Some(due.map_or(grain, |due| due.min(grain))) } else { due };
        let time =
            wait.map(|wait| Timespec { tv_sec: (wait / SECOND).cast_signed(), tv_nsec: (wait % SECOND).cast_signed() });
        let bell = PollFd::new(&self.desk.bell, PollFlags::IN);
        if traffic {
            let _ = poll(&mut [bell], time.as_ref());
        } else {
            let _ = poll(&mut [bell, PollFd::new(&self.from, PollFlags::IN)], time.as_ref());
        }
    }
}
