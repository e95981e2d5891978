//! The contracts as Rust types, made from the checked-in artifacts: calls, events, errors and the code to deploy.
//!
//! Nothing is written by hand here, so nothing can differ from what the compiler made of the Solidity sources.
#![expect(
    missing_docs,
    clippy::too_many_arguments,
    reason = "what the macro makes has the names, the arguments and the documentation of the contracts"
)]

/// Owner of the parameters and of the treasury.
pub mod timelock {
    alloy_sol_types::sol!(
        #[derive(Debug)]
        Timelock,
        "../../contracts/artifacts/Timelock.json"
    );
}
/// GLN, the token.
pub mod token {
    alloy_sol_types::sol!(
        #[derive(Debug)]
        Token,
        "../../contracts/artifacts/Token.json"
    );
}
/// The numbers that votes may change.
pub mod parameters {
    alloy_sol_types::sol!(
        #[derive(Debug)]
        Parameters,
        "../../contracts/artifacts/Parameters.json"
    );
}
/// Tokens that become someone's month by month.
pub mod vesting {
    alloy_sol_types::sol!(
        #[derive(Debug)]
        Vesting,
        "../../contracts/artifacts/Vesting.json"
    );
}
/// Node licences.
pub mod licences {
    alloy_sol_types::sol!(
        #[derive(Debug)]
        Licences,
        "../../contracts/artifacts/Licences.json"
    );
}
/// Collateral.
pub mod stake {
    alloy_sol_types::sol!(
        #[derive(Debug)]
        Stake,
        "../../contracts/artifacts/Stake.json"
    );
}
/// Orders and free money.
pub mod escrow {
    alloy_sol_types::sol!(
        #[derive(Debug)]
        Escrow,
        "../../contracts/artifacts/Escrow.json"
    );
}
/// Disputes.
pub mod court {
    alloy_sol_types::sol!(
        #[derive(Debug)]
        Court,
        "../../contracts/artifacts/Court.json"
    );
}
/// Channels for small payments.
pub mod vouchers {
    alloy_sol_types::sol!(
        #[derive(Debug)]
        Vouchers,
        "../../contracts/artifacts/Vouchers.json"
    );
}
/// Node rewards.
pub mod rewards {
    alloy_sol_types::sol!(
        #[derive(Debug)]
        Rewards,
        "../../contracts/artifacts/Rewards.json"
    );
}
/// Votes.
pub mod governor {
    alloy_sol_types::sol!(
        #[derive(Debug)]
        GleanerGovernor,
        "../../contracts/artifacts/GleanerGovernor.json"
    );
}

pub use court::Court;
pub use escrow::Escrow;
pub use governor::GleanerGovernor;
pub use licences::Licences;
pub use parameters::Parameters;
pub use rewards::Rewards;
pub use stake::Stake;
pub use timelock::Timelock;
pub use token::Token;
pub use vesting::Vesting;
pub use vouchers::Vouchers;

/// The artifacts' text, for names of errors and their arguments.
pub(crate) const ARTIFACTS: [&str; 11] = [
    include_str!("../../../contracts/artifacts/Escrow.json"),
    include_str!("../../../contracts/artifacts/Stake.json"),
    include_str!("../../../contracts/artifacts/Token.json"),
    include_str!("../../../contracts/artifacts/Court.json"),
    include_str!("../../../contracts/artifacts/Vouchers.json"),
    include_str!("../../../contracts/artifacts/Rewards.json"),
    include_str!("../../../contracts/artifacts/GleanerGovernor.json"),
    include_str!("../../../contracts/artifacts/Timelock.json"),
    include_str!("../../../contracts/artifacts/Parameters.json"),
    include_str!("../../../contracts/artifacts/Vesting.json"),
    include_str!("../../../contracts/artifacts/Licences.json"),
];
