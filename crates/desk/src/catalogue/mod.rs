//! The catalogue: job files with blanks in them, which people fill in on a form. Some come with the program; anybody may
//! publish more.
mod builtin;
mod fill;
mod form;
mod input;
mod publish;
mod shelf;
mod template;

use gleaner_wire::{Amount, Asker, Hash};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use form::{Form, Format, Property, PropertyType};
pub(crate) use publish::Publication;
pub use template::Kind;
use template::Template;

use crate::books::Typical;
use crate::{Desk, Error};
use shelf::Shelved;

/// Templates that are listed at once.
pub(crate) const LISTED_MAX: u32 = 100;
/// Who is said to have published what came with the program.
const OURS: &str = "gleaner";

/// A template, as people see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = Template)]
pub struct TemplateView {
    /// Its name, which stands in its address.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// What it is for.
    pub kind: Kind,
    /// What it does, in a few sentences.
    pub about: String,
    /// Where its picture is.
    pub picture: Option<String>,
    /// Who published it; `gleaner` if it came with the program.
    pub author: String,
    /// When, in milliseconds since 1970.
    pub published_at: Option<u64>,
    /// Changes when the template does.
    pub version: String,
    /// What is to be filled in.
    pub inputs: Form,
    /// The job file, with `{{input}}` for what is to be filled in.
    pub job: String,
    /// How many runs of it were done, of the newest.
    pub runs: u32,
    /// What they cost and took; none while there were none.
    pub typical: Option<TypicalView>,
}

/// What runs of a template cost and took: the middle of those that were done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = TypicalRun)]
pub struct TypicalView {
    /// What they cost.
    pub cost: Amount,
    /// How long they took, in milliseconds.
    pub time_ms: u64,
}

/// A job file that was made of a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = RenderedJob)]
pub(crate) struct Rendered {
    /// The job file. Its paths start from the folder of all of the account's files.
    pub(crate) job: String,
}

impl Desk {
    /// The templates whose names come after a cursor: those that came with the program first. Says where to go on.
    pub(crate) async fn catalogue(
        &self,
        kind: Option<Kind>,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<(Vec<TemplateView>, Option<String>), Error> {
        let (mut views, mut after) = (Vec::new(), cursor.unwrap_or_default().to_owned());
        if cursor.is_none() {
            for shelved in shelf::builtin() {
                self.show(shelved, kind, &mut views).await?;
            }
        }
        loop {
            let some = self.inner.books.templates(&after, limit).await?;
            for published in &some {
                after = published.name.clone();
                // One whose files are gone is left out.
                if let Some(shelved) = shelf::published(&self.inner, published.clone()).await? {
                    self.show(shelved, kind, &mut views).await?;
                }
                if views.len() >= limit as usize {
                    return Ok((views, Some(after)));
                }
            }
            if some.len() < limit as usize {
                return Ok((views, None));
            }
        }
    }

    async fn show(&self, shelved: Shelved, kind: Option<Kind>, to: &mut Vec<TemplateView>) -> Result<(), Error> {
        if kind.is_none_or(|kind| kind == shelved.template.kind) {
            to.push(self.view(shelved).await?);
        }
        Ok(())
    }

    /// One template.
    pub(crate) async fn template(&self, name: &str) -> Result<TemplateView, Error> {
        self.view(shelf::find(&self.inner, name).await?).await
    }

    /// The picture of a template.
    pub(crate) async fn picture(&self, name: &str) -> Result<Vec<u8>, Error> {
        let shelved = shelf::find(&self.inner, name).await?;
        shelved.picture().await?.ok_or_else(|| Error::not_found(format!("`{name}` has no picture")))
    }

    /// Fills in a template, and puts its files beside the asker's own.
    pub(crate) async fn render(
        &self,
        asker: &Asker,
        name: &str,
        inputs: &Map<String, Value>,
    ) -> Result<Rendered, Error> {
        let shelved = shelf::find(&self.inner, name).await?;
        let folder = shelved.folder();
        let job = shelved.template.fill(inputs, &folder)?;
        if !shelved.template.files.is_empty() {
            let account = self.account(asker).await?;
            shelf::lay_out(&self.inner, &account, &shelved, &folder).await?;
        }
        self.inner.books.note_rendered(Hash::of(job.as_bytes()), name).await?;
        Ok(Rendered { job })
    }

    async fn view(&self, shelved: Shelved) -> Result<TemplateView, Error> {
        let typical = self.inner.books.typical(&shelved.template.name).await?;
        let Shelved { template, version, published, .. } = shelved;
        let Template { name, title, kind, about, picture, inputs, job, .. } = template;
        Ok(TemplateView {
            picture: picture.map(|_| format!("/api/v1/catalogue/{name}/picture?version={version}")),
            name,
            title,
            kind,
            about,
            author: published.as_ref().map_or_else(|| OURS.to_owned(), |published| published.by.clone()),
            published_at: published.map(|published| published.at_ms),
            version,
            inputs: Form::from(&inputs[..]),
            job,
            runs: typical.map_or(0, |typical| typical.runs),
            typical: typical.map(|Typical { cost, time_ms, .. }| TypicalView { cost, time_ms }),
        })
    }
}
