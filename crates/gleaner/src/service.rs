//! `gleaner share --install`: the worker as a service of its user. Nothing updates itself, and `--uninstall` removes it.
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use gleaner_worker::machine::service::{Platform, Service};

use crate::failure::Advice;
use crate::output::{data, say};
use crate::settings::Settings;

/// Installs or removes the service, and says what else there is to do.
pub fn perform(settings: &Settings, install: bool) -> Result<ExitCode> {
    let home = std::env::var_os("HOME").map(PathBuf::from).context("HOME is not set")?;
    let platform = Platform::here();
    let done = if install { platform.install(&home, &service(settings)?) } else { platform.uninstall(&home) };
    let done = done.map_err(|error| Advice::new(error.to_string(), "check that your home folder can be written"))?;
    say(&done.words);
    if let Some(file) = &done.file {
        say(format!("{} {}", if install { "wrote" } else { "removed" }, file.display()));
    }
    if !done.commands.is_empty() {
        say("now run:");
    }
    done.commands.iter().try_for_each(|command| data(&command.join(" ")))?;
    Ok(ExitCode::SUCCESS)
}

/// The command line that was given, without the order to install it.
fn service(settings: &Settings) -> Result<Service> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let arguments = std::env::args().skip(1).filter(|argument| argument != "--install").collect();
    Ok(Service { program, arguments, dir: settings.folder()? })
}
