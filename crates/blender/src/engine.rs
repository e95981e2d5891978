//! Engines: Debian's `blender`, or the `bpy` module of a Python. Which version and build each is, and what its Cycles
//! can compute on, is asked of the engine itself.
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::card::Card;
use crate::plan::DeviceChoice;
use crate::process::{Ending, Invocation, run};
use crate::{Fault, answer};

const DOOR: &str = include_str!("python/door.py");
const SETTINGS: &str = include_str!("python/settings.py");
const ASK: &str = include_str!("python/ask.py");
const TRY_CYCLES: &str = include_str!("python/try_cycles.py");
const TRY_EEVEE: &str = include_str!("python/try_eevee.py");
/// How long an engine may take to say what it is.
const ASK_TIME_MAX: Duration = Duration::from_secs(120);
/// How long EEVEE may take for its first pixels: it compiles its shaders.
const EEVEE_TIME_MAX: Duration = Duration::from_secs(600);
/// How many devices of an engine are listed.
const DEVICES_MAX: usize = 64;
/// Letters of a build's fingerprint: 64 bits, which no two builds share by chance.
const BUILD_LETTERS: usize = 16;

/// How an engine is started.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Launch {
    /// A `blender` program.
    Blender(PathBuf),
    /// A Python that has the `bpy` module.
    Python(PathBuf),
}

impl Launch {
    /// The `blender` programs in these folders, which are usually those of `PATH`.
    pub fn in_folders<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Vec<Self> {
        let mut found: Vec<PathBuf> = Vec::new();
        for path in folders.into_iter().map(|folder| folder.join("blender")).filter(|path| path.is_file()) {
            // /bin is /usr/bin on most systems.
            let real = path.canonicalize().unwrap_or(path);
            if !found.contains(&real) {
                found.push(real);
            }
        }
        found.into_iter().map(Self::Blender).collect()
    }

    /// A program by its path: a `blender`, or a Python that has the module.
    pub fn named(path: &Path) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        if name.starts_with("python") { Self::Python(path.to_owned()) } else { Self::Blender(path.to_owned()) }
    }

    /// The command that runs a script of ours. It needs no file beside the engine's own, so that a sandbox has nothing
    /// to show but the task's folders. Scripts inside scenes stay off.
    pub(crate) fn invocation(&self, script: &[&str], specification: &impl Serialize) -> Result<Invocation, Fault> {
        let unwritable = |_| Fault::Unreadable("a path that is not UTF-8 cannot be told to the engine".into());
        let specification = serde_json::to_string(specification).map_err(unwritable)?;
        let script = [&[DOOR, SETTINGS], script].concat().join("\n");
        let (program, options): (_, &[&str]) = match self {
            Self::Blender(path) => (
                path,
                &["--background", "--factory-startup", "--disable-autoexec", "-noaudio", "--python-exit-code", "64"],
            ),
            // Isolated: neither the folder it runs in nor variables of the user add modules.
            Self::Python(path) => (path, &["-I", "-B"]),
        };
        let expression = match self {
            Self::Blender(_) => "--python-expr",
            Self::Python(_) => "-c",
        };
        let mut arguments: Vec<String> = options.iter().copied().map(String::from).collect();
        arguments.extend([expression.into(), script, "--".into(), specification]);
        Ok(Invocation { program: program.clone(), arguments, environment: environment() })
    }
}

/// No home (and no place where even root could make one), no display, no language: so that every machine starts alike.
fn environment() -> BTreeMap<String, String> {
    [("PATH", "/usr/bin:/bin"), ("HOME", "/dev/null"), ("LC_ALL", "C.UTF-8"), ("TMPDIR", "/tmp")]
        .map(|(name, value)| (name.into(), value.into()))
        .into()
}

/// The version of Blender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version {
    /// As the 3 of 3.4.1.
    pub major: u32,
    /// As the 4 of 3.4.1.
    pub minor: u32,
    /// As the 1 of 3.4.1.
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The oldest version whose settings the scripts know.
pub const OLDEST: Version = Version { major: 3, minor: 4, patch: 0 };

/// What Cycles computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum DeviceKind {
    /// The processor.
    Cpu,
    /// NVIDIA.
    Cuda,
    /// NVIDIA with ray tracing hardware.
    Optix,
    /// AMD.
    Hip,
    /// Intel.
    OneApi,
    /// Apple.
    Metal,
}

/// A device that Cycles can use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// What it is.
    pub kind: DeviceKind,
    /// What the engine calls it, stable from run to run.
    pub id: String,
    /// What people call it.
    pub name: String,
}

impl Device {
    /// The processor, which every engine has.
    pub fn processor() -> Self {
        Self { kind: DeviceKind::Cpu, id: "CPU".into(), name: "processor".into() }
    }
}

