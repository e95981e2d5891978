//! A device that is a file: a person or a test writes what it should show, and everything behind it is real.
use std::path::{Path, PathBuf};

use gleaner_wire::{ByteSize, Millis};
use serde::{Deserialize, Serialize};

use crate::governor::{Input, Owner, Usage};
use crate::inventory::Display;
use crate::probe::nvml::GpuProcess;

/// The name of the file in the worker's folder.
pub const FILE_NAME: &str = "simulated-device.toml";
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// What the file says. One that says nothing is an idle device on a machine where nobody sits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Simulated {
    /// How busy the device is.
    pub busy_percent: u8,
    /// How much of its memory is taken.
    pub memory_used: ByteSize,
    /// How hot it is.
    pub celsius: i16,
    /// What it draws; it does not tell without.
    pub watts: Option<u64>,
    /// Whether it drives a display.
    pub drives_display: bool,
    /// Seconds since the last key; nobody is there without it.
    pub input_idle_s: Option<u64>,
    /// Whether an application fills the screen.
    pub fullscreen: bool,
    /// Whether the machine runs on its battery.
    pub on_battery: bool,
    /// Processes on the device.
    pub process: Vec<GpuProcess>,
}

/// Why the file cannot be used.
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
    /// It makes no sense.
    #[error("{} makes no sense: {reason}", path.display())]
    Text {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl Simulated {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        use std::io::Read;
        let fault = |source| Error::File { path: path.to_path_buf(), source };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(fault)?;
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(fault)?;
        let wrong =
            |error: toml::de::Error| Error::Text { path: path.to_path_buf(), reason: error.message().to_owned() };
        toml::from_str(&text).map_err(wrong)
    }

    /// The device, as the governor looks at it.
    pub fn usage(&self) -> Usage {
        Usage {
            busy_percent: Some(self.busy_percent.min(100)),
            memory_used: Some(self.memory_used),
            celsius: Some(self.celsius),
            power_mw: self.watts.map(|watts| watts.saturating_mul(1000)),
            processes: Some(self.process.clone()),
            display: if self.drives_display { Display::Driven } else { Display::None },
        }
    }

    /// The person, as the governor looks at them.
    pub fn owner(&self) -> Owner {
        let idle = |seconds: u64| Input::Idle(Millis(seconds.saturating_mul(1000)));
        Owner {
            input: self.input_idle_s.map_or(Input::Nobody, idle),
            fullscreen: Some(self.fullscreen),
            on_battery: self.on_battery,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_game_in_the_file_is_a_game_on_the_device() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FILE_NAME);
        std::fs::write(&path, "busy_percent = 90\n[[process]]\npid = 7\nname = \"game\"\nmemory = \"3GiB\"\n")
            .expect("written");
        let simulated = Simulated::read(&path).expect("the file is right");
        assert_eq!(simulated.usage().processes.map(|list| list[0].name.clone()).as_deref(), Some("game"));
        assert_eq!((simulated.owner().input, simulated.usage().power_mw), (Input::Nobody, None));
        std::fs::write(&path, "watts = 300\n").expect("written");
        assert_eq!(Simulated::read(&path).expect("the file is right").usage().power_mw, Some(300_000));
        std::fs::write(&path, "busy = 90\n").expect("written");
        assert!(matches!(Simulated::read(&path), Err(Error::Text { .. })));
    }
}
