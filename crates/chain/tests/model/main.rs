//! Random actions against the plain model of the economy and against real chains, equal after every one of them.
//!
//! `GLEANER_MODEL_SEEDS` and `GLEANER_MODEL_STEPS` ask for more than a test run has time for.
#[path = "../anvil/mod.rs"]
mod anvil;
mod calls;
mod choose;
mod compare;
mod compare_months;
mod events;
mod found;
mod perform;
mod seldom;
mod trace;
mod wanted;
mod world;

use anvil::Anvil;
use gleaner_chain::Node;
use gleaner_chain::embedded::{Chain, Options};
use gleaner_chain::model::{Action, Who};
use std::collections::BTreeSet;
use trace::Trace;
use world::World;

/// Enough for nearly every kind of action to succeed somewhere, and for nearly every refusal.
const SEEDS: u64 = 10;
const STEPS: u64 = 400;
/// Blocks after which a block's hash is forgotten.
const MEMORY: u64 = 256;

/// How committees come about in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committees {
    /// There are just as many auditors as seats, so whoever is missing makes the draw come to nothing.
    Everybody,
    /// There are more auditors than seats, and chance decides.
    Drawn,
    /// There are never enough auditors.
    Nobody,
}

impl Committees {
    fn of(seed: u64) -> Self {
        match seed % 3 {
            0 => Self::Everybody,
            1 => Self::Drawn,
            _ => Self::Nobody,
        }
    }

    /// Each dispute has two parties at least, so seven of the eight people are never available.
    pub fn size(self) -> u64 {
        match self {
            Self::Everybody | Self::Drawn => 3,
            Self::Nobody => 7,
        }
    }
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}

async fn start(node: Node, seed: u64, committees: Committees) -> World {
    let mut world = World::found(node, seed, committees).await;
    world.warm_up().await;
    world.vote_for_licences().await;
    world
}

async fn play(node: Node, seed: u64, steps: u64) -> Trace {
    let mut world = start(node, seed, Committees::of(seed)).await;
    for _ in 0..steps {
        world.step().await;
    }
    world.compare_at_the_end().await;
    world.trace
}

async fn embedded(seed: u64, steps: u64) -> Trace {
    let folder = tempfile::tempdir().expect("a folder");
    let chain = Chain::open(&Options { sync: false, ..Options::testing(folder.path()) }).expect("a chain");
    play(Node::Embedded(chain), seed, steps).await
}

async fn anvil(seed: u64, steps: u64) -> Trace {
    let anvil = Anvil::start(&["--gas-price", "0", "--block-base-fee-per-gas", "0"]);
    play(anvil.node(), seed, steps).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_chain_does_what_the_model_does() {
    let (seeds, steps) = (number("GLEANER_MODEL_SEEDS", SEEDS), number("GLEANER_MODEL_STEPS", STEPS));
    let (mut done, mut refused) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..seeds {
        let trace = embedded(seed, steps).await;
        trace.expect_variety();
        done.extend(trace.done());
        refused.extend(trace.refused());
    }
    if seeds < SEEDS || steps < STEPS {
        return;
    }
    let missing = |wanted: &[&'static str], found: &BTreeSet<String>| -> Vec<&'static str> {
        wanted.iter().filter(|name| !found.contains(**name)).copied().collect()
    };
    let never = (missing(&wanted::DONE, &done), missing(&wanted::REFUSED, &refused));
    // Committees are drawn by chance, so that no two runs are the same.
    assert!(never.0.len() <= 2 && never.1.len() <= 8, "these never happened: {never:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn anvil_does_what_the_model_and_the_embedded_chain_do() {
    let (seeds, steps) = (number("GLEANER_MODEL_SEEDS", 3), number("GLEANER_MODEL_STEPS", 150));
    for seed in 0..seeds {
        let there = anvil(seed, steps).await;
        match Committees::of(seed) {
            Committees::Everybody | Committees::Nobody => {
                there.expect_same(&embedded(seed, steps).await, seed);
            }
            // The two chains draw different people.
            Committees::Drawn => there.expect_variety(),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_walks_seldom_reach_is_the_same_everywhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let chain = Chain::open(&Options { sync: false, ..Options::testing(folder.path()) }).expect("a chain");
    let here = seldom::play(Node::Embedded(chain)).await;
    let anvil = Anvil::start(&["--gas-price", "0", "--block-base-fee-per-gas", "0"]);
    seldom::play(anvil.node()).await.expect_same(&here, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draw_that_comes_too_late_for_its_block_waits_for_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let chain = Chain::open(&Options { sync: false, ..Options::testing(folder.path()) }).expect("a chain");
    let mut world = World::found(Node::Embedded(chain), 0, Committees::Everybody).await;
    world.warm_up().await;
    let mut waiting = None;
    for _ in 0..STEPS {
        world.step().await;
        waiting = world.model.disputes.iter().find(|(_, dispute)| dispute.drawing).map(|(number, _)| *number);
        if waiting.is_some() {
            break;
        }
    }
    let dispute = waiting.expect("a dispute");
    let draw = Action::Draw { dispute, drawn: Vec::new() };
    for _ in 0..MEMORY + 2 {
        world.act(Who(0), Action::Allow { hub: Who(1), limit: 1 }).await;
    }
    world.act(Who(0), draw.clone()).await;
    assert!(world.model.disputes[&dispute].drawing, "the block is forgotten");
    world.act(Who(0), draw.clone()).await;
    world.act(Who(0), draw).await;
    assert!(!world.model.disputes[&dispute].drawing, "the draw is made");
}
