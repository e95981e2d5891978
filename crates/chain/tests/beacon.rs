//! Roots are anchored on an embedded chain and on anvil; what is fetched proves itself, and nothing altered does.
mod world;

use alloy_primitives::U256;
use gleaner_chain::Node;
use gleaner_chain::account::Draft;
use gleaner_chain::beacon::{self, Beacon, Error, Found};
use gleaner_chain::embedded::{Chain, Options};
use gleaner_chain::market::Call;
use gleaner_chain::sender::{Policy, Sender};
use gleaner_wire::Hash;
use proptest::prelude::*;
use serde_json::json;
use world::anvil::Anvil;
use world::{POLICY, address, named};

const ROOT: Hash = Hash([0xA7; 32]);

/// Anchors the root among other transactions, and grows the chain by two blocks.
async fn anchored(sender: &Sender) -> Beacon {
    let hub = named("hub");
    let receipt = sender.send(&hub, &beacon::call(hub.address(), ROOT)).await.expect("anchored");
    let block = sender.node.sealed_block(receipt.block_number).await.expect("read").expect("a block");
    let transaction = alloy_primitives::keccak256(&block.transactions[0]);
    let early = beacon::fetch(&sender.node, transaction, ROOT, 0).await.expect("asked");
    assert_eq!(early, Found::NotYet { wanted: receipt.block_number + 1 });
    sender.send(&hub, &Call { to: hub.address(), data: Default::default() }).await.expect("sent");
    let deeper = beacon::fetch(&sender.node, transaction, ROOT, 1).await.expect("asked");
    assert_eq!(deeper, Found::NotYet { wanted: receipt.block_number + 2 });
    let Found::Beacon(found) = beacon::fetch(&sender.node, transaction, ROOT, 0).await.expect("asked") else {
        panic!("the next block is there")
    };
    let unknown = beacon::fetch(&sender.node, alloy_primitives::B256::ZERO, ROOT, 0).await.expect("asked");
    assert_eq!(unknown, Found::Nowhere);
    *found
}

/// What holds for a beacon wherever it comes from.
async fn check(node: &Node, found: &Beacon) {
    assert_eq!(beacon::verify(found, ROOT), Ok(found.seed));
    let shown = beacon::inspect(found, ROOT).expect("it proves itself");
    assert_eq!(shown.account, address("hub"));
    assert_eq!(shown.chain_id, Some(node.chain_id().await.expect("asked")));
    let next = node.block(shown.block + 1).await.expect("asked").expect("a block");
    assert_eq!(next.hash.0, found.seed.0, "the seed is the hash of the block after");
    assert_eq!(beacon::verify(found, Hash([0; 32])), Err(Error::OtherRoot));
    assert!(beacon::is_on(node, found).await.expect("asked"));
    let text = serde_json::to_string(found).expect("JSON");
    assert!(text.contains(&format!("\"header\":\"{}\"", found.header)), "people read hexadecimal digits: {text}");
    assert_eq!(serde_json::from_str::<Beacon>(&text).expect("JSON"), *found);
    let bytes = postcard::to_allocvec(found).expect("bytes");
    assert_eq!(postcard::from_bytes::<Beacon>(&bytes).expect("bytes"), *found);
    nothing_altered_proves_anything(found);
}

/// Every single bit of it matters.
fn nothing_altered_proves_anything(found: &Beacon) {
    let bytes = postcard::to_allocvec(found).expect("bytes");
    for place in 0..bytes.len() {
        for bit in 0..8 {
            let mut altered = bytes.clone();
            altered[place] ^= 1 << bit;
            let Ok((altered, rest)) = postcard::take_from_bytes::<Beacon>(&altered) else { continue };
            // Bytes after its end are not part of it.
            if altered != *found || !rest.is_empty() {
                assert!(beacon::verify(&altered, ROOT).is_err(), "bit {bit} of byte {place}");
            }
        }
    }
}

async fn on_embedded() -> (tempfile::TempDir, Sender, Beacon) {
    let folder = tempfile::tempdir().expect("a folder");
    let chain = Chain::open(&Options::testing(folder.path())).expect("a chain");
    let sender = Sender { node: Node::Embedded(chain), policy: Policy::EMBEDDED };
    let found = anchored(&sender).await;
    (folder, sender, found)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_root_anchored_on_the_embedded_chain_proves_itself() {
    let (_folder, sender, found) = on_embedded().await;
    check(&sender.node, &found).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_root_anchored_on_anvil_proves_itself() {
    let anvil = Anvil::start(&[]);
    anvil.fund(address("hub")).await;
    let sender = Sender { node: anvil.node(), policy: POLICY };
    let found = anchored(&sender).await;
    check(&sender.node, &found).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_root_among_many_transactions_proves_itself() {
    let anvil = Anvil::start(&["--no-mining"]);
    let node = anvil.node();
    let chain_id = node.chain_id().await.expect("asked");
    let mut sent = Vec::new();
    for number in 0..150 {
        let account = named(&format!("sender {number}"));
        anvil.fund(account.address()).await;
        let Call { to, data } = beacon::call(account.address(), ROOT);
        let (fee_max, priority) = (10_000_000_000, 1_000_000_000);
        let draft =
            Draft { chain_id, nonce: 0, to: Some(to), value: U256::ZERO, data, gas: 100_000, fee_max, priority };
        sent.push((account.address(), node.send_raw(account.sign(&draft).raw).await.expect("taken")));
    }
    for _ in 0..2 {
        anvil.ask("evm_mine", json!([])).await;
    }
    let mut places = Vec::new();
    for (account, transaction) in sent {
        let Found::Beacon(found) = beacon::fetch(&node, transaction, ROOT, 0).await.expect("asked") else {
            panic!("both blocks are there")
        };
        assert_eq!(beacon::inspect(&found, ROOT).expect("it proves itself").account, account);
        places.push(found.place);
    }
    places.sort_unstable();
    assert_eq!(places, (0..150).collect::<Vec<u64>>(), "all of them are in one block");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_that_was_replaced_gives_no_seed() {
    let anvil = Anvil::start(&[]);
    let hub = named("hub");
    anvil.fund(hub.address()).await;
    let sender = Sender { node: anvil.node(), policy: POLICY };
    let found = anchored(&sender).await;
    anvil.ask("anvil_reorg", json!([2, []])).await;
    anvil.ask("evm_mine", json!([])).await;
    assert!(!beacon::is_on(&sender.node, &found).await.expect("asked"), "the seed is of no block any more");
    let transaction = alloy_primitives::keccak256(&found.transaction);
    let again = beacon::fetch(&sender.node, transaction, ROOT, 0).await.expect("asked");
    assert!(!matches!(&again, Found::Beacon(same) if **same == found), "{again:?}");
}

proptest! {
    #[test]
    fn bytes_from_anywhere_never_break_the_verifier(
        seed in any::<[u8; 32]>(), header in prop::collection::vec(any::<u8>(), 0..700), place in any::<u64>(),
        next in prop::collection::vec(any::<u8>(), 0..700), transaction in prop::collection::vec(any::<u8>(), 0..300),
        proof in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 0..25),
    ) {
        let proof = proof.into_iter().map(Into::into).collect();
        let made_up = Beacon {
            seed: Hash(seed), header: header.into(), next: next.into(), transaction: transaction.into(), place, proof,
        };
        prop_assert!(beacon::verify(&made_up, ROOT).is_err());
    }
}
