//! How a job finds its workers and what it pays for how firm a place: `[market]` of a job file.
#[cfg(feature = "openapi")]
use alloc::string::String;
#[cfg(feature = "openapi")]
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

/// The `[market]` table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Market {
    /// How workers are chosen and paid.
    #[serde(default)]
    pub mode: Mode,
    /// How firm a place on a worker is.
    #[serde(default)]
    pub tier: Tier,
}

/// How workers are chosen and paid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = MarketMode))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// By the standing prices of their offers.
    #[default]
    Posted,
    /// By sealed bids for the task, the best of which is paid what the second best would have had to be paid.
    Auction,
    /// Several may take a task, and the first valid answer is paid.
    Race,
}

/// How firm a place on a worker is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = MarketTier))]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Kept for the job, and never taken from it.
    Reserved,
    /// Taken when it is there, and kept until the task ends.
    #[default]
    OnDemand,
    /// Cheaper, and given up with notice when somebody pays more.
    Interruptible,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Posted => "posted",
            Self::Auction => "auction",
            Self::Race => "race",
        })
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reserved => "reserved",
            Self::OnDemand => "on-demand",
            Self::Interruptible => "interruptible",
        })
    }
}

impl fmt::Display for Market {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.mode, self.tier)
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_market_is_read_by_the_names_it_is_shown_with() {
        for mode in [Mode::Posted, Mode::Auction, Mode::Race] {
            for tier in [Tier::Reserved, Tier::OnDemand, Tier::Interruptible] {
                let text = alloc::format!("mode = \"{mode}\"\ntier = \"{tier}\"");
                assert_eq!(toml::from_str(&text), Ok(Market { mode, tier }));
            }
        }
    }

    #[test]
    fn what_is_left_out_is_posted_and_on_demand() {
        assert_eq!(toml::from_str::<Market>("").map(|market| market.to_string()), Ok("posted, on-demand".into()));
        assert!(toml::from_str::<Market>("mood = \"auction\"").is_err());
    }
}
