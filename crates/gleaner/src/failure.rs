//! How a failed command says what was tried, why it failed, and what to do.
use std::fmt;

use console::style;

/// A failure with the next step for the person who sees it.
#[derive(Debug)]
pub struct Advice {
    problem: String,
    help: String,
}

impl Advice {
    /// What is wrong, and what to do about it.
    pub fn new(problem: impl Into<String>, help: impl Into<String>) -> Self {
        Self { problem: problem.into(), help: help.into() }
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for Advice {}

/// The lines for stderr.
pub fn render(error: &anyhow::Error) -> String {
    let mut text = format!("{} {error}", style("error:").red().bold().for_stderr());
    let mut said = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        // Some libraries repeat the source in their own words.
        if !said.contains(&cause) {
            text += &format!("\n  {} {cause}", style("caused by:").dim().for_stderr());
        }
        said = cause;
    }
    if let Some(help) = help_of(error) {
        text += &format!("\n  {} {help}", style("help:").cyan().for_stderr());
    }
    text
}

fn help_of(error: &anyhow::Error) -> Option<String> {
    // Context is not part of the chain's types, so it is asked for first.
    if let Some(advice) = error.downcast_ref::<Advice>() {
        return Some(advice.help.clone());
    }
    error.chain().find_map(|cause| {
        let advice = cause.downcast_ref::<Advice>().map(|advice| advice.help.clone());
        advice.or_else(|| cause.downcast_ref::<gleaner_client::Error>()?.help().map(str::to_owned))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_why_and_what_to_do() {
        let cause = std::io::Error::other("the disk is on fire");
        let error = anyhow::Error::new(cause).context(Advice::new("cannot keep the books", "call the fire brigade"));
        let text = console::strip_ansi_codes(&render(&error)).into_owned();
        let wanted = "error: cannot keep the books\n  caused by: the disk is on fire\n  help: call the fire brigade";
        assert_eq!(text, wanted);
    }
}
