//! Numbers and states as people read them.
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gleaner_chain::market;
use gleaner_wire::api::JobState;
use gleaner_wire::{Amount, Millis};

/// A span of milliseconds: `340 ms`, `12.4 s`, `3 m 20 s`, `2 h 5 m`.
pub fn span(span: Millis) -> String {
    let seconds = span.0 / 1000;
    match span.0 {
        0..1_000 => format!("{} ms", span.0),
        1_000..60_000 => format!("{}.{} s", seconds, span.0 % 1000 / 100),
        60_000..3_600_000 => format!("{} m {} s", seconds / 60, seconds % 60),
        3_600_000..86_400_000 => format!("{} h {} m", seconds / 3600, seconds % 3600 / 60),
        86_400_000.. => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// How long ago a moment was.
pub fn ago(moment: Millis) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let now = Millis(u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
    match now.since(moment).0 / 1000 {
        0 => "just now".to_owned(),
        seconds @ 1..60 => format!("{seconds} s ago"),
        seconds @ 60.. => format!("{} ago", span(Millis(seconds * 1000))),
    }
}

/// Money with its unit.
pub fn money(amount: Amount) -> String {
    format!("{amount} GLN")
}

/// Bytes with a unit of about the right size.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = (0..UNITS.len()).rev().find(|unit| count >> (10 * unit) > 0).unwrap_or(0);
    if unit == 0 {
        return format!("{count} B");
    }
    let tenths = count.saturating_mul(10) >> (10 * unit);
    match tenths % 10 {
        0 => format!("{} {}", tenths / 10, UNITS[unit]),
        rest => format!("{}.{rest} {}", tenths / 10, UNITS[unit]),
    }
}

/// A count with its noun: `1 task`, `2 tasks`.
pub fn count(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A job's state in one word.
pub fn state(state: &JobState) -> &'static str {
    match state {
        JobState::Ordered => "ordered",
        JobState::Running => "running",
        JobState::Done => "done",
        JobState::Cancelled => "cancelled",
        JobState::Failed { .. } => "failed",
    }
}

/// Where an order stands on the chain.
pub fn order_state(state: market::State) -> &'static str {
    match state {
        market::State::None => "not on the chain",
        market::State::Locked => "locked, with nothing proposed yet",
        market::State::Proposed => "proposed",
        market::State::Disputed => "disputed",
        market::State::Settled => "settled",
        market::State::Released => "released",
    }
}

/// Text from outside without control characters, which could rewrite the terminal.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_sizes_are_short() {
        let spans = [340, 12_440, 200_000, 7_500_000, 90_000_000].map(|ms| span(Millis(ms)));
        assert_eq!(spans, ["340 ms", "12.4 s", "3 m 20 s", "2 h 5 m", "1 d 1 h"]);
        assert_eq!([0, 1023, 1536, 5 << 30].map(bytes), ["0 B", "1023 B", "1.5 KiB", "5 GiB"]);
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!((count(1, "task"), count(2000, "task")), ("1 task".to_owned(), "2,000 tasks".to_owned()));
    }
}
