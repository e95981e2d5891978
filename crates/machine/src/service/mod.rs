//! `gleaner share` as a service of the user: the texts, and putting them in place. Nothing here updates anything, and
//! removing it leaves nothing behind.
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

mod launchd;
mod systemd;
mod windows;

/// The line by which a file is known to be ours.
const MARK: &str = "Written by `gleaner share --install`; removed by `gleaner share --uninstall`.";

/// Which kind of services a system has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Platform {
    /// Linux with systemd: a unit of the user.
    Systemd,
    /// macOS: an agent of the user.
    Launchd,
    /// Windows: instructions, because a task there is made by commands and not by a file.
    Windows,
}

/// What the service runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The program, by its whole path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Where the worker keeps its files.
    pub dir: PathBuf,
    /// Variables of the owner's session that it needs: a service starts without them.
    pub environment: Vec<(String, String)>,
}

/// What was done, and what is left for the owner or the caller to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The file that was written or removed; `None` if there is none.
    pub file: Option<PathBuf>,
    /// Commands to run, in this order.
    pub commands: Vec<Vec<String>>,
    /// What else the owner should know.
    pub words: String,
}

/// Why a service cannot be installed or removed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A path or argument that cannot be written into such a file.
    #[error("`{0}` cannot be part of a service: it is not plain text, or not a whole path")]
    Text(String),
    /// A file of somebody else is in the way.
    #[error("{} was not written by Gleaner: move it away first", .0.display())]
    Foreign(PathBuf),
    /// The file cannot be written or removed.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
}

impl Platform {
    /// The kind of this system.
    pub fn here() -> Self {
        match std::env::consts::OS {
            "macos" => Self::Launchd,
            "windows" => Self::Windows,
            _ => Self::Systemd,
        }
    }

    /// Where the service's file belongs below a home; none on Windows.
    pub fn file(self, home: &Path) -> Option<PathBuf> {
        match self {
            Self::Systemd => Some(home.join(".config/systemd/user").join(systemd::NAME)),
            Self::Launchd => Some(home.join("Library/LaunchAgents").join(launchd::NAME)),
            Self::Windows => None,
        }
    }

    /// The text of the service's file, or the instructions.
    pub fn render(self, service: &Service) -> Result<String, Error> {
        let texts = service.texts()?;
        Ok(match self {
            Self::Systemd => systemd::render(&texts),
            Self::Launchd => launchd::render(&texts),
            Self::Windows => windows::render(&texts),
        })
    }

    /// Puts the service in place below a home. Doing it twice is doing it once.
    pub fn install(self, home: &Path, service: &Service) -> Result<Done, Error> {
        let text = self.render(service)?;
        let Some(path) = self.file(home) else {
            return Ok(Done { file: None, commands: Vec::new(), words: text });
        };
        refuse_foreign(&path)?;
        write(&path, &text)?;
        let (commands, words) = match self {
            Self::Systemd => (systemd::start(), systemd::WORDS),
            Self::Launchd => (launchd::start(&path), ""),
            Self::Windows => (Vec::new(), ""),
        };
        Ok(Done { file: Some(path), commands, words: words.to_owned() })
    }

    /// The commands that stop what runs, to be run before it is taken away; none without it.
    pub fn stop(self, home: &Path) -> Result<Vec<Vec<String>>, Error> {
        let Some(path) = self.file(home).filter(|path| path.exists()) else { return Ok(Vec::new()) };
        refuse_foreign(&path)?;
        Ok(match self {
            Self::Systemd => systemd::stop(),
            Self::Launchd => launchd::stop(),
            Self::Windows => Vec::new(),
        })
    }

    /// Takes it away again; without it, nothing is done.
    pub fn uninstall(self, home: &Path) -> Result<Done, Error> {
        let Some(path) = self.file(home) else {
            return Ok(Done { file: None, commands: Vec::new(), words: windows::REMOVE.to_owned() });
        };
        if !path.exists() {
            return Ok(Done { file: None, commands: Vec::new(), words: String::new() });
        }
        refuse_foreign(&path)?;
        let source = |source| Error::File { action: "remove", path: path.clone(), source };
        std::fs::remove_file(&path).map_err(source)?;
        let commands = match self {
            Self::Systemd => systemd::forget(),
            Self::Launchd | Self::Windows => Vec::new(),
        };
        Ok(Done { file: Some(path), commands, words: String::new() })
    }
}

/// A service whose paths and arguments are plain text.
struct Texts<'a> {
    program: &'a str,
    arguments: Vec<&'a str>,
    dir: &'a str,
    environment: Vec<(&'a str, &'a str)>,
}

impl Service {
    fn texts(&self) -> Result<Texts<'_>, Error> {
        let refuse = |path: &Path| Error::Text(path.display().to_string());
        if let Some(path) = [&self.program, &self.dir].into_iter().find(|path| !path.is_absolute()) {
            return Err(refuse(path));
        }
        let program = self.program.to_str().ok_or_else(|| refuse(&self.program))?;
        let dir = self.dir.to_str().ok_or_else(|| refuse(&self.dir))?;
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let environment: Vec<(&str, &str)> =
            self.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let variables = environment.iter().flat_map(|(name, value)| [*name, *value]);
        let mut all = [program, dir].into_iter().chain(arguments.iter().copied()).chain(variables);
        match all.find(|text| text.chars().any(char::is_control)) {
            Some(text) => Err(Error::Text(text.escape_debug().to_string())),
            None => Ok(Texts { program, arguments, dir, environment }),
        }
    }
}

fn refuse_foreign(path: &Path) -> Result<(), Error> {
    match std::fs::read_to_string(path) {
        Ok(text) if text.contains(MARK) => Ok(()),
        Ok(_) => Err(Error::Foreign(path.to_path_buf())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(Error::File { action: "read", path: path.to_path_buf(), source }),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    let folder = path.parent().expect("the path of a service is below a home");
    let attempt = || {
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    attempt().map_err(|source| Error::File { action: "write", path: path.to_path_buf(), source })
}

fn words(command: &[&str]) -> Vec<String> {
    command.iter().map(|&word| word.to_owned()).collect()
}
