//! The files that a program sees: `/in` with its inputs, read-only, and `/out`, which it may fill.
//!
//! Nothing here is a folder of the machine, so there is nothing to escape to, and what a program sees of a file
//! (order, numbers, times) is the same on every machine.
use std::collections::BTreeMap;

use super::errno::Errno;
use super::stop::{Fail, Quota};
use crate::content::Content;
use crate::product::Body;

/// The most files and folders under `/out`.
const OUTPUT_ENTRIES_MAX: usize = 65_536;
/// The longest path below the root.
const PATH_BYTES_MAX: usize = 4096;

/// What a path leads to.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Folder,
    Input(Content),
    Output(usize),
}

#[derive(Debug)]
enum Entry {
    Folder,
    File(usize),
}

/// All files of one running program.
#[derive(Debug)]
pub(crate) struct Tree {
    inputs: Content,
    /// Entries under `/out` by their path from there.
    entries: BTreeMap<String, Entry>,
    /// Contents by number. One that was removed stays until the end, since a handle may still be open.
    bodies: Vec<Body>,
}

/// Joins a path to that of the folder it starts from; it must not leave that folder.
pub(crate) fn resolve(base: &str, path: &str) -> Result<String, Errno> {
    if path.starts_with('/') {
        return Err(Errno::NOT_CAPABLE);
    }
    let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    let floor = parts.len();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.len() > floor => drop(parts.pop()),
            ".." => return Err(Errno::NOT_CAPABLE),
            name => parts.push(name),
        }
    }
    let joined = parts.join("/");
    if joined.len() > PATH_BYTES_MAX { Err(Errno::NAME_TOO_LONG) } else { Ok(joined) }
}

/// The path below `/out`, if it is a place where something may be made.
fn below_out(path: &str) -> Result<&str, Errno> {
    path.strip_prefix("out/").ok_or(Errno::READ_ONLY)
}

impl Tree {
    pub(crate) fn new(inputs: Content) -> Self {
        Self { inputs, entries: BTreeMap::new(), bodies: Vec::new() }
    }

    /// What is at a resolved path.
    pub(crate) fn find(&self, path: &str) -> Result<Node, Errno> {
        if path.is_empty() || path == "in" || path == "out" {
            return Ok(Node::Folder);
        }
        if let Ok(name) = below_out(path) {
            return match self.entries.get(name) {
                Some(Entry::Folder) => Ok(Node::Folder),
                Some(Entry::File(body)) => Ok(Node::Output(*body)),
                None => Err(Errno::MISSING),
            };
        }
        let content = self.input(path)?;
        Ok(if content.is_folder() { Node::Folder } else { Node::Input(content) })
    }

    fn input(&self, path: &str) -> Result<Content, Errno> {
        let mut parts = path.split('/');
        if parts.next() != Some("in") {
            return Err(Errno::MISSING);
        }
        parts.try_fold(self.inputs.clone(), |content, name| content.child(name)).ok_or(Errno::MISSING)
    }

    /// Some entries of the folder at a resolved path, in order, each with whether it is a folder.
    pub(crate) fn list(&self, path: &str, first: usize, count: usize) -> Result<Vec<(String, bool)>, Errno> {
        if path.is_empty() {
            let all = ["in", "out"].into_iter().map(|name| (name.to_owned(), true));
            return Ok(all.skip(first).take(count).collect());
        }
        if path != "out" && !path.starts_with("out/") {
            return Ok(self.input(path)?.list(first, count));
        }
        let prefix = below_out(path).map(|name| format!("{name}/")).unwrap_or_default();
        let inside = self.entries.range(prefix.clone()..).take_while(|(name, _)| name.starts_with(&prefix));
        let direct = inside.filter(|(name, _)| !name[prefix.len()..].contains('/'));
        let named = direct.map(|(name, entry)| (name[prefix.len()..].to_owned(), matches!(entry, Entry::Folder)));
        Ok(named.skip(first).take(count).collect())
    }

