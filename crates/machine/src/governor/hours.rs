//! When a machine may be shared: ranges of the local day and week.
//!
//! Only the local day of the week and the minute on the wall clock count, so nothing can go wrong when clocks are
//! changed: an hour that is there twice is judged twice, one that is left out is not missed.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const ALWAYS: &str = "always";
const EVERY_DAY: u8 = 0b111_1111;
const DAY_MINUTES: u16 = 24 * 60;
/// The most ranges in one schedule.
const RANGES_MAX: usize = 64;

/// A moment of the local week.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalTime {
    /// The day, from 0 for Monday.
    pub day: u8,
    /// The minute of the day.
    pub minute: u16,
}

impl LocalTime {
    /// The moment on the wall clock of this machine.
    pub fn now() -> Self {
        use chrono::{Datelike, Timelike};
        let now = chrono::Local::now();
        Self { day: now.weekday().num_days_from_monday() as u8, minute: (now.hour() * 60 + now.minute()) as u16 }
    }
}

/// When a machine may be shared. Without ranges, always.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hours {
    ranges: Vec<Range>,
}

/// A range belongs to the days on which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    days: u8,
    from: u16,
    to: u16,
}

/// Why a text is not a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HoursError {
    /// A part that cannot be read.
    #[error("`{0}` is not a range of hours: write such as \"22:00-07:00\" or \"mon-fri 18:00-08:00, sat, sun\"")]
    Range(String),
    /// A range without length.
    #[error("`{0}` begins when it ends: name the day alone for a whole day")]
    Empty(String),
    /// Too many ranges.
    #[error("more than {RANGES_MAX} ranges of hours")]
    TooMany,
}

impl Hours {
    /// Whether the machine may be shared at this moment.
    pub fn contains(&self, time: LocalTime) -> bool {
        self.ranges.is_empty() || self.ranges.iter().any(|range| range.contains(time))
    }
}

impl Range {
    fn contains(self, LocalTime { day, minute }: LocalTime) -> bool {
        let on = |day: u8| self.days & (1 << (day % 7)) != 0;
        if self.from < self.to {
            return on(day) && (self.from..self.to).contains(&minute);
        }
        on(day) && minute >= self.from || on(day + 6) && minute < self.to
    }
}

impl FromStr for Hours {
    type Err = HoursError;

    fn from_str(text: &str) -> Result<Self, HoursError> {
        if text.trim() == ALWAYS {
            return Ok(Self::default());
        }
        let ranges = text.split(',').map(str::trim).map(range).collect::<Result<Vec<_>, _>>()?;
        if ranges.len() > RANGES_MAX { Err(HoursError::TooMany) } else { Ok(Self { ranges }) }
    }
}

fn range(text: &str) -> Result<Range, HoursError> {
    let refuse = || HoursError::Range(text.chars().take(64).collect());
    let mut range = Range { days: 0, from: 0, to: DAY_MINUTES };
    let mut hours = false;
    for word in text.split_whitespace() {
        if hours {
            return Err(refuse());
        }
        if let Some(days) = days(word) {
            range.days |= days;
        } else {
            let (from, to) = word.split_once('-').ok_or_else(refuse)?;
            (range.from, range.to) = (minute(from).ok_or_else(refuse)?, minute(to).ok_or_else(refuse)?);
            hours = true;
        }
    }
    if !hours && range.days == 0 || range.from == DAY_MINUTES {
        return Err(refuse());
    }
    if range.from == range.to {
        return Err(HoursError::Empty(text.to_owned()));
    }
    range.days = if range.days == 0 { EVERY_DAY } else { range.days };
    Ok(range)
}

/// A day or a range of days, which may run over the end of the week.
fn days(word: &str) -> Option<u8> {
    let day = |name: &str| DAYS.iter().position(|day| name.eq_ignore_ascii_case(day));
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    let (first, last) = (day(first)?, day(last)?);
    let count = (last + 7 - first) % 7 + 1;
    Some((0..count).fold(0, |days, step| days | 1 << ((first + step) % 7)))
}

fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let digits = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(hour) || !digits(minute) {
        return None;
    }
    let (hour, minute) = (hour.parse::<u16>().ok()?, minute.parse::<u16>().ok()?);
    (minute < 60 && hour * 60 + minute <= DAY_MINUTES).then_some(hour * 60 + minute)
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ranges.is_empty() {
            return f.write_str(ALWAYS);
        }
        for (index, range) in self.ranges.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            if range.days != EVERY_DAY {
                let days = DAYS.iter().enumerate().filter(|(day, _)| range.days & (1 << day) != 0);
                write!(f, "{} ", days.map(|(_, name)| *name).collect::<Vec<_>>().join(" "))?;
            }
            let clock = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
            write!(f, "{}-{}", clock(range.from), clock(range.to))?;
        }
        Ok(())
    }
}

impl Serialize for Hours {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hours {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            One(String),
            Several(Vec<String>),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::One(text) => text,
            Written::Several(texts) => texts.join(","),
        };
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(hours: &str, day: u8, clock: &str) -> bool {
        let hours: Hours = hours.parse().expect("hours");
        let read_back: Hours = hours.to_string().parse().expect("what is printed can be read");
        assert_eq!(read_back, hours);
        hours.contains(LocalTime { day, minute: minute(clock).expect("a time") })
    }

    #[test]
    fn a_night_runs_over_midnight() {
        for (clock, expected) in [("21:59", false), ("22:00", true), ("23:59", true), ("00:00", true), ("06:59", true)]
        {
            assert_eq!(open("22:00-07:00", 2, clock), expected, "{clock}");
        }
        assert!(!open("22:00-07:00", 2, "07:00"));
    }

    #[test]
    fn a_night_belongs_to_the_day_it_begins_on() {
        assert!(open("fri 22:00-07:00", 5, "06:00"), "Saturday morning");
        assert!(!open("fri 22:00-07:00", 4, "06:00"), "Friday morning");
        assert!(open("sun 22:00-07:00", 0, "06:00"), "Monday morning");
    }

    #[test]
    fn days_stand_alone_in_ranges_and_in_lists() {
        assert!(open("mon-fri 18:00-08:00, sat, sun", 5, "12:00"));
        assert!(!open("mon-fri 18:00-08:00, sat, sun", 1, "12:00"));
        assert!(open("Sat-Mon", 6, "00:00") && open("Sat-Mon", 0, "23:59") && !open("Sat-Mon", 1, "00:00"));
        assert!(open("mon wed 00:00-24:00", 2, "23:59"));
    }

    #[test]
    fn text_that_is_no_schedule_is_refused() {
        for text in
            ["", "night", "22-07", "22:00", "25:00-26:00", "22:60-23:00", "24:00-07:00", "22:00-07:00 mon", "mon,"]
        {
            assert!(matches!(text.parse::<Hours>(), Err(HoursError::Range(_))), "{text}");
        }
        assert!(matches!("08:00-08:00".parse::<Hours>(), Err(HoursError::Empty(_))));
    }

    #[test]
    fn an_hour_that_the_clock_shows_twice_is_judged_twice_alike() {
        // On the night when clocks go back, 02:30 comes twice; the schedule cannot tell, and need not.
        assert!(!open("03:00-07:00", 6, "02:30") && open("02:00-03:00", 6, "02:30"));
    }
}
