//! What follows from a verdict: who is paid, whose record it goes into, and who loses its stake.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::receipt::{Juror, Referee, Side};
use gleaner_wire::{Address, Amount, AttemptId, Cause, Hash, JobId, TaskId, WorkerId};

use super::Verdict;
use super::claim::{Answer, Audit, Claim};
use super::note::{AnswerNote, AuditNote, Conviction, Proof};
use crate::blame::Next;
use crate::effect::Effect;
use crate::pool::{Standing, Trigger};
use crate::proof::{self, Costs};
use crate::state::Core;

impl Core {
    /// A claim is right, or right enough: it is paid and its task is done.
    pub(crate) fn accept(&mut self, id: AttemptId, verdict: Verdict, effects: &mut Vec<Effect>) {
        let claim = self.drop_claim(id, effects);
        self.claims.note_wait(self.now.since(claim.finished));
        self.pay_claim(id, claim, verdict, effects);
    }

    /// Pays a claim that is on no list any more.
    pub(crate) fn pay_claim(&mut self, id: AttemptId, claim: Claim, verdict: Verdict, effects: &mut Vec<Effect>) {
        self.keep_proof(id, &claim, verdict);
        let Claim { attempt, output, ran, .. } = claim;
        self.pay(&attempt, id, ran, true, verdict);
        self.forgive_some(attempt.worker);
        let job = self.jobs.get_mut(&attempt.job).expect("an attempt's job is there");
        let tally = job.tallies.entry(attempt.worker).or_default();
        (tally.done, tally.ran) = (tally.done + 1, gleaner_wire::Micros(tally.ran.0 + ran.0));
        self.remember(&attempt, output, ran);
        self.pay_parts(attempt.job, attempt.group, attempt.index, verdict);
        self.complete(attempt.job, attempt.group, attempt.index, output, effects);
        self.look_at_tail(attempt.job, attempt.group, effects);
    }

    /// Ends the check of a claim.
    pub(crate) fn conclude(&mut self, id: AttemptId, verdict: Verdict, effects: &mut Vec<Effect>) {
        let claim = &self.claims.all[&id];
        let audit = claim.audit.as_ref().expect("only audited claims are concluded");
        let blames = self.may_blame(claim);
        let gone: Vec<WorkerId> = audit.gone.iter().copied().collect();
        // Whoever is on another side than the one that was found right was wrong, whether that is the claim's or not.
        let sides = audit.answers.iter().filter_map(|(worker, answer)| Some((*worker, answer.side?)));
        let sides = sides.chain([(claim.attempt.worker, Side::Claim)]);
        let (right, wrong): (Vec<_>, Vec<_>) = match audit.winner {
            Some(winner) => sides.partition(|(_, side)| *side == winner),
            None => (Vec::new(), Vec::new()),
        };
        let wrong: Vec<WorkerId> = wrong.into_iter().map(|(worker, _)| worker).collect();
        let liars: Vec<WorkerId> = wrong.iter().copied().filter(|worker| self.is_lie(claim, audit, *worker)).collect();
        self.learn_tolerances(id);
        let takes = if liars.is_empty() { Amount::ZERO } else { self.verdict_takes() };
        self.take_down_contest(id, verdict, &wrong, takes);
        right.into_iter().for_each(|(worker, _)| self.note_record(worker, proof::Mark::Good));
        gone.into_iter().for_each(|worker| self.note_record(worker, proof::Mark::GivenUp));
        let called_in = liars.contains(&self.claims.all[&id].attempt.worker);
        for worker in wrong {
            if liars.contains(&worker) {
                self.convict(worker, id, effects);
            } else if blames {
                self.note_record(worker, proof::Mark::Doubted);
                self.add_trouble(worker, 2, effects);
            }
        }
        if verdict == Verdict::Undecided {
            self.doubt_both(id, effects);
        }
        if verdict.pays() {
            self.accept(id, verdict, effects);
        } else {
            let detail = self.evidence(id, verdict, called_in);
            self.refuse(id, verdict, detail, effects);
        }
    }