    /// Makes an empty file.
    pub(crate) fn create_file(&mut self, path: &str) -> Result<usize, Errno> {
        let body = self.bodies.len();
        self.create(path, Entry::File(body))?;
        self.bodies.push(Body::default());
        Ok(body)
    }

    pub(crate) fn create_folder(&mut self, path: &str) -> Result<(), Errno> {
        self.create(path, Entry::Folder)
    }

    fn create(&mut self, path: &str, entry: Entry) -> Result<(), Errno> {
        if self.find(path).is_ok() {
            return Err(Errno::EXISTS);
        }
        let name = self.free_place(path)?.to_owned();
        if self.entries.len().max(self.bodies.len()) >= OUTPUT_ENTRIES_MAX {
            return Err(Errno::NO_SPACE);
        }
        self.entries.insert(name, entry);
        Ok(())
    }

    /// The path below `/out` of something to be made, if its folder is there.
    fn free_place<'a>(&self, path: &'a str) -> Result<&'a str, Errno> {
        let name = below_out(path)?;
        match name.rsplit_once('/').map(|(folder, _)| self.entries.get(folder)) {
            None | Some(Some(Entry::Folder)) => Ok(name),
            Some(Some(Entry::File(_))) => Err(Errno::NOT_DIRECTORY),
            Some(None) => Err(Errno::MISSING),
        }
    }

    /// Removes a file; its content stays while it is among the `open` ones.
    pub(crate) fn remove_file(&mut self, path: &str, open: &[usize], quota: &mut Quota) -> Result<(), Errno> {
        match self.find(path)? {
            Node::Folder => Err(Errno::IS_DIRECTORY),
            Node::Input(_) => Err(Errno::READ_ONLY),
            Node::Output(body) => {
                self.entries.remove(below_out(path)?);
                if !open.contains(&body) {
                    quota.give_back(self.bodies[body].len());
                    self.bodies[body].clear(&mut quota.scratch);
                }
                Ok(())
            }
        }
    }

    pub(crate) fn remove_folder(&mut self, path: &str) -> Result<(), Errno> {
        match self.find(path)? {
            Node::Input(_) | Node::Output(_) => Err(Errno::NOT_DIRECTORY),
            Node::Folder if !self.list(path, 0, 1)?.is_empty() => Err(Errno::NOT_EMPTY),
            Node::Folder => {
                self.entries.remove(below_out(path)?);
                Ok(())
            }
        }
    }

    /// Gives a file or a folder another path. A file may replace a file.
    pub(crate) fn rename(&mut self, from: &str, to: &str, open: &[usize], quota: &mut Quota) -> Result<(), Errno> {
        let node = self.find(from)?;
        let (old, new) = (below_out(from)?.to_owned(), self.free_place(to)?.to_owned());
        if old == new {
            return Ok(());
        }
        match (node, self.find(to).ok()) {
            (Node::Input(_), _) | (_, Some(Node::Input(_))) => return Err(Errno::READ_ONLY),
            (Node::Output(_), Some(Node::Folder)) => return Err(Errno::IS_DIRECTORY),
            (Node::Folder, Some(Node::Output(_) | Node::Folder)) => return Err(Errno::EXISTS),
            (Node::Folder, None) if new.starts_with(&format!("{old}/")) => return Err(Errno::INVALID),
            (Node::Output(_), Some(Node::Output(_))) => self.remove_file(to, open, quota)?,
            (Node::Output(_) | Node::Folder, None) => {}
        }
        let inside = format!("{old}/");
        let moves = |name: &str| name == old || name.starts_with(&inside);
        let names: Vec<String> = self.entries.keys().filter(|name| moves(name)).cloned().collect();
        for name in names {
            let entry = self.entries.remove(&name).expect("the name was just listed");
            self.entries.insert(format!("{new}{}", &name[old.len()..]), entry);
        }
        Ok(())
    }

    pub(crate) fn body(&self, body: usize) -> &Body {
        &self.bodies[body]
    }

    pub(crate) fn write(&mut self, body: usize, at: u64, bytes: &[u8], quota: &mut Quota) -> Result<(), Fail> {
        write(&mut self.bodies[body], at, bytes, quota)
    }

    pub(crate) fn resize(&mut self, body: usize, len: u64, quota: &mut Quota) -> Result<(), Fail> {
        let before = self.bodies[body].len();
        quota.take(len.saturating_sub(before))?;
        quota.give_back(before.saturating_sub(len));
        Ok(self.bodies[body].resize(len, &mut quota.scratch)?)
    }

    /// The files under `/out`, in order of their names.
    pub(crate) fn into_files(mut self) -> Vec<(String, Body)> {
        let files = self.entries.iter().filter_map(|(name, entry)| match entry {
            Entry::Folder => None,
            Entry::File(body) => Some((name.clone(), *body)),
        });
        files.map(|(name, body)| (name, std::mem::take(&mut self.bodies[body]))).collect()
    }
}

