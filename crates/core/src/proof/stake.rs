//! When a wrong answer costs its maker stake, and not only its pay.
//!
//! Losing pay is for results that others do not come to. Losing stake is for lies: so it takes a program that cannot tell
//! machines apart, or whoever wrote it could let it fail on one provider's alone, and a difference that no honest device
//! makes.
use gleaner_wire::Runtime;
use gleaner_wire::check::Check;

/// How many times as far as is tolerated a result must be from the right one to be a lie.
pub const LIE: u64 = 1000;

/// What a wrong answer costs beyond its pay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Costs {
    /// Trust begins anew, and that is all.
    Trust,
    /// Stake, if it is as far away as a lie is.
    StakeForLies,
    /// Stake.
    Stake,
}

impl Costs {
    /// What a wrong answer to a task costs.
    pub fn of(check: Check, runtime: Runtime) -> Self {
        match (runtime, check) {
            // A container sees what it runs on.
            (Runtime::Container, _) | (_, Check::None | Check::Program { .. }) => Self::Trust,
            (Runtime::Wasm | Runtime::Wgsl | Runtime::Blender, Check::Exact) => Self::Stake,
            (Runtime::Wasm | Runtime::Wgsl | Runtime::Blender, Check::Numeric { learned, .. })
            | (Runtime::Wasm | Runtime::Wgsl | Runtime::Blender, Check::Image { learned, .. }) => {
                // A tolerance that a stranger wrote and that nothing may widen says little of who lies.
                if learned { Self::StakeForLies } else { Self::Trust }
            }
        }
    }

    /// Whether this one does: it is `distance` away from the right answer, where `tolerated` would have passed.
    pub fn takes(self, distance: u64, tolerated: u64) -> bool {
        match self {
            Self::Trust => false,
            Self::StakeForLies => distance > tolerated.saturating_mul(LIE),
            Self::Stake => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::check::Compared;

    const IMAGE: Check = Check::Image { pixel: 514, perceptual: 10_000, learned: true };

    #[test]
    fn programs_that_see_their_machine_cost_nobody_stake() {
        for check in [Check::Exact, IMAGE, Check::Program { input: 0 }] {
            assert_eq!(Costs::of(check, Runtime::Container), Costs::Trust);
        }
        assert_eq!(Costs::of(Check::Exact, Runtime::Wasm), Costs::Stake);
    }

    #[test]
    fn what_honest_devices_differ_by_is_no_lie() {
        let costs = Costs::of(IMAGE, Runtime::Blender);
        let tolerated = 3 * Compared::TOLERATED;
        assert!(!costs.takes(tolerated + 1, tolerated), "wrong, and not paid, but no lie");
        assert!(!costs.takes(tolerated * LIE, tolerated));
        assert!(costs.takes(Compared::APART.distance, tolerated));
        let named = Check::Image { pixel: 0, perceptual: 0, learned: false };
        assert!(!Costs::of(named, Runtime::Blender).takes(u64::MAX, Compared::TOLERATED), "a stranger's own tolerance");
    }
}
