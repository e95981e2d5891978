//! Which desktop there is to ask.
//!
//! A service starts with the machine, and the desktop after it: what the service's environment says is no news by then. The
//! user's service manager is told by desktops which screen is theirs, so it is asked again and again.
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::probe::command;

/// How often the service manager is asked.
const ASK_EVERY: Duration = Duration::from_secs(10);
/// The variables by which programs find a desktop.
const VARIABLES: [&str; 3] = ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"];

/// What an environment says about the desktop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    variables: BTreeMap<String, String>,
}

impl Session {
    /// Out of the variables of a process. What says nothing about a desktop is left out.
    pub fn of(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let tells = |(name, value): &(String, String)| VARIABLES.contains(&name.as_str()) && !value.is_empty();
        Self { variables: variables.into_iter().filter(tells).collect() }
    }

    /// Whether there is an X server to ask.
    pub fn is_x11(&self) -> bool {
        self.variables.contains_key("DISPLAY")
    }

    /// Whether the session is Wayland's.
    pub fn is_wayland(&self) -> bool {
        self.variables.contains_key("WAYLAND_DISPLAY")
    }

    fn is_desktop(&self) -> bool {
        self.is_x11() || self.is_wayland()
    }

    /// What a program of this desktop printed.
    pub(super) fn ask(&self, program: &str, arguments: &[&str]) -> Option<String> {
        command::output_with(program, arguments, &self.variables)
    }
}

/// The desktop of the moment.
pub(super) struct Desktop<A> {
    /// What our own environment says, which counts where nobody else knows of a desktop.
    own: Session,
    ask: A,
    asked: Option<Instant>,
    now: Session,
}

impl<A: FnMut() -> Option<Session>> Desktop<A> {
    pub(super) fn new(own: Session, ask: A) -> Self {
        Self { now: own.clone(), own, ask, asked: None }
    }

    /// The desktop, as it was known a few seconds ago at most.
    pub(super) fn look(&mut self) -> &Session {
        if self.asked.is_none_or(|asked| asked.elapsed() >= ASK_EVERY) {
            self.ask_again();
        }
        &self.now
    }

    fn ask_again(&mut self) {
        self.asked = Some(Instant::now());
        let told = (self.ask)().filter(Session::is_desktop);
        self.now = told.unwrap_or_else(|| self.own.clone());
    }
}

/// What the user's service manager was told of the desktop.
pub(super) fn of_manager() -> Option<Session> {
    command::output("systemctl", &["--user", "show-environment"]).map(|text| parse(&text))
}

/// Lines such as `DISPLAY=:0`. Values with strange letters are quoted (`$'…'`), which no name of a screen is.
fn parse(text: &str) -> Session {
    let variables = text.lines().filter_map(|line| line.split_once('='));
    let plain = variables.filter(|(_, value)| !value.starts_with("$'"));
    Session::of(plain.map(|(name, value)| (name.to_owned(), value.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn session(text: &str) -> Session {
        parse(text)
    }

    #[test]
    fn a_desktop_that_starts_after_us_is_found() {
        let started = Cell::new(false);
        let ask = || Some(if started.get() { session("DISPLAY=:0\nXAUTHORITY=/run/x\n") } else { Session::default() });
        let mut desktop = Desktop::new(Session::default(), ask);
        assert!(!desktop.look().is_desktop());
        started.set(true);
        assert!(!desktop.look().is_desktop(), "nobody is asked twice a second");
        desktop.asked = None;
        assert!(desktop.look().is_x11());
        started.set(false);
        desktop.asked = None;
        assert!(!desktop.look().is_desktop(), "one that has ended is not asked any more");
    }

    #[test]
    fn where_no_manager_knows_of_a_desktop_our_own_environment_counts() {
        let own = session("DISPLAY=:7");
        for told in [None, Some(Session::default())] {
            let mut desktop = Desktop::new(own.clone(), || told.clone());
            assert_eq!(desktop.look(), &own);
        }
        let mut desktop = Desktop::new(own, || Some(session("WAYLAND_DISPLAY=wayland-0")));
        assert!(desktop.look().is_wayland() && !desktop.look().is_x11());
    }

    #[test]
    fn only_what_names_a_desktop_is_taken_over() {
        let told = session("HOME=/home/x\nDISPLAY=:0\nXAUTHORITY=$'/a\\nb'\nWAYLAND_DISPLAY=\nLD_PRELOAD=/evil\n");
        assert_eq!(told, session("DISPLAY=:0"));
    }
}
