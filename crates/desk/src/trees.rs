//! What an account has uploaded: trees of files, by their names.
use std::path::Path;
use std::time::UNIX_EPOCH;

use gleaner_uploads::OWN_PREFIX;
use serde::Serialize;

use crate::Error;

/// Trees, and files of one, that are listed.
const LISTED_MAX: usize = 10_000;

/// A tree of files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = FileTree)]
pub(crate) struct Tree {
    /// Its name.
    pub(crate) name: String,
    /// How many files it has.
    pub(crate) files: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// When one of them was changed last, in milliseconds since 1970.
    pub(crate) modified_at: u64,
}

/// A file of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = TreeFile)]
pub(crate) struct File {
    /// Its path in the tree.
    pub(crate) path: String,
    /// How long it is.
    pub(crate) bytes: u64,
    /// When it was changed, in milliseconds since 1970.
    pub(crate) modified_at: u64,
}

/// The trees in an account's folder, by name.
pub(crate) fn list(folder: &Path) -> Result<Vec<Tree>, Error> {
    let mut trees = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::file("list", folder))?.flatten().take(LISTED_MAX) {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.starts_with(OWN_PREFIX) || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let (mut files, mut bytes, mut modified_at) = (0, 0, 0);
        walk(&entry.path(), &mut |file: File| {
            files += 1;
            bytes += file.bytes;
            modified_at = file.modified_at.max(modified_at);
            true
        })?;
        trees.push(Tree { name, files, bytes, modified_at });
    }
    trees.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(trees)
}

/// The files of a tree, by path.
pub(crate) fn files(folder: &Path) -> Result<Vec<File>, Error> {
    let mut files = Vec::new();
    walk(folder, &mut |file| {
        files.push(file);
        files.len() < LISTED_MAX
    })?;
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

/// Visits the files below a folder as long as the visitor wants more. No link is followed.
fn walk(top: &Path, visit: &mut impl FnMut(File) -> bool) -> Result<(), Error> {
    let mut folders = vec![(String::new(), top.to_owned())];
    while let Some((prefix, folder)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(Error::file("list", &folder))?.flatten() {
            // What vanishes meanwhile is not there.
            let Ok(found) = entry.metadata() else { continue };
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if found.is_dir() {
                folders.push((format!("{name}/"), entry.path()));
            } else if found.is_file() {
                let modified =
                    found.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
                let modified_at = u64::try_from(modified.as_millis()).unwrap_or(u64::MAX);
                if !visit(File { path: name, bytes: found.len(), modified_at }) {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_listed_with_what_is_in_them_and_parts_are_not() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(dir.path().join("scene/deep")).expect("made");
        std::fs::write(dir.path().join("scene/a"), [0; 3]).expect("written");
        std::fs::write(dir.path().join("scene/deep/b"), [0; 4]).expect("written");
        std::fs::write(dir.path().join(format!("{OWN_PREFIX}upload-1")), "part").expect("written");
        std::os::unix::fs::symlink("/", dir.path().join("scene/out")).expect("linked");
        let trees = list(dir.path()).expect("listed");
        assert_eq!(
            trees.iter().map(|tree| (tree.name.as_str(), tree.files, tree.bytes)).collect::<Vec<_>>(),
            [("scene", 2, 7)]
        );
        let files = files(&dir.path().join("scene")).expect("listed");
        assert_eq!(
            files.iter().map(|file| (file.path.as_str(), file.bytes)).collect::<Vec<_>>(),
            [("a", 3), ("deep/b", 4)]
        );
    }
}
