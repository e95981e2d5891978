//! Entries of folders, with the line that `ls -l` would print: clients show it, and some read owners from it.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, Stat, statat};

use crate::attributes::Attributes;
use crate::packet::Entry;
use crate::refusal::Refusal;

/// The most entries in one reply.
const ENTRIES_MAX: usize = 200;
const DAY_SECONDS: i64 = 24 * 60 * 60;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Reads the next entries of a folder; none are left when it is empty.
pub(crate) fn next_entries(listing: &mut Dir) -> Result<Vec<Entry>, Refusal> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed());
    let mut entries = Vec::new();
    while entries.len() < ENTRIES_MAX {
        let Some(entry) = listing.read() else { break };
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        // One that was removed meanwhile is left out.
        let Ok(stat) = statat(listing.fd()?, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        entries.push(Entry {
            name: name.to_bytes().to_vec(),
            long_name: [long_line(&stat, now).as_bytes(), name.to_bytes()].concat(),
            attributes: Attributes::of(&stat),
        });
    }
    Ok(entries)
}

fn long_line(stat: &Stat, now: i64) -> String {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => 'd',
        FileType::Symlink => 'l',
        _ => '-',
    };
    let rights: String =
        (0..9).map(|bit| if stat.st_mode & (0o400 >> bit) == 0 { '-' } else { ['r', 'w', 'x'][bit % 3] }).collect();
    let (links, bytes, date) = (stat.st_nlink, stat.st_size, date(stat.st_mtime, now));
    format!("{kind}{rights} {links:>4} {:<8} {:<8} {bytes:>12} {date} ", stat.st_uid, stat.st_gid)
}

/// A moment as `ls` prints it: with the time of day if it was within the last half year, otherwise with the year.
fn date(seconds: i64, now: i64) -> String {
    let (year, month, day) = civil(seconds.div_euclid(DAY_SECONDS));
    let minutes = seconds.rem_euclid(DAY_SECONDS) / 60;
    let month = MONTHS[month];
    if (now - 182 * DAY_SECONDS..=now + DAY_SECONDS).contains(&seconds) {
        format!("{month} {day:>2} {:02}:{:02}", minutes / 60, minutes % 60)
    } else {
        format!("{month} {day:>2} {year:>5}")
    }
}

/// Year, month from 0 and day from 1 of a day since 1970.
fn civil(days: i64) -> (i64, usize, i64) {
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_before = |year: i64| {
        let past = year - 1;
        past * 365 + past.div_euclid(4) - past.div_euclid(100) + past.div_euclid(400)
    };
    let day = days + days_before(1970);
    let mut year = day.div_euclid(366) + 1;
    while days_before(year + 1) <= day {
        year += 1;
    }
    let mut rest = day - days_before(year);
    let february = if is_leap(year) { 29 } else { 28 };
    for (month, length) in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].into_iter().enumerate() {
        if rest < length {
            return (year, month, rest + 1);
        }
        rest -= length;
    }
    unreachable!("a day of a year lies in one of its months")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_what_the_calendar_says() {
        assert_eq!(civil(0), (1970, 0, 1));
        assert_eq!(civil(-1), (1969, 11, 31));
        assert_eq!(civil(11_016), (2000, 1, 29));
        assert_eq!(civil(11_017), (2000, 2, 1));
        assert_eq!(civil(19_782), (2024, 1, 29));
        assert_eq!(civil(20_772), (2026, 10, 15));
    }

    #[test]
    fn recent_files_show_the_time_of_day_and_old_ones_the_year() {
        let now = 20_772 * DAY_SECONDS;
        assert_eq!(date(now - 60, now), "Nov 14 23:59");
        assert_eq!(date(0, now), "Jan  1  1970");
    }
}
