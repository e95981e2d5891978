//! The verdict, and who loses by it.
use gleaner_core::proof::Costs;
use gleaner_wire::receipt::{Deduction, Facts, Verdict};
use gleaner_wire::{Amount, Check as Rule};

use super::Check;
use crate::fault::{money, or_nothing};
use crate::reckon;

impl Check<'_> {
    pub(super) fn verdict(&mut self, facts: &Facts) {
        let (draw, audit, says) = (facts.draw.as_ref(), facts.audit.as_ref(), facts.verdict);
        if facts.check == Rule::None && draw.is_some() {
            self.faults.impossible("the draw", "there", "left out, because no check was asked for");
        }
        let reckoned = reckon::verdict(facts.check, draw, audit);
        let left = facts.check != Rule::None && reckon::may_be_left(says, draw, audit);
        if says != reckoned && !left {
            self.faults.differs("the verdict", says, reckoned, "what the lot and the answers say");
        }
        match says {
            Verdict::NotAsked => self.believe("no check was asked for: its file, whose hash is here, says so or not"),
            Verdict::NobodyToCheck => self.believe("nobody else was there that could compute it"),
            Verdict::JobEnded => self.believe("the job ended before the claim was checked"),
            Verdict::Undecided if audit.is_none() => {
                self.believe("nobody else was there that could check it, and others could be checked");
            }
            Verdict::NotDrawn
            | Verdict::Agreed
            | Verdict::Upheld
            | Verdict::Refuted
            | Verdict::NotRepeatable
            | Verdict::Undecided => (),
        }
        self.deductions(facts);
    }

    fn deductions(&mut self, facts: &Facts) {
        let Facts { placement, commitment, check, audit, verdict, .. } = facts;
        let losers = reckon::losers(placement, &commitment.claim, *check, audit.as_ref(), *verdict);
        let says = facts.deductions.iter().map(|deduction| Deduction { amount: Amount::ZERO, ..*deduction });
        let says: Vec<Deduction> = says.collect();
        match Costs::of(*check, placement.runtime) {
            Costs::StakeForLies => self.some_of(&says, &losers),
            Costs::Trust | Costs::Stake => self.all_of(&says, &losers),
        }
        let loses = facts.draw.as_ref().map(|draw| draw.record.loses);
        let own = facts.deductions.iter().find(|deduction| deduction.worker == facts.placement.worker);
        if let (Some(loses), Some(own)) = (loses, own)
            && own.amount != loses
        {
            let reason = "what it had to lose when the lot was drawn";
            self.faults.differs("what the worker loses", money(own.amount), money(loses), reason);
        }
    }

    /// Everybody whose answer costs stake loses it, and nobody else.
    fn all_of(&mut self, says: &[Deduction], losers: &[Deduction]) {
        for at in 0..says.len().max(losers.len()) {
            let (says, reckoned) = (says.get(at), losers.get(at));
            if says != reckoned {
                let (says, reckoned) = (or_nothing(says.map(loss)), or_nothing(reckoned.map(loss)));
                self.faults.differs(format!("deduction {at}"), says, reckoned, "the verdict on their answers");
            }
        }
    }

    /// Nobody loses stake but for a lie. Where it is not known yet what honest devices differ by, a hub spares whom it could not.
    fn some_of(&mut self, says: &[Deduction], losers: &[Deduction]) {
        let mut left = losers.iter();
        for (at, one) in says.iter().enumerate() {
            if !left.any(|loser| loser == one) {
                let rule = "one whose answer is as far from the right one as a lie, each once and in order";
                self.faults.impossible(format!("deduction {at}"), loss(one), rule);
            }
        }
        let spared = losers.len().saturating_sub(says.len());
        if spared > 0 {
            self.believe(format!(
                "the hub did not know well enough what honest devices differ by, and spared {spared}"
            ));
        }
    }
}

fn loss(deduction: &Deduction) -> String {
    let Deduction { worker, provider, evidence, .. } = deduction;
    format!("{worker} of {} for the claim {evidence}", or_nothing(*provider))
}
