//! A task in a container: its image, command, environment and what it may use.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::job_file::{ContainerFile, TaskFile};
use gleaner_wire::{Hash, Image, Millis, Offer, Sweep, Work};

use super::{Error, Reason, group, is_printable, span};

/// How often `/checkpoint` is saved if the job does not say.
const CHECKPOINT_DEFAULT: Millis = Millis(60_000);
const CHECKPOINT_MIN: Millis = Millis(1000);
const TEXTS_MAX: usize = 1024;
const TEXTS_BYTES_MAX: usize = 256 * 1024;
/// Combinations of values that one task may stand for.
const SWEEPS_MAX: usize = 16;
const VALUES_MAX: usize = 10_000;

pub(super) fn work(task: &TaskFile, at: usize) -> Result<Work, Error> {
    let file = &task.container;
    let place = |field: &str| format!("task[{at}].container.{field}");
    let checkpoint_ms = span(&place("checkpoint"), file.checkpoint.as_deref(), CHECKPOINT_DEFAULT)?;
    if checkpoint_ms < CHECKPOINT_MIN {
        return Err(Error::new(place("checkpoint"), Reason::Range("checkpoint", "at least 1s")));
    }
    let cards = file.gpus.unwrap_or(0);
    if cards > Offer::CARDS_MAX {
        return Err(Error::new(place("gpus"), Reason::Range("gpus", "at most 64")));
    }
    Ok(Work::Container {
        image: image(task, at)?,
        command: command(file, &place)?,
        env: environment(&file.env, &place)?,
        sweep: sweeps(&task.sweep),
        cards,
        network: file.network,
        checkpoint_ms,
    })
}

/// Values as they go to workers.
pub(super) fn sweeps(file: &BTreeMap<String, Vec<String>>) -> Vec<Sweep> {
    file.iter().map(|(name, values)| Sweep { name: name.clone(), values: values.clone() }).collect()
}

/// How many combinations of values there are.
pub(super) fn combinations(task: &TaskFile, at: usize) -> Result<u64, Error> {
    let place = || format!("task[{at}].sweep");
    let text_ok = |text: &String| is_printable(text, 1024);
    let wrong = task.sweep.iter().any(|(name, values)| {
        !super::is_name(name)
            || name == "index"
            || !(1..=VALUES_MAX).contains(&values.len())
            || !values.iter().all(text_ok)
    });
    if wrong || task.sweep.len() > SWEEPS_MAX {
        let rule = "at most 16 names, other than `index`, with 1 to 10,000 printable values each";
        return Err(Error::new(place(), Reason::Range("sweep", rule)));
    }
    Ok(task.sweep.values().fold(1_u64, |all, values| all.saturating_mul(values.len() as u64)))
}

fn image(task: &TaskFile, at: usize) -> Result<Image, Error> {
    let place = format!("task[{at}].container.image");
    match (&task.container.image, &task.program) {
        (Some(reference), None) => {
            let (name, digest) =
                reference.split_once('@').ok_or_else(|| Error::new(&*place, Reason::Digest(reference.clone())))?;
            let digest = digest.strip_prefix("sha256:").and_then(|hex| hex.parse::<Hash>().ok());
            let digest = digest.ok_or_else(|| Error::new(&*place, Reason::Digest(reference.clone())))?;
            // A tag beside a digest means nothing; registries ignore it.
            let bare = name.rsplit_once('/').map_or(name, |(_, last)| last);
            let tag = bare.find(':').map_or(0, |colon| bare.len() - colon);
            let name = &name[..name.len() - tag];
            if !is_printable(name, 512) || name.contains(char::is_whitespace) {
                return Err(Error::new(place, Reason::Text(512)));
            }
            Ok(Image::Registry { name: name.into(), digest })
        }
        (None, Some(program)) => Ok(Image::Data(group::stored(program, format!("task[{at}].program"))?)),
        (None, None) | (Some(_), Some(_)) => Err(Error::new(place, Reason::ImageForm)),
    }
}

fn command(file: &ContainerFile, place: &impl Fn(&str) -> String) -> Result<Vec<String>, Error> {
    check(file.command.iter(), || place("command"), "command")?;
    Ok(file.command.clone())
}

fn environment(
    env: &BTreeMap<String, String>,
    place: &impl Fn(&str) -> String,
) -> Result<Vec<(String, String)>, Error> {
    check(env.iter().flat_map(|(name, value)| [name, value]), || place("env"), "env")?;
    if env.keys().any(|name| name.is_empty() || name.contains('=')) {
        return Err(Error::new(place("env"), Reason::Range("a name in env", "at least one character, without `=`")));
    }
    Ok(env.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn check<'a>(
    texts: impl Iterator<Item = &'a String>,
    place: impl Fn() -> String,
    what: &'static str,
) -> Result<(), Error> {
    let (mut count, mut bytes, mut zero) = (0, 0, false);
    for text in texts {
        (count, bytes, zero) = (count + 1, bytes + text.len(), zero || text.contains('\0'));
    }
    if count > TEXTS_MAX || bytes > TEXTS_BYTES_MAX || zero {
        let rule = "at most 1024 texts of 256 KiB in all, without zero bytes";
        return Err(Error::new(place(), Reason::Range(what, rule)));
    }
    Ok(())
}
