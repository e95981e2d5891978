//! Pausing, limits and hours: a small file that running transfers look at.
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use chrono::{Local, NaiveTime};
use gleaner_client::data::Steer;
use gleaner_wire::ByteSize;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::failure::Advice;
use crate::output::say;
use crate::settings::Settings;

const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Options of `gleaner data limit`.
#[derive(clap::Args)]
pub struct LimitArgs {
    /// Bytes a second, such as 2MiB; `none` takes the limit away
    #[arg(value_name = "BYTES|none")]
    limit: String,
}

/// Options of `gleaner data schedule`.
#[derive(clap::Args)]
pub struct ScheduleArgs {
    /// When transfers run, such as 22:00-06:00; `always` takes the schedule away
    #[arg(value_name = "FROM-TO|always")]
    hours: String,
}

/// What is in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Word {
    paused: bool,
    limit: Option<ByteSize>,
    hours: Option<String>,
}

impl Word {
    fn read(path: &Path) -> Result<Self> {
        match std::fs::read_to_string(path) {
            Ok(text) => {
                let help = "remove the file, or run `gleaner data resume`, `limit` or `schedule` again afterwards";
                let wrong = || Advice::new(format!("{} makes no sense", path.display()), help);
                toml::from_str(&text).with_context(wrong)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    fn write(&self, path: &Path) -> Result<()> {
        let mut text = format!("paused = {}\n", self.paused);
        if let Some(limit) = self.limit {
            text.push_str(&format!("limit = \"{limit}\"\n"));
        }
        if let Some(hours) = &self.hours {
            text.push_str(&format!("hours = \"{hours}\"\n"));
        }
        let new = path.with_extension("new");
        let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, path));
        written.with_context(|| format!("cannot write {}", path.display()))
    }

    fn steer(&self, now: NaiveTime) -> Steer {
        let outside = self.hours.as_deref().and_then(hours).is_some_and(|hours| !within(hours, now));
        Steer { limit: self.limit.map(|limit| limit.0), paused: self.paused || outside }
    }
}

fn hours(text: &str) -> Option<(NaiveTime, NaiveTime)> {
    let (from, to) = text.split_once('-')?;
    let time = |text: &str| NaiveTime::parse_from_str(text.trim(), "%H:%M").ok();
    Some((time(from)?, time(to)?))
}

/// Whether it is between these; over midnight if the first is later.
fn within((from, to): (NaiveTime, NaiveTime), now: NaiveTime) -> bool {
    if from <= to { (from..to).contains(&now) } else { now >= from || now < to }
}

/// Looks at the file while a transfer runs.
pub struct Steering {
    receiver: watch::Receiver<Steer>,
    task: tokio::task::JoinHandle<()>,
}

impl Steering {
    /// Begins to look.
    pub fn watch(path: PathBuf) -> Self {
        let look = |path: &Path, before: Steer| match Word::read(path) {
            Ok(word) => word.steer(Local::now().time()),
            // It is being written, or somebody has to mend it: what was said last holds.
            Err(_) => before,
        };
        let first = look(&path, Steer::default());
        let (sender, receiver) = watch::channel(first);
        let task = tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                sender.send_if_modified(|steer| {
                    let before = *steer;
                    *steer = look(&path, before);
                    *steer != before
                });
            }
        });
        Self { receiver, task }
    }

    /// What transfers are told.
    pub fn receiver(&self) -> watch::Receiver<Steer> {
        self.receiver.clone()
    }
}

impl Drop for Steering {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn change(settings: &Settings, change: impl FnOnce(&mut Word)) -> Result<Word> {
    let path = settings.account()?.steering();
    let mut word = Word::read(&path)?;
    change(&mut word);
    word.write(&path)?;
    Ok(word)
}

/// `gleaner data pause` and `resume`.
pub fn pause(settings: &Settings, paused: bool) -> Result<ExitCode> {
    change(settings, |word| word.paused = paused)?;
    let said = if paused {
        "transfers from this folder stand still until `gleaner data resume`"
    } else {
        "transfers from this folder go on"
    };
    say(said);
    Ok(ExitCode::SUCCESS)
}

/// `gleaner data limit`.
pub fn limit(settings: &Settings, args: &LimitArgs) -> Result<ExitCode> {
    let limit = match args.limit.as_str() {
        "none" => None,
        text => {
            let help = "write bytes a second with a unit, such as 500KiB or 2MiB, or `none`";
            let wrong = || Advice::new(format!("`{text}` is no limit"), help);
            Some(text.trim_end_matches("/s").parse::<ByteSize>().ok().filter(|limit| limit.0 > 0).ok_or_else(wrong)?)
        }
    };
    change(settings, |word| word.limit = limit)?;
    say(limit.map_or("transfers go as fast as they can".to_owned(), |limit| {
        format!("each transfer goes at {limit}/s at most")
    }));
    Ok(ExitCode::SUCCESS)
}

/// `gleaner data schedule`.
pub fn schedule(settings: &Settings, args: &ScheduleArgs) -> Result<ExitCode> {
    let wanted = match args.hours.as_str() {
        "always" => None,
        text => {
            let wrong = || Advice::new(format!("`{text}` are no hours"), "write them as 22:00-06:00, or `always`");
            hours(text).ok_or_else(wrong)?;
            Some(text.to_owned())
        }
    };
    change(settings, |word| word.hours.clone_from(&wanted))?;
    say(wanted.map_or("transfers run at any hour".to_owned(), |hours| format!("transfers run between {hours}")));
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hour: u32) -> NaiveTime {
        NaiveTime::from_hms_opt(hour, 30, 0).expect("a time")
    }

    #[test]
    fn hours_may_go_over_midnight() {
        let night = Word { hours: Some("22:00-06:00".to_owned()), ..Word::default() };
        let day = Word { hours: Some("08:00-18:00".to_owned()), ..Word::default() };
        for (hour, in_night, in_day) in [(23, true, false), (3, true, false), (6, false, false), (12, false, true)] {
            assert_eq!(!night.steer(at(hour)).paused, in_night, "{hour}");
            assert_eq!(!day.steer(at(hour)).paused, in_day, "{hour}");
        }
        assert!(hours("25:00-06:00").is_none() && hours("22:00").is_none());
    }

    #[test]
    fn what_is_said_is_read_back() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("steering.toml");
        assert_eq!(Word::read(&path).expect("nothing"), Word::default());
        let word = Word { paused: true, limit: Some(ByteSize::mib(2)), hours: Some("22:00-06:00".to_owned()) };
        word.write(&path).expect("written");
        assert_eq!(Word::read(&path).expect("read"), word);
        std::fs::write(&path, "paused = perhaps").expect("written");
        assert!(Word::read(&path).is_err());
    }
}
