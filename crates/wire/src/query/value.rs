//! Values of queries: from text to a type, and back.
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::Display;

use super::error::{Wrong, join};
use super::{Field, Kinds, Value};
use crate::{DeviceKind, DeviceNeed, Runtime, State};

/// Reads the value of a field.
pub fn parse(field: Field, text: &str) -> Result<Value, Wrong> {
    match field {
        Field::Memory => {
            let size = text.parse().map(Value::Memory);
            size.map_err(|_| wrong(text, "a size", "write a whole number with MiB or GiB, such as 24GiB"))
        }
        Field::Price => {
            let amount = text.trim().trim_end_matches("/h").trim_end().parse().map(Value::Price);
            amount.map_err(|_| wrong(text, "a price", "write GLN an hour, such as 0.4"))
        }
        Field::Score => number(text).map(Value::Score),
        Field::Slots => number(text).map(Value::Slots),
        Field::Device => kinds(text).map(Value::Device),
        Field::Runtime => word(text, "a runtime", Runtime::ALL).map(Value::Runtime),
        Field::State => word(text, "a state", State::ALL).map(Value::State),
        Field::Region => Ok(Value::Region(text.into())),
        Field::Name => Ok(Value::Name(text.into())),
        Field::Owner => {
            let owner = text.parse().map(Value::Owner);
            owner.map_err(|_| wrong(text, "an address", "write 0x and 40 hexadecimal digits"))
        }
        Field::Managed => match text {
            "yes" | "true" => Ok(Value::Managed(true)),
            "no" | "false" => Ok(Value::Managed(false)),
            _ => Err(wrong(text, "yes or no", "write yes for the platform's own workers, no for all others")),
        },
    }
}

/// What a value belongs to.
pub fn field(value: &Value) -> Field {
    match value {
        Value::Memory(_) => Field::Memory,
        Value::Device(_) => Field::Device,
        Value::Region(_) => Field::Region,
        Value::Price(_) => Field::Price,
        Value::Score(_) => Field::Score,
        Value::Runtime(_) => Field::Runtime,
        Value::State(_) => Field::State,
        Value::Name(_) => Field::Name,
        Value::Owner(_) => Field::Owner,
        Value::Managed(_) => Field::Managed,
        Value::Slots(_) => Field::Slots,
    }
}

/// The text that reads back as this value.
pub fn write(value: &Value) -> String {
    match value {
        Value::Memory(size) => size.to_string(),
        Value::Device(kinds) => {
            let gpu = Kinds::that(|kind| DeviceNeed::Gpu.accepts(kind));
            let one = DeviceKind::ALL.into_iter().find(|kind| kinds.has(*kind));
            if *kinds == gpu { "gpu".into() } else { one.map_or_else(String::new, |kind| kind.to_string()) }
        }
        Value::Region(text) | Value::Name(text) => quoted(text),
        Value::Price(amount) => amount.to_string(),
        Value::Score(number) | Value::Slots(number) => number.to_string(),
        Value::Runtime(runtime) => runtime.to_string(),
        Value::State(state) => state.to_string(),
        Value::Owner(address) => address.to_string(),
        Value::Managed(managed) => (if *managed { "yes" } else { "no" }).into(),
    }
}

fn quoted(text: &str) -> String {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    if plain { text.into() } else { format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")) }
}

fn wrong(text: &str, what: &str, help: &str) -> Wrong {
    let shown: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    Wrong { what: format!("`{shown}` is not {what}"), help: help.into() }
}

fn number(text: &str) -> Result<u32, Wrong> {
    text.parse().map_err(|_| wrong(text, "a whole number", "write such as 80"))
}

fn kinds(text: &str) -> Result<Kinds, Wrong> {
    if text == "gpu" {
        return Ok(Kinds::that(|kind| DeviceNeed::Gpu.accepts(kind)));
    }
    let help = || format!("devices are {}, and gpu for any but cpu and software", names(DeviceKind::ALL));
    let kind = DeviceKind::ALL.into_iter().find(|kind| kind.to_string() == text);
    kind.map(|kind| Kinds::that(|one| one == kind)).ok_or_else(|| wrong(text, "a kind of device", &help()))
}

fn word<T: Display + Copy, const N: usize>(text: &str, what: &str, all: [T; N]) -> Result<T, Wrong> {
    let found = all.into_iter().find(|one| one.to_string() == text);
    found.ok_or_else(|| wrong(text, what, &format!("use one of {}", names(all))))
}

fn names<T: Display, const N: usize>(all: [T; N]) -> String {
    join(all.map(|one| one.to_string()).each_ref().map(String::as_str))
}
