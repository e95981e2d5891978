//! `gleaner chain show`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_chain::genesis::PARAMETERS;
use gleaner_chain::views::ChainView;

use crate::output::{data, json};
use crate::settings::Settings;
use crate::table::Align::Left;
use crate::table::Table;
use crate::vote::Parameter;
use crate::wallet::place::{Place, contracts};
use crate::words;

/// Options of `gleaner chain show`.
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shows where money is.
pub async fn perform(settings: &Settings, args: &Args) -> Result<ExitCode> {
    let view: ChainView = settings.guest().await?.get("/chain").await?;
    match args.json {
        true => json(&view)?,
        false => data(&render(&view).await?)?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn render(view: &ChainView) -> Result<String> {
    let market = Place::of_hub(view)?.market;
    let height = market.node.height().await?;
    let mut text = format!("{} · chain {} · block {height}\n", words::plain(&view.url), view.deployment.chain_id);
    text += &format!("hub {}{}\n", view.hub, if view.faucet { " · with a faucet" } else { "" });
    if let Some(trouble) = &view.trouble {
        text += &format!("money does not move at the moment: {}\n", words::plain(trouble));
    }
    let mut table = Table::new([("CONTRACT", Left), ("ADDRESS", Left)]);
    for (name, address) in contracts(&view.deployment) {
        table.row([name.to_owned(), address.to_string()]);
    }
    text += &format!("\n{}\n", table.render());
    let mut table = Table::new([("NUMBER", Left), ("VALUE", Left), ("IN CONTRACTS", Left)]);
    for raw in PARAMETERS {
        let value = market.parameter(raw).await?;
        let (name, said) = match Parameter::of_raw(raw) {
            Some(parameter) => (parameter.name, parameter.say(value)),
            None => (raw, value.to_string()),
        };
        table.row([name.to_owned(), said, format!("{raw} {value}")]);
    }
    Ok(text + &format!("\n{}", table.render()))
}
