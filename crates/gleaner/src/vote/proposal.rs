//! Proposals as people read them, and the short ids by which they name them.
use anyhow::Result;
use gleaner_chain::market::{Act, Market, Proposal, ProposalState, Stage};
use gleaner_chain::primitives::{B256, U256};
use gleaner_wire::Millis;

use super::parameter::Parameter;
use crate::failure::Advice;
use crate::words;

/// Digits of a short id.
const SHORT: usize = 8;

/// The id in full.
pub fn full(id: U256) -> String {
    B256::from(id).to_string()
}

/// The id as lists show it.
pub fn short(id: U256) -> String {
    full(id).chars().take(2 + SHORT).collect()
}

/// The one proposal whose id begins so. Ids may be hexadecimal, with or without `0x`, or in full also decimal.
pub fn find<'a>(proposals: &'a [ProposalState], text: &str) -> Result<&'a ProposalState> {
    let digits = text.trim().to_lowercase();
    let digits = digits.strip_prefix("0x").unwrap_or(&digits);
    let fits = |state: &&ProposalState| !digits.is_empty() && full(state.id)[2..].starts_with(digits);
    let found: Vec<&ProposalState> = proposals.iter().filter(fits).collect();
    if let [one] = found[..] {
        return Ok(one);
    }
    if let Some(state) = proposals.iter().find(|state| state.id.to_string() == digits) {
        return Ok(state);
    }
    let problem = match found.len() {
        0 => format!("no proposal's id begins with {}", words::plain(text)),
        count => format!("the ids of {count} proposals begin with {}", words::plain(text)),
    };
    Err(Advice::new(problem, "`gleaner vote list` shows them; give as many digits as make it clear").into())
}

/// What a proposal would do. Nothing of it is taken from its description.
pub fn deeds(market: &Market, proposal: &Proposal) -> String {
    let acts: Vec<String> = market.acts(proposal).iter().map(deed).collect();
    if acts.is_empty() { "nothing".to_owned() } else { acts.join("; ") }
}

fn deed(act: &Act) -> String {
    match act {
        Act::Set { parameter, value } => match Parameter::of_raw(parameter) {
            Some(known) => format!("{} = {}", known.name, known.say(*value)),
            None => format!("{parameter} = {value}"),
        },
        Act::PayTokens { to, amount } => format!("pay {to} {} of the treasury's tokens", words::money(*amount)),
        Act::PayShare { to, amount } => format!("pay {to} {} of the platform's share", words::money(*amount)),
        Act::Other { target, data } => {
            let shown: String = data.to_string().chars().take(2 + 8).collect();
            format!("call {shown}… ({} bytes) of {target}", data.len())
        }
    }
}

/// A stage in one word.
pub fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Pending => "pending",
        Stage::Active => "active",
        Stage::Canceled => "canceled",
        Stage::Defeated => "defeated",
        Stage::Succeeded => "passed",
        Stage::Queued => "queued",
        Stage::Expired => "expired",
        Stage::Executed => "executed",
    }
}

/// What comes next, seen from `now`; `ready_at` is when a queued proposal can be carried out.
pub fn next(state: &ProposalState, ready_at: u64, now: u64) -> String {
    match state.stage {
        Stage::Pending => format!("the vote begins in {}", until(state.vote_start, now)),
        Stage::Active => format!("the vote ends in {}", until(state.vote_end, now)),
        Stage::Succeeded => "`gleaner vote execute` queues it".to_owned(),
        Stage::Queued if ready_at > now => format!("can be carried out in {}", until(ready_at, now)),
        Stage::Queued => "`gleaner vote execute` carries it out".to_owned(),
        Stage::Canceled | Stage::Defeated | Stage::Expired | Stage::Executed => String::new(),
    }
}

/// How long until a moment; votes begin and end with the second after it.
pub fn until(moment: u64, now: u64) -> String {
    match moment.saturating_add(1).saturating_sub(now).max(1) {
        left @ ..60 => format!("{left} s"),
        left @ 60.. => words::span(Millis(left.saturating_mul(1000))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_chain::primitives::Address;
    use gleaner_wire::Amount;

    fn state(id: B256) -> ProposalState {
        ProposalState {
            id: id.into(),
            proposer: Address::ZERO,
            proposal: Proposal { targets: Vec::new(), calls: Vec::new(), description: String::new() },
            stage: Stage::Pending,
            vote_start: 100,
            vote_end: 200,
            votes_for: Amount::ZERO,
            votes_against: Amount::ZERO,
        }
    }

    #[test]
    fn an_id_may_be_as_short_as_it_is_clear() {
        let (mut one, mut other) = (B256::ZERO, B256::ZERO);
        (one[1], other[1]) = (0x12, 0x13);
        let proposals = [state(one), state(other)];
        for text in ["0x0012", "0012", &full(one.into()), &U256::from_be_bytes(one.0).to_string()] {
            assert_eq!(B256::from(find(&proposals, text).expect("clear").id), one, "{text}");
        }
        for text in ["", "0x", "0x001", "ff", "nonsense"] {
            assert!(find(&proposals, text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_proposal_says_what_comes_next() {
        let mut proposal = state(B256::ZERO);
        assert_eq!(next(&proposal, 0, 99), "the vote begins in 2 s");
        proposal.stage = Stage::Queued;
        assert_eq!(next(&proposal, 150, 200), "`gleaner vote execute` carries it out");
    }
}
