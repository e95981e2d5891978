//! What a job file names becomes datasets on the hub.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use gleaner_data::manifest::Root;
use gleaner_data::seal::DatasetKey;
use gleaner_wire::job_file::{JobFile, Source};
use gleaner_wire::{BlobRef, DataRef, Hash, Runtime};
use tokio::sync::watch;

use super::{Account, HubData, Local, Opens, Pull, Push, PushProgress, Steer};
use crate::{Draft, Error};

/// What is done with what a job file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bringing {
    /// It is pushed to the hub.
    All,
    /// Workers get large inputs from this machine, and the hub only the lists of them.
    Lists,
    /// It is only named, as it would be on the hub.
    Names,
}

/// Turns what a job file names into datasets.
pub(crate) struct Inputs<'a> {
    pub(crate) account: &'a Account,
    pub(crate) hub: &'a HubData,
    pub(crate) owner: &'a str,
    pub(crate) draft: &'a Draft,
    pub(crate) pushed: BTreeMap<String, DataRef>,
    pub(crate) keys: BTreeMap<Hash, DatasetKey>,
    pub(crate) bringing: Bringing,
    /// The roots of everything that the job reads.
    pub(crate) roots: BTreeSet<BlobRef>,
    pub(crate) steer: Option<watch::Receiver<Steer>>,
}

impl Inputs<'_> {
    /// What of it was pushed from this machine, now or before.
    pub(crate) fn locals(&self) -> Vec<Local> {
        let local = |(root, key): (&BlobRef, &DatasetKey)| {
            Some(Local { path: self.account.place_of(&root.id)?, root: *root, key: key.clone() })
        };
        self.roots.iter().filter_map(|root| Some((root, self.keys.get(&root.id)?))).filter_map(local).collect()
    }
}

