//! `gleaner wallet faucet`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_chain::views::ChainView;
use gleaner_requester::ask_faucet;

use super::place;
use crate::failure::Advice;
use crate::output::say;
use crate::settings::Settings;
use crate::words;

/// Asks the hub for tokens.
pub async fn perform(settings: &Settings) -> Result<ExitCode> {
    let client = settings.guest().await?;
    let view: ChainView = client.get("/chain").await?;
    if !view.faucet {
        let problem = "this hub has no faucet: its tokens are worth something";
        return Err(Advice::new(problem, "buy tokens, or earn them with `gleaner share`").into());
    }
    let address = place::own_address(settings)?;
    let amount = ask_faucet(&client, address).await?;
    say(format!("the faucet gave {address} {}", words::money(amount)));
    Ok(ExitCode::SUCCESS)
}
