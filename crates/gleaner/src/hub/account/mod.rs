//! `gleaner hub account …`: what the operator does with people's accounts. A file for each verb.
mod list;
mod readmit;
mod reset;
mod roles;
mod suspend;

use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_wire::Millis;
use serde::{Deserialize, Serialize};

use crate::failure::Advice;
use crate::settings::Settings;
use crate::words;

/// What can be done with accounts.
#[derive(clap::Subcommand)]
pub enum Verb {
    /// List the accounts of the running hub
    List(list::Args),
    /// Show the roles of an account, or give and take some
    Roles(roles::Args),
    /// Stop an account: nobody signs in to it, and its tokens are good for nothing
    Suspend(suspend::Args),
    /// Take that back, and let somebody try again who guessed wrong too often
    Readmit(readmit::Args),
    /// Give somebody who has lost theirs a new passphrase, which is printed once
    Reset(reset::Args),
}

/// Does it.
pub async fn perform(settings: &Settings, verb: &Verb) -> Result<ExitCode> {
    let client = settings.client().await?;
    match verb {
        Verb::List(args) => list::perform(&client, args).await,
        Verb::Roles(args) => roles::perform(&client, args).await,
        Verb::Suspend(args) => suspend::perform(&client, args).await,
        Verb::Readmit(args) => readmit::perform(&client, args).await,
        Verb::Reset(args) => reset::perform(&client, args).await,
    }
}

/// An account, as the operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    id: u64,
    name: String,
    roles: Vec<String>,
    made_at: Millis,
    suspended: bool,
}

/// A page of accounts.
#[derive(Deserialize)]
struct Page {
    items: Vec<Entry>,
    next: Option<String>,
}

/// The account with this name.
async fn find(client: &Client, name: &str) -> Result<Entry> {
    let page: Page = client.get(&format!("/accounts?name={}", url_encoded(name))).await?;
    page.items.into_iter().next().ok_or_else(|| {
        let problem = format!("there is no account called `{}`", words::plain(name));
        Advice::new(problem, "`gleaner hub account list` shows those that are").into()
    })
}

/// A name as a part of an address.
fn url_encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let encode = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}

/// An account in one line.
fn line(entry: &Entry) -> String {
    let roles = if entry.roles.is_empty() { "no role".to_owned() } else { entry.roles.join(", ") };
    let suspended = if entry.suspended { "; suspended" } else { "" };
    format!("{}: {roles}{suspended}", words::plain(&entry.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_a_command_line_stay_within_their_parameter() {
        assert_eq!(url_encoded("ada-7"), "ada-7");
        assert_eq!(url_encoded("a b&c=ä"), "a%20b%26c%3D%C3%A4");
    }

    #[test]
    fn an_account_is_one_line() {
        let roles = vec!["requester".to_owned(), "provider".to_owned()];
        let entry = Entry { id: 1, name: "ada".to_owned(), roles, made_at: Millis(0), suspended: true };
        assert_eq!(line(&entry), "ada: requester, provider; suspended");
        assert_eq!(line(&Entry { roles: Vec::new(), suspended: false, ..entry }), "ada: no role");
    }
}
