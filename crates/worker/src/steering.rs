//! What the owner sets from afar, through an account of the hub. It is checked here, by the machine itself, kept in the
//! worker's folder and in force from then on; a machine that its owner has not paired with an account takes none.
//!
//! The last word counts, wherever it was said: when what is configured on the machine changes, that holds again.
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gleaner_machine::Preferences;
use gleaner_machine::governor::Hours;
use gleaner_machine::preferences::Price;
use gleaner_wire::machine::{
    DeviceReading, HOURS_BYTES_MAX, MachineReport, MachineSettings, PricePolicy, SettingsView, shortened,
};
use gleaner_wire::{Amount, DeviceOffer, Offer, ToHub};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch};

/// The file in the worker's folder.
const FILE: &str = "set-by-owner.json";
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// Answers that wait for the hub, which asks for one at a time.
const ANSWERS_MAX: usize = 16;

/// What was read of the devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// Each of them, in the order of the offer.
    pub devices: Vec<DeviceReading>,
    /// What the electricity for their work has cost so far.
    pub energy: Option<Amount>,
}

/// Something that was set, and what the machine was configured to when it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Over<T, C> {
    set: T,
    configured: C,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    price: Option<Over<PricePolicy, Price>>,
    hours: Option<Over<Hours, Hours>>,
}

/// What is in force on this machine, and who may change it.
pub struct Steering {
    file: PathBuf,
    configured: Preferences,
    kept: Mutex<Kept>,
    paired: AtomicBool,
    in_force: watch::Sender<Preferences>,
    /// How the devices do.
    pub(crate) readings: watch::Sender<Readings>,
    answers: mpsc::Sender<ToHub>,
    waiting: tokio::sync::Mutex<mpsc::Receiver<ToHub>>,
}

