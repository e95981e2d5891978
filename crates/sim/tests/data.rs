//! Placement that knows who holds which data, against one that does not.
#![expect(clippy::print_stdout, reason = "the figures are worth reading")]
use gleaner_sim::{DataComparison, compare_data};
use gleaner_wire::job_file::Prefer;

#[test]
fn knowing_who_holds_data_moves_less_of_it_and_takes_no_longer() {
    // Where only the price counts, data hardly does.
    for (prefer, bytes_max) in [(Prefer::Fast, 80), (Prefer::Balanced, 80), (Prefer::Cheap, 100)] {
        let all: Vec<DataComparison> =
            (1..=12).map(|seed| compare_data(seed, prefer).unwrap_or_else(|violation| panic!("{violation}"))).collect();
        for one in &all {
            println!(
                "{prefer:?}, seed {}: {} GB moved instead of {}, {} s instead of {}",
                one.seed,
                one.aware_bytes / 1_000_000_000,
                one.blind_bytes / 1_000_000_000,
                one.aware_ms / 1000,
                one.blind_ms / 1000
            );
        }
        let sum = |of: fn(&DataComparison) -> u64| all.iter().map(of).sum::<u64>();
        let bytes = sum(|one| one.aware_bytes) * 100 / sum(|one| one.blind_bytes);
        let time = sum(|one| one.aware_ms) * 100 / sum(|one| one.blind_ms);
        println!("{prefer:?}: {bytes} % of the bytes in {time} % of the time");
        assert!(bytes <= bytes_max, "{prefer:?}: {bytes} % of the bytes");
        assert!(time <= 100, "{prefer:?}: {time} % of the time");
    }
}
