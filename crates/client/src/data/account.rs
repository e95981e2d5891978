//! Who a requester is to its data: one secret in its folder, made at first use.
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ed25519_dalek::SigningKey;
use gleaner_data::seal::{AccountSecret, Keys};
use gleaner_wire::api::DatasetView;
use gleaner_wire::{Hash, WorkerKey};

use crate::Error;

const SECRET_BYTES: usize = 32;
/// Datasets of which it is remembered where they came from.
const PLACES_MAX: usize = 1000;
/// What stands before a name that is not sealed.
const PLAIN: &[u8] = b"plain:";

/// The name of a dataset that came by a hub's inbox: the hub has sealed it, and knows its name and its key.
pub(super) fn plain_name(label: &str) -> Option<String> {
    let bytes = super::unhex(label)?;
    Some(String::from_utf8_lossy(bytes.strip_prefix(PLAIN)?).into_owned())
}

/// A requester's secret, and where it remembers what it pushed.
#[derive(Clone, Debug)]
pub struct Account {
    secret: AccountSecret,
    folder: PathBuf,
}

impl Account {
    /// The account in this folder, made if there is none.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(Error::file("make the folder", folder))?;
        let path = folder.join("secret");
        let bytes = match read(&path) {
            Err(Error::File { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => make(&path)?,
            read => read?,
        };
        Ok(Self { secret: AccountSecret::from_bytes(bytes), folder: folder.to_owned() })
    }

    /// The secret.
    pub fn secret(&self) -> &AccountSecret {
        &self.secret
    }

    /// The keys of the account's own datasets.
    pub fn keys(&self) -> Keys {
        self.secret.keys()
    }

    /// By which other machines know this one, and which opens what was wrapped for it.
    pub fn machine(&self) -> SigningKey {
        SigningKey::from_bytes(self.secret.derive(b"machine").expose())
    }

    /// The public half of it.
    pub fn machine_key(&self) -> WorkerKey {
        WorkerKey(self.machine().verifying_key().to_bytes())
    }

    /// Where it is remembered what a hub has.
    pub(crate) fn index(&self, hub: &str) -> PathBuf {
        let hash = Hash::of(hub.as_bytes()).to_string();
        self.folder.join(format!("index-{}.db", &hash[..16]))
    }

    /// Where it is remembered how hard to squeeze for a hub.
    pub(crate) fn level(&self, hub: &str) -> PathBuf {
        self.index(hub).with_extension("level")
    }

    /// Where `gleaner data pause` and its like leave their word.
    pub fn steering(&self) -> PathBuf {
        self.folder.join("steering.toml")
    }

    /// Notes where a dataset was pushed from, so that it can be sent again.
    pub(crate) fn note_pushed(&self, name: &str, path: &Path) {
        let folder = self.folder.join("pushed");
        let noted = std::fs::create_dir_all(&folder).and_then(|()| {
            std::fs::write(folder.join(Hash::of(name.as_bytes()).to_string()), path.as_os_str().as_encoded_bytes())
        });
        if let Err(error) = noted {
            tracing::warn!(%error, "where a dataset was pushed from is not remembered");
        }
    }

    /// Where a dataset was last pushed from, if that was here.
    pub fn pushed_from(&self, name: &str) -> Option<PathBuf> {
        let path = self.folder.join("pushed").join(Hash::of(name.as_bytes()).to_string());
        let bytes = std::fs::read(path).ok()?;
        Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
    }

    /// Notes which folder or file a dataset was made of, so that workers can be given what they miss of it.
    pub(crate) fn note_place(&self, root: &Hash, path: &Path) {
        let folder = self.folder.join("places");
        let noted = std::fs::create_dir_all(&folder).and_then(|()| {
            std::fs::write(folder.join(root.to_string()), path.as_os_str().as_encoded_bytes())?;
            forget_beyond(&folder, PLACES_MAX)
        });
        if let Err(error) = noted {
            tracing::warn!(%error, "where a dataset came from is not remembered");
        }
    }

    /// The folder or file that a dataset was made of, if that was here.
    pub(crate) fn place_of(&self, root: &Hash) -> Option<PathBuf> {
        let bytes = std::fs::read(self.folder.join("places").join(root.to_string())).ok()?;
        Some(PathBuf::from(std::ffi::OsString::from_vec(bytes))).filter(|path| path.exists())
    }

    /// A name, sealed so that only its owner reads it.
    pub(crate) fn seal_label(&self, name: &str) -> String {
        super::hex(&self.label_keys().seal_short(0, name.as_bytes()))
    }

    /// The name behind a sealed one, if it is of this account; or the name of what came by the hub's inbox.
    pub fn open_label(&self, label: &str) -> Option<String> {
        plain_name(label).or_else(|| self.open_sealed_label(label))
    }

    /// The dataset of this name. One's own come first, so that a hub cannot put something else in their place.
    pub fn find<'a>(&self, all: &'a [DatasetView], name: &str) -> Option<&'a DatasetView> {
        let own = all.iter().find(|view| self.open_sealed_label(&view.label).as_deref() == Some(name));
        own.or_else(|| all.iter().find(|view| plain_name(&view.label).as_deref() == Some(name)))
    }

    fn open_sealed_label(&self, label: &str) -> Option<String> {
        let opened = self.label_keys().open_short(0, &super::unhex(label)?).ok()?;
        String::from_utf8(opened).ok()
    }

    fn label_keys(&self) -> Keys {
        self.secret.derive(b"labels").keys()
    }
}