impl Steering {
    /// Reads what was set before, of a machine that is configured like this.
    pub fn open(dir: &Path, configured: Preferences, paired: bool) -> Self {
        let file = dir.join(FILE);
        let mut kept = read(&file);
        // Whoever has changed it on the machine since then has had the last word.
        kept.price.take_if(|over| over.configured != configured.price);
        kept.hours.take_if(|over| over.configured != configured.hours);
        let in_force = watch::Sender::new(overlaid(&configured, &kept));
        let (answers, waiting) = mpsc::channel(ANSWERS_MAX);
        Self {
            file,
            configured,
            kept: Mutex::new(kept),
            paired: AtomicBool::new(paired),
            in_force,
            readings: watch::Sender::default(),
            answers,
            waiting: tokio::sync::Mutex::new(waiting),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is in force, now and from then on.
    pub fn in_force(&self) -> watch::Receiver<Preferences> {
        self.in_force.subscribe()
    }

    /// The account's token is not taken, so nothing is taken from the account either.
    pub fn unpair(&self) {
        self.paired.store(false, Ordering::Release);
    }

    /// What the hub is told.
    pub fn report(&self) -> MachineReport {
        let Readings { devices, energy } = self.readings.borrow().clone();
        // First of all, because whoever sets something has this lock and then takes the other.
        let set = self.kept().price.as_ref().map(|over| over.set);
        let preferences = self.in_force.borrow();
        let asked = match preferences.price {
            Price::Market => PricePolicy::Market,
            Price::PerSecond(price) => PricePolicy::of_second(price),
        };
        // As it was written: by the hour it need not be a whole number of units a second.
        let price = set.unwrap_or(asked);
        let hours = if preferences.hours == Hours::default() { String::new() } else { preferences.hours.to_string() };
        MachineReport { devices, price, hours, energy, paired: self.paired.load(Ordering::Acquire) }
    }

    /// Does what an account of the hub asks for, and answers. Called on a thread that may wait for the disk; `floors` are
    /// what each device must earn in a second.
    pub fn answer(&self, number: u64, settings: &MachineSettings, devices: &[DeviceOffer], floors: &[Option<Amount>]) {
        let set = self.set(settings, devices, floors);
        let answer = set.map(|()| self.report()).map_err(|reason| shortened(&reason));
        if let Err(error) = self.answers.try_send(ToHub::Set { number, answer }) {
            tracing::debug!(%error, "an answer to the owner is not sent");
        }
    }

    /// The next answer for the hub.
    pub async fn next(&self) -> ToHub {
        match self.waiting.lock().await.recv().await {
            Some(answer) => answer,
            // The sender is part of this, so it outlives the wait.
            None => std::future::pending().await,
        }
    }

    fn set(
        &self,
        settings: &MachineSettings,
        devices: &[DeviceOffer],
        floors: &[Option<Amount>],
    ) -> Result<(), String> {
        if !self.paired.load(Ordering::Acquire) {
            return Err(
                "this machine is not paired with an account, so it is set on the machine itself: start it with \
                        `gleaner share --account-token-file FILE`, FILE holding a token with the scope `provide`"
                    .to_owned(),
            );
        }
        let mut kept = self.kept();
        let mut wanted = kept.clone();
        if let Some(set) = settings.price {
            check_price(set, devices, floors)?;
            wanted.price = Some(Over { set, configured: self.configured.price });
        }
        if let Some(hours) = &settings.hours {
            let set = read_hours(hours)?;
            wanted.hours = Some(Over { set, configured: self.configured.hours.clone() });
        }
        if wanted != *kept {
            write(&self.file, &wanted).map_err(|error| format!("the machine could not keep it: {error}"))?;
            *kept = wanted;
            self.in_force.send_replace(overlaid(&self.configured, &kept));
        }
        Ok(())
    }
}

/// What is in force: what was set, and otherwise what is configured.
fn overlaid(configured: &Preferences, kept: &Kept) -> Preferences {
    let mut preferences = configured.clone();
    if let Some(over) = &kept.price {
        preferences.price = over.set.per_second().map_or(Price::Market, Price::PerSecond);
    }
    if let Some(over) = &kept.hours {
        preferences.hours = over.set.clone();
    }
    preferences
}

/// Nobody works at a loss, and no price is too high for an offer.
fn check_price(price: PricePolicy, devices: &[DeviceOffer], floors: &[Option<Amount>]) -> Result<(), String> {
    let Some(per_second) = price.per_second() else { return Ok(()) };
    for (number, (device, floor)) in devices.iter().zip(floors).enumerate() {
        let cards = u64::from(device.cards.max(1));
        let asked = Amount(per_second.0.saturating_mul(cards));
        if asked > Offer::PRICE_MAX {
            return Err(format!("{price} GLN an hour is more than any device may ask"));
        }
        let Some(least) = floor.filter(|floor| asked < *floor) else { continue };
        let PricePolicy::PerHour(least) = PricePolicy::of_second(Amount(least.0.div_ceil(cards))) else { continue };
        return Err(format!(
            "{price} GLN an hour would not pay for the electricity of device {number} ({}): ask at least {least} GLN",
            device.name
        ));
    }
    Ok(())
}

fn read_hours(text: &str) -> Result<Hours, String> {
    if text.len() > HOURS_BYTES_MAX {
        return Err(format!("hours have at most {HOURS_BYTES_MAX} characters"));
    }
    if text.trim().is_empty() {
        return Ok(Hours::default());
    }
    text.parse::<Hours>().map_err(|error| error.to_string())
}

/// What was set before. A file that cannot be read is as good as none: then what is configured holds.
fn read(file: &Path) -> Kept {
    use std::io::Read;
    let mut text = String::new();
    match std::fs::File::open(file).and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text)) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Kept::default(),
        Err(error) => {
            tracing::warn!(%error, "what the owner set from afar cannot be read: the machine's own configuration holds");
            return Kept::default();
        }
    }
    serde_json::from_str(&text).unwrap_or_else(|error| {
        tracing::warn!(%error, "what the owner set from afar makes no sense: the machine's own configuration holds");
        Kept::default()
    })
}

/// Keeps all of it or nothing.
fn write(file: &Path, kept: &Kept) -> std::io::Result<()> {
    use std::io::Write;
    let new = file.with_extension("new");
    let mut open = std::fs::File::create(&new)?;
    open.write_all(&serde_json::to_vec_pretty(kept)?)?;
    open.sync_all()?;
    std::fs::rename(new, file)
}

