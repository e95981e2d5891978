//! The lines that data moves over.
use clap::ValueEnum;
use gleaner_lab::Shape;

const MEGABITS: u64 = 1000;

/// A line between two machines. What it is called counts the way there and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Line {
    /// None: both sides on one machine.
    Loopback,
    /// 1 Gbit/s, 20 ms
    Gigabit,
    /// 1 Gbit/s, 100 ms, 0.1 % of the packets lost
    Far,
    /// 1 Gbit/s, 20 ms, 1 % of the packets lost
    Lossy,
}

impl Line {
    /// What tables call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Gigabit => "1 Gbit/s, 20 ms",
            Self::Far => "1 Gbit/s, 100 ms, 0.1 % lost",
            Self::Lossy => "1 Gbit/s, 20 ms, 1 % lost",
        }
    }

    /// What it does to packets, each way.
    pub fn shape(self) -> Option<Shape> {
        let line = Shape::megabits(MEGABITS);
        match self {
            Self::Loopback => None,
            Self::Gigabit => Some(line.delay_ms(10)),
            Self::Far => Some(line.delay_ms(50).loss(0.001)),
            Self::Lossy => Some(line.delay_ms(10).loss(0.01)),
        }
    }

    /// Whether it loses packets, so that TCP waits for it and leaves the processors idle.
    pub fn loses(self) -> bool {
        match self {
            Self::Loopback | Self::Gigabit => false,
            Self::Far | Self::Lossy => true,
        }
    }
}