/// An engine that has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engine {
    /// How it is started.
    pub launch: Launch,
    /// Its version.
    pub version: Version,
    /// A fingerprint of the program or module itself: distributions do not always say which commit they built.
    pub build: String,
    /// Instruction sets that Cycles uses on this processor; they decide how it rounds.
    pub kernels: Vec<String>,
    /// What Cycles can use.
    pub devices: Vec<Device>,
    /// Whether it can denoise.
    pub denoiser: bool,
    /// Folders that it reads besides the system's own (`/usr`, `/bin`, `/lib…`): a sandbox has to show them, read-only.
    pub readable: Vec<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    version: [u32; 3],
    library: PathBuf,
    devices: Vec<Device>,
    kernels: Vec<String>,
    denoiser: bool,
    folders: Vec<PathBuf>,
}

#[derive(Serialize)]
struct Out<'a> {
    out: &'a Path,
}

#[derive(Serialize)]
struct CyclesTrial<'a> {
    device: DeviceKind,
    device_id: Option<&'a str>,
    out: &'a Path,
}

impl Engine {
    /// Starts it once and asks what it is.
    pub fn ask(launch: &Launch) -> Result<Self, Fault> {
        let folder = tempfile::tempdir().map_err(Fault::system("making a temporary folder"))?;
        let invocation = launch.invocation(&[ASK], &Out { out: folder.path() })?;
        let ending = run(&invocation, folder.path(), ASK_TIME_MAX, &mut |_| {})?;
        let asked: Asked = answer::read(folder.path(), &ending)?;
        let [major, minor, patch] = asked.version;
        let version = Version { major, minor, patch };
        if version < OLDEST {
            return Err(Fault::Failed(format!(
                "Blender {version} is older than {OLDEST}, the oldest that is supported"
            )));
        }
        let mut devices = asked.devices;
        devices.truncate(DEVICES_MAX);
        let build = fingerprint(&asked.library)?;
        let Asked { kernels, denoiser, folders, .. } = asked;
        Ok(Self {
            launch: launch.clone(),
            version,
            build,
            kernels,
            devices,
            denoiser,
            readable: beside_system(folders),
        })
    }

    /// What to compute on in a place that has this card, or none; nothing if Cycles finds nothing of the kind there.
    pub fn device(&self, choice: DeviceChoice, card: Option<&Card>) -> Option<&Device> {
        let processor = || self.devices.iter().find(|device| device.kind == DeviceKind::Cpu);
        let card = card.and_then(|card| card.among(&self.devices));
        match choice {
            DeviceChoice::Any => card.or_else(processor),
            DeviceChoice::Cpu => processor(),
            DeviceChoice::Gpu => card,
        }
    }

    /// What belongs into the key of a task: engines with an equal key render equal bits on their processors.
    pub fn key(&self) -> String {
        format!("blender-{}-{}-{}", self.version, self.build, self.kernels.join("+").to_lowercase())
    }

    /// Whether EEVEE renders here, found out by rendering a few pixels; otherwise what it said. It needs EGL and a driver
    /// for OpenGL, which may be Mesa's software, but no display.
    pub fn try_eevee(&self) -> Result<(), Fault> {
        let folder = tempfile::tempdir().map_err(Fault::system("making a temporary folder"))?;
        let ending = run(&self.eevee_trial(folder.path())?, folder.path(), EEVEE_TIME_MAX, &mut |_| {})?;
        Self::drew(folder.path(), &ending)
    }

    /// The command that draws a few pixels with EEVEE, for those who run it in a sandbox of their own; `out` is the
    /// folder of outputs as it sees it.
    pub fn eevee_trial(&self, out: &Path) -> Result<Invocation, Fault> {
        self.launch.invocation(&[TRY_EEVEE], &Out { out })
    }

    /// The same with Cycles, on one of its devices.
    pub fn cycles_trial(&self, device: &Device, out: &Path) -> Result<Invocation, Fault> {
        let device_id = (device.kind != DeviceKind::Cpu).then_some(device.id.as_str());
        self.launch.invocation(&[TRY_CYCLES], &CyclesTrial { device: device.kind, device_id, out })
    }

    /// Whether such a command drew them; `out` is the folder of outputs as we see it.
    pub fn drew(out: &Path, ending: &Ending) -> Result<(), Fault> {
        answer::read(out, ending)
    }
}

/// Whether a path is among the system's own programs and libraries, which every sandbox shows.
pub fn is_system(path: &Path) -> bool {
    let system = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
    system.iter().any(|part| path.starts_with(part))
}

