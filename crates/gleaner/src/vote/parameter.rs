//! The numbers of the economy, as people write and read them.
use std::str::FromStr;

use gleaner_chain::primitives::U256;
use gleaner_wire::Amount;

use crate::words;

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// Hundredths of a percent.
    Share,
    /// Units of 10⁻⁹ GLN.
    Money,
    /// Seconds.
    Time,
    /// Pieces.
    Count,
}

/// A number that votes may change.
#[derive(Debug, PartialEq, Eq)]
pub struct Parameter {
    /// As people write it.
    pub name: &'static str,
    /// As contracts and genesis files write it.
    pub raw: &'static str,
    unit: Unit,
}

/// A new value for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which.
    pub parameter: &'static Parameter,
    /// The value, as the contract counts it.
    pub value: u64,
}

const fn of(name: &'static str, raw: &'static str, unit: Unit) -> Parameter {
    Parameter { name, raw, unit }
}

static PARAMETERS: [Parameter; 15] = [
    of("platform-share", "platformShareBps", Unit::Share),
    of("slash-share", "slashShareBps", Unit::Share),
    of("bond-share", "bondShareBps", Unit::Share),
    of("reward-cap", "rewardCapBps", Unit::Share),
    of("minimum-stake", "minimumStake", Unit::Money),
    of("hub-stake", "hubStake", Unit::Money),
    of("work-lock", "workLock", Unit::Money),
    of("hub-lock", "hubLock", Unit::Money),
    of("challenge-window", "challengeWindow", Unit::Time),
    of("voting-window", "votingWindow", Unit::Time),
    of("unbonding", "unbondingDelay", Unit::Time),
    of("committee-size", "committeeSize", Unit::Count),
    of("emission", "emissionPerEpoch", Unit::Money),
    of("epoch-length", "epochLength", Unit::Time),
    of("order-duration", "orderDurationMax", Unit::Time),
];

impl Parameter {
    /// The parameter that contracts call so.
    pub fn of_raw(raw: &str) -> Option<&'static Self> {
        PARAMETERS.iter().find(|parameter| parameter.raw == raw)
    }

    /// A value as people read it.
    pub fn say(&self, value: U256) -> String {
        let Ok(value) = u64::try_from(value) else { return value.to_string() };
        match self.unit {
            Unit::Share => share(value),
            Unit::Money => words::money(Amount(value)),
            Unit::Time => seconds(value),
            Unit::Count => value.to_string(),
        }
    }

    fn read(&self, text: &str) -> Result<u64, String> {
        let wrong = |example: &str| format!("`{text}` is not a value for {}: write {}={example}", self.name, self.name);
        match self.unit {
            Unit::Share => read_share(text).ok_or_else(|| wrong("12%")),
            Unit::Money => text.parse::<Amount>().map(|amount| amount.0).map_err(|_| wrong("\"20 GLN\"")),
            Unit::Time => read_seconds(text).ok_or_else(|| wrong("12h, with s, m, h or d")),
            Unit::Count => text.parse().map_err(|_| wrong("5")),
        }
    }
}

impl FromStr for Change {
    type Err = String;

    /// `platform-share=12%`; under their raw names values may also be raw, as in `platformShareBps=1200`.
    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, value)) = text.split_once('=') else {
            return Err("write NAME=VALUE, such as platform-share=12%".to_owned());
        };
        let (name, value) = (name.trim(), value.trim());
        let parameter = PARAMETERS.iter().find(|parameter| parameter.name == name || parameter.raw == name);
        let parameter = parameter.ok_or_else(|| {
            let names: Vec<&str> = PARAMETERS.iter().map(|parameter| parameter.name).collect();
            format!("there is no number called `{name}`; there are {}", names.join(", "))
        })?;
        let raw = (parameter.raw == name).then(|| value.parse().ok()).flatten();
        let value = raw.map_or_else(|| parameter.read(value), Ok)?;
        Ok(Self { parameter, value })
    }
}

