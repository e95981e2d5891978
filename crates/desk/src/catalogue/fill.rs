//! Filling in: values go where the job file has blanks, and can become nothing but values there. What the job reads is the
//! template's own files or what was filled in, never something of the account's that the template's writer guessed.
use std::collections::BTreeMap;
use std::ops::Range;

use gleaner_wire::job_file::JobFile;
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::input::{Filled, Type, quote};
use super::template::Template;
use crate::Error;

/// A text of the job file, and where it stands.
struct Text {
    /// Its place in the file's structure, such as `task[].input[].file`.
    at: String,
    /// Where in the file it is written.
    span: Range<usize>,
    text: String,
}

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'a> {
    Plain(&'a str),
    /// What is filled in, less a number: ranges end with the number before the count.
    Blank(&'a str, i64),
}

impl Template {
    /// The job file with these values, its own files in this folder.
    pub(crate) fn fill(&self, inputs: &Map<String, Value>, folder: &str) -> Result<String, Error> {
        let known = |name: &String| self.inputs.iter().any(|input| input.name == *name);
        if let Some(unknown) = inputs.keys().find(|name| !known(name)) {
            let shown: String = unknown.chars().filter(|c| !c.is_control()).take(40).collect();
            return Err(Error::Template(format!("the template has no input `{shown}`")));
        }
        let mut values = BTreeMap::new();
        for input in &self.inputs {
            let filled = input.take(inputs.get(&input.name)).map_err(Error::Template)?;
            values.insert(input.name.as_str(), filled);
        }
        let job = self.filled(&values, folder).map_err(Error::Template)?;
        let checked = JobFile::from_toml(&job);
        checked.map_err(|error| Error::Template(format!("filled in like this, it is no job file: {error}")))?;
        Ok(job)
    }

    /// The job file with something in every blank.
    pub(crate) fn sample(&self) -> Result<String, Error> {
        let values = self.inputs.iter().map(|input| (input.name.as_str(), input.sample())).collect();
        self.filled(&values, "sample").map_err(Error::Template)
    }

    fn filled(&self, values: &BTreeMap<&str, Filled>, folder: &str) -> Result<String, String> {
        let document = DeTable::parse(&self.job).map_err(|error| format!("its job is no TOML: {}", error.message()))?;
        let mut texts = Vec::new();
        for (key, value) in document.get_ref() {
            collect(key.get_ref(), value, &mut texts);
        }
        let mut job = self.job.clone();
        // From the end, so that the places before stay where they are.
        texts.sort_by_key(|text| std::cmp::Reverse(text.span.start));
        for text in &texts {
            if let Some(new) = self.replaced(text, values, folder)? {
                job.replace_range(text.span.clone(), &new);
            }
        }
        Ok(job)
    }

    /// What is written instead of a text; none if it stays as it is.
    fn replaced(&self, text: &Text, values: &BTreeMap<&str, Filled>, folder: &str) -> Result<Option<String>, String> {
        let pieces = pieces(&text.text)?;
        match text.at.as_str() {
            "task[].program" | "task[].input[].file" | "task[].input[].folder" => {
                return self.source(text, &pieces, values, folder).map(Some);
            }
            "task[].input[].dataset" => self.check_type(text, &pieces, &[Type::Dataset])?,
            _ => {}
        }
        match &pieces[..] {
            [] | [Piece::Plain(_)] => Ok(None),
            // What programs are told is text, numbers too.
            [Piece::Blank(name, less)] if !is_told(&text.at) => Ok(Some(value(values, name, *less)?.toml())),
            several => {
                let mut whole = String::new();
                for piece in several {
                    match piece {
                        Piece::Plain(text) => whole += text,
                        Piece::Blank(name, less) => {
                            let text = value(values, name, *less)?.text();
                            whole += &text.ok_or_else(|| format!("the list `{name}` cannot be a part of a text"))?;
                        }
                    }
                }
                Ok(Some(quote(&whole)))
            }
        }
    }

    /// What a job reads: one of the template's own files, or what was filled in for a file or folder.
    fn source(
        &self,
        text: &Text,
        pieces: &[Piece<'_>],
        values: &BTreeMap<&str, Filled>,
        folder: &str,
    ) -> Result<String, String> {
        if let [Piece::Plain(path)] = pieces {
            let own = |file: &String| file == path || file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
            return match self.files.iter().any(own) {
                true => Ok(quote(&format!("/{folder}/{path}"))),
                false => Err(format!("its job reads `{path}`, which is not among its `files`")),
            };
        }
        self.check_type(text, pieces, &[Type::File, Type::Folder])?;
        match pieces {
            [Piece::Blank(name, less)] => Ok(value(values, name, *less)?.toml()),
            _ => Err(format!("`{}` must be one of its `files`, or an input alone", text.at)),
        }
    }

    /// Refuses anything but a blank alone that is of one of these types.
    fn check_type(&self, text: &Text, pieces: &[Piece<'_>], types: &[Type]) -> Result<(), String> {
        let is_fit = match pieces {
            [Piece::Blank(name, 0)] => self.inputs.iter().any(|input| input.name == *name && types.contains(&input.of)),
            _ => false,
        };
        let wanted =
            || format!("`{}` must be an input of the right type, alone: what it reads is for people to say", text.at);
        if is_fit { Ok(()) } else { Err(wanted()) }
    }
}

/// What is filled in for a blank.
fn value(values: &BTreeMap<&str, Filled>, name: &str, less: i64) -> Result<Filled, String> {
    let value = values.get(name).ok_or_else(|| format!("its job has `{{{{{name}}}}}`, and no such input"))?;
    match (value, less) {
        (value, 0) => Ok(value.clone()),
        (Filled::Integer(number), less) => Ok(Filled::Integer(number.saturating_sub(less))),
        (_, _) => Err(format!("`{name}` is no whole number, so nothing can be taken from it")),
    }
}

/// What stands between the braces: a name, perhaps less a number.
fn blank(text: &str) -> Result<Piece<'_>, String> {
    let Some((name, less)) = text.split_once('-') else { return Ok(Piece::Blank(text.trim(), 0)) };
    let less =
        less.trim().parse::<u32>().map_err(|_| format!("`{{{{{text}}}}}` is not a name, or a name less a number"))?;
    Ok(Piece::Blank(name.trim(), i64::from(less)))
}

/// All texts of a value, with their places.
fn collect(at: &str, value: &Spanned<DeValue<'_>>, to: &mut Vec<Text>) {
    match value.get_ref() {
        DeValue::String(text) => {
            to.push(Text { at: at.to_owned(), span: value.span(), text: text.clone().into_owned() });
        }
        DeValue::Array(values) => values.iter().for_each(|value| collect(&format!("{at}[]"), value, to)),
        DeValue::Table(table) => {
            table.iter().for_each(|(key, value)| collect(&format!("{at}.{}", key.get_ref()), value, to));
        }
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {}
    }
}

/// Whether a place is a word of a command line or of an environment.
fn is_told(at: &str) -> bool {
    matches!(at, "task[].args[]" | "task[].container.command[]") || at.starts_with("task[].container.env.")
}

/// A text, taken apart at its blanks.
fn pieces(text: &str) -> Result<Vec<Piece<'_>>, String> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some((plain, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").ok_or_else(|| format!("`{text}` has a `{{{{` without its end"))?;
        if !plain.is_empty() {
            pieces.push(Piece::Plain(plain));
        }
        pieces.push(blank(name)?);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Plain(rest));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TEMPLATE: &str = r#"
name = "training"
title = "Training"
kind = "train"
about = "Trains."
files = ["code/train.py"]
job = '''
name = "{{title}}" # what it is called
[budget]
price_max = "{{price}}"
[[task]]
name = "train"
runtime = "container"
program = "{{image}}"
sweep = { lr = "{{rates}}" }
[task.container]
command = ["python3", "/in/code/train.py", "--lr", "{lr}", "--name={{title}}", "--epochs={{epochs - 1}}", "{{epochs}}"]
env = { EPOCHS = "{{ epochs }}x", ALONE = "{{epochs}}" }
gpus = "{{epochs}}"
network = "{{network}}"
[[task.input]]
name = "code"
folder = "code"
'''
[[input]]
name = "title"
title = "Title"
type = "text"
default = "training"
[[input]]
name = "price"
title = "Price"
type = "amount"
default = "1 GLN"
[[input]]
name = "image"
title = "Image"
type = "folder"
[[input]]
name = "rates"
title = "Rates"
type = "list"
default = ["0.1", "0.3"]
[[input]]
name = "epochs"
title = "Epochs"
type = "integer"
default = 3
[[input]]
name = "network"
title = "Network"
type = "boolean"
default = false
"#;

    fn fill(inputs: Value) -> Result<String, String> {
        let template = Template::parse(TEMPLATE).expect("it makes sense");
        let Value::Object(inputs) = inputs else { panic!("an object") };
        template.fill(&inputs, "template-training-1").map_err(|error| error.to_string())
    }

    #[test]
    fn values_go_where_the_blanks_are_and_the_rest_stays() {
        let text = fill(json!({ "image": "mine/image", "epochs": 7 })).expect("filled in");
        assert!(
            text.starts_with("name = \"training\" # what it is called\n[budget]\nprice_max = \"1 GLN\"\n"),
            "{text}"
        );
        let job = JobFile::from_toml(&text).expect("a job file");
        let task = &job.tasks[0];
        assert_eq!(task.program.as_ref().map(ToString::to_string).as_deref(), Some("mine/image"));
        assert_eq!(task.sweep["lr"], ["0.1", "0.3"]);
        assert_eq!(task.container.command[4..], ["--name=training", "--epochs=6", "7"]);
        assert_eq!((task.container.env["EPOCHS"].as_str(), task.container.gpus), ("7x", Some(7)));
        assert_eq!(task.container.env["ALONE"], "7");
        let code = task.inputs[0].folder.as_ref().map(ToString::to_string);
        assert_eq!(code.as_deref(), Some("/template-training-1/code"), "its own files lie in its own folder");
    }

    #[test]
    fn what_is_filled_in_stays_a_value() {
        let evil = "x\"\n[budget]\nprice_max = \"9999 GLN\"\n[[task]]\nname = \"{{image}}";
        let text = fill(json!({ "image": "mine/image", "title": evil })).expect("filled in");
        let job = JobFile::from_toml(&text).expect("a job file");
        assert_eq!(job.name, evil);
        assert_eq!(job.budget.price_max, Some(gleaner_wire::Amount::gln(1)));
        assert_eq!(job.tasks.len(), 1);
        assert_eq!(job.tasks[0].container.command[4], format!("--name={evil}"));
    }

    #[test]
    fn what_does_not_fit_or_is_missing_is_refused() {
        for (inputs, reason) in [
            (json!({}), "`image` is not filled in"),
            (json!({ "image": "a", "epochs": "7" }), "`epochs` must be a whole number"),
            (json!({ "image": "a", "price": "lots" }), "`price` `lots` is not an amount"),
            (json!({ "image": "a", "colour": "red" }), "the template has no input `colour`"),
            (json!({ "image": "data:00:1:1" }), "`image` must be a path among your files"),
        ] {
            let error = fill(inputs).expect_err(reason);
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn a_template_cannot_reach_for_files_of_whoever_runs_it() {
        for (from, to) in [
            ("folder = \"code\"", "folder = \"private\""),
            ("folder = \"code\"", "folder = \"../code\""),
            ("folder = \"code\"", "folder = \"{{title}}\""),
            ("folder = \"code\"", "folder = \"code/{{title}}\""),
            ("folder = \"code\"", "dataset = \"photos\""),
            ("folder = \"code\"", "dataset = \"{{title}}\""),
            ("program = \"{{image}}\"", "program = \"/etc\""),
            ("program = \"{{image}}\"", "program = \"private/{{image}}\""),
            // What is taken unless somebody chooses would be chosen by the template.
            ("type = \"folder\"", "type = \"folder\"\ndefault = \"private\""),
            ("type = \"folder\"", "type = \"file\"\ndefault = \"private/keys.txt\""),
            ("title = \"Image\"\ntype = \"folder\"", "title = \"Image\"\ntype = \"dataset\"\ndefault = \"photos\""),
        ] {
            let text = TEMPLATE.replace(from, to);
            assert_ne!(text, TEMPLATE, "{from}");
            assert!(Template::parse(&text).is_err(), "{to}");
        }
        // Nor can one that was taken before this was asked of it.
        let mut old = Template::parse(TEMPLATE).expect("it makes sense");
        let image = old.inputs.iter_mut().find(|input| input.name == "image").expect("an input");
        image.default = Some(toml::Value::String("private".to_owned()));
        let error = old.fill(&Map::new(), "template-training-1").expect_err("nothing is chosen");
        assert!(error.to_string().contains("`image` is not filled in"), "{error}");
    }
}
