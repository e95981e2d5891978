//! Alterations by chance: several at once, parts of other receipts, votes left out, and everything signed again by a stranger.
//! No altered receipt holds.
use ed25519_dalek::SigningKey;
use gleaner_receipt::sample::{Case, World};
use gleaner_receipt::{Verifier, public, seal, verify_job};
use gleaner_wire::Hash;
use gleaner_wire::receipt::{Seed, TaskReceipt};
use proptest::prelude::*;
use proptest::sample::Index;
use serde::Deserialize;
use serde_json::Value;

thread_local! {
    /// Receipts of one job with an order, and of another one with the same workers and another hub.
    static JOBS: [Vec<TaskReceipt>; 2] = {
        let on_chain = || World::on_chain(1, Box::new(|root| (Seed::Hub, Hash::of(&root.0))));
        let mut world = on_chain();
        let first = Case::ALL.map(|case| world.receipt(case)).to_vec();
        let mut other = on_chain();
        other.hub = SigningKey::from_bytes(&[7; 32]);
        // Another order of cases, so that the same number stands for other things.
        let second = Case::ALL.iter().rev().map(|case| other.receipt(*case)).collect();
        [first, second]
    };
    /// Has seen all of them, so that thousands of cases do not check the same good signatures again.
    static VERIFIER: Verifier = {
        let mut verifier = Verifier::default();
        for receipt in [receipts(0), receipts(1)].concat() {
            verifier.verify(&receipt).expect("it holds as it is");
        }
        verifier
    };
}

fn verifier() -> Verifier {
    VERIFIER.with(Clone::clone)
}

fn receipts(job: usize) -> Vec<TaskReceipt> {
    JOBS.with(|jobs| jobs[job].clone())
}

/// Every place in a JSON value, as a pointer, the deepest last.
fn places(value: &Value, way: &str, found: &mut Vec<String>) {
    found.push(way.to_owned());
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, inside)| places(inside, &format!("{way}/{name}"), found))
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, inside)| places(inside, &format!("{way}/{at}"), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

fn places_of(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    places(value, "", &mut found);
    found.remove(0);
    found
}

/// One alteration.
#[derive(Clone, Debug)]
enum Change {
    /// What stands at a place of another receipt stands here too.
    Taken { place: Index, from: Index },
    /// Two places of the receipt are exchanged.
    Swapped(Index, Index),
    /// Something is left out of a list, or a field is nothing.
    LeftOut(Index),
    /// A bit of a number or of text is another one.
    Turned(Index, u8),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<Index>(), any::<Index>()).prop_map(|(place, from)| Change::Taken { place, from }),
        (any::<Index>(), any::<Index>()).prop_map(|(one, other)| Change::Swapped(one, other)),
        any::<Index>().prop_map(Change::LeftOut),
        (any::<Index>(), any::<u8>()).prop_map(|(place, bit)| Change::Turned(place, bit)),
    ]
}

fn alter(value: &mut Value, change: &Change, others: &[TaskReceipt]) {
    let places = places_of(value);
    match change {
        Change::Taken { place, from } => {
            let place = place.get(&places[..]).as_str();
            let other = serde_json::to_value(from.get(others)).expect("plain data");
            if let (Some(there), Some(here)) = (other.pointer(place), value.pointer_mut(place)) {
                *here = there.clone();
            }
        }
        Change::Swapped(one, other) => {
            let (one, other) = (one.get(&places[..]).as_str(), other.get(&places[..]).as_str());
            let (Some(first), Some(second)) = (value.pointer(one).cloned(), value.pointer(other).cloned()) else {
                return;
            };
            for (place, new) in [(one, second), (other, first)] {
                if let Some(here) = value.pointer_mut(place) {
                    *here = new;
                }
            }
        }
        Change::LeftOut(place) => {
            let (parent, name) = place.get(&places[..]).rsplit_once('/').expect("a pointer has a slash");
            match value.pointer_mut(parent) {
                Some(Value::Array(items)) => _ = items.remove(name.parse::<usize>().expect("a place in a list")),
                Some(other) => other[name] = Value::Null,
                None => (),
            }
        }
        Change::Turned(place, bit) => match value.pointer_mut(place.get(&places[..]).as_str()) {
            Some(Value::Number(number)) => {
                let turned = number.as_u64().unwrap_or_default() ^ 1 << (bit % 64);
                *number = turned.into();
            }
            Some(Value::String(text)) if !text.is_empty() => {
                let mut bytes = text.clone().into_bytes();
                let at = usize::from(*bit) % bytes.len();
                bytes[at] ^= 1 << (bit % 7);
                *text = String::from_utf8_lossy(&bytes).into_owned();
            }
            Some(Value::Bool(is)) => *is = !*is,
            Some(Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_)) | None => (),
        },
    }
}

