//! How a failed command says what was tried, why it failed, and what to do.
use std::fmt;

use console::style;
use gleaner_wire::Millis;

use crate::words;

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
        let of_money = || help_with_money(cause.downcast_ref()?);
        advice.or_else(of_money).or_else(|| cause.downcast_ref::<gleaner_client::Error>()?.help().map(str::to_owned))
    })
}

fn help_with_money(error: &gleaner_requester::Error) -> Option<String> {
    use gleaner_requester::Error;
    match error {
        Error::Hub(error) => error.help().map(str::to_owned),
        Error::TooPoor { .. } => Some("lower budget.price_max in the job file, or send tokens to that address".into()),
        Error::TooMuch => Some("lower budget.price_max in the job file".into()),
        Error::Busy(_) => Some("end it, or wait for it".into()),
        Error::NotApproved { job, window, .. } => {
            let window = words::span(Millis(window.saturating_mul(1000)));
            Some(format!(
                "once the hub proposes it to the chain, dispute it within {window}: `gleaner job dispute {job}`"
            ))
        }
        Error::Read(_) | Error::Send(_) | Error::Address(_) | Error::Wallet(_) | Error::Locked(_) => None,
        Error::File { .. } | Error::Overflow | Error::Clock | Error::NotSettled(_) => None,
    }
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
