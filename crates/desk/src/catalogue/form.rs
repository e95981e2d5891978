//! The form of a template, in the words of JSON Schema: as people see it, and as they publish it.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::input::{Input, Type, json_of};

/// What is to be filled in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TemplateForm)]
pub struct Form {
    /// Each by its name.
    #[serde(default)]
    pub properties: BTreeMap<String, Property>,
    /// Those that have no default.
    #[serde(default)]
    pub required: Vec<String>,
    /// The order in which people see them.
    #[serde(default)]
    pub order: Vec<String>,
}

/// Something that is to be filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TemplateInput)]
pub struct Property {
    /// What kind of value it takes.
    #[serde(rename = "type")]
    pub of: PropertyType,
    /// What people read beside it.
    #[serde(default)]
    pub title: String,
    /// What they should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What a text has to be: `amount`, `duration` or `dataset`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// What is taken if nothing is filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub default: Option<Value>,
    /// The texts to choose from.
    #[serde(default, rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The least number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<f64>,
    /// The largest number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<f64>,
}

/// What kind of value is filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = TemplateInputType)]
pub enum PropertyType {
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Yes or no.
    Boolean,
    /// Several texts.
    Array,
    /// The path of a file among the account's own.
    File,
    /// The path of a folder among the account's own.
    Folder,
}

/// What a text has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = TemplateInputFormat)]
pub enum Format {
    /// Money, such as `2.5 GLN`.
    Amount,
    /// A time, such as `10m`.
    Duration,
    /// The name of a dataset that the account has pushed.
    Dataset,
}

impl From<&[Input]> for Form {
    fn from(inputs: &[Input]) -> Self {
        let required = inputs.iter().filter(|input| input.offered().is_none());
        Self {
            properties: inputs.iter().map(|input| (input.name.clone(), Property::from(input))).collect(),
            required: required.map(|input| input.name.clone()).collect(),
            order: inputs.iter().map(|input| input.name.clone()).collect(),
        }
    }
}

impl From<&Input> for Property {
    fn from(input: &Input) -> Self {
        let (of, format) = match input.of {
            Type::Text | Type::Choice => (PropertyType::String, None),
            Type::Amount => (PropertyType::String, Some(Format::Amount)),
            Type::Duration => (PropertyType::String, Some(Format::Duration)),
            Type::Dataset => (PropertyType::String, Some(Format::Dataset)),
            Type::Integer => (PropertyType::Integer, None),
            Type::Number => (PropertyType::Number, None),
            Type::Boolean => (PropertyType::Boolean, None),
            Type::List => (PropertyType::Array, None),
            Type::File => (PropertyType::File, None),
            Type::Folder => (PropertyType::Folder, None),
        };
        Self {
            of,
            title: input.title.clone(),
            description: input.help.clone(),
            format,
            default: input.offered().and_then(json_of),
            choices: input.choices.clone(),
            minimum: input.min,
            maximum: input.max,
        }
    }
}

impl Form {
    /// What is to be filled in, in order. The reason why it makes no sense is for people.
    pub(super) fn inputs(&self) -> Result<Vec<Input>, String> {
        let place = |name: &String| self.order.iter().position(|other| other == name).unwrap_or(usize::MAX);
        let mut all: Vec<_> = self.properties.iter().collect();
        all.sort_by_key(|(name, _)| place(name));
        all.into_iter().map(|(name, property)| property.input(name, self.required.contains(name))).collect()
    }
}

impl Property {
    fn input(&self, name: &str, required: bool) -> Result<Input, String> {
        let of = match (self.of, self.format) {
            (PropertyType::String, None) if !self.choices.is_empty() => Type::Choice,
            (PropertyType::String, None) => Type::Text,
            (PropertyType::String, Some(Format::Amount)) => Type::Amount,
            (PropertyType::String, Some(Format::Duration)) => Type::Duration,
            (PropertyType::String, Some(Format::Dataset)) => Type::Dataset,
            (PropertyType::Integer, None) => Type::Integer,
            (PropertyType::Number, None) => Type::Number,
            (PropertyType::Boolean, None) => Type::Boolean,
            (PropertyType::Array, None) => Type::List,
            (PropertyType::File, None) => Type::File,
            (PropertyType::Folder, None) => Type::Folder,
            (_, Some(_)) => return Err(format!("input `{name}`: only texts have a format")),
        };
        let given = self.default.clone().filter(|value| !value.is_null());
        let default = match (given, of, required) {
            (Some(value), _, _) => Some(value),
            (None, _, true) => None,
            (None, Type::Text, false) => Some(Value::from("")),
            (None, _, false) => return Err(format!("input `{name}` must be required, or have a default")),
        };
        let default = default.map(serde_json::from_value::<toml::Value>).transpose();
        Ok(Input {
            name: name.to_owned(),
            title: if self.title.is_empty() { name.to_owned() } else { self.title.clone() },
            help: self.description.clone(),
            of,
            default: default.map_err(|_| format!("the default of `{name}` is no value"))?,
            min: self.minimum,
            max: self.maximum,
            choices: self.choices.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn inputs(form: Value) -> Result<Vec<Input>, String> {
        serde_json::from_value::<Form>(form).expect("a form").inputs()
    }

    #[test]
    fn a_form_is_the_same_as_it_is_published_and_shown() {
        let form = json!({
            "properties": {
                "count": { "type": "integer", "title": "How many", "minimum": 1.0, "maximum": 9.0, "default": 4 },
                "data": { "type": "file", "title": "Data" },
                "price": { "type": "string", "title": "Price", "format": "amount", "default": "1 GLN" },
                "kind": { "type": "string", "title": "Kind", "enum": ["a", "b"], "default": "a" },
            },
            "required": ["data"],
            "order": ["data", "count", "price", "kind"],
        });
        let read = inputs(form.clone()).expect("it makes sense");
        assert_eq!(
            read.iter().map(|input| input.of).collect::<Vec<_>>(),
            [Type::File, Type::Integer, Type::Amount, Type::Choice]
        );
        assert_eq!(serde_json::to_value(Form::from(&read[..])).expect("plain data"), form);
    }

    #[test]
    fn what_nobody_has_to_fill_in_has_a_default() {
        let read = inputs(json!({ "properties": { "a": { "type": "string" } } })).expect("it makes sense");
        assert_eq!((read[0].title.as_str(), read[0].default.as_ref().and_then(toml::Value::as_str)), ("a", Some("")));
        assert!(inputs(json!({ "properties": { "a": { "type": "integer" } } })).is_err());
        assert!(inputs(json!({ "properties": { "a": { "type": "integer", "format": "amount" } } })).is_err());
    }
}