/// A receipt after some changes, if it still can be read and is another one.
fn altered(receipt: &TaskReceipt, changes: &[Change], others: &[TaskReceipt]) -> Option<TaskReceipt> {
    let mut value = serde_json::to_value(receipt).expect("plain data");
    changes.iter().for_each(|change| alter(&mut value, change, others));
    TaskReceipt::deserialize(&value).ok().filter(|altered| altered != receipt)
}

/// Whether this is one of the receipts that were really made: taking all of another one alters nothing.
fn is_genuine(receipt: &TaskReceipt) -> bool {
    [0, 1].into_iter().flat_map(receipts).any(|genuine| genuine == *receipt)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn no_receipt_altered_by_chance_holds(
        which in any::<Index>(),
        changes in prop::collection::vec(change(), 1..5),
        rehashed in any::<bool>(),
    ) {
        let others = [receipts(0), receipts(1)].concat();
        let receipt = which.get(&receipts(0)).clone();
        if let Some(mut altered) = altered(&receipt, &changes, &others) {
            // Whoever alters it can reckon its hash again, but not sign that.
            if rehashed {
                altered.hash = altered.facts.hash();
            }
            let holds = verifier().verify(&altered).is_ok() && !is_genuine(&altered);
            prop_assert!(!holds, "{changes:?}");
        }
    }

    #[test]
    fn a_stranger_who_signs_what_is_not_its_own_is_found_out(
        which in any::<Index>(),
        changes in prop::collection::vec(change(), 0..4),
    ) {
        let stranger = SigningKey::from_bytes(&[9; 32]);
        let receipt = which.get(&receipts(0)).clone();
        let facts = altered(&receipt, &changes, &receipts(1)).unwrap_or_else(|| receipt.clone()).facts;
        // By its own key, and by its own key in the hub's name.
        let own = seal(gleaner_wire::receipt::Facts { hub: public(&stranger), ..facts.clone() }, &stranger);
        prop_assert!(verifier().verify(&own).is_err(), "workers signed for another hub: {changes:?}");
        let forged = TaskReceipt { facts, ..own };
        prop_assert!(verifier().verify(&forged).is_err(), "{changes:?}");
        prop_assert!(verifier().of_hub(receipt.facts.hub).verify(&forged).is_err());
    }

    #[test]
    fn receipts_of_another_job_do_not_fit_in(place in any::<Index>(), from in any::<Index>()) {
        let mut job = receipts(0);
        let other = from.get(&receipts(1)).clone();
        let place = place.index(job.len());
        job[place] = other;
        prop_assert!(verify_job(&job, &mut verifier()).is_err());
    }
}

#[test]
fn votes_polls_and_jurors_cannot_be_left_out_one_by_one_or_together() {
    let mut tried = 0;
    for receipt in receipts(0) {
        let value = serde_json::to_value(&receipt).expect("plain data");
        for list in ["audit/answers", "audit/polls", "audit/jurors", "audit/rivals", "audit/referees", "owners"] {
            let pointer = format!("/facts/{list}");
            let count = value.pointer(&pointer).and_then(Value::as_array).map_or(0, Vec::len);
            for keep in 0..count {
                let mut cut = value.clone();
                let items = cut.pointer_mut(&pointer).and_then(Value::as_array_mut).expect("it was just there");
                items.truncate(keep);
                let Ok(mut cut) = TaskReceipt::deserialize(&cut) else { continue };
                cut.hash = cut.facts.hash();
                assert!(verifier().verify(&cut).is_err(), "the first {keep} of {count} {list}");
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "{tried} lists were cut");
}
