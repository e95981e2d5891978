//! What a hub's core writes down of a judged claim is enough to make its receipt.
use gleaner_core::proof::{self, Policy, RateView};
use gleaner_core::{AnswerNote, AuditNote, DrawNote, Proof};
use gleaner_receipt::sample::{Case, World};
use gleaner_receipt::{Drawn, Filed, Missing, Parts, SignedBatch, make, verify};
use gleaner_wire::receipt::{self, Bytes, Claim, Facts, Seed, TaskReceipt, claim_hash};
use gleaner_wire::{Address, Amount, Hash, WorkerKey};

/// A hub with a chain that draws seeds itself.
fn on_chain() -> World {
    World::on_chain(1, Box::new(|root| (Seed::Hub, Hash::of(&root.0))))
}

/// The number of the batch that a claim came in.
fn batch(world: &World, claim: &Claim) -> u64 {
    let leaf = claim_hash(claim);
    world.batches.iter().position(|batch| batch.claims.contains(&leaf)).expect("it was signed") as u64
}

/// What a core would have written down of a claim with this receipt.
fn noted(world: &World, facts: &Facts) -> Proof {
    let claim = &facts.commitment.claim;
    let record = facts.draw.as_ref().map(|draw| draw.record);
    let rate = record.map(|record| {
        let known = proof::Record { good: record.good, bad: record.bad, ..Default::default() };
        RateView::of(&Policy::default(), &known, record.loses, record.exposure)
    });
    let selected = facts.draw.as_ref().is_some_and(|draw| draw.selected);
    Proof {
        task: facts.task,
        attempt: claim.attempt,
        worker: facts.placement.worker,
        provider: facts.placement.provider,
        runtime: facts.placement.runtime,
        resumed: facts.placement.resumed,
        blames: true,
        device: facts.placement.device,
        why: facts.placement.why.clone(),
        price: facts.placement.per_second,
        hold: facts.price.hold,
        bond: facts.price.bond,
        placed: facts.meter.placed,
        finished: facts.meter.finished,
        claimed: claim.ran,
        ran: facts.meter.ran,
        gross: facts.price.gross,
        sum_before: facts.price.sum_before,
        share_points: facts.price.share_points,
        output: claim.output.expect("delivered"),
        batch: batch(world, claim),
        round: facts.draw.as_ref().map_or(0, |draw| draw.round.number),
        draw: rate.map(|rate| DrawNote { rate, selected }),
        audit: facts.audit.as_ref().map(|audit| Box::new(audit_note(world, facts, audit))),
        check: facts.check,
        market: facts.placement.market,
        class: facts.placement.class.clone(),
        verdict: facts.verdict,
        takes: Amount::gln(5),
    }
}

fn audit_note(world: &World, facts: &Facts, audit: &receipt::Audit) -> AuditNote {
    let answers = audit.answers.iter().map(|answer| AnswerNote {
        key: answer.auditor,
        attempt: answer.commitment.claim.attempt,
        output: answer.commitment.claim.output,
        claimed: answer.commitment.claim.ran,
        batch: batch(world, &answer.commitment.claim),
        side: Some(answer.side),
        distance: answer.distance,
        tolerated: answer.tolerated,
    });
    AuditNote {
        seed: facts.draw.as_ref().expect("drawn").seed,
        check: facts.check,
        jurors: audit.jurors.clone(),
        answers: answers.collect(),
        sample: audit.sample,
        polls: audit.polls[1..].to_vec(),
        rivals: audit.rivals.clone(),
        referees: audit.referees.clone(),
    }
}

fn filed<'a>(
    world: &World,
    receipt: &TaskReceipt,
    batch: &'a dyn Fn(&WorkerKey, u64) -> Option<SignedBatch>,
    owner: &'a dyn Fn(&WorkerKey, &Address) -> Option<Bytes>,
) -> Filed<'a> {
    let facts = &receipt.facts;
    Filed {
        order: facts.order.clone(),
        job: facts.job,
        market: facts.placement.market,
        class: facts.placement.class.clone(),
        check: facts.check,
        number: facts.number,
        previous: facts.previous,
        round: facts.draw.as_ref().map(|draw| Drawn {
            claims: world.round.clone(),
            source: draw.source.clone(),
            seed: draw.seed,
        }),
        batch,
        owner,
    }
}

#[test]
fn what_a_core_writes_down_makes_the_same_receipt() {
    for mut world in [World::new(), on_chain()] {
        for case in Case::ALL {
            let receipt = world.receipt(case);
            let batch = |_: &WorkerKey, number: u64| world.batches.get(number as usize).cloned();
            let owner = |worker: &WorkerKey, _: &Address| Some(world.owned(*worker).signature);
            let parts = Parts::of(&noted(&world, &receipt.facts), filed(&world, &receipt, &batch, &owner));
            assert_eq!(make(parts.expect("all of it is on file"), &world.hub), receipt, "{case:?}");
        }
    }
}

#[test]
fn nobody_is_blamed_while_it_is_not_known_what_honest_devices_differ_by() {
    let mut world = World::new();
    let receipt = world.receipt(Case::Picture);
    let proof = Proof { blames: false, ..noted(&world, &receipt.facts) };
    let batch = |_: &WorkerKey, number: u64| world.batches.get(number as usize).cloned();
    let parts = Parts::of(&proof, filed(&world, &receipt, &batch, &|_, _| None)).expect("all of it is on file");
    let spared = make(parts, &world.hub);
    assert!(receipt.facts.deductions.len() == 1 && spared.facts.deductions.is_empty());
    let checked = verify(&spared).expect("it holds");
    assert!(checked.believed.iter().any(|what| what.ends_with("and spared 1")), "{checked:?}");
}

#[test]
fn what_is_not_on_file_is_named() {
    let mut world = on_chain();
    let receipt = world.receipt(Case::NotDrawn);
    let proof = noted(&world, &receipt.facts);
    let nobody = |_: &WorkerKey, _: &Address| None;
    let missing = Parts::of(&proof, filed(&world, &receipt, &|_, _| None, &nobody)).expect_err("no batch");
    assert_eq!(missing, Missing::Batch { worker: proof.worker, batch: proof.batch, attempt: proof.attempt });
    let batch = |_: &WorkerKey, number: u64| world.batches.get(number as usize).cloned();
    let missing = Parts::of(&proof, filed(&world, &receipt, &batch, &nobody)).expect_err("no owner");
    let provider = proof.provider.expect("an owner");
    assert_eq!(missing, Missing::Owner { worker: proof.worker, provider });
    let mut without = filed(&world, &receipt, &batch, &nobody);
    without.round.as_mut().expect("drawn").claims = vec![Hash([0; 32])];
    let missing = Parts::of(&proof, without).expect_err("no claim");
    assert_eq!(missing, Missing::Round { round: proof.round, attempt: proof.attempt });
}
