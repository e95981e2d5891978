//! What a script of ours has answered: read strictly, within a limit, and turned into a result or a fault.
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::Fault;
use crate::process::{Ending, Exit};

const FILE: &str = "answer.json";
/// The longest answer that is read.
pub const BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The longest message that is passed on.
const MESSAGE_CHARS_MAX: usize = 1000;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Answer<T> {
    Done(T),
    Refused(Refused),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    kind: Kind,
    message: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Camera,
    Unreadable,
    Split,
    Denoise,
    Memory,
    Device,
    Failed,
}

/// What came of a script that has ended.
pub fn read<T: DeserializeOwned>(folder: &Path, ending: &Ending) -> Result<T, Fault> {
    let last = || ending.last.last().cloned().unwrap_or_default();
    let code = match ending.exit {
        Exit::TimeUp(time_max) => return Err(Fault::TimeUp(time_max)),
        Exit::OutOfMemory => return Err(out_of_memory()),
        Exit::Signal(_) if ran_out_of_memory(&ending.last) => return Err(out_of_memory()),
        Exit::Signal(signal) => return Err(Fault::Crashed { signal, last: last() }),
        Exit::Code(code) => code,
    };
    let text = load(folder).map_err(|_| Fault::NoAnswer { code, why: last() })?;
    match serde_json::from_slice(&text) {
        Ok(Answer::Done(value)) => Ok(value),
        Ok(Answer::Refused(refused)) => Err(refused.into()),
        Err(error) => Err(Fault::NoAnswer { code, why: error.to_string() }),
    }
}

fn out_of_memory() -> Fault {
    Fault::OutOfMemory("the engine ran out of memory".into())
}

fn load(folder: &Path) -> std::io::Result<Vec<u8>> {
    let path = folder.join(FILE);
    // The folder was writable for the engine: what lies there may be a link to anything.
    if !path.symlink_metadata()?.is_file() {
        return Err(std::io::Error::other("not a plain file"));
    }
    let mut text = Vec::new();
    File::open(&path)?.take(BYTES_MAX + 1).read_to_end(&mut text)?;
    // What remains in the folder is what was asked for.
    std::fs::remove_file(path)?;
    if text.len() as u64 > BYTES_MAX { Err(std::io::Error::other("too long")) } else { Ok(text) }
}

fn ran_out_of_memory(last: &[String]) -> bool {
    let signs = ["bad_alloc", "Malloc returns null", "Calloc returns null", "out of memory", "out of GPU memory"];
    last.iter().any(|line| signs.iter().any(|sign| line.contains(sign)))
}

impl From<Refused> for Fault {
    fn from(refused: Refused) -> Self {
        let message = refused.message.chars().take(MESSAGE_CHARS_MAX).collect();
        match refused.kind {
            Kind::Camera => Self::NoCamera(message),
            Kind::Unreadable => Self::Unreadable(message),
            Kind::Split => Self::Unsplittable(message),
            Kind::Denoise => Self::NoDenoiser(message),
            Kind::Memory => Self::OutOfMemory(message),
            Kind::Device => Self::Device(message),
            Kind::Failed => Self::Failed(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::Cause;

    fn judged(text: Option<&str>, exit: Exit, last: &str) -> Result<u32, Fault> {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(text) = text {
            std::fs::write(folder.path().join(FILE), text).expect("writes");
        }
        read(folder.path(), &Ending { exit, last: vec![last.into()] })
    }

    #[test]
    fn what_was_done_is_returned_whatever_the_code() {
        assert_eq!(judged(Some(r#"{"done":7}"#), Exit::Code(0), "").expect("done"), 7);
    }

    #[test]
    fn endings_become_causes() {
        let refused = |kind| format!(r#"{{"refused":{{"kind":"{kind}","message":"m"}}}}"#);
        let cause = |text: Option<&str>, exit, last| judged(text, exit, last).expect_err("a fault").cause();
        assert_eq!(cause(Some(&refused("camera")), Exit::Code(0), ""), Cause::BadInput);
        assert_eq!(cause(Some(&refused("memory")), Exit::Code(0), ""), Cause::OutOfMemory);
        assert_eq!(cause(Some(&refused("device")), Exit::Code(0), ""), Cause::DeviceFault);
        assert_eq!(cause(None, Exit::Signal(6), "terminate: std::bad_alloc"), Cause::OutOfMemory);
        assert_eq!(cause(None, Exit::Signal(11), "Fra:1"), Cause::ProgramFault);
        assert_eq!(cause(None, Exit::OutOfMemory, "Fra:1"), Cause::OutOfMemory);
        assert_eq!(cause(None, Exit::TimeUp(std::time::Duration::ZERO), ""), Cause::TimeLimit);
        assert_eq!(cause(None, Exit::Code(1), "Error"), Cause::ProgramFault);
        assert_eq!(cause(Some(r#"{"done":"x"}"#), Exit::Code(0), ""), Cause::ProgramFault);
    }

    #[test]
    fn an_answer_that_is_a_link_is_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("other"), r#"{"done":7}"#).expect("writes");
        std::os::unix::fs::symlink("other", folder.path().join(FILE)).expect("links");
        assert!(read::<u32>(folder.path(), &Ending { exit: Exit::Code(0), last: vec![] }).is_err());
    }
}
