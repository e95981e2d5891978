//! What an owner's policy asks for a task: never less than the electricity costs, never more than the standing price.
use gleaner_machine::Bid;
use gleaner_wire::{Amount, Invitation};

/// What is asked for a second; `told` is what the owner's own command printed. None if nothing is bid.
pub fn price(policy: &Bid, invitation: &Invitation, floor: Option<Amount>, told: Option<Amount>) -> Option<Amount> {
    let wanted = match policy {
        Bid::Fixed => invitation.standing,
        Bid::Market => invitation.market.min(invitation.standing),
        Bid::Script(_) => told?,
    };
    let price = wanted.max(floor.unwrap_or(Amount::ZERO));
    (price <= invitation.standing).then_some(price)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bidding::invitation;

    fn asked(policy: &Bid, floor: u64, told: Option<u64>) -> Option<u64> {
        price(policy, &invitation(1), Some(Amount(floor)), told.map(Amount)).map(|price| price.0)
    }

    #[test]
    fn each_policy_asks_what_it_says_but_never_less_than_the_floor() {
        let script = Bid::Script("bid".to_owned());
        assert_eq!(asked(&Bid::Fixed, 0, None), Some(1000));
        assert_eq!(asked(&Bid::Market, 0, None), Some(700));
        assert_eq!(asked(&Bid::Market, 800, None), Some(800));
        assert_eq!(asked(&script, 0, Some(5)), Some(5));
        assert_eq!(asked(&script, 50, Some(5)), Some(50));
    }

    #[test]
    fn nothing_is_bid_above_the_standing_price() {
        let script = Bid::Script("bid".to_owned());
        assert_eq!(asked(&script, 0, Some(1001)), None);
        assert_eq!(asked(&script, 0, None), None);
        assert_eq!(asked(&Bid::Market, 1001, None), None);
    }
}
