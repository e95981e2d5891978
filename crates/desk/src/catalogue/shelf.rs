//! Where templates are: in the program, or in a folder for each version that was published.
use std::path::{Path, PathBuf};

use gleaner_uploads::Spot;
use gleaner_wire::Hash;

use super::builtin::{self, Builtin};
use super::template::Template;
use crate::Error;
use crate::account::{Account, make_folder};
use crate::books::Published;
use crate::desk::Inner;

/// How many digits of a version stand in the name of a folder.
const VERSION_DIGITS: usize = 12;

/// A template, and where its files are.
pub(super) struct Shelved {
    pub(super) template: Template,
    pub(super) version: String,
    pub(super) published: Option<Published>,
    place: Place,
}

enum Place {
    Program(Builtin),
    Folder(PathBuf),
}

/// The version of what a template is made of.
pub(super) fn version<'a>(text: &str, files: impl Iterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut parts = Hash::of(text.as_bytes()).0.to_vec();
    for (path, content) in files {
        parts.extend_from_slice(&Hash::of(path.as_bytes()).0);
        parts.extend_from_slice(&Hash::of(content).0);
    }
    Hash::of(&parts).to_string()[..VERSION_DIGITS].to_owned()
}

/// Those that come with the program.
pub(super) fn builtin() -> impl Iterator<Item = Shelved> {
    builtin::ALL.into_iter().map(|builtin| {
        let template = Template::parse(builtin.text).expect("a test reads every one of them");
        let version = version(builtin.text, builtin.files.iter().copied());
        Shelved { template, version, published: None, place: Place::Program(builtin) }
    })
}

/// The folder of a version that was published.
pub(super) fn place(inner: &Inner, name: &str, version: &str) -> PathBuf {
    inner.dir.join("catalogue").join(name).join(version)
}

/// One that was published; none if its files are gone.
pub(super) async fn published(inner: &Inner, published: Published) -> Result<Option<Shelved>, Error> {
    let folder = place(inner, &published.name, &published.version);
    let Ok(text) = tokio::fs::read(folder.join("template.json")).await else { return Ok(None) };
    let Ok(template) = serde_json::from_slice(&text) else { return Ok(None) };
    let version = published.version.clone();
    Ok(Some(Shelved { template, version, published: Some(published), place: Place::Folder(folder) }))
}

/// One by its name.
pub(super) async fn find(inner: &Inner, name: &str) -> Result<Shelved, Error> {
    if let Some(found) = builtin().find(|shelved| shelved.template.name == name) {
        return Ok(found);
    }
    let missing = || Error::not_found("there is no such template in the catalogue");
    let row = inner.books.template(name).await?.ok_or_else(missing)?;
    published(inner, row).await?.ok_or_else(missing)
}

/// Whether a name is that of a template that comes with the program.
pub(super) fn is_builtin(name: &str) -> bool {
    builtin().any(|shelved| shelved.template.name == name)
}

impl Shelved {
    /// The name of the folder that its files get beside an account's own.
    pub(super) fn folder(&self) -> String {
        format!("template-{}-{}", self.template.name, self.version)
    }

    /// Its picture.
    pub(super) async fn picture(&self) -> Result<Option<Vec<u8>>, Error> {
        match &self.place {
            Place::Program(builtin) => Ok(Some(builtin.picture.to_vec())),
            Place::Folder(folder) => Ok(tokio::fs::read(folder.join("picture")).await.ok()),
        }
    }

    async fn file(&self, path: &str) -> Result<Vec<u8>, Error> {
        match &self.place {
            Place::Program(builtin) => {
                let found = builtin.files.iter().find(|(own, _)| *own == path);
                found.map(|(_, content)| content.to_vec()).ok_or(Error::Defect)
            }
            Place::Folder(folder) => {
                let path = folder.join("files").join(path);
                tokio::fs::read(&path).await.map_err(Error::file("read", &path))
            }
        }
    }
}

/// Puts the files of a template beside an account's own, as far as they are not there.
pub(super) async fn lay_out(inner: &Inner, account: &Account, shelved: &Shelved, folder: &str) -> Result<(), Error> {
    let user = account.user.clone();
    let books = std::sync::Arc::clone(&inner.uploads);
    let counted = tokio::task::spawn_blocking(move || books.prepare(&user, 0)).await.map_err(|_| Error::Defect)?;
    counted.map_err(Error::file("count", &account.files))?;
    for path in &shelved.template.files {
        let spot = Spot::parse(account.user.as_str(), &format!("{folder}/{path}")).map_err(Error::Template)?;
        let place = account.files.join(folder).join(path);
        if place.symlink_metadata().is_ok_and(|found| found.is_file()) {
            continue;
        }
        let content = shelved.file(path).await?;
        inner.uploads.take_entry(&spot.top.user).map_err(gleaner_uploads::Error::from)?;
        inner.uploads.take(&spot.top.user, content.len() as u64).map_err(gleaner_uploads::Error::from)?;
        let all = inner.files_dir();
        let written =
            tokio::task::spawn_blocking(move || write(&all, &spot, &content)).await.map_err(|_| Error::Defect)?;
        written.map_err(Error::file("write", &place))?;
    }
    Ok(())
}

fn write(all: &Path, spot: &Spot, content: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    // A version of its own, so that no upload goes on with it.
    let part = gleaner_uploads::open_part(all, spot, Some(0))?;
    part.file.set_len(0)?;
    (&part.file).write_all(content)?;
    gleaner_uploads::finish(all, spot, Some(0), &part.file)
}

/// Writes a version that was published into its folder: whole or not at all.
pub(super) fn keep(
    folder: &Path,
    text: &str,
    picture: Option<&[u8]>,
    files: &[(String, Vec<u8>)],
) -> Result<(), Error> {
    let part = folder.with_extension("part");
    if part.exists() {
        std::fs::remove_dir_all(&part).map_err(Error::file("remove", &part))?;
    }
    make_folder(&part.join("files"))?;
    let save = |path: PathBuf, content: &[u8]| {
        if let Some(parent) = path.parent() {
            make_folder(parent)?;
        }
        std::fs::write(&path, content).map_err(Error::file("write", &path))
    };
    save(part.join("template.json"), text.as_bytes())?;
    if let Some(picture) = picture {
        save(part.join("picture"), picture)?;
    }
    for (path, content) in files {
        save(part.join("files").join(path), content)?;
    }
    if folder.exists() {
        // The same version is the same content.
        return std::fs::remove_dir_all(&part).map_err(Error::file("remove", &part));
    }
    std::fs::rename(&part, folder).map_err(Error::file("place", folder))
}