impl Inputs<'_> {
    /// The job, with datasets in place of paths and names.
    pub(crate) async fn push_all(&mut self, progress: &mut impl FnMut(&str, &PushProgress)) -> Result<JobFile, Error> {
        let mut file = self.draft.file.clone();
        for (number, task) in file.tasks.iter_mut().enumerate() {
            let at = format!("task[{number}].program");
            // A scene or an image may be a folder; any other program is one file.
            let is_folder = match task.runtime {
                Runtime::Wasm | Runtime::Wgsl => Some(false),
                Runtime::Container | Runtime::Blender => None,
            };
            if let Some(program) = &mut task.program {
                self.push(&at, program, is_folder, progress).await?;
            }
            for (place, input) in task.inputs.iter_mut().enumerate() {
                let at = |field: &str| format!("task[{number}].input[{place}].{field}");
                if let Some(source) = &mut input.file {
                    self.push(&at("file"), source, Some(false), progress).await?;
                }
                if let Some(source) = &mut input.folder {
                    self.push(&at("folder"), source, Some(true), progress).await?;
                }
                if let Some(name) = input.dataset.take() {
                    let data = self.named(&at("dataset"), &name).await?;
                    input.folder = Some(Source::Data(data));
                }
            }
        }
        Ok(file)
    }

    async fn push(
        &mut self,
        at: &str,
        source: &mut Source,
        is_folder: Option<bool>,
        progress: &mut impl FnMut(&str, &PushProgress),
    ) -> Result<(), Error> {
        let name = match &*source {
            Source::Path(name) => name.clone(),
            Source::Data(data) => return self.learn(*data).await,
        };
        if let Some(data) = self.pushed.get(&name) {
            *source = Source::Data(*data);
            return Ok(());
        }
        let path = self.draft.folder().join(&name);
        if self.draft.is_confined() {
            confined(self.draft.folder(), &name).map_err(|reason| self.draft.wrong(at, reason))?;
        }
        self.check(at, &name, &path, is_folder)?;
        let push = Push {
            account: self.account,
            hub: self.hub,
            owner: self.owner,
            name: None,
            checksum: false,
            steer: self.steer.clone(),
            direct: self.bringing == Bringing::Lists,
        };
        let unreadable = |error| match error {
            Error::Pack { reason, .. } => self.draft.wrong(at, format!("cannot read `{name}`: {reason}")),
            other => other,
        };
        if self.bringing == Bringing::Names {
            let data = push.reckon(&path).await.map_err(unreadable)?;
            self.pushed.insert(name, data);
            *source = Source::Data(data);
            return Ok(());
        }
        let pushed = push.run(&path, |so_far| progress(&name, so_far)).await.map_err(unreadable)?;
        self.roots.insert(pushed.data.root);
        self.keys.insert(pushed.data.root.id, pushed.key);
        self.pushed.insert(name, pushed.data);
        *source = Source::Data(pushed.data);
        Ok(())
    }

    fn check(&self, at: &str, name: &str, path: &Path, is_folder: Option<bool>) -> Result<(), Error> {
        let found =
            std::fs::metadata(path).map_err(|error| self.draft.wrong(at, format!("cannot read `{name}`: {error}")))?;
        match is_folder {
            Some(true) if !found.is_dir() => {
                Err(self.draft.wrong(at, format!("`{name}` is a file: name it with `file`")))
            }
            Some(false) if found.is_dir() => {
                Err(self.draft.wrong(at, format!("`{name}` is a folder: name it with `folder`")))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A dataset that was pushed before, by its name or reference.
    async fn named(&mut self, at: &str, name: &str) -> Result<DataRef, Error> {
        if let Ok(data) = name.parse::<DataRef>() {
            self.learn(data).await?;
            return Ok(data);
        }
        let mut all = self.hub.datasets().await?;
        if self.draft.is_confined() {
            all.retain(|view| view.owner == self.owner);
        }
        let missing = || self.draft.wrong(at, format!("no dataset `{name}` was pushed to this hub"));
        let found = self.account.find(&all, name).ok_or_else(missing)?;
        if self.bringing == Bringing::Names {
            return Ok(found.data);
        }
        let keys = self.account.keys();
        let pull = Pull { hub: self.hub, root: found.data.root, opens: Opens::of(found, &keys), steer: None };
        self.roots.insert(found.data.root);
        self.keys.insert(found.data.root.id, pull.key().await?);
        Ok(found.data)
    }

    /// What opens a dataset that was pushed before, by this account or through the hub's inbox. Its root says what is in
    /// it, so whoever gives the key cannot change that.
    async fn learn(&mut self, data: DataRef) -> Result<(), Error> {
        if self.bringing == Bringing::Names {
            return Ok(());
        }
        self.roots.insert(data.root);
        if !self.keys.contains_key(&data.root.id) {
            let sealed = super::pull::root_of(self.hub, data.root).await?;
            let key = self.account.keys().dataset_key(&sealed);
            let key = key.map_err(|_| Error::answer(self.hub.url(), "a root that is none"))?;
            let key = match Root::open(&key, sealed) {
                Ok(_) => key,
                Err(source) => {
                    let shut = || Error::Fetch { what: data.root.id, source: Box::new(source) };
                    self.uploaded(data.root.id).await?.ok_or_else(shut)?
                }
            };
            self.keys.insert(data.root.id, key);
        }
        Ok(())
    }

    /// What opens a dataset that came by the hub's inbox. Who is confined gets the keys of its own uploads only.
    async fn uploaded(&self, root: Hash) -> Result<Option<DatasetKey>, Error> {
        if self.draft.is_confined() && self.hub.dataset(root).await?.owner != self.owner {
            return Ok(None);
        }
        self.hub.key(root).await
    }
}

/// Refuses a path that leads, or could lead, out of its folder. The reason is for people.
fn confined(folder: &Path, name: &str) -> Result<(), String> {
    let mut path = folder.to_owned();
    if !Path::new(name).components().any(|part| matches!(part, Component::Normal(_))) {
        return Err(format!("`{name}` is the folder of the job itself: name what lies in it"));
    }
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => continue,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(format!("`{name}` leads out of the folder of the job: name what lies in it"));
            }
        }
        let found = std::fs::symlink_metadata(&path).map_err(|error| format!("cannot read `{name}`: {error}"))?;
        if !found.is_dir() && !found.is_file() {
            return Err(format!("`{name}` is a link or a device: only files and folders are read"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_confined_reads_what_lies_in_its_folder_and_nothing_else() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = dir.path().join("mine");
        std::fs::create_dir_all(folder.join("deep")).expect("made");
        std::fs::write(folder.join("deep/file"), "text").expect("written");
        std::fs::write(dir.path().join("secret"), "text").expect("written");
        std::os::unix::fs::symlink(dir.path(), folder.join("out")).expect("linked");
        std::os::unix::fs::symlink("deep", folder.join("link")).expect("linked");
        for name in ["deep/file", "deep", "./deep/./file", "deep/"] {
            assert_eq!(confined(&folder, name), Ok(()), "{name}");
        }
        let absolute = dir.path().join("secret").display().to_string();
        for name in
            ["../secret", "deep/../../secret", "out/secret", "link/file", "out", "link", "/etc/passwd", &absolute]
        {
            let reason = confined(&folder, name).expect_err(name);
            assert!(!reason.contains("cannot read"), "it is refused before anything is looked at: {reason}");
        }
        assert!(confined(&folder, "").is_err() && confined(&folder, ".").is_err() && confined(&folder, "./").is_err());
        assert!(confined(&folder, "deep/..").is_err() && confined(&folder, "none").is_err());
        assert!(confined(&folder, "deep/file/..").is_err() && confined(&folder, "deep/fi\0le").is_err());
    }
}
