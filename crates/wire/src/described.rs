//! What the OpenAPI document says of types that write themselves: where a derived description would be another one.
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::check::{CheckFile, CheckKind};
use crate::job_file::Source;
use crate::machine::PricePolicy;
use crate::output::Encoded;
use crate::{DeviceClass, Output};

impl PartialSchema for Output {
    fn schema() -> RefOr<Schema> {
        Encoded::schema()
    }
}

impl ToSchema for Output {
    fn name() -> Cow<'static, str> {
        Encoded::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Encoded::schemas(schemas);
    }
}

impl PartialSchema for DeviceClass {
    fn schema() -> RefOr<Schema> {
        text("A class of devices: its kind, runtime and band of memory.", "nvidia-container-20GiB")
    }
}

impl ToSchema for DeviceClass {}

impl PartialSchema for PricePolicy {
    fn schema() -> RefOr<Schema> {
        text("GLN an hour of one card or processor slot, or `market` to follow what others ask.", "0.36")
    }
}

impl ToSchema for PricePolicy {}

impl PartialSchema for Source {
    fn schema() -> RefOr<Schema> {
        text("A path beside the job file, or a dataset as `data:ROOT:BYTES:BYTES`.", "frames/scene.blend")
    }
}

impl ToSchema for Source {}

fn text(what: &str, example: &str) -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String).description(Some(what));
    text.examples([example]).into()
}

/// A check as people write it: a word, or a table with the word as its `kind`.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it only describes what the reader of checks takes")]
pub(crate) enum CheckWritten {
    /// The word alone.
    Word(CheckKind),
    /// The table.
    Table(CheckFile),
}
