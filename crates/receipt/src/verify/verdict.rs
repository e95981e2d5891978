//! The verdict, and who loses by it.
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
        let ended = reckon::verdict_if_ended(draw, audit).filter(|_| facts.check != Rule::None);
        if says != reckoned && Some(says) != ended {
            self.faults.differs("the verdict", says, reckoned, "what the lot and the answers say");
        }
        match says {
            Verdict::NotAsked => self.believe("no check was asked for: its file, whose hash is here, says so or not"),
            Verdict::NobodyToCheck => self.believe("nobody else was there that could compute it"),
            Verdict::JobEnded => self.believe("the job ended before the claim was checked"),
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
        let losers =
            reckon::losers(&facts.placement, &facts.commitment.claim, facts.check, facts.audit.as_ref(), facts.verdict);
        for at in 0..facts.deductions.len().max(losers.len()) {
            let says = facts.deductions.get(at).map(|deduction| Deduction { amount: Amount::ZERO, ..*deduction });
            let reckoned = losers.get(at).copied();
            if says != reckoned {
                let (says, reckoned) = (or_nothing(says.as_ref().map(loss)), or_nothing(reckoned.as_ref().map(loss)));
                self.faults.differs(format!("deduction {at}"), says, reckoned, "the verdict on their answers");
            }
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
}

fn loss(deduction: &Deduction) -> String {
    let Deduction { worker, provider, evidence, .. } = deduction;
    format!("{worker} of {} for the claim {evidence}", or_nothing(*provider))
}
