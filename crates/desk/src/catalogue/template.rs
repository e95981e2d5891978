//! A template: what it is called, what is to be filled in, and the job file with blanks.
use std::collections::BTreeSet;

use gleaner_wire::job_file::JobFile;
use serde::{Deserialize, Serialize};

use super::input::{Input, Type};
use crate::Error;

/// The longest job file of a template.
const JOB_BYTES_MAX: usize = 256 * 1024;
const INPUTS_MAX: usize = 50;
const FILES_MAX: usize = 200;
const TITLE_CHARS_MAX: usize = 80;
const ABOUT_CHARS_MAX: usize = 1000;
const NAME_BYTES_MAX: usize = 40;
const CHOICES_MAX: usize = 100;

/// What a template is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = TemplateKind)]
pub enum Kind {
    /// Pictures and films.
    Render,
    /// Learning from data.
    Train,
    /// The same with many values.
    Sweep,
    /// Steps that follow from each other.
    Workflow,
}

/// A template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Template {
    /// Its name: small letters, digits and `-`.
    pub(crate) name: String,
    /// What people call it.
    pub(crate) title: String,
    /// What it is for.
    pub(crate) kind: Kind,
    /// What it does.
    pub(crate) about: String,
    /// The file with its picture.
    pub(crate) picture: Option<String>,
    /// The files that its job reads beside what is filled in.
    #[serde(default)]
    pub(crate) files: Vec<String>,
    /// What is to be filled in.
    #[serde(default, rename = "input")]
    pub(crate) inputs: Vec<Input>,
    /// The job file: TOML in which `"{{name}}"` stands for a value, and `{{name}}` within a text for the same as text.
    pub(crate) job: String,
}

impl Template {
    /// Reads a template and checks that it makes sense.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let template: Self = toml::from_str(text).map_err(|error| Error::Template(error.message().to_owned()))?;
        template.check().map_err(Error::Template)?;
        Ok(template)
    }

    /// Checks that a template makes sense, whoever wrote it. The reason why not is for people.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.job.len() > JOB_BYTES_MAX {
            return Err(format!("its job file has more than {JOB_BYTES_MAX} bytes"));
        }
        check_name(&self.name)?;
        check_words("title", &self.title, TITLE_CHARS_MAX)?;
        check_words("description", &self.about, ABOUT_CHARS_MAX)?;
        if self.inputs.len() > INPUTS_MAX || self.files.len() > FILES_MAX {
            return Err(format!("a template has at most {INPUTS_MAX} inputs and {FILES_MAX} files"));
        }
        let mut names = BTreeSet::new();
        for input in &self.inputs {
            check_input(input)?;
            if !names.insert(&input.name) {
                return Err(format!("there are two inputs called `{}`", input.name));
            }
        }
        let job = self.sample().map_err(|error| error.to_string())?;
        let tried = JobFile::from_toml(&job);
        tried.map(|_| ()).map_err(|error| format!("filled in, its job is no job file: {error}"))
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let fits = (3..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with('-');
    if fits {
        Ok(())
    } else {
        Err(format!("a template's name has 3 to {NAME_BYTES_MAX} small letters, digits and `-`"))
    }
}

fn check_words(what: &str, text: &str, chars_max: usize) -> Result<(), String> {
    let is_plain = |c: char| !c.is_control() || c == '\n';
    let fits = !text.trim().is_empty() && text.chars().count() <= chars_max && text.chars().all(is_plain);
    if fits { Ok(()) } else { Err(format!("its {what} must have 1 to {chars_max} characters")) }
}

fn check_input(input: &Input) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let name = &input.name;
    if !(1..=NAME_BYTES_MAX).contains(&name.len()) || !name.bytes().all(plain) {
        return Err(format!("the name of an input has 1 to {NAME_BYTES_MAX} small letters, digits and `_`: `{name}`"));
    }
    check_words(&format!("input `{name}`'s title"), &input.title, TITLE_CHARS_MAX)?;
    if let Some(help) = &input.help {
        check_words(&format!("input `{name}`'s help"), help, ABOUT_CHARS_MAX)?;
    }
    let has_choices = !input.choices.is_empty();
    if (input.of == Type::Choice) != has_choices || input.choices.len() > CHOICES_MAX {
        return Err(format!(
            "input `{name}`: what is of type `choice` has 1 to {CHOICES_MAX} choices, and nothing else has"
        ));
    }
    if input.default.is_some() && input.of.is_of_whoever_runs_it() {
        return Err(format!(
            "input `{name}`: a file, folder or dataset has no default: whoever runs the template chooses what of theirs it reads"
        ));
    }
    if input.default.is_some() {
        input.take(None).map_err(|reason| format!("the default of {reason}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) const TEMPLATE: &str = r#"
name = "squares"
title = "Squares"
kind = "sweep"
about = "Squares of numbers."
files = ["square.wasm"]
job = '''
name = "squares up to {{count}}"
[[task]]
name = "square"
runtime = "wasm"
program = "square.wasm"
args = ["{index}"]
each = "1..{{count}}"
'''
[[input]]
name = "count"
title = "How many"
type = "integer"
min = 1
max = 1000
"#;

    fn refused(from: &str, to: &str) -> String {
        let text = TEMPLATE.replace(from, to);
        assert_ne!(text, TEMPLATE, "{from}");
        Template::parse(&text).expect_err(to).to_string()
    }

    #[test]
    fn a_template_that_makes_no_sense_is_refused_with_the_reason() {
        Template::parse(TEMPLATE).expect("it makes sense");
        for name in ["ab", "-abc", "Squares", "a/b", "a b", "..."] {
            assert!(
                refused("name = \"squares\"\ntitle", &format!("name = \"{name}\"\ntitle")).contains("name"),
                "{name}"
            );
        }
        assert!(refused("\"Squares\"", "\"\"").contains("title"));
        assert!(refused("kind = \"sweep\"", "kind = \"spam\"").contains("spam"));
        assert!(refused("each = \"1..{{count}}\"", "each = \"1..{{cuont}}\"").contains("cuont"));
        assert!(refused("runtime = \"wasm\"", "runtime = \"spam\"").contains("no job file"));
        assert!(refused("type = \"integer\"", "type = \"choice\"").contains("choices"));
        assert!(refused("max = 1000", "max = 1000\ndefault = 5000").contains("default"));
        assert!(refused("program = \"square.wasm\"", "program = \"../square.wasm\"").contains("square.wasm"));
        assert!(refused("max = 1000", "unknown = 1").contains("unknown"));
    }
}
