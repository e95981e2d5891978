//! Lots: which results are audited, and by whom. Everything follows from the seed of a round and the
//! hash of the claim, so that whoever has both can draw again.
use alloc::vec::Vec;
use gleaner_wire::{Hash, WorkerKey};

/// A share in millionths.
pub const WHOLE: u32 = 1_000_000;
/// The number of the lot by which jurors are asked to confirm what a referee computed; no poll has it.
pub const REFEREE_LOT: u32 = u32::MAX;
/// The number of the lot by which jurors are asked to compare two answers; no poll has it either.
pub const COMPARE_LOT: u32 = u32::MAX - 1;

/// A worker that may be asked, and how much stake speaks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Who.
    pub key: WorkerKey,
    /// How likely it is to be drawn, beside the others.
    pub weight: u64,
}

/// Whether a claim is audited, at a rate in millionths.
pub fn is_selected(seed: &Hash, claim: &Hash, rate: u32) -> bool {
    lot(seed, claim, b"select", 0) % u64::from(WHOLE) < u64::from(rate)
}

/// The positions of so many candidates, drawn one after another by weight and never twice. Each poll draws anew.
pub fn auditors(seed: &Hash, claim: &Hash, poll: u32, candidates: &[Candidate], count: usize) -> Vec<usize> {
    let mut left: Vec<usize> = (0..candidates.len()).filter(|at| candidates[*at].weight > 0).collect();
    let mut total: u128 = left.iter().map(|at| u128::from(candidates[*at].weight)).sum();
    let mut drawn = Vec::with_capacity(count.min(left.len()));
    while drawn.len() < count && !left.is_empty() {
        let number = u64::from(poll) << 32 | drawn.len() as u64;
        // Weights are sums of money in 64 bits; of a 128-bit lot the remainder is even enough.
        let high = u128::from(lot(seed, claim, b"auditor", number)) << 64;
        let mut at = (high | u128::from(lot(seed, claim, b"auditor low", number))) % total;
        let place = left.iter().position(|candidate| {
            let weight = u128::from(candidates[*candidate].weight);
            let hit = at < weight;
            at = at.wrapping_sub(if hit { 0 } else { weight });
            hit
        });
        let candidate = left.remove(place.expect("the lot is below the sum of all weights"));
        total -= u128::from(candidates[candidate].weight);
        drawn.push(candidate);
    }
    drawn
}

/// A number that follows from the seed, the claim and what it is for.
pub(crate) fn lot(seed: &Hash, claim: &Hash, what: &[u8], number: u64) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for part in [&b"gleaner lot 1"[..], &seed.0, &claim.0, &number.to_le_bytes(), what] {
        hasher.update(part);
    }
    u64::from_le_bytes(hasher.finalize().as_bytes()[..8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(count: u64) -> impl Iterator<Item = Hash> {
        (0..count).map(|number| Hash::of(&number.to_le_bytes()))
    }

    #[test]
    fn as_many_are_selected_as_the_rate_says() {
        let seed = Hash::of(b"seed");
        let selected = claims(20_000).filter(|claim| is_selected(&seed, claim, 50_000)).count();
        assert!((900..1100).contains(&selected), "{selected} of 20,000 at one in twenty");
        assert!(claims(1000).all(|claim| is_selected(&seed, &claim, WHOLE)));
        assert!(!claims(1000).any(|claim| is_selected(&seed, &claim, 0)));
    }

    #[test]
    fn nobody_is_drawn_twice_and_weight_decides_how_often() {
        let of = |number: u8, weight| Candidate { key: WorkerKey([number; 32]), weight };
        let candidates = [of(1, 1), of(2, 3), of(3, 0), of(4, 6)];
        let (seed, mut first) = (Hash::of(b"seed"), [0; 4]);
        for claim in claims(10_000) {
            let drawn = auditors(&seed, &claim, 0, &candidates, 9);
            assert_eq!(drawn.len(), 3, "without weight nobody is drawn, with it everybody once");
            assert!(drawn.iter().all(|at| *at != 2) && drawn[0] != drawn[1] && drawn[1] != drawn[2]);
            first[drawn[0]] += 1;
        }
        assert!((800..1200).contains(&first[0]) && (5600..6400).contains(&first[3]), "{first:?}");
    }

    #[test]
    fn splitting_a_stake_over_many_workers_gains_nothing() {
        let of = |number: u8, weight| Candidate { key: WorkerKey([number; 32]), weight };
        let whole = [of(1, 100), of(2, 100)];
        let split: Vec<_> = (0..10).map(|number| of(number, 10)).chain([of(200, 100)]).collect();
        let seed = Hash::of(b"seed");
        let whole = claims(10_000).filter(|claim| auditors(&seed, claim, 0, &whole, 1)[0] == 0).count();
        let split = claims(10_000).filter(|claim| auditors(&seed, claim, 0, &split, 1)[0] < 10).count();
        assert!(whole.abs_diff(split) < 300, "{whole} {split}");
    }

    #[test]
    fn lots_are_pinned() {
        let (seed, claim) = (Hash([1; 32]), Hash([2; 32]));
        assert_eq!(lot(&seed, &claim, b"select", 0), 3_313_758_928_287_469_775);
    }
}
