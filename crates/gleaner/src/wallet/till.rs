//! How money is spent: what will happen is shown with its fee, then asked for, then done.
use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use gleaner_chain::Account;
use gleaner_chain::market::{Call, Market, ReadError};
use gleaner_chain::primitives::utils::format_ether;
use gleaner_chain::primitives::{Address, U256};
use gleaner_chain::sender::Sender;
use gleaner_requester::Turn;
use gleaner_wire::Amount;

use super::place::{Place, Where};
use crate::failure::Advice;
use crate::output::say;
use crate::settings::Settings;
use crate::{purse, words};

/// Whether the person has agreed beforehand.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Consent {
    /// Go on without asking
    #[arg(short, long)]
    yes: bool,
}

/// A wallet on a chain, ready to send.
pub struct Till {
    /// Who pays.
    pub account: Account,
    /// Where.
    pub place: Place,
    sender: Sender,
    consent: Consent,
    _turn: Turn,
}

/// What will happen, for the person who decides.
pub struct Story {
    title: String,
    rows: Vec<(&'static str, String)>,
}

impl Story {
    /// A story in one line.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), rows: Vec::new() }
    }

    /// Adds a line.
    pub fn row(mut self, label: &'static str, text: impl Into<String>) -> Self {
        self.rows.push((label, text.into()));
        self
    }

    /// Adds an amount before and after.
    pub fn change(self, label: &'static str, before: Amount, after: Amount) -> Self {
        self.row(label, format!("{} → {}", words::money(before), words::money(after)))
    }

    fn render(&self) -> String {
        let width = self.rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
        let rows = self.rows.iter().map(|(label, text)| format!("\n  {label:<width$}  {}", words::plain(text)));
        words::plain(&self.title) + &rows.collect::<String>()
    }
}

impl Consent {
    /// Refuses if nobody can be asked and nobody has agreed.
    pub fn check(self) -> Result<()> {
        if self.yes || io::stdin().is_terminal() {
            return Ok(());
        }
        let problem = "this spends money, and there is no terminal to ask whether it should";
        Err(Advice::new(problem, "add --yes to go on without being asked").into())
    }

    /// Tells the story and asks whether to go on.
    pub fn given_for(self, story: &Story) -> Result<bool> {
        say(story.render());
        if self.yes || Self::asked()? {
            return Ok(true);
        }
        say("nothing was sent");
        Ok(false)
    }

    fn asked() -> Result<bool> {
        let mut stderr = io::stderr().lock();
        write!(stderr, "go on? [y/N] ").and_then(|()| stderr.flush()).context("cannot ask")?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
        Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
    }
}

impl Till {
    /// Unlocks the settings' wallet for the chain that is meant.
    pub async fn open(settings: &Settings, place: &Where, consent: Consent) -> Result<Self> {
        consent.check()?;
        let place = Place::find(settings, place).await?;
        let account = purse::account(settings)?;
        let turn = purse::turn(&settings.wallet_file()?).await?;
        let sender = Sender::new(place.market.node.clone(), place.market.deployment.chain_id);
        Ok(Self { account, place, sender, consent, _turn: turn })
    }

    /// The contracts.
    pub fn market(&self) -> &Market {
        &self.place.market
    }

    /// Who pays.
    pub fn address(&self) -> Address {
        self.account.address()
    }

    /// Spends, and ends the command with that.
    pub async fn spend(&self, story: Story, calls: &[Call]) -> Result<ExitCode> {
        Ok(if self.sent(story, calls).await? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Tells the story, asks, sends the calls one after the other and waits until they count. Says whether it was to be.
    pub async fn sent(&self, story: Story, calls: &[Call]) -> Result<bool> {
        let fee = self.fee(calls).await?;
        if !self.consent.given_for(&story.row("fee", fee))? {
            return Ok(false);
        }
        for call in calls {
            let receipt = self.sender.send(&self.account, call).await?;
            say(format!("done in block {}", receipt.block_number));
        }
        Ok(true)
    }

    /// What the calls cost at today's prices, in words. Refuses what the contracts would refuse, and what the account
    /// cannot pay for.
    async fn fee(&self, calls: &[Call]) -> Result<String> {
        let (node, from) = (&self.market().node, self.address());
        let mut gas = 0_u64;
        for call in calls {
            let estimated = node.estimate(from, Some(call.to), call.data.clone()).await;
            gas = gas.saturating_add(estimated.map_err(ReadError::from)?);
        }
        let fees = node.fees().await?;
        let price = U256::from(fees.base.saturating_add(fees.priority));
        if price.is_zero() {
            return Ok("none, gas is free on this chain".to_owned());
        }
        let (fee, has) = (price.saturating_mul(U256::from(gas)), node.balance(from).await?);
        if has < fee {
            let (fee, has) = (coin(fee), coin(has));
            let problem = format!("the fee is about {fee} of the chain's own coin, and {from} has {has}");
            return Err(Advice::new(problem, "send some of the chain's own coin to that address").into());
        }
        Ok(format!("about {} of the chain's own coin", coin(fee)))
    }
}

/// An amount of the chain's own coin, which has 18 decimals.
pub fn coin(units: U256) -> String {
    format_ether(units).trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What is left, or what is missing in words.
pub fn rest(has: Amount, wanted: Amount, what: &str, help: &str) -> Result<Amount> {
    has.checked_sub(wanted).ok_or_else(|| {
        let problem = format!("{} are wanted, and {what} {}", words::money(wanted), words::money(has));
        Advice::new(problem, help).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_is_told_in_lines_that_line_up() {
        let story = Story::new("send tokens").row("to", "0x12\x1b[2J").change("your tokens", Amount::gln(5), Amount(1));
        let told = "send tokens\n  to           0x12?[2J\n  your tokens  5 GLN → 0.000000001 GLN";
        assert_eq!(story.render(), told);
    }

    #[test]
    fn coins_are_shown_as_short_as_they_are() {
        let shown =
            [0_u128, 1, 1_500_000_000_000_000_000, 20_000_000_000_000_000_000].map(|units| coin(U256::from(units)));
        assert_eq!(shown, ["0", "0.000000000000000001", "1.5", "20"]);
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(rest(Amount(5), Amount(3), "", "").expect("enough"), Amount(2));
        let error = rest(Amount::gln(1), Amount::gln(2), "the wallet has", "").expect_err("too little");
        assert_eq!(error.to_string(), "2 GLN are wanted, and the wallet has 1 GLN");
    }
}
