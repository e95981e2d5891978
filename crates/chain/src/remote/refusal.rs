//! What a node's errors mean. Nodes agree on few codes, so that their words are read.
use crate::node::{CallError, Error, SendError};
use alloy_transport::TransportError;

/// The longest message of a node that is passed on.
const MESSAGE_CHARS_MAX: usize = 300;

/// An error in answer to a question.
pub(super) fn of_question(place: &str, error: &TransportError) -> Error {
    match error.as_error_resp() {
        Some(refused) => Error::Refused { code: refused.code, message: short(&refused.message) },
        None => Error::Unreachable { url: place.to_owned(), reason: short(&hidden(&error.to_string())) },
    }
}

/// An error in answer to a call or an estimate.
pub(super) fn of_call(place: &str, error: &TransportError) -> CallError {
    let Some(refused) = error.as_error_resp() else { return of_question(place, error).into() };
    let message = refused.message.to_lowercase();
    match refused.as_revert_data() {
        Some(data) => CallError::reverted(data),
        None if message.contains("revert") => CallError::reverted(Default::default()),
        None if refused.code == 3 || message.contains("gas") || message.contains("opcode") => {
            CallError::Failed(short(&refused.message))
        }
        None => of_question(place, error).into(),
    }
}

/// An error in answer to a transaction.
pub(super) fn of_send(place: &str, error: &TransportError) -> SendError {
    let Some(refused) = error.as_error_resp() else { return of_question(place, error).into() };
    read(&refused.message)
}

fn read(message: &str) -> SendError {
    let lower = message.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let text = short(message);
    if has(&["already known", "already imported", "known transaction", "already exists"]) {
        SendError::AlreadyKnown
    } else if has(&["nonce too low", "nonce is too low", "old nonce"]) {
        SendError::NonceTooLow(text)
    } else if has(&["nonce too high", "nonce is too high", "nonce gap"]) {
        SendError::NonceTooHigh(text)
    } else if has(&["underpriced", "fee too low", "less than block base fee", "below base fee", "max fee per gas"]) {
        SendError::Underpriced(text)
    } else if has(&["insufficient funds", "insufficient balance", "lack of funds", "cannot pay"]) {
        SendError::InsufficientFunds(text)
    } else if has(&["txpool is full", "pool is full", "busy", "limit exceeded", "rate limit"]) {
        SendError::Busy(text)
    } else if has(&["could not store"]) {
        SendError::Store(text)
    } else {
        SendError::Invalid(text)
    }
}

/// The text without addresses, since keys of paid nodes stand in them.
fn hidden(text: &str) -> String {
    let word = |word: &str| match word.contains("://") {
        true => "(its address)".to_owned(),
        false => word.to_owned(),
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn short(text: &str) -> String {
    text.chars().take(MESSAGE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_not_repeated() {
        assert_eq!(
            hidden("no answer for url (https://node.example/v3/key?a=b) now"),
            "no answer for url (its address) now"
        );
    }

    #[test]
    fn refusals_of_common_nodes_are_told_apart() {
        assert!(matches!(read("already known"), SendError::AlreadyKnown));
        assert!(matches!(read("transaction already imported"), SendError::AlreadyKnown));
        assert!(matches!(read("nonce too low: next nonce 4, tx nonce 3"), SendError::NonceTooLow(_)));
        assert!(matches!(read("replacement transaction underpriced"), SendError::Underpriced(_)));
        assert!(matches!(read("insufficient funds for gas * price + value"), SendError::InsufficientFunds(_)));
        assert!(matches!(read("max fee per gas less than block base fee"), SendError::Underpriced(_)));
        assert!(matches!(read("exceeds block gas limit"), SendError::Invalid(_)));
    }
}
