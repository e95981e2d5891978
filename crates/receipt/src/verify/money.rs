//! From running time to payouts.
use gleaner_wire::Amount;
use gleaner_wire::receipt::{Facts, Meter, Payout, Price};

use super::Check;
use crate::fault::money;
use crate::reckon::{self, SHARE_POINTS_MAX};

impl Check<'_> {
    pub(super) fn money(&mut self, facts: &Facts) {
        let Meter { placed, finished, ran } = facts.meter;
        if finished < placed {
            let says = format!("{} ms after 1970", finished.0);
            self.faults.impossible(
                "the time of the result",
                says,
                format!("not before the placement at {} ms", placed.0),
            );
        }
        let claimed = facts.commitment.claim.ran;
        let counted = Meter::counted(placed, finished, claimed);
        if ran != counted {
            let reason = format!("{} µs claimed within {} ms", claimed.0, finished.since(placed).0);
            let (says, reckoned) = (format!("{} µs", ran.0), format!("{} µs", counted.0));
            self.faults.differs("the running time that counts", says, reckoned, reason);
        }
        let Price { hold, bond, gross, share_points, sum_before, sum_after } = facts.price;
        let per_second = facts.placement.per_second;
        let accepted = facts.verdict.pays();
        let full = reckon::full(per_second, ran, hold);
        let most = if accepted { reckon::bond_max(full) } else { Amount::ZERO };
        if bond > most {
            self.faults.impossible(
                "the bond",
                money(bond),
                format!("at most a tenth of what is paid, {}", money(most)),
            );
        }
        let reason = || {
            let less = if bond > Amount::ZERO { format!(", less a bond of {}", money(bond)) } else { String::new() };
            format!("{} a second for {} µs, at most the hold of {}{less}", money(per_second), ran.0, money(hold))
        };
        self.amount("the price", gross, full.checked_sub(bond), reason);
        let paid = if accepted { gross } else { Amount::ZERO };
        let reason = || format!("{} before and {} for this task", money(sum_before), money(paid));
        self.amount("the worker's sum for the job", sum_after, sum_before.checked_add(paid), reason);
        if share_points > SHARE_POINTS_MAX {
            let rule = format!("at most {SHARE_POINTS_MAX}, which is everything");
            return self.faults.impossible("the platform's share in hundredths of a percent", share_points, rule);
        }
        let payout = reckon::payout(&facts.price, facts.verdict);
        let reason = || match accepted {
            true => format!("{share_points} hundredths of a percent of the worker's sum of {}", money(sum_after)),
            false => "a claim that is not paid".to_owned(),
        };
        let Payout { worker, platform } = facts.payout;
        self.amount("the platform's payout", platform, payout.map(|payout| payout.platform), reason);
        self.amount("the worker's payout", worker, payout.map(|payout| payout.worker), reason);
    }

    fn amount(&mut self, what: &str, says: Amount, reckoned: Option<Amount>, reason: impl FnOnce() -> String) {
        if Some(says) != reckoned {
            let reckoned = reckoned.map_or_else(|| "no amount that there is".to_owned(), money);
            self.faults.differs(what, money(says), reckoned, reason());
        }
    }
}