/// Writes to a body within the quota.
pub(crate) fn write(body: &mut Body, at: u64, bytes: &[u8], quota: &mut Quota) -> Result<(), Fail> {
    if bytes.is_empty() {
        return Ok(());
    }
    let end = at.saturating_add(bytes.len() as u64);
    quota.take(end.saturating_sub(body.len()))?;
    Ok(body.write_at(at, bytes, &mut quota.scratch)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::Scratch;

    fn tree() -> (Tree, Quota) {
        let input = Content::Bytes(gleaner_wire::Output::inline(b"seed").expect("short"));
        let inputs = Content::folder(vec![("seed".to_owned(), input)]).expect("a safe name");
        (Tree::new(inputs), Quota::new(100, Scratch::new(std::env::temp_dir())))
    }

    #[test]
    fn no_path_leaves_its_folder() {
        assert_eq!(resolve("", "in/../out/./a"), Ok("out/a".to_owned()));
        assert_eq!(resolve("out", "../in/seed"), Err(Errno::NOT_CAPABLE));
        for path in ["..", "a/../..", "/etc/passwd", "../../../../etc/passwd"] {
            assert_eq!(resolve("", path), Err(Errno::NOT_CAPABLE), "{path}");
        }
    }

    #[test]
    fn inputs_cannot_be_changed() {
        let (mut tree, mut quota) = tree();
        assert_eq!(tree.remove_file("in/seed", &[], &mut quota), Err(Errno::READ_ONLY));
        assert_eq!(tree.create_file("in/new"), Err(Errno::READ_ONLY));
        assert_eq!(tree.create_file("new"), Err(Errno::READ_ONLY));
        assert_eq!(tree.rename("in/seed", "out/seed", &[], &mut quota), Err(Errno::READ_ONLY));
        assert_eq!(tree.remove_folder("out"), Err(Errno::READ_ONLY));
    }

    #[test]
    fn a_folder_moves_with_what_is_in_it() {
        let (mut tree, mut quota) = tree();
        tree.create_folder("out/a").expect("makes a folder");
        let body = tree.create_file("out/a/x").expect("makes a file");
        tree.write(body, 0, b"12", &mut quota).expect("writes");
        assert_eq!(tree.rename("out/a", "out/a/b", &[], &mut quota), Err(Errno::INVALID));
        tree.rename("out/a", "out/b", &[], &mut quota).expect("moves");
        assert_eq!(tree.list("out", 0, 9), Ok(vec![("b".to_owned(), true)]));
        assert_eq!(tree.remove_folder("out/b"), Err(Errno::NOT_EMPTY));
        let files = tree.into_files();
        assert_eq!((files[0].0.as_str(), files[0].1.in_memory()), ("b/x", Some(&b"12"[..])));
    }

    #[test]
    fn output_counts_against_the_quota_until_it_is_removed() {
        let (mut tree, mut quota) = tree();
        let body = tree.create_file("out/x").expect("makes a file");
        tree.write(body, 0, &[1; 90], &mut quota).expect("fits");
        tree.remove_file("out/x", &[], &mut quota).expect("removes");
        let body = tree.create_file("out/x").expect("makes a file");
        tree.write(body, 0, &[1; 90], &mut quota).expect("fits again");
        assert!(matches!(tree.resize(body, 101, &mut quota), Err(Fail::Stop(_))));
    }
}