    /// Whether a wrong answer is a lie, which costs stake: see [`proof::Costs`].
    fn is_lie(&self, claim: &Claim, audit: &Audit, worker: WorkerId) -> bool {
        let costs = self.costs_of(claim);
        let of = |answer: &Answer| (answer.compared.map_or(u64::MAX, |compared| compared.distance), answer.tolerated);
        let takes = |answer: &Answer| {
            let (distance, tolerated) = of(answer);
            answer.seconded && costs.takes(distance, tolerated)
        };
        let is_claimant = worker == claim.attempt.worker;
        // Whoever went on from a checkpoint may have been given a wrong one.
        if is_claimant && claim.attempt.resumed {
            return false;
        }
        match costs {
            Costs::Trust => false,
            Costs::Stake => true,
            Costs::StakeForLies if !self.may_blame(claim) => false,
            Costs::StakeForLies if is_claimant => {
                audit.answers.values().filter(|answer| answer.side == audit.winner).all(takes)
            }
            Costs::StakeForLies => audit.winner == Some(Side::Claim) && audit.answers.get(&worker).is_some_and(takes),
        }
    }

    /// Answers differ and nobody knows whose is right: that speaks a little against all of them, and most against whoever it
    /// happens to again and again.
    fn doubt_both(&mut self, id: AttemptId, effects: &mut Vec<Effect>) {
        let claim = &self.claims.all[&id];
        let answers = claim.audit.iter().flat_map(|audit| audit.answers.iter());
        let against = answers.filter(|(_, answer)| !answer.is_for()).map(|(worker, _)| *worker);
        let doubted: Vec<WorkerId> = against.chain([claim.attempt.worker]).collect();
        doubted.into_iter().for_each(|worker| self.add_trouble(worker, 1, effects));
    }

    /// Nobody else has the device of a claim, and others could do its task who can be checked: it is not paid, and its worker
    /// gets no more of this job. Nothing is held against it.
    pub(crate) fn refuse_alone(&mut self, id: AttemptId, effects: &mut Vec<Effect>) {
        let Claim { attempt, .. } = &self.claims.all[&id];
        let (job, worker, class) = (attempt.job, attempt.worker, self.class_words(attempt));
        self.jobs.get_mut(&job).expect("a claim's job is there").barred.insert(worker);
        let kept = self.kept_by(job).into_iter().filter(|seat| self.seats[seat.0 as usize].worker == worker);
        kept.collect::<Vec<_>>().into_iter().for_each(|seat| self.stop_keeping(seat));
        let detail = format!(
            "nobody else here has its class of devices ({class}), so nobody can check it; it goes to a class that several \
             owners have"
        );
        self.refuse(id, Verdict::Undecided, detail, effects);
    }

    /// A claim is wrong, or cannot be told: it is not paid, and its task goes to somebody else.
    fn refuse(&mut self, id: AttemptId, verdict: Verdict, detail: String, effects: &mut Vec<Effect>) {
        let claim = self.drop_claim(id, effects);
        // Whoever has seen what others computed had better not be the next to compute it.
        let led: Vec<WorkerId> = claim.audit.iter().flat_map(|audit| audit.excused.iter().copied()).collect();
        self.totals.claims_refuted += 1;
        self.keep_proof(id, &claim, verdict);
        let attempt = claim.attempt;
        self.take_down_failure(&attempt, id, Cause::Refuted, detail, effects);
        if attempt.resumed {
            self.drop_parts(attempt.job, attempt.group, attempt.index);
        }
        let job = &self.jobs[&attempt.job];
        if !job.is_running() {
            return;
        }
        // Where it cannot be told who was wrong, either may have been right.
        let next = if verdict == Verdict::Refuted { Next::NeverBack } else { Next::Elsewhere };
        self.pass_over(&attempt, &led);
        if self.note_trouble(&attempt, Cause::Refuted, next) {
            self.end_with_fault(&attempt, Cause::Refuted, effects);
        } else {
            self.send_back(&attempt, Cause::Refuted, effects);
        }
    }

