//! Credits bought with ordinary money, booked as deposits by the hub's account.
use super::clerk::Clerk;
use super::{Money, Trouble};
use gleaner_chain::fiat::{Desk, Error, Limits, Outcome, Secret};
use gleaner_wire::Amount;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// How credits are sold, as an operator writes it down.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FiatConfig {
    /// The file with the payment provider's signing secrets, one on a line.
    pub secret_file: PathBuf,
    /// The currency, in three small letters.
    pub currency: String,
    /// What one cent buys.
    pub per_cent: Amount,
    /// The most that one payment may buy.
    pub payment_max: Amount,
    /// The most that all payments of a day may buy.
    pub day_max: Amount,
    /// Whether real money is meant.
    pub live: bool,
}

/// The desk where credits are sold.
pub(super) struct Till {
    desk: Mutex<Desk>,
    day_max: Amount,
}

impl Till {
    pub(super) fn open(path: &Path, config: &FiatConfig) -> Result<Self, super::OpenError> {
        let secret_file = &config.secret_file;
        let unreadable = |source| super::OpenError::File { path: secret_file.clone(), source };
        let text = std::fs::read_to_string(secret_file).map_err(unreadable)?;
        let secrets: Vec<Secret> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).map(Secret::new).collect();
        if secrets.is_empty() {
            return Err(unreadable(std::io::Error::other("it holds no signing secret")));
        }
        let limits = Limits {
            currency: config.currency.clone(),
            per_cent: config.per_cent,
            payment_max: config.payment_max,
            day_max: config.day_max,
            live: config.live,
        };
        Ok(Self { desk: Mutex::new(Desk::open(path, secrets, limits)?), day_max: config.day_max })
    }
}

impl Money {
    /// Takes a message of the payment provider. None if no credits are sold here.
    pub(crate) fn fiat_message(&self, header: &str, body: &[u8]) -> Option<Result<Outcome, Error>> {
        let till = self.till.as_ref()?;
        let outcome = till.desk.lock().unwrap_or_else(PoisonError::into_inner).receive(header, body, now());
        if let Ok(Outcome::Held { payment, reason }) = &outcome {
            tracing::warn!(payment, ?reason, "a payment waits for the operator");
        }
        self.bell.ring();
        Some(outcome)
    }

    /// Books a payment that waits, whatever the limits say. None if no credits are sold here.
    pub(crate) fn fiat_release(&self, payment: &str) -> Option<Result<Outcome, Error>> {
        let till = self.till.as_ref()?;
        let outcome = till.desk.lock().unwrap_or_else(PoisonError::into_inner).release(payment, now());
        self.bell.ring();
        Some(outcome)
    }
}

impl Clerk {
    /// Deposits what was bought, out of the hub's own tokens.
    pub(super) fn deposit_bought(&self) -> Result<(), Trouble> {
        let (money, market) = (&self.money, &self.money.market);
        let Some(till) = &money.till else { return Ok(()) };
        let mut desk = till.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let pending = desk.pending()?;
        for bought in pending {
            // An approval for each day's worth, so that the contract may never take more than that by any mistake.
            let escrow = market.deployment.escrow;
            money.desk.send_once(&format!("fiat:approve:{}", bought.key), &market.approve(escrow, till.day_max))?;
            money
                .desk
                .send_once(&format!("fiat:{}", bought.key), &market.deposit_for(bought.account, bought.amount))?;
            desk.queued(&bought.key)?;
        }
        Ok(())
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
