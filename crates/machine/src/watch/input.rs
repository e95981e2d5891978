//! When a key or the mouse was last touched, as far as anybody says.
//!
//! macOS tells it itself. On Linux the X server and GNOME tell it to programs of the session; others only tell logind
//! that a session is idle, and since when. Where nobody tells, the answer is unknown.
use std::time::{SystemTime, UNIX_EPOCH};

use gleaner_wire::Millis;

use super::Session;
use crate::governor::Input;
use crate::probe::command;

const MUTTER: [&str; 6] = [
    "call",
    "--session",
    "--dest=org.gnome.Mutter.IdleMonitor",
    "--object-path=/org/gnome/Mutter/IdleMonitor/Core",
    "--method=org.gnome.Mutter.IdleMonitor.GetIdletime",
    "--timeout=2",
];
/// The most sessions that are looked at.
const SESSIONS_MAX: usize = 64;

/// Asks whoever may know.
pub fn read(session: &Session) -> Input {
    if cfg!(target_os = "macos") {
        return command::output("ioreg", &["-c", "IOHIDSystem"]).map_or(Input::Unknown, |text| parse_ioreg(&text));
    }
    let of_screen = session.is_x11().then(|| session.ask("xprintidle", &[])).flatten().and_then(|text| number(&text));
    let of_desktop = || command::output("gdbus", &MUTTER).and_then(|text| parse_mutter(&text));
    match of_screen.or_else(of_desktop) {
        Some(idle) => Input::Idle(idle),
        None => logind(),
    }
}

fn number(text: &str) -> Option<Millis> {
    text.trim().parse().ok().map(Millis)
}

/// `(uint64 5123,)`: milliseconds.
fn parse_mutter(text: &str) -> Option<Millis> {
    number(text.trim().strip_prefix("(uint64 ")?.strip_suffix(",)")?)
}

/// `"HIDIdleTime" = 5123000000`: nanoseconds.
fn parse_ioreg(text: &str) -> Input {
    let value = text.lines().find_map(|line| line.split_once("\"HIDIdleTime\" = ").map(|(_, value)| value.trim()));
    value
        .and_then(|value| value.parse::<u64>().ok())
        .map_or(Input::Unknown, |nanos| Input::Idle(Millis(nanos / 1_000_000)))
}

fn logind() -> Input {
    let Some(list) = command::output("loginctl", &["list-sessions", "--no-legend"]) else { return Input::Unknown };
    let names = list.lines().filter_map(|line| line.split_whitespace().next()).take(SESSIONS_MAX);
    let show = |name: &str| {
        let wanted = "--property=Class,Remote,State,IdleHint,IdleSinceHint";
        command::output("loginctl", &["show-session", name, wanted])
    };
    let sessions: Option<Vec<String>> = names.map(show).collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_micros() as u64);
    sessions.map_or(Input::Unknown, |sessions| of_sessions(&sessions, now))
}

/// The least idle of the people who sit at the machine.
fn of_sessions(sessions: &[String], now_us: u64) -> Input {
    let local = sessions.iter().filter_map(|text| of_session(text, now_us));
    local.min().map_or(Input::Nobody, Input::Idle)
}

/// `None` if nobody sits there. A session that is not idle says no more than that: it may be touched right now.
fn of_session(text: &str, now_us: u64) -> Option<Millis> {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    if value("Class") != Some("user") || value("Remote") == Some("yes") || value("State") == Some("closing") {
        return None;
    }
    let since = value("IdleSinceHint").and_then(|text| text.parse::<u64>().ok()).filter(|since| *since > 0);
    match (value("IdleHint"), since) {
        (Some("yes"), Some(since)) => Some(Millis(now_us.saturating_sub(since) / 1000)),
        (Some(_) | None, _) => Some(Millis(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(lines: &[&str]) -> String {
        lines.join("\n")
    }

    #[test]
    fn each_source_is_read_in_its_own_unit() {
        assert_eq!(number("5123\n"), Some(Millis(5123)));
        assert_eq!(parse_mutter("(uint64 5123,)\n"), Some(Millis(5123)));
        assert_eq!(parse_mutter("Error: no such name"), None);
        let text = "    | |   \"HIDIdleTime\" = 5123000000\n    | |   \"HIDOther\" = 1";
        assert_eq!(parse_ioreg(text), Input::Idle(Millis(5123)));
        assert_eq!(parse_ioreg("nothing"), Input::Unknown);
    }

    #[test]
    fn the_least_idle_person_at_the_machine_counts() {
        let idle = session(&["Class=user", "Remote=no", "State=active", "IdleHint=yes", "IdleSinceHint=1000000"]);
        let busy = session(&["Class=user", "Remote=no", "State=active", "IdleHint=no", "IdleSinceHint=0"]);
        assert_eq!(of_sessions(std::slice::from_ref(&idle), 61_000_000), Input::Idle(Millis(60_000)));
        assert_eq!(of_sessions(&[idle, busy], 61_000_000), Input::Idle(Millis(0)));
    }

    #[test]
    fn nobody_sits_at_a_login_screen_or_on_the_far_end_of_a_line() {
        let greeter = session(&["Class=greeter", "Remote=no", "State=active", "IdleHint=no"]);
        let far = session(&["Class=user", "Remote=yes", "State=active", "IdleHint=no"]);
        assert_eq!(of_sessions(&[greeter, far], 1), Input::Nobody);
    }
}
