//! The owner's file: what the machine may be used for, when, and for how much. Mistakes are told with their line.
use std::path::{Path, PathBuf};

use gleaner_wire::{Amount, ByteSize, Millis};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::bid::Bid;
use crate::energy::{Milliwatts, Money, Tariff, TariffError};
use crate::governor::Hours;

const FILE_BYTES_MAX: u64 = 64 * 1024;
const WATTS_MAX: u64 = 100_000;
const CELSIUS: std::ops::RangeInclusive<i16> = 30..=120;
const FREE_WITHIN_MAX: Millis = Millis(60_000);
const COMMAND_CHARS_MAX: usize = 4096;
const IMAGES_MAX: ByteSize = ByteSize(64 << 30);
/// Programs that every desktop has on its GPU. They draw what others do, and say nothing about the owner.
const DESKTOP: [&str; 14] = [
    "Xorg",
    "X",
    "Xwayland",
    "gnome-shell",
    "mutter",
    "kwin_x11",
    "kwin_wayland",
    "plasmashell",
    "sway",
    "Hyprland",
    "weston",
    "xfwm4",
    "cinnamon",
    "WindowServer",
];

/// Everything that an owner can say. A file that says nothing is a good one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Preferences {
    /// What a second of one device costs.
    pub price: Price,
    /// How the machine bids where tasks are sold by auction.
    pub bid: Bid,
    /// What a kilowatt hour costs the owner.
    pub tariff: Option<Money>,
    /// What one GLN is worth to the owner.
    pub gln_price: Option<Money>,
    /// What the machine draws at the wall while it works, for each device, in watts.
    pub watts: Option<u64>,
    /// When the machine may be shared.
    pub hours: Hours,
    /// A command that runs while there are no tasks.
    pub idle_command: Option<String>,
    /// Whether a machine on its battery is left alone.
    pub pause_on_battery: bool,
    /// The temperature at which a device is left alone.
    pub celsius_max: i16,
    /// Memory of each device that is never used.
    pub memory_keep: ByteSize,
    /// Disk that fetched images of containers may take up together.
    pub images_max: ByteSize,
    /// When a device counts as used by its owner.
    #[serde(rename = "yield")]
    pub idle: IdleLimits,
}

/// A price, or the market's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Price {
    /// What others ask for such a device, but never below the floor.
    #[default]
    Market,
    /// So much for a second.
    PerSecond(Amount),
}

/// When a device counts as used by its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IdleLimits {
    /// Load of others from which on a device is in use.
    pub load_percent: u8,
    /// Memory of others from which on a device is in use.
    pub memory: ByteSize,
    /// What drivers and desktops take for themselves, until less has been seen.
    pub driver_memory: ByteSize,
    /// How long others have to be gone.
    #[serde(with = "span")]
    pub process_quiet: Millis,
    /// How long keyboard and mouse have to be untouched.
    #[serde(with = "span")]
    pub input_quiet: Millis,
    /// How soon a device is free after its owner wants it.
    #[serde(with = "span")]
    pub free_within: Millis,
    /// On which devices keyboard and mouse count.
    pub input: YieldToInput,
    /// Whether an application that fills the screen counts.
    pub fullscreen: bool,
    /// What is done where it cannot be told whether somebody is there.
    pub unknown: Unknown,
    /// Programs that do not count.
    pub ignore: Vec<String>,
}

/// On which devices keyboard and mouse count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum YieldToInput {
    /// On all of them.
    Any,
    /// On those that drive a display, or may.
    Display,
    /// On none.
    Never,
}

/// What is done where it cannot be told whether somebody is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unknown {
    /// The device is left alone.
    Hold,
    /// The device is shared.
    Share,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            price: Price::Market,
            bid: Bid::Fixed,
            tariff: None,
            gln_price: None,
            watts: None,
            hours: Hours::default(),
            idle_command: None,
            pause_on_battery: true,
            celsius_max: 90,
            memory_keep: ByteSize(0),
            images_max: IMAGES_MAX,
            idle: IdleLimits::default(),
        }
    }
}

impl Default for IdleLimits {
    fn default() -> Self {
        Self {
            load_percent: 15,
            memory: ByteSize::mib(512),
            driver_memory: ByteSize::mib(1024),
            process_quiet: Millis(60_000),
            input_quiet: Millis(5 * 60_000),
            free_within: Millis(2000),
            input: YieldToInput::Any,
            fullscreen: true,
            unknown: Unknown::Hold,
            ignore: DESKTOP.iter().map(|&name| name.to_owned()).collect(),
        }
    }
}

impl IdleLimits {
    /// Whether a program does not count.
    pub fn is_ignored(&self, program: &str) -> bool {
        self.ignore.iter().any(|name| name == program)
    }
}

/// Why the owner's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A mistake on a line.
    #[error("line {line}: {reason}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