fn share(points: u64) -> String {
    match (points / 100, points % 100) {
        (whole, 0) => format!("{whole} %"),
        (whole, rest) if rest % 10 == 0 => format!("{whole}.{} %", rest / 10),
        (whole, rest) => format!("{whole}.{rest:02} %"),
    }
}

/// `12%`, `12.5 %`: in hundredths of a percent, to the last of them.
fn read_share(text: &str) -> Option<u64> {
    let number = text.strip_suffix('%')?.trim_end();
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > 2 || !digits(whole) || !digits(decimals) {
        return None;
    }
    let rest: u64 = format!("{decimals:0<2}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(100)?.checked_add(rest)
}

/// Seconds in the largest unit that keeps them whole: `30 s`, `12 h`, `7 d`.
pub fn seconds(value: u64) -> String {
    match value {
        0 => "0 s".to_owned(),
        _ if value.is_multiple_of(86_400) => format!("{} d", value / 86_400),
        _ if value.is_multiple_of(3_600) => format!("{} h", value / 3_600),
        _ if value.is_multiple_of(60) => format!("{} m", value / 60),
        _ => format!("{value} s"),
    }
}

fn read_seconds(text: &str) -> Option<u64> {
    let units = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)];
    let (number, factor) = units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(*unit)?, *factor)))?;
    number.trim_end().parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_the_contracts_has_a_name_for_people() {
        let raw: Vec<&str> = PARAMETERS.iter().map(|parameter| parameter.raw).collect();
        assert_eq!(raw, gleaner_chain::genesis::PARAMETERS);
    }

    #[test]
    fn changes_are_read_with_their_units() {
        let value = |text: &str| text.parse::<Change>().map(|change| (change.parameter.raw, change.value));
        assert_eq!(value("platform-share=12%"), Ok(("platformShareBps", 1_200)));
        assert_eq!(value("slash-share = 12.25 %"), Ok(("slashShareBps", 1_225)));
        assert_eq!(value("minimum-stake=20 GLN"), Ok(("minimumStake", 20_000_000_000)));
        assert_eq!(value("challenge-window=12h"), Ok(("challengeWindow", 43_200)));
        assert_eq!(value("unbonding=7d"), Ok(("unbondingDelay", 604_800)));
        assert_eq!(value("emission=500 GLN"), Ok(("emissionPerEpoch", 500_000_000_000)));
        assert_eq!(value("committee-size=7"), Ok(("committeeSize", 7)));
        assert_eq!(value("platformShareBps=1200"), Ok(("platformShareBps", 1_200)));
        assert_eq!(value("minimumStake=20000000000"), Ok(("minimumStake", 20_000_000_000)));
        assert_eq!(value("unbondingDelay=7d"), Ok(("unbondingDelay", 604_800)));
    }

    #[test]
    fn a_number_whose_unit_must_be_guessed_is_refused() {
        let texts = ["platform-share=12", "challenge-window=12", "platform-share=-1%", "platform-share=1.234%"];
        let more = ["platform-share", "rent=5%", "unbonding=7w", "committee-size=5%", "platform-share=%", "emission=x"];
        for text in texts.iter().chain(&more) {
            assert!(text.parse::<Change>().is_err(), "{text}");
        }
    }

    #[test]
    fn values_are_said_as_they_are_written() {
        let say = |raw: &str, value: u64| Parameter::of_raw(raw).expect("a parameter").say(U256::from(value));
        assert_eq!([say("platformShareBps", 1_500), say("platformShareBps", 1_250)], ["15 %", "12.5 %"]);
        assert_eq!([say("unbondingDelay", 604_800), say("challengeWindow", 90)], ["7 d", "90 s"]);
        assert_eq!([say("minimumStake", 20_000_000_000), say("committeeSize", 5)], ["20 GLN", "5"]);
    }
}
