//! Publishing: a template of one's own, with the files that it names, for everybody.
use std::io::Read;
use std::path::Path;

use gleaner_uploads::Spot;
use gleaner_wire::Asker;
use serde::Deserialize;

use super::template::Template;
use super::{Form, Kind, TemplateView, shelf};
use crate::account::Account;
use crate::books::{Published, now_ms};
use crate::results::image_type;
use crate::{Desk, Error};

/// The most bytes that the files of a template have together.
const FILES_BYTES_MAX: u64 = 32 << 20;
const PICTURE_BYTES_MAX: u64 = 512 << 10;

/// A template that somebody wants to publish.
#[derive(Clone, Debug, PartialEq, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TemplatePublication)]
pub(crate) struct Publication {
    /// Its name, which stands in its address: small letters, digits and `-`.
    name: String,
    /// What people call it.
    title: String,
    kind: Kind,
    /// What it does, in a few sentences.
    about: String,
    /// The job file, with `{{input}}` for what is to be filled in.
    job: String,
    #[serde(default)]
    inputs: Form,
    /// The file with its picture.
    #[serde(default)]
    picture: Option<String>,
    /// The files that its job reads beside what is filled in.
    #[serde(default)]
    files: Vec<String>,
    /// Which of the account's file trees has its picture and its files.
    #[serde(default)]
    folder: Option<String>,
}

impl Publication {
    /// The template, if it makes sense.
    fn template(&self) -> Result<Template, Error> {
        let Self { name, title, kind, about, job, inputs, picture, files, .. } = self.clone();
        let inputs = inputs.inputs().map_err(Error::Template)?;
        let template = Template { name, title, kind, about, picture, files, inputs, job };
        template.check().map_err(Error::Template)?;
        Ok(template)
    }
}

impl Desk {
    /// Publishes a template, or a new version of one's own.
    pub(crate) async fn publish(&self, asker: &Asker, publication: &Publication) -> Result<TemplateView, Error> {
        let template = publication.template()?;
        let account = self.account(asker).await?;
        let _turn = self.inner.turns.of(&account.id).await;
        self.check_name(&account, &template.name).await?;
        let base = account.base(publication.folder.as_deref())?;
        let (wanted, picture) = (template.files.clone(), template.picture.clone());
        let reading = tokio::task::spawn_blocking(move || gather(&base, &wanted, picture.as_deref()));
        let (files, picture) = reading.await.map_err(|_| Error::Defect)??;
        let content = files.iter().map(|(path, content)| (path.as_str(), &content[..]));
        let content = content.chain(picture.iter().map(|picture| ("picture", &picture[..])));
        let text = serde_json::to_string(&template).expect("a template is plain data");
        let version = shelf::version(&text, content);
        let folder = shelf::place(&self.inner, &template.name, &version);
        let keeping = tokio::task::spawn_blocking(move || shelf::keep(&folder, &text, picture.as_deref(), &files));
        keeping.await.map_err(|_| Error::Defect)??;
        let published = Published {
            name: template.name.clone(),
            account: account.id,
            by: asker.name.clone(),
            version,
            at_ms: now_ms(),
        };
        if !self.inner.books.publish(&published).await? {
            return Err(Error::NameTaken(template.name));
        }
        self.view(shelf::find(&self.inner, &template.name).await?).await
    }

    async fn check_name(&self, account: &Account, name: &str) -> Result<(), Error> {
        let known = self.inner.books.template(name).await?;
        if shelf::is_builtin(name) || known.as_ref().is_some_and(|known| known.account != account.id) {
            return Err(Error::NameTaken(name.to_owned()));
        }
        let max = self.inner.limits.templates_max;
        if known.is_none() && self.inner.books.templates_of(&account.id).await? >= max {
            return Err(Error::TooMany(format!("you have published {max} templates: remove one first")));
        }
        Ok(())
    }

    /// Takes a template of one's own out of the catalogue.
    pub(crate) async fn unpublish(&self, asker: &Asker, name: &str) -> Result<(), Error> {
        if !self.inner.books.unpublish(&asker.account, name).await? {
            return Err(Error::not_found(format!("you have published no template `{name}`")));
        }
        let folder = self.inner.dir.join("catalogue").join(name);
        match tokio::fs::remove_dir_all(&folder).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file("remove", &folder)(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

type Gathered = (Vec<(String, Vec<u8>)>, Option<Vec<u8>>);

/// Reads what a template names out of a folder.
fn gather(base: &Path, files: &[String], picture: Option<&str>) -> Result<Gathered, Error> {
    let (mut gathered, mut room) = (Vec::new(), FILES_BYTES_MAX);
    for path in files {
        let content = read(base, path, room)?;
        room -= content.len() as u64;
        gathered.push((path.clone(), content));
    }
    let picture = picture.map(|path| read(base, path, PICTURE_BYTES_MAX)).transpose()?;
    if picture.as_ref().is_some_and(|picture| image_type(picture).is_none()) {
        return Err(Error::Template("its picture must be a PNG, JPEG, GIF or WebP".into()));
    }
    Ok((gathered, picture))
}

/// Reads a file that lies in a folder, and not where a link leads.
fn read(base: &Path, path: &str, bytes_max: u64) -> Result<Vec<u8>, Error> {
    // The user does not matter: what is checked is that these are plain names.
    let spot = Spot::parse("user", path).map_err(Error::Template)?;
    let mut place = base.to_owned();
    for name in std::iter::once(&spot.top.name).chain(&spot.below) {
        place.push(name.as_os());
        let found = place.symlink_metadata();
        if !found.is_ok_and(|found| found.is_dir() || found.is_file()) {
            return Err(Error::Template(format!("there is no file `{path}` in the folder")));
        }
    }
    let opened = std::fs::File::open(&place).map_err(Error::file("read", &place))?;
    let mut content = Vec::new();
    let read = opened.take(bytes_max + 1).read_to_end(&mut content);
    read.map_err(|_| Error::Template(format!("`{path}` is no file that can be read")))?;
    if content.len() as u64 > bytes_max {
        return Err(Error::Template(format!("`{path}` makes it larger than a template may be")));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_folder_are_published() {
        let dir = tempfile::tempdir().expect("a folder");
        let base = dir.path().join("base");
        std::fs::create_dir_all(base.join("deep")).expect("made");
        std::fs::write(base.join("deep/file"), "text").expect("written");
        std::fs::write(dir.path().join("secret"), "secret").expect("written");
        std::os::unix::fs::symlink(dir.path().join("secret"), base.join("link")).expect("linked");
        std::os::unix::fs::symlink(dir.path(), base.join("up")).expect("linked");
        assert_eq!(read(&base, "deep/file", 4).expect("read"), b"text");
        for path in ["deep/file/..", "../secret", "link", "up/secret", "/etc/passwd", "none", "deep", ""] {
            assert!(read(&base, path, 100).is_err(), "{path}");
        }
        assert!(read(&base, "deep/file", 3).is_err(), "it is too large");
    }
}