impl Preferences {
    /// Reads a file; one that is not there says nothing.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let fault = |source| Error::File { path: path.to_path_buf(), source };
        match std::fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(fault(error)),
            Ok(found) if found.len() > FILE_BYTES_MAX => {
                return Err(Error::Line { line: 1, reason: format!("the file is larger than {FILE_BYTES_MAX} bytes") });
            }
            Ok(_) => {}
        }
        Self::parse(&std::fs::read_to_string(path).map_err(fault)?)
    }

    /// Reads a text.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let read: Self = toml::from_str(text).map_err(|error| Error::Line {
            line: error.span().map_or(1, |span| line_at(text, span.start)),
            reason: error.message().to_owned(),
        })?;
        match read.check() {
            Ok(()) => Ok(read),
            Err((key, reason)) => Err(Error::Line { line: line_of(text, key), reason }),
        }
    }

    /// The tariff in tokens, if the owner named both prices.
    pub fn tariff(&self) -> Result<Option<Tariff>, TariffError> {
        match (self.tariff, self.gln_price) {
            (Some(per_kwh), Some(per_gln)) => Tariff::new(per_kwh, per_gln).map(Some),
            (None, None | Some(_)) | (Some(_), None) => Ok(None),
        }
    }

    /// What the owner says that a device draws.
    pub fn power(&self) -> Option<Milliwatts> {
        self.watts.map(|watts| Milliwatts(watts * 1000))
    }

    fn check(&self) -> Result<(), (&'static str, String)> {
        let refuse = |key, reason: &str| Err((key, reason.to_owned()));
        if self.tariff.is_some() && self.gln_price.is_none() {
            return refuse("tariff", "`tariff` needs `gln_price`, the worth of one GLN, to become a price in GLN");
        }
        if let Err(error) = self.tariff() {
            return Err(("gln_price", error.to_string()));
        }
        if self.watts.is_some_and(|watts| watts == 0 || watts > WATTS_MAX) {
            return refuse("watts", "`watts` is between 1 and 100000");
        }
        if !CELSIUS.contains(&self.celsius_max) {
            return refuse("celsius_max", "`celsius_max` is between 30 and 120");
        }
        if !(1..=100).contains(&self.idle.load_percent) {
            return refuse("load_percent", "`load_percent` is between 1 and 100");
        }
        if self.idle.free_within > FREE_WITHIN_MAX {
            return refuse("free_within", "`free_within` is at most 60s");
        }
        match &self.idle_command {
            Some(command) if command.trim().is_empty() || command.chars().count() > COMMAND_CHARS_MAX => {
                refuse("idle_command", "`idle_command` is empty or longer than 4096 characters")
            }
            Some(_) | None => Ok(()),
        }
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

fn line_of(text: &str, key: &str) -> usize {
    let is_key =
        |line: &str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
    text.lines().position(is_key).map_or(1, |index| index + 1)
}

impl Serialize for Price {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Market => serializer.serialize_str("market"),
            Self::PerSecond(amount) => serializer.collect_str(&format_args!("{amount} GLN")),
        }
    }
}

impl<'de> Deserialize<'de> for Price {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "market" {
            return Ok(Self::Market);
        }
        let wrong =
            |_| de::Error::custom(format!("`{text}` is not a price: write \"market\", or such as \"0.0004 GLN\""));
        text.parse().map(Self::PerSecond).map_err(wrong)
    }
}

mod span {
    //! Spans of time as people write them.
    use gleaner_wire::Millis;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(span: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}ms", span.0))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Millis, D::Error> {
        Millis::parse_span(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
price = "0.0004 GLN"
bid = "market"
tariff = "0.32 EUR"
gln_price = "0.05 EUR"
watts = 420
hours = ["22:00-07:00", "sat sun"]
idle_command = "miner --quiet"
pause_on_battery = false
celsius_max = 83
memory_keep = "1GiB"
images_max = "20GiB"

[yield]
load_percent = 20
memory = "256MiB"
process_quiet = "90s"
input_quiet = "10m"
free_within = "3s"
input = "display"
fullscreen = false
unknown = "share"
ignore = ["Xorg"]
"#;

    fn mistake(text: &str) -> (usize, String) {
        match Preferences::parse(text) {
            Err(Error::Line { line, reason }) => (line, reason),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn everything_that_can_be_said_is_read_and_reads_back() {
        let read = Preferences::parse(WHOLE).expect("the file is right");
        assert_eq!(read.price, Price::PerSecond(Amount(400_000)));
        assert_eq!(read.idle.input_quiet, Millis(600_000));
        assert_eq!(read.images_max, ByteSize(20 << 30));
        for preferences in [read, Preferences::default()] {
            let text = serde_json::to_string(&preferences).expect("they can be written");
            assert_eq!(serde_json::from_str::<Preferences>(&text).expect("they can be read"), preferences);
        }
    }

    #[test]
    fn an_empty_or_missing_file_gives_the_defaults() {
        assert_eq!(Preferences::parse("").expect("nothing is wrong"), Preferences::default());
        let nowhere = Preferences::read(Path::new("/no/such/preferences.toml")).expect("nothing is wrong");
        assert_eq!(nowhere, Preferences::default());
        assert!(nowhere.pause_on_battery && nowhere.celsius_max == 90);
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, line, part) in [
            ("price = \"cheap\"", 1, "is not a price"),
            ("\nhours = \"at night\"", 2, "is not a range of hours"),
            ("watts = 1\n\ntarif = \"1 EUR\"", 3, "unknown field `tarif`"),
            ("\ntariff = \"0.3 EUR\"", 2, "needs `gln_price`"),
            ("tariff = \"0.3 EUR\"\ngln_price = \"1 USD\"", 2, "one currency"),
            ("tariff = \"0.3\"", 1, "not an amount of money"),
            ("[yield]\ninput_quiet = \"soon\"", 2, "not a duration"),
            ("[yield]\n\nload_percent = 0", 3, "between 1 and 100"),
            ("[yield]\nfree_within = \"2m\"", 2, "at most 60s"),
            ("celsius_max = 300", 1, "between 30 and 120"),
            ("idle_command = \" \"", 1, "is empty"),
            ("watts = ", 1, ""),
        ] {
            let (at, reason) = mistake(text);
            assert_eq!(at, line, "{text}: {reason}");
            assert!(reason.contains(part), "{text}: {reason}");
        }
    }
}
