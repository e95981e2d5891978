//! A thread for each line, which carries packets from one device to the other as the line would.
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
/// While there is traffic, the thread looks this often: a 16th of the delay, within these bounds. Each look costs a
/// switch between threads, which is what a line costs most, so many packets are taken and handed over at a time.
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

/// What the thread and its owner share of one direction.
#[derive(Default)]
struct Desk {
    shape: Mutex<Shape>,
    packets: AtomicU64,
    bytes: AtomicU64,
    lost: AtomicU64,
    overflowed: AtomicU64,
}

impl Desk {
    fn shape(&self) -> Shape {
        *self.shape.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, fate: Fate, length: u64) {
        let add = |count: &AtomicU64, more| {
            count.fetch_add(more, Ordering::Relaxed);
        };
        match fate {
            Fate::Kept => {
                add(&self.packets, 1);
                add(&self.bytes, length);
            }
            Fate::Lost => add(&self.lost, 1),
            Fate::Overflowed => add(&self.overflowed, 1),
        }
    }
}

/// Ends the thread.
struct Bell {
    event: OwnedFd,
    over: AtomicBool,
}

/// Both directions of a line, at work until this is dropped. The first leads from the first device to the second.
pub struct Shaper {
    desks: [Arc<Desk>; 2],
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
}

impl Shaper {
    /// Starts to carry, openly at first. Each direction has its seed.
    pub fn start(devices: [OwnedFd; 2], seeds: [u64; 2]) -> Result<Self, Error> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let event = event.map_err(|why| Error::system("making an event")(why.into()))?;
        let bell = Arc::new(Bell { event, over: AtomicBool::new(false) });
        let desks: [Arc<Desk>; 2] = Default::default();
        let start = Instant::now();
        let way = |number: usize| Way {
            desk: Arc::clone(&desks[number]),
            line: Line::new(seeds[number]),
            start,
            under_way: VecDeque::new(),
        };
        let carrier = Carrier { devices, ways: [way(0), way(1)], bell: Arc::clone(&bell) };
        let thread = thread::Builder::new().name("line".to_owned()).spawn(move || carrier.run());
        Ok(Self { desks, bell, thread: Some(thread.map_err(Error::system("starting a thread"))?) })
    }

    /// Shapes one direction otherwise from now on. What is under way arrives as it would have.
    pub fn set(&self, way: usize, shape: Shape) {
        *self.desks[way].shape.lock().unwrap_or_else(PoisonError::into_inner) = shape;
    }

    /// How one direction is shaped.
    pub fn shape(&self, way: usize) -> Shape {
        self.desks[way].shape()
    }

    /// What one direction has carried.
    pub fn carried(&self, way: usize) -> Carried {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let desk = &self.desks[way];
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
        self.bell.over.store(true, Ordering::Relaxed);
        let _ = write(&self.bell.event, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct Carrier {
    devices: [OwnedFd; 2],
    ways: [Way; 2],
    bell: Arc<Bell>,
}

impl Carrier {
    fn run(mut self) {
        let mut buffer = vec![0; BYTES_MAX];
        while !self.bell.over.load(Ordering::Relaxed) {
            let mut taken = 0;
            for (way, number) in self.ways.iter_mut().zip([0, 1]) {
                taken = way.take_in(&self.devices[number], &mut buffer).max(taken);
                way.put_out(&self.devices[1 - number]);
            }
            if taken < READS_AT_ONCE {
                self.wait(taken > 0);
            }
        }
    }

    /// Waits until something is due or comes. What comes while there is traffic is not waited for: it comes anyway.
    fn wait(&self, traffic: bool) {
        let grain = self.ways.iter().map(Way::grain).min().unwrap_or(GRAIN_NS_MIN);
        let due = self.ways.iter().filter_map(Way::time_left).min().map(|left| left.max(grain));
        let wait = if traffic { Some(grain) } else { due };
        let time =
            wait.map(|wait| Timespec { tv_sec: (wait / SECOND).cast_signed(), tv_nsec: (wait % SECOND).cast_signed() });
        let [one, two] = &self.devices;
        let mut events = [&self.bell.event, one, two].map(|file| PollFd::new(file, PollFlags::IN));
        let watched = if traffic { &mut events[..1] } else { &mut events[..] };
        let _ = poll(watched, time.as_ref());
    }
}

/// One direction.
struct Way {
    desk: Arc<Desk>,
    line: Line,
    start: Instant,
    /// When each buffer is due, in the order in which they are.
    under_way: VecDeque<(u64, Vec<u8>)>,
}

impl Way {
    fn now(&self) -> u64 {
        // The line's clock starts at a second, so that nothing is before its beginning.
        SECOND + u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX / 2)
    }

    fn grain(&self) -> u64 {
        (self.desk.shape().delay.as_nanos() as u64 / 16).clamp(GRAIN_NS_MIN, GRAIN_NS_MAX)
    }

    fn time_left(&self) -> Option<u64> {
        self.under_way.front().map(|(due, _)| due.saturating_sub(self.now()))
    }

    /// Takes what the sender has put on the line; says how many buffers that were.
    fn take_in(&mut self, from: &OwnedFd, buffer: &mut [u8]) -> usize {
        let (shape, now) = (self.desk.shape(), self.now());
        for taken in 0..READS_AT_ONCE {
            match read(from, &mut *buffer) {
                Ok(length) => self.take(&shape, now, &buffer[..length]),
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
            self.desk.count(fate, length);
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

    /// Hands over what is due. A device that does not take it has been taken down, as a cable is pulled.
    fn put_out(&mut self, to: &OwnedFd) {
        let now = self.now();
        while self.under_way.front().is_some_and(|(due, _)| *due <= now) {
            if let Some((_, bytes)) = self.under_way.pop_front() {
                let _ = write(to, &bytes);
            }
        }
    }
}