/// Removes the oldest files of a folder that has too many.
fn forget_beyond(folder: &Path, count: usize) -> std::io::Result<()> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    files.sort();
    files.iter().rev().skip(count).try_for_each(|(_, path)| std::fs::remove_file(path))
}

fn read(path: &Path) -> Result<[u8; SECRET_BYTES], Error> {
    let mut bytes = Vec::new();
    let opened = File::open(path).map_err(Error::file("read", path))?;
    opened.take(SECRET_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(Error::file("read", path))?;
    let wrong = |_| std::io::Error::other("it must hold 32 bytes: restore it, or remove it and lose what it opens");
    bytes.try_into().map_err(wrong).map_err(Error::file("use the secret in", path))
}

/// Makes a secret. It gets its name only when it is on disk, and never in place of another.
fn make(path: &Path) -> Result<[u8; SECRET_BYTES], Error> {
    let mut secret = [0; SECRET_BYTES];
    getrandom::fill(&mut secret).map_err(std::io::Error::other).map_err(Error::file("draw a secret for", path))?;
    let mut own = [0; 8];
    getrandom::fill(&mut own).map_err(std::io::Error::other).map_err(Error::file("draw a name for", path))?;
    let new = path.with_extension(format!("{:016x}.new", u64::from_le_bytes(own)));
    let written = || {
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
        file.write_all(&secret)?;
        file.sync_all()?;
        let linked = std::fs::hard_link(&new, path);
        std::fs::remove_file(&new)?;
        linked
    };
    match written() {
        Ok(()) => Ok(secret),
        // Another process was faster: its secret is the one.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => read(path),
        Err(error) => Err(Error::file("write", path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn an_account_is_made_once_and_only_its_owner_reads_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = dir.path().join("data");
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let folder = folder.clone();
                std::thread::spawn(move || *Account::open(&folder).expect("opens").secret().expose())
            })
            .collect();
        let secrets: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
        assert!(secrets.iter().all(|secret| *secret == secrets[0]), "all see the same");
        let mode = std::fs::metadata(folder.join("secret")).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::write(folder.join("secret"), b"short").expect("written");
        assert!(Account::open(&folder).is_err());
    }

    #[test]
    fn it_is_remembered_where_the_newest_datasets_came_from() {
        let dir = tempfile::tempdir().expect("a folder");
        let account = Account::open(&dir.path().join("data")).expect("opens");
        let root = |number: u16| Hash::of(&number.to_le_bytes());
        account.note_place(&root(0), dir.path());
        assert_eq!(account.place_of(&root(0)).as_deref(), Some(dir.path()));
        account.note_place(&root(1), &dir.path().join("gone"));
        assert_eq!(account.place_of(&root(1)), None);
        let places = dir.path().join("data/places");
        let age = |number: u16| {
            let file = File::options().write(true).open(places.join(root(number).to_string())).expect("there");
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(number.into())).expect("set");
        };
        (0..2).for_each(age);
        forget_beyond(&places, 1).expect("swept");
        assert!(!places.join(root(0).to_string()).exists() && places.join(root(1).to_string()).exists());
    }

    #[test]
    fn names_are_read_by_their_owner_only() {
        let dir = tempfile::tempdir().expect("a folder");
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        let (one, other) = (Account::open(&one).expect("opens"), Account::open(&other).expect("opens"));
        let label = one.seal_label("films, secret");
        assert_eq!(one.open_label(&label).as_deref(), Some("films, secret"));
        assert_eq!(other.open_label(&label), None);
        assert_eq!(one.open_label("zz"), None);
    }

    #[test]
    fn an_uploaded_dataset_has_a_name_for_everybody_but_never_that_of_ones_own() {
        let dir = tempfile::tempdir().expect("a folder");
        let account = Account::open(dir.path()).expect("opens");
        let (plain, own) = (super::super::hex(b"plain:films"), account.seal_label("films"));
        assert_eq!(account.open_label(&plain).as_deref(), Some("films"));
        let view = |label: &str| DatasetView {
            data: gleaner_wire::BlobRef::of(label.as_bytes()).into(),
            chunks: 1,
            owner: "ada".to_owned(),
            label: label.to_owned(),
            kind: "pushed".to_owned(),
            made_ms: 0,
            until_ms: None,
            held: 1,
            machines: 0,
        };
        let uploaded = view(&plain);
        assert_eq!(account.find(std::slice::from_ref(&uploaded), "films"), Some(&uploaded));
        assert_eq!(account.find(&[uploaded, view(&own)], "films"), Some(&view(&own)));
    }
}
