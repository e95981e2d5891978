//! What the worker's own binary becomes for a sandbox: its helper, or a program of ours that reads what strangers made.
use std::process::ExitCode;

use crate::cell::run_merge;

/// Becomes what the arguments say. A binary calls it, and nothing else, when it is called as a helper.
#[must_use]
pub fn run_helper(arguments: &[String]) -> ExitCode {
    run_merge(arguments).unwrap_or_else(|| gleaner_sandbox::run_helper(arguments))
}