    /// Who said what, in words.
    fn evidence(&self, id: AttemptId, verdict: Verdict, called_in: bool) -> String {
        let claim = &self.claims.all[&id];
        let Some(audit) = &claim.audit else { return verdict.words().into() };
        let short = |hash: Hash| String::from(&format!("{hash}")[..12]);
        let ours = short(claim.output.hash());
        let mut said = String::new();
        for (worker, answer) in &audit.answers {
            let name = &self.workers[worker.0 as usize].offer.name;
            let what = answer.output.map_or_else(|| "a failed program".into(), |output| short(output.hash()));
            said += &format!("{}{name} {what}", if said.is_empty() { "" } else { ", " });
        }
        let costs = called_in && self.jobs[&claim.attempt.job].order.is_some();
        let follows = match verdict {
            Verdict::Refuted if costs => "its stake is called in",
            Verdict::Refuted => "trust in it begins anew",
            Verdict::Undecided
            | Verdict::NotAsked
            | Verdict::NotDrawn
            | Verdict::Agreed
            | Verdict::Upheld
            | Verdict::NotRepeatable
            | Verdict::NobodyToCheck
            | Verdict::JobEnded => "nobody loses anything",
        };
        format!("{}: it delivered {ours}, the others computed {said}; {follows}", verdict.words())
    }

    /// Good work makes up for trouble, once it is paid: results that are delivered may still be found wrong.
    fn forgive_some(&mut self, worker: WorkerId) {
        let worker = &mut self.workers[worker.0 as usize];
        worker.trouble = worker.trouble.saturating_sub(1);
    }

    pub(super) fn note_record(&mut self, worker: WorkerId, mark: proof::Mark) {
        self.workers[worker.0 as usize].record.note(mark);
    }

    /// A worker gave a wrong answer: trust in it begins anew, its stake is called in, and the second time it is out.
    fn convict(&mut self, id: WorkerId, claim: AttemptId, effects: &mut Vec<Effect>) {
        self.note_record(id, proof::Mark::Bad);
        self.totals.answers_wrong += 1;
        let job = self.claims.all[&claim].attempt.job;
        let (order, provider) = (self.jobs[&job].order.clone(), self.provider(id));
        let worker = &mut self.workers[id.0 as usize];
        if let (Some(order), Some(provider)) = (order, provider) {
            self.convictions.push(Conviction { job, order, provider, worker: worker.key, claim });
            effects.push(Effect::Accuse { job });
        }
        let (bad, most) = (worker.record.bad, self.params.audits.wrong_max);
        let Some(provider) = provider.filter(|_| self.params.orders) else {
            return self.discredit(id, bad >= most, effects);
        };
        let wrong = self.wrong.entry(provider).or_default();
        *wrong = wrong.saturating_add(1);
        let out = *wrong >= most;
        self.discredit(id, out, effects);
        // Whoever stakes answers for all its workers.
        let others = self.claims.owned.get(&provider).filter(|_| out).cloned().unwrap_or_default();
        others.into_iter().filter(|other| *other != id).for_each(|other| self.discredit(other, true, effects));
    }

    /// Puts a worker on probation, or out.
    fn discredit(&mut self, id: WorkerId, out: bool, effects: &mut Vec<Effect>) {
        self.workers[id.0 as usize].standing = if out { Standing::Disqualified } else { Standing::OnProbation };
        self.postpone_test(id);
        self.trigger(id, Trigger::FailedOften, effects);
        if out {
            self.trigger(id, Trigger::FailedTest, effects);
        }
        self.relieve = true;
    }

    /// Whether a provider's workers have been wrong too often for it to be let in with another one.
    pub(crate) fn is_discredited(&self, provider: Option<Address>) -> bool {
        let most = self.params.audits.wrong_max;
        provider.filter(|_| self.params.orders).is_some_and(|provider| self.wrong_answers(provider) >= most)
    }

    /// Wrong answers of jobs whose orders the chain has not closed.
    pub fn convictions(&self) -> &[Conviction] {
        &self.convictions
    }

    /// The job ends: what was delivered and not contested is paid as it is.
    pub(crate) fn close_claims(&mut self, job: JobId, effects: &mut Vec<Effect>) {
        for id in self.claims_of(job) {
            let contested = self.claims.all[&id].audit.as_ref().is_some_and(|audit| audit.vote.is_some());
            let verdict = if contested { Verdict::Undecided } else { Verdict::JobEnded };
            self.take_down_contest(id, verdict, &[], Amount::ZERO);
            let claim = self.drop_claim(id, effects);
            self.keep_proof(id, &claim, verdict);
            if contested {
                if claim.attempt.resumed {
                    self.drop_parts(claim.attempt.job, claim.attempt.group, claim.attempt.index);
                }
                continue;
            }
            let Claim { attempt, output, ran, .. } = claim;
            self.pay(&attempt, id, ran, true, verdict);
            self.forgive_some(attempt.worker);
            self.totals.tasks_done += 1;
            let job = self.jobs.get_mut(&attempt.job).expect("the caller has seen it");
            job.done += 1;
            let tally = job.tallies.entry(attempt.worker).or_default();
            (tally.done, tally.ran) = (tally.done + 1, gleaner_wire::Micros(tally.ran.0 + ran.0));
            job.groups[usize::from(attempt.group)].set_output(attempt.index, output);
        }
    }