/// What is in force, as an owner reads it.
pub fn in_words(report: &MachineReport) -> String {
    let SettingsView { price, hours } = SettingsView::of(report);
    let price = match price {
        PricePolicy::Market => "the market's price".to_owned(),
        PricePolicy::PerHour(price) => format!("{price} GLN an hour"),
    };
    format!("{price}, shared {}", hours.unwrap_or_else(|| "always".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::{ByteSize, DeviceKind};

    fn device(cards: u16) -> DeviceOffer {
        DeviceOffer {
            kind: DeviceKind::Nvidia,
            name: "card".to_owned(),
            memory: ByteSize(24 << 30),
            cards,
            slots: 1,
            network: false,
            eevee: false,
            price_per_second: Amount::ZERO,
            runtimes: Vec::new(),
        }
    }

    fn settings(price: Option<&str>, hours: Option<&str>) -> MachineSettings {
        let price = price.map(|price| price.parse().expect("a price"));
        MachineSettings { price, hours: hours.map(str::to_owned) }
    }

    fn configured(text: &str) -> Preferences {
        Preferences::parse(text).expect("right")
    }

    #[test]
    fn what_is_set_is_in_force_at_once_and_after_a_restart() {
        let dir = tempfile::tempdir().expect("a folder");
        let steering = Steering::open(dir.path(), configured(""), true);
        let mut seen = steering.in_force();
        steering.set(&settings(Some("0.35"), Some("22:00-07:00")), &[device(1)], &[None]).expect("taken");
        assert!(seen.has_changed().expect("it is there"));
        assert_eq!(seen.borrow_and_update().price, Price::PerSecond(Amount(97_223)));
        let again = Steering::open(dir.path(), configured(""), true);
        let report = again.report();
        assert_eq!((report.price.to_string().as_str(), report.hours.as_str()), ("0.35", "22:00-07:00"));
        again.set(&settings(None, Some("")), &[device(1)], &[None]).expect("taken");
        assert_eq!(again.report().hours, "", "always, and the price stays");
        assert_eq!(again.in_force().borrow().price, Price::PerSecond(Amount(97_223)));
    }

    #[test]
    fn whoever_changes_it_on_the_machine_has_the_last_word() {
        let dir = tempfile::tempdir().expect("a folder");
        let steering = Steering::open(dir.path(), configured(""), true);
        steering.set(&settings(Some("0.35"), Some("22:00-07:00")), &[device(1)], &[None]).expect("taken");
        let changed = Steering::open(dir.path(), configured("price = \"0.001 GLN\""), true);
        assert_eq!(changed.in_force().borrow().price, Price::PerSecond(Amount(1_000_000)));
        assert_eq!(changed.report().hours, "22:00-07:00", "of the hours nothing was said");
    }

    #[test]
    fn a_price_below_the_electricity_is_refused_with_the_least_one() {
        let dir = tempfile::tempdir().expect("a folder");
        let steering = Steering::open(dir.path(), configured(""), true);
        let floors = [Some(Amount(200_000))];
        let refused = steering.set(&settings(Some("0.35"), None), &[device(2)], &floors).expect_err("at a loss");
        assert!(refused.contains("device 0 (card): ask at least 0.36 GLN"), "{refused}");
        steering.set(&settings(Some("0.36"), None), &[device(2)], &floors).expect("pays");
        steering.set(&settings(Some("market"), None), &[device(2)], &floors).expect("never goes below");
        let dear = steering.set(&settings(Some("10000000"), None), &[device(1)], &[None]).expect_err("too dear");
        assert!(dear.contains("more than any device may ask"), "{dear}");
    }

    #[test]
    fn senseless_hours_are_refused_and_change_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let steering = Steering::open(dir.path(), configured(""), true);
        let refused = steering.set(&settings(Some("0.5"), Some("at night")), &[device(1)], &[None]);
        assert!(refused.expect_err("no hours").contains("is not a range of hours"));
        assert_eq!(steering.report().price, PricePolicy::Market, "all or nothing");
        assert!(!dir.path().join(FILE).exists());
    }

    #[test]
    fn a_machine_that_is_not_paired_takes_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let steering = Steering::open(dir.path(), configured(""), false);
        let refused = steering.set(&settings(Some("0.5"), None), &[device(1)], &[None]).expect_err("refused");
        assert!(refused.contains("--account-token-file"), "{refused}");
        let paired = Steering::open(dir.path(), configured(""), true);
        paired.unpair();
        assert!(paired.set(&settings(Some("0.5"), None), &[device(1)], &[None]).is_err());
        assert!(!paired.report().paired);
    }

    #[test]
    fn a_damaged_file_leaves_what_is_configured() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join(FILE), "nonsense").expect("written");
        assert_eq!(*Steering::open(dir.path(), configured(""), true).in_force().borrow(), configured(""));
    }
}
