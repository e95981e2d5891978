//! What is to be filled into a template: its form, and what is taken for it.
use gleaner_wire::{Amount, Millis};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest text that is filled in.
const TEXT_BYTES_MAX: usize = 4096;
/// The most values of a list.
const LIST_MAX: usize = 1000;

/// What kind of value an input takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Type {
    /// Any text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Yes or no.
    Boolean,
    /// One of several texts.
    Choice,
    /// Several texts.
    List,
    /// Money, such as `2.5 GLN`.
    Amount,
    /// A time, such as `10m`.
    Duration,
    /// The path of a file among the account's own.
    File,
    /// The path of a folder among the account's own.
    Folder,
    /// The name of a dataset that the account has pushed.
    Dataset,
}

impl Type {
    /// Whether it names something that belongs to whoever runs the template: only they say what.
    pub(crate) fn is_of_whoever_runs_it(self) -> bool {
        match self {
            Self::File | Self::Folder | Self::Dataset => true,
            Self::Text
            | Self::Integer
            | Self::Number
            | Self::Boolean
            | Self::Choice
            | Self::List
            | Self::Amount
            | Self::Duration => false,
        }
    }
}

/// Something that is to be filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// By which name the job file has it.
    pub(crate) name: String,
    /// What people read beside it.
    pub(crate) title: String,
    /// What they should know.
    pub(crate) help: Option<String>,
    #[serde(rename = "type")]
    pub(crate) of: Type,
    /// What is taken if nothing is filled in; without it, something must be.
    pub(crate) default: Option<toml::Value>,
    /// The least number.
    pub(crate) min: Option<f64>,
    /// The largest number.
    pub(crate) max: Option<f64>,
    /// The texts to choose from.
    #[serde(default)]
    pub(crate) choices: Vec<String>,
}

/// A value that fits its input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Filled {
    Text(String),
    Integer(i64),
    Number(f64),
    Boolean(bool),
    List(Vec<String>),
}

impl Filled {
    /// As a value of a TOML file. Nothing that was filled in can be more than that value.
    pub(crate) fn toml(&self) -> String {
        match self {
            Self::Text(text) => quote(text),
            Self::Integer(number) => number.to_string(),
            // With a point or an exponent always, so that it stays a number with one.
            Self::Number(number) => format!("{number:?}"),
            Self::Boolean(yes) => yes.to_string(),
            Self::List(texts) => format!("[{}]", texts.iter().map(|text| quote(text)).collect::<Vec<_>>().join(", ")),
        }
    }

    /// As a part of a text; lists are none.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Integer(number) => Some(number.to_string()),
            Self::Number(number) => Some(number.to_string()),
            Self::Boolean(yes) => Some(yes.to_string()),
            Self::List(_) => None,
        }
    }
}

/// A text between quotation marks, as TOML writes it.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            c if c.is_control() => quoted += &format!("\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

impl Input {
    /// The default, where there may be one.
    pub(crate) fn offered(&self) -> Option<&toml::Value> {
        self.default.as_ref().filter(|_| !self.of.is_of_whoever_runs_it())
    }

    /// The value that is given, or else the default, if it fits. The reason why not is for people.
    pub(crate) fn take(&self, given: Option<&Value>) -> Result<Filled, String> {
        let default = self.offered().and_then(json_of);
        let value = given.filter(|value| !value.is_null()).or(default.as_ref());
        let value = value.ok_or_else(|| format!("`{}` is not filled in", self.name))?;
        self.fit(value).map_err(|reason| format!("`{}` {reason}", self.name))
    }

    fn fit(&self, value: &Value) -> Result<Filled, String> {
        match self.of {
            Type::Integer => {
                let number = value.as_i64().ok_or("must be a whole number")?;
                self.bounded(number as f64)?;
                Ok(Filled::Integer(number))
            }
            Type::Number => {
                let number = value.as_f64().filter(|number| number.is_finite()).ok_or("must be a number")?;
                self.bounded(number)?;
                Ok(Filled::Number(number))
            }
            Type::Boolean => value.as_bool().map(Filled::Boolean).ok_or_else(|| "must be true or false".to_owned()),
            Type::List => {
                let separated = value.as_str().map(separated);
                let values = separated.as_ref().or(value.as_array()).ok_or("must be a list of texts")?;
                if values.is_empty() || values.len() > LIST_MAX {
                    return Err(format!("must have 1 to {LIST_MAX} values"));
                }
                values.iter().map(text).collect::<Result<_, _>>().map(Filled::List)
            }
            Type::Text | Type::Choice | Type::Amount | Type::Duration => self.fit_text(text(value)?),
            Type::File | Type::Folder | Type::Dataset => self.fit_text(text(value)?),
        }
    }

