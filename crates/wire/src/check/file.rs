//! A check as a job file has it: a word (`check = "exact"`), or a table with the word as its `kind`.
use alloc::string::String;
#[cfg(feature = "openapi")]
use alloc::vec::Vec;
use core::fmt;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::{Number, Tolerance};

/// A check as it is written; what is missing has a default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CheckFile {
    /// Which check.
    pub kind: CheckKind,
    /// numeric: what the bytes are; without it, `f32`.
    pub number: Option<Number>,
    /// numeric: what any two numbers may differ by.
    pub absolute: Option<Tolerance>,
    /// numeric: what they may differ by for their size.
    pub relative: Option<Tolerance>,
    /// numeric and image: whether what honest machines were seen to differ by is tolerated too; so it is where no tolerance is
    /// named.
    pub learned: Option<bool>,
    /// image: what a channel may differ by, in parts of 255; without it, 2.
    pub pixel: Option<u16>,
    /// image: what the structure may differ by, from 0 to 1; without it, 0.01.
    pub perceptual: Option<Tolerance>,
    /// program: the name of the task's input that is the checker.
    pub input: Option<String>,
}

/// Which check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// None.
    #[default]
    None,
    /// Byte for byte.
    Exact,
    /// Number for number.
    Numeric,
    /// As pictures.
    Image,
    /// By the requester's program.
    Program,
}

impl From<CheckKind> for CheckFile {
    fn from(kind: CheckKind) -> Self {
        Self { kind, ..Self::default() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    kind: CheckKind,
    number: Option<Number>,
    absolute: Option<Tolerance>,
    relative: Option<Tolerance>,
    learned: Option<bool>,
    pixel: Option<u16>,
    perceptual: Option<Tolerance>,
    input: Option<String>,
}

struct WordOrTable;

impl<'de> de::Visitor<'de> for WordOrTable {
    type Value = CheckFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("none, exact, numeric, image, or a table with one of these or program as its kind")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<CheckFile, E> {
        CheckKind::deserialize(de::value::StrDeserializer::new(word)).map(CheckFile::from)
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<CheckFile, A::Error> {
        let table = Table::deserialize(MapAccessDeserializer::new(map))?;
        let Table { kind, number, absolute, relative, learned, pixel, perceptual, input } = table;
        Ok(CheckFile { kind, number, absolute, relative, learned, pixel, perceptual, input })
    }
}

impl<'de> Deserialize<'de> for CheckFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordOrTable)
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::job_file::{JobFile, JobFileError};
    use alloc::format;

    fn read(check: &str) -> Result<CheckFile, JobFileError> {
        let text = format!("name = \"j\"\n[[task]]\nname = \"t\"\nruntime = \"wasm\"\n{check}\n");
        let job = JobFile::from_toml(&text)?;
        let json = serde_json::to_vec(&job).expect("encodes");
        assert_eq!(JobFile::from_json(&json).as_ref(), Ok(&job), "JSON says the same");
        Ok(job.tasks[0].check.clone().unwrap_or_default())
    }

    #[test]
    fn a_check_is_a_word_or_a_table() {
        assert_eq!(read("check = \"exact\""), Ok(CheckKind::Exact.into()));
        let table = read("[task.check]\nkind = \"numeric\"\nnumber = \"f64\"\nabsolute = \"1e-6\"\nrelative = 1e-5");
        let (absolute, relative) = (Some(Tolerance(1_000_000)), Some(Tolerance(10_000_000)));
        let number = Some(Number::F64);
        assert_eq!(table, Ok(CheckFile { number, absolute, relative, ..CheckKind::Numeric.into() }));
        let program = read("check = { kind = \"program\", input = \"check.wasm\" }");
        assert_eq!(program, Ok(CheckFile { input: Some("check.wasm".into()), ..CheckKind::Program.into() }));
    }

    #[test]
    fn a_mistake_in_a_check_is_reported_with_its_line() {
        for (text, on) in [
            ("check = \"exakt\"", 5),
            ("check = 5", 5),
            ("[task.check]\nkind = \"image\"\npixels = 2", 7),
            ("[task.check]\nkind = \"numeric\"\nabsolute = \"small\"", 7),
        ] {
            let Err(JobFileError::Toml { line, reason }) = read(text) else { panic!("accepted {text}") };
            assert_eq!(line, on, "{reason}");
        }
    }
}
