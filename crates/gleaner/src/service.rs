//! `gleaner share --install`: the worker as a service of its user. Nothing updates itself, and `--uninstall` removes it.
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use gleaner_worker::machine::service::{Error, Platform, Service};

use crate::failure::Advice;
use crate::output::{data, say};
use crate::settings::Settings;

/// Variables that decide what is shared and where, none of them a secret. What the session has of them the service gets.
const CARRIED: [&str; 6] = [
    "DOCKER_HOST",
    "GLEANER_ACCOUNT_TOKEN_FILE",
    "GLEANER_DIR",
    "GLEANER_HUB",
    "GLEANER_PASSWORD_FILE",
    "GLEANER_WALLET",
];

/// Installs or removes the service, starts or stops it, and says what else there is to do.
pub fn perform(settings: &Settings, install: bool) -> Result<ExitCode> {
    let home = std::env::var_os("HOME").map(PathBuf::from).context("HOME is not set")?;
    let platform = Platform::here();
    let advice = |error: Error| Advice::new(error.to_string(), "check that your home folder can be written");
    let mut by_hand = Vec::new();
    let done = if install {
        platform.install(&home, &service(settings)?).map_err(advice)?
    } else {
        // Before its file goes, or nothing would know any more what to stop.
        by_hand.extend(run(platform.stop(&home).map_err(advice)?));
        platform.uninstall(&home).map_err(advice)?
    };
    if let Some(file) = &done.file {
        say(format!("{} {}", if install { "wrote" } else { "removed" }, file.display()));
    }
    by_hand.extend(run(done.commands));
    match (done.file.is_some(), by_hand.is_empty(), install) {
        (true, true, true) => say("the service runs, and starts with you; `gleaner share --uninstall` ends it"),
        (true, true, false) => say("the service has ended"),
        (true, false, _) => say("this could not be run here; run it yourself:"),
        (false, _, false) => say("there is no service"),
        (false, _, true) => {}
    }
    if !done.words.is_empty() {
        say(&done.words);
    }
    by_hand.iter().try_for_each(|command| data(&command.join(" ")))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs commands in order, and gives back those that did not succeed.
fn run(commands: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let succeeds = |command: &Vec<String>| {
        let Some((program, arguments)) = command.split_first() else { return true };
        let silent = || std::process::Stdio::null();
        let status = Command::new(program).args(arguments).stdin(silent()).stdout(silent()).stderr(silent()).status();
        status.is_ok_and(|status| status.success())
    };
    let mut left = commands;
    let done = left.iter().take_while(|command| succeeds(command)).count();
    left.drain(..done);
    left
}

/// The command line that was given, without the order to install it.
fn service(settings: &Settings) -> Result<Service> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let arguments = std::env::args().skip(1).filter(|argument| argument != "--install").collect();
    let variable = |name: &str| Some((name.to_owned(), std::env::var(name).ok().filter(|value| !value.is_empty())?));
    let environment = CARRIED.iter().filter_map(|name| variable(name)).collect();
    Ok(Service { program, arguments, dir: settings.folder()?, environment })
}