    fn fit_text(&self, text: String) -> Result<Filled, String> {
        match self.of {
            Type::Choice if !self.choices.contains(&text) => Err(format!("must be one of {}", self.choices.join(", "))),
            Type::Amount => text.parse::<Amount>().map(|_| Filled::Text(text)).map_err(|error| error.to_string()),
            Type::Duration => Millis::parse_span(&text).map(|_| Filled::Text(text)).map_err(|error| error.to_string()),
            // A reference to data would reach beyond the account's files; the desk refuses it later, and here with a reason.
            Type::File | Type::Folder if text.starts_with("data:") => Err("must be a path among your files".to_owned()),
            Type::File | Type::Folder | Type::Dataset if text.is_empty() => Err("is not filled in".to_owned()),
            Type::Text | Type::Choice | Type::File | Type::Folder | Type::Dataset => Ok(Filled::Text(text)),
            Type::Integer | Type::Number | Type::Boolean | Type::List => Err("is no text".to_owned()),
        }
    }

    fn bounded(&self, number: f64) -> Result<(), String> {
        let (min, max) = (self.min.unwrap_or(f64::NEG_INFINITY), self.max.unwrap_or(f64::INFINITY));
        if (min..=max).contains(&number) { Ok(()) } else { Err(format!("must be between {min} and {max}")) }
    }

    /// Something that fits, to try a template with.
    pub(crate) fn sample(&self) -> Filled {
        if let Ok(filled) = self.take(None) {
            return filled;
        }
        let number = self.min.unwrap_or(1.0);
        match self.of {
            Type::Integer => Filled::Integer(number as i64),
            Type::Number => Filled::Number(number),
            Type::Boolean => Filled::Boolean(true),
            Type::List => Filled::List(vec!["sample".to_owned()]),
            Type::Choice => Filled::Text(self.choices.first().cloned().unwrap_or_default()),
            Type::Amount => Filled::Text("1 GLN".to_owned()),
            Type::Duration => Filled::Text("1m".to_owned()),
            Type::Text | Type::File | Type::Folder | Type::Dataset => Filled::Text("sample".to_owned()),
        }
    }
}

fn text(value: &Value) -> Result<String, String> {
    let text = value.as_str().ok_or("must be a text")?;
    if text.len() > TEXT_BYTES_MAX {
        return Err(format!("must have at most {TEXT_BYTES_MAX} bytes"));
    }
    Ok(text.to_owned())
}

/// A list as people write it in one field: with commas, or each in a line of its own.
fn separated(text: &str) -> Vec<Value> {
    text.split([',', '\n']).map(str::trim).filter(|part| !part.is_empty()).map(Value::from).collect()
}

/// A value of a TOML file as JSON.
pub(super) fn json_of(value: &toml::Value) -> Option<Value> {
    serde_json::to_value(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn input(of: Type) -> Input {
        let (name, title) = ("x".to_owned(), "X".to_owned());
        let choices = vec!["a".to_owned(), "b".to_owned()];
        Input { name, title, help: None, of, default: None, min: Some(1.0), max: Some(9.0), choices }
    }

    #[test]
    fn only_what_fits_is_taken() {
        for (of, fits, wrong) in [
            (Type::Integer, json!(9), vec![json!(0), json!(10), json!(1.5), json!("5"), json!(true), Value::Null]),
            (Type::Number, json!(1.5), vec![json!(0.9), json!("1.5"), json!([])]),
            (Type::Boolean, json!(true), vec![json!("true"), json!(1)]),
            (Type::Choice, json!("a"), vec![json!("c"), json!(1)]),
            (Type::List, json!("a, z"), vec![json!([]), json!([1]), json!(","), json!(7), json!(vec!["x"; 1001])]),
            (Type::Amount, json!("2.5 GLN"), vec![json!("lots"), json!("-1 GLN"), json!(2)]),
            (Type::Duration, json!("10m"), vec![json!("soon"), json!(10)]),
            (Type::File, json!("scene/a.blend"), vec![json!(""), json!("data:00:1:1")]),
            (Type::Text, json!("anything"), vec![json!("x".repeat(5000)), json!({})]),
        ] {
            assert!(input(of).take(Some(&fits)).is_ok(), "{of:?} {fits}");
            for wrong in wrong {
                let reason = input(of).take(Some(&wrong)).expect_err("refused");
                assert!(reason.starts_with("`x` "), "{reason}");
            }
        }
    }

    #[test]
    fn a_text_is_one_text_whatever_is_in_it() {
        for text in ["plain", "\"\nprice_max = \"9999 GLN\"\n#", "\\", "tab\tbell\u{7}", "ü {{x}}", "'''", "\u{85}"] {
            let line = format!("x = {}", Filled::Text(text.to_owned()).toml());
            let read: toml::Table = line.parse().expect("it is TOML");
            assert_eq!(read["x"].as_str(), Some(text), "{line}");
            assert_eq!(read.len(), 1, "{line}");
        }
    }

    #[test]
    fn a_number_with_a_point_keeps_it() {
        for (number, written) in [(1.0, "1.0"), (0.1, "0.1"), (1e300, "1e300")] {
            assert_eq!(Filled::Number(number).toml(), written);
            let read: toml::Table = format!("x = {}", Filled::Number(number).toml()).parse().expect("it is TOML");
            assert_eq!(read["x"].as_float(), Some(number));
        }
    }
}