    /// Writes down how a claim was judged.
    fn keep_proof(&mut self, id: AttemptId, claim: &Claim, verdict: Verdict) {
        let job = self.jobs.get_mut(&claim.attempt.job).expect("a claim's job is there");
        job.verdicts[verdict as usize] += 1;
        if !job.keeps_proofs() {
            return;
        }
        let attempt = &claim.attempt;
        let seat = &self.seats[attempt.seat.0 as usize];
        let (worker, device) = (self.workers[attempt.worker.0 as usize].key, seat.kind);
        let why = self.why(attempt);
        let bond = if verdict.pays() { self.bond_of(attempt.worker, claim.gross) } else { Amount::ZERO };
        let job = &self.jobs[&attempt.job];
        let proof = Proof {
            task: TaskId { job: attempt.job, group: attempt.group, index: attempt.index },
            attempt: id,
            worker,
            provider: claim.provider,
            runtime: job.groups[usize::from(attempt.group)].plan.needs.runtime,
            resumed: attempt.resumed,
            blames: self.may_blame(claim),
            device,
            why,
            price: attempt.price,
            hold: attempt.hold,
            placed: attempt.placed,
            finished: claim.finished,
            claimed: claim.claimed,
            ran: claim.ran,
            bond,
            gross: if verdict.pays() { Amount(claim.gross.0 - bond.0) } else { Amount::ZERO },
            sum_before: job.tallies.get(&attempt.worker).map_or(Amount::ZERO, |tally| tally.gross),
            share_points: job.share_points,
            output: claim.output.hash(),
            batch: claim.batch,
            round: claim.round,
            draw: claim.draw.clone(),
            audit: claim.audit.as_ref().map(|audit| Box::new(self.audit_note(audit, claim))),
            check: self.check_of_task(claim),
            market: job.market,
            class: self.class_words(attempt),
            verdict,
            takes: self.verdict_takes(),
        };
        self.jobs.get_mut(&claim.attempt.job).expect("it was just read").proofs.push(proof);
    }

    fn audit_note(&self, audit: &Audit, claim: &Claim) -> AuditNote {
        let key = |worker: WorkerId| self.workers[worker.0 as usize].key;
        let jurors = audit.jurors.iter().map(|juror| Juror {
            key: key(juror.worker),
            provider: self.provider(juror.worker),
            weight: juror.weight,
            gone: audit.is_out(juror.worker),
        });
        let answers = audit.answers.iter().map(|(worker, answer)| AnswerNote {
            key: key(*worker),
            attempt: answer.attempt,
            output: answer.output.map(|output| output.hash()),
            claimed: answer.claimed,
            batch: answer.batch,
            side: answer.side,
            distance: answer.compared.map_or(u64::MAX, |compared| compared.distance),
            tolerated: answer.tolerated,
        });
        let (jurors, answers) = (jurors.collect(), answers.collect());
        let check = self.check_of_task(claim);
        let sample = audit.vote.as_ref().map_or(0, |vote| vote.sample() as u32);
        let answered = |worker: &WorkerId| audit.answers.contains_key(worker);
        let referee = |worker: WorkerId| Referee { key: key(worker), provider: self.provider(worker) };
        let referees = audit.referees.iter().map(|referee| referee.worker).filter(answered).map(referee).collect();
        let rivals = audit.rivals.iter().map(|rival| key(*rival)).collect();
        let (seed, polls) = (audit.seed, audit.polls.clone());
        AuditNote { seed, check, jurors, answers, sample, polls, rivals, referees }
    }

    /// How the claims of a job were judged, in order, from `first` on.
    pub fn proofs(&self, job: JobId, first: usize, count: usize) -> Vec<Proof> {
        let proofs = self.jobs.get(&job).map_or(&[][..], |job| &job.proofs);
        proofs.get(first..).unwrap_or_default().iter().take(count).cloned().collect()
    }
}
