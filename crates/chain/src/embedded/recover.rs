//! Opening a chain: from the newest snapshot that fits, then block by block, and every hash must come out again.
use super::block::{Block, Frame};
use super::execute::{self, Verdict};
use super::state::{HASHES_KEPT, State};
use super::store::{self, Founding, Store};
use super::world::World;
use super::{Error, Options, admit};
use alloy_primitives::B256;

/// How many blocks are read ahead to check their signatures on all cores.
const BLOCKS_AHEAD: u64 = 512;

/// Founds the chain if there is none, otherwise brings back its newest state.
pub(crate) fn recover(store: &mut Store, options: &Options, now: u64) -> Result<State, Error> {
    let wanted = options.chain_id;
    let Some(founding) = store.founding()? else { return found(store, options, now) };
    if founding.chain_id != wanted {
        return Err(Error::OtherChain { found: founding.chain_id, wanted });
    }
    let height = store::height(store.connection())?.ok_or_else(|| Error::damaged(0, "it is missing"))?;
    let mut state = start(store, options, &founding)?;
    while state.head.number < height {
        let first = state.head.number + 1;
        let last = height.min(first + BLOCKS_AHEAD - 1);
        let blocks: Vec<Block> = (first..=last).map(|number| existing(store, number)).collect::<Result<_, _>>()?;
        check_signers(&blocks)?;
        for block in &blocks {
            replay(&mut state, founding.chain_id, block)?;
            store.note(super::block::encode_body(&block.transactions).len() as u64);
        }
    }
    Ok(state)
}

fn found(store: &mut Store, options: &Options, now: u64) -> Result<State, Error> {
    let founding = Founding { chain_id: options.chain_id, balances: options.balances.clone() };
    let world = World::with_balances(&founding.balances);
    let frame = Frame { parent: B256::ZERO, number: 0, timestamp: now, mix: B256::ZERO };
    let genesis = Block::seal(frame, Vec::new(), Vec::new(), world.digest().root());
    store.found(&founding, &genesis)?;
    Ok(State::new(world, genesis.header, [genesis.hash]))
}

/// The state to replay from: the newest snapshot that fits its block, or the beginning.
fn start(store: &Store, options: &Options, founding: &Founding) -> Result<State, Error> {
    let snapshots = if options.replay_all { Vec::new() } else { store.snapshots()? };
    for (number, bytes) in snapshots {
        let Ok(world) = World::decode(&bytes) else { continue };
        let Some(block) = store::block(store.connection(), number)? else { continue };
        if world.digest().root() == block.header.state_root {
            return Ok(State::new(world, block.header.clone(), recent_hashes(store, &block)?));
        }
        tracing::warn!(number, "a snapshot of the chain does not fit its block and is passed over");
    }
    let genesis = existing(store, 0)?;
    let world = World::with_balances(&founding.balances);
    if world.digest().root() != genesis.header.state_root {
        return Err(Error::damaged(0, "its first balances are not those of the first block"));
    }
    Ok(State::new(world, genesis.header, [genesis.hash]))
}

/// The hashes of a block and of those before it that contracts can ask for, oldest first, linked to each other.
fn recent_hashes(store: &Store, newest: &Block) -> Result<Vec<B256>, Error> {
    let mut hashes = vec![newest.hash];
    let (mut number, mut parent) = (newest.header.number, newest.header.parent_hash);
    while number > 0 && hashes.len() < HASHES_KEPT {
        number -= 1;
        let block = existing(store, number)?;
        if block.hash != parent {
            return Err(Error::damaged(number, "the next block does not follow it"));
        }
        hashes.push(block.hash);
        parent = block.header.parent_hash;
    }
    hashes.reverse();
    Ok(hashes)
}

fn existing(store: &Store, number: u64) -> Result<Block, Error> {
    store::block(store.connection(), number)?.ok_or_else(|| Error::damaged(number, "it is missing"))
}

/// Checks that everybody who is named as a sender has signed, on all cores.
fn check_signers(blocks: &[Block]) -> Result<(), Error> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = blocks.len().div_ceil(cores).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> =
            blocks.chunks(share).map(|part| scope.spawn(move || part.iter().try_for_each(check_signers_of))).collect();
        parts.into_iter().try_for_each(|part| part.join().expect("checking signatures does not panic"))
    })
}

fn check_signers_of(block: &Block) -> Result<(), Error> {
    let signed = |transaction: &super::block::SentTransaction| {
        admit::signer(&transaction.envelope).is_ok_and(|signer| signer == transaction.sender)
    };
    match block.transactions.iter().all(signed) {
        true => Ok(()),
        false => Err(Error::damaged(block.header.number, "a transaction is not signed by its sender")),
    }
}

/// Runs a block again and compares what comes out.
fn replay(state: &mut State, chain_id: u64, block: &Block) -> Result<(), Error> {
    let number = block.header.number;
    if block.header.parent_hash != state.head_hash() {
        return Err(Error::damaged(number, "it does not follow the block before"));
    }
    let ran = execute::run(state, chain_id, block.frame(), &block.transactions);
    if !ran.verdicts.iter().all(|verdict| matches!(verdict, Verdict::Ran)) {
        return Err(Error::damaged(number, "a transaction does not run"));
    }
    let root = ran.changes.digest.root();
    let again = Block::seal(block.frame(), block.transactions.clone(), ran.outcomes, root);
    if root != block.header.state_root {
        return Err(Error::damaged(
            number,
            format!("it gives state {root}, and {} stands in it", block.header.state_root),
        ));
    }
    if again.hash != block.hash {
        return Err(Error::damaged(number, "it gives other receipts than stand in it"));
    }
    state.advance(&again, ran.changes);
    Ok(())
}