/// What of these folders is not the system's own and not inside another of them.
fn beside_system(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    folders.retain(|folder| folder.is_dir() && !is_system(folder));
    folders.sort();
    // What is inside another one follows it.
    folders.dedup_by(|inner, outer| inner.starts_with(&*outer));
    folders
}

fn fingerprint(library: &Path) -> Result<String, Fault> {
    // The largest file in a module's folder is the engine itself.
    let file = if library.is_dir() { largest(library)? } else { library.to_path_buf() };
    let what = format!("reading {}", file.display());
    let mut hasher = blake3::Hasher::new();
    File::open(&file).and_then(|opened| hasher.update_reader(opened).map(drop)).map_err(Fault::system(what))?;
    let mut build = hasher.finalize().to_hex().to_string();
    build.truncate(BUILD_LETTERS);
    Ok(build)
}

fn largest(folder: &Path) -> Result<PathBuf, Fault> {
    let what = || format!("reading {}", folder.display());
    let mut files = Vec::new();
    for entry in folder.read_dir().map_err(Fault::system(what()))? {
        let entry = entry.map_err(Fault::system(what()))?;
        let data = entry.metadata().map_err(Fault::system(what()))?;
        if data.is_file() {
            files.push((data.len(), entry.path()));
        }
    }
    files.into_iter().max().map(|(_, path)| path).ok_or_else(|| Fault::Failed("the bpy module is empty".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_in_scenes_are_off_and_nothing_of_the_user_is_handed_on() {
        let invocation = Launch::Blender("/usr/bin/blender".into())
            .invocation(&["pass"], &Out { out: Path::new("/o") })
            .expect("UTF-8");
        for option in ["--factory-startup", "--disable-autoexec", "--background"] {
            assert!(invocation.arguments.contains(&option.into()), "{option}");
        }
        assert_eq!(invocation.arguments.last(), Some(&r#"{"out":"/o"}"#.into()));
        let module = Launch::Python("/usr/bin/python3".into()).invocation(&["pass"], &Out { out: Path::new("/o") });
        let module = module.expect("UTF-8");
        assert_eq!(module.arguments[0], "-I");
    }

    #[test]
    fn a_build_or_processor_that_rounds_differently_has_another_key() {
        let engine = Engine {
            launch: Launch::Blender("blender".into()),
            version: Version { major: 3, minor: 4, patch: 1 },
            build: "00".into(),
            kernels: vec!["AVX".into(), "AVX2".into()],
            devices: vec![Device::processor()],
            denoiser: true,
            readable: vec![],
        };
        assert_eq!(engine.key(), "blender-3.4.1-00-avx+avx2");
        assert_ne!(engine.key(), Engine { build: "01".into(), ..engine.clone() }.key());
        assert_ne!(engine.key(), Engine { kernels: vec!["AVX".into()], ..engine.clone() }.key());
        let key = engine.key();
        assert_ne!(key, Engine { version: OLDEST, ..engine }.key());
    }

    #[test]
    fn a_card_is_taken_only_where_one_is_wanted() {
        let device = |kind: DeviceKind| Device { kind, id: "card".into(), name: "card".into() };
        let card = Card { maker: gleaner_wire::DeviceKind::Nvidia, slot: None };
        let engine = |devices| Engine {
            launch: Launch::Blender("blender".into()),
            version: OLDEST,
            build: "00".into(),
            kernels: vec![],
            devices,
            denoiser: true,
            readable: vec![],
        };
        let plain = engine(vec![Device::processor()]);
        let kind = |engine: &Engine, choice| engine.device(choice, Some(&card)).map(|device| device.kind);
        assert_eq!(kind(&plain, DeviceChoice::Any), Some(DeviceKind::Cpu));
        assert_eq!(kind(&plain, DeviceChoice::Gpu), None);
        let rich = engine(vec![Device::processor(), device(DeviceKind::Optix), device(DeviceKind::Cuda)]);
        assert_eq!(kind(&rich, DeviceChoice::Any), Some(DeviceKind::Optix));
        assert_eq!(kind(&rich, DeviceChoice::Cpu), Some(DeviceKind::Cpu));
        assert_eq!(rich.device(DeviceChoice::Gpu, None), None, "a place without a card has none of the others'");
    }

    #[test]
    fn only_folders_beside_the_system_are_named_and_each_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).expect("a folder");
        let list = vec![inner, "/usr/share".into(), folder.path().into(), "/nonexistent".into()];
        assert_eq!(beside_system(list), [folder.path()]);
    }

    #[test]
    fn a_program_under_two_names_is_one_engine() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("blender"), "").expect("writes");
        let again = folder.path().join(".");
        assert_eq!(Launch::in_folders([folder.path(), &again, Path::new("/nonexistent")]).len(), 1);
    }
}
