//! What a payment provider tells: of its many kinds of messages, those that move money.
use alloy_primitives::Address;
use serde::Deserialize;

/// The longest id that is stored.
const ID_BYTES_MAX: usize = 255;

/// A message that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The message's own id, the same when it is sent again.
    pub id: String,
    /// Whether real money is meant.
    pub live: bool,
    /// What it says.
    pub fact: Fact,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Somebody has paid for credits.
    Paid {
        /// The payment, by which refunds refer to it.
        payment: String,
        /// Whose credits.
        account: Address,
        /// In the smallest units of the currency.
        cents: u64,
        /// Three letters.
        currency: String,
    },
    /// A payment was refunded, in part or in whole.
    Refunded {
        /// The payment.
        payment: String,
        /// All that was refunded of it so far.
        cents: u64,
        /// Three letters.
        currency: String,
    },
    /// Nothing that concerns us.
    Other {
        /// The kind of message.
        kind: String,
    },
}

/// Why a signed message was not understood.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// Not JSON, or fields are missing.
    #[error("the message is not of the payment provider's form")]
    Json(#[from] serde_json::Error),
    /// There is no account to give the credits to.
    #[error("the payment does not say for which account it is: client_reference_id must be an address")]
    Account,
    /// An id or a currency that cannot be one.
    #[error("the message has an id or a currency that cannot be one")]
    Id,
}

#[derive(Deserialize)]
struct Envelope {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    livemode: bool,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    object: serde_json::Value,
}

#[derive(Deserialize)]
struct Session {
    amount_total: u64,
    currency: String,
    payment_status: String,
    payment_intent: String,
    client_reference_id: Option<String>,
}

#[derive(Deserialize)]
struct Charge {
    amount_refunded: u64,
    currency: String,
    payment_intent: String,
}

impl Event {
    /// Understands a message whose signature was checked.
    pub fn parse(body: &[u8]) -> Result<Self, Malformed> {
        let envelope: Envelope = serde_json::from_slice(body)?;
        let fact = match envelope.kind.as_str() {
            "checkout.session.completed" | "checkout.session.async_payment_succeeded" => {
                session(envelope.kind, serde_json::from_value(envelope.data.object)?)?
            }
            "charge.refunded" => refund(serde_json::from_value(envelope.data.object)?)?,
            _ => Fact::Other { kind: envelope.kind },
        };
        Ok(Self { id: checked(envelope.id)?, live: envelope.livemode, fact })
    }
}

fn session(kind: String, session: Session) -> Result<Fact, Malformed> {
    // Some ways to pay take days; a second message tells when the money has come.
    if session.payment_status != "paid" {
        return Ok(Fact::Other { kind });
    }
    let account = session.client_reference_id.ok_or(Malformed::Account)?;
    let account = account.parse().map_err(|_| Malformed::Account)?;
    if account == Address::ZERO {
        return Err(Malformed::Account);
    }
    let payment = checked(session.payment_intent)?;
    Ok(Fact::Paid { payment, account, cents: session.amount_total, currency: currency(&session.currency)? })
}

fn refund(charge: Charge) -> Result<Fact, Malformed> {
    let payment = checked(charge.payment_intent)?;
    Ok(Fact::Refunded { payment, cents: charge.amount_refunded, currency: currency(&charge.currency)? })
}

fn checked(id: String) -> Result<String, Malformed> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    match !id.is_empty() && id.len() <= ID_BYTES_MAX && id.bytes().all(plain) {
        true => Ok(id),
        false => Err(Malformed::Id),
    }
}

fn currency(text: &str) -> Result<String, Malformed> {
    match text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        true => Ok(text.to_ascii_lowercase()),
        false => Err(Malformed::Id),
    }
}
