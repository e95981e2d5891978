//! Where words go: data to stdout, everything else to stderr.
use std::io::{self, Write};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::telemetry::SAID;

/// Writes a line of data to stdout. Whoever closes the pipe has seen enough, which is no error.
pub fn data(line: &str) -> Result<()> {
    match writeln!(io::stdout().lock(), "{line}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        written => written.context("cannot write to stdout"),
    }
}

/// Writes data as JSON to stdout.
pub fn json(value: &impl Serialize) -> Result<()> {
    data(&serde_json::to_string_pretty(value).context("cannot encode as JSON")?)
}

/// Writes a line for people to stderr; if that is closed, nobody wants to know. Where programs read the log, it is a line of
/// that.
pub fn say(line: impl AsRef<str>) {
    if tracing::enabled!(target: SAID, tracing::Level::INFO) {
        return tracing::info!(target: SAID, "{}", line.as_ref());
    }
    let _closed = writeln!(io::stderr().lock(), "{}", line.as_ref());
}
