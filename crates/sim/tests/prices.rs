//! The price index under shocks.
use gleaner_sim::{PricePhase, prices};

#[test]
fn prices_converge_when_supply_or_demand_shifts() {
    for seed in 1..=4 {
        let run = prices(seed);
        let [usual, doubled, undone, halved, back] = run.phases.as_slice() else { panic!("five phases") };
        for phase in &run.phases {
            assert!(phase.settled_minutes.is_some(), "seed {seed}: {} never settles", phase.name);
            assert!((600..=800).contains(&phase.utilisation), "seed {seed}: {phase:?}");
            assert!(phase.queue < 100, "seed {seed}: {phase:?}");
        }
        let rises = |phase: &PricePhase| phase.after.0 * 100 / phase.before.0;
        assert!(rises(doubled) >= 120 && rises(halved) >= 120, "seed {seed}: prices rise when devices are short");
        assert!(rises(undone) <= 85 && rises(back) <= 85, "seed {seed}: and fall when they are not");
        for phase in [undone, back] {
            let away = phase.after.0.abs_diff(usual.after.0) * 100 / usual.after.0;
            assert!(away <= 5, "seed {seed}: {} ends {away} % from where it began", phase.name);
        }
    }
}
