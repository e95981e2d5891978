//! What proposals would do, read from their calls.
//!
//! A description is what its author claims; only the calls are carried out, so people are shown these.
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::SolCall;
use gleaner_wire::Amount;
use serde::{Deserialize, Serialize};

use super::{Market, Proposal, amount};
use crate::contracts::{Escrow, Parameters, Token};
use crate::genesis::PARAMETERS;

/// One thing that a proposal would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Give a parameter another value.
    Set {
        /// Its name in genesis files.
        parameter: String,
        /// The value.
        value: U256,
    },
    /// Pay tokens that the treasury holds itself.
    PayTokens {
        /// To whom.
        to: Address,
        /// How much.
        amount: Amount,
    },
    /// Pay out of the platform's share, which lies in Escrow.
    PayShare {
        /// To whom.
        to: Address,
        /// How much.
        amount: Amount,
    },
    /// Something else.
    Other {
        /// The contract it calls.
        target: Address,
        /// The call.
        data: Bytes,
    },
}

impl Market {
    /// What a proposal would do, in order.
    pub fn acts(&self, proposal: &Proposal) -> Vec<Act> {
        let both = proposal.targets.iter().zip(&proposal.calls);
        both.map(|(target, data)| {
            self.act(*target, data).unwrap_or_else(|| Act::Other { target: *target, data: data.clone() })
        })
        .collect()
    }

    fn act(&self, target: Address, data: &[u8]) -> Option<Act> {
        let at = &self.deployment;
        if target == at.parameters {
            let call = exact::<Parameters::setCall>(data)?;
            let parameter = PARAMETERS.iter().find(|known| B256::right_padding_from(known.as_bytes()) == call.name)?;
            return Some(Act::Set { parameter: (*parameter).to_owned(), value: call.value });
        }
        if target == at.token {
            let call = exact::<Token::transferCall>(data)?;
            return Some(Act::PayTokens { to: call.to, amount: amount(call.value).ok()? });
        }
        if target == at.escrow {
            let call = exact::<Escrow::withdrawToCall>(data)?;
            return Some(Act::PayShare { to: call.to, amount: amount(call.amount).ok()? });
        }
        None
    }
}

/// The call that these bytes are, if they are nothing besides.
fn exact<C: SolCall>(data: &[u8]) -> Option<C> {
    C::abi_decode(data).ok().filter(|call| call.abi_encode() == data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Node;
    use crate::deploy::Deployment;
    use crate::remote::Remote;

    fn market() -> Market {
        let node = Node::Remote(Remote::connect("http://127.0.0.1:1").expect("an address"));
        Market::new(node, Deployment::predicted(1, Address::repeat_byte(7)))
    }

    #[tokio::test]
    async fn what_was_proposed_is_what_is_shown() {
        let (market, to) = (market(), Address::repeat_byte(9));
        let (value, paid) = (U256::from(1_200), Amount::gln(5));
        let change = market.parameter_change("platformShareBps", value, "cheaper").expect("a parameter");
        assert_eq!(market.acts(&change), [Act::Set { parameter: "platformShareBps".into(), value }]);
        let tokens = market.treasury_payment(to, paid, "thanks");
        assert_eq!(market.acts(&tokens), [Act::PayTokens { to, amount: paid }]);
        let share = market.platform_payment(to, paid, "thanks");
        assert_eq!(market.acts(&share), [Act::PayShare { to, amount: paid }]);
    }

    #[tokio::test]
    async fn a_call_in_disguise_is_shown_as_it_is() {
        let market = market();
        let mut proposal = market.treasury_payment(Address::repeat_byte(9), Amount::gln(5), "a small gift");
        proposal.targets[0] = market.deployment.stake;
        let [Act::Other { target, .. }] = &market.acts(&proposal)[..] else { panic!("a payment") };
        assert_eq!(*target, market.deployment.stake);
        let unknown = market.parameter_change("noSuchNumber", U256::ZERO, "").expect("short enough");
        assert!(matches!(market.acts(&unknown)[..], [Act::Other { .. }]));
        let mut longer = market.treasury_payment(Address::repeat_byte(9), Amount::gln(5), "");
        longer.calls[0] = [&longer.calls[0][..], &[0; 32]].concat().into();
        assert!(matches!(market.acts(&longer)[..], [Act::Other { .. }]));
    }
}
