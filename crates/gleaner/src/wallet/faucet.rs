//! `gleaner wallet faucet`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_hub::money::ChainView;
use gleaner_wire::Amount;
use serde::Deserialize;

use super::place;
use crate::failure::Advice;
use crate::output::say;
use crate::settings::Settings;
use crate::words;

/// What the faucet gave.
#[derive(Deserialize)]
struct Given {
    amount: Amount,
}

/// Asks the hub for tokens.
pub async fn perform(settings: &Settings) -> Result<ExitCode> {
    let client = settings.guest().await?;
    let view: ChainView = client.get("/chain").await?;
    if !view.faucet {
        let problem = "this hub has no faucet: its tokens are worth something";
        return Err(Advice::new(problem, "buy tokens, or earn them with `gleaner share`").into());
    }
    let address = place::own_address(settings)?;
    let newcomer = serde_json::json!({ "account": address.to_string().to_lowercase() });
    let given: Given = client.put_in("/faucet", &newcomer).await?;
    say(format!("the faucet gave {address} {}", words::money(given.amount)));
    Ok(ExitCode::SUCCESS)
}
