//! What a task reads: bytes, files of opened datasets, and folders of them. Cheap to clone, never written to.
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use gleaner_wire::Output;

use crate::depot::OpenFile;

/// The most files of one input that is a folder.
pub const FOLDER_FILES_MAX: usize = 1 << 20;

/// Something a task reads.
#[derive(Clone, Debug)]
pub enum Content {
    /// Bytes that travelled inside a reference.
    Bytes(Output),
    /// A file of an opened dataset; it stays there for as long as this lives.
    File(Arc<OpenFile>),
    /// Named files.
    Folder(Arc<BTreeMap<String, Content>>),
    /// The outputs of all elements of a group; each is named by its position.
    Gather(Arc<Vec<Content>>),
}

impl Default for Content {
    fn default() -> Self {
        Self::Folder(Arc::default())
    }
}

impl Content {
    /// Whether it holds others.
    pub fn is_folder(&self) -> bool {
        match self {
            Self::Bytes(_) | Self::File(_) => false,
            Self::Folder(_) | Self::Gather(_) => true,
        }
    }

    /// How many bytes, or zero for a folder.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Bytes(output) => output.content().unwrap_or_default().len() as u64,
            Self::File(file) => file.bytes(),
            Self::Folder(_) | Self::Gather(_) => 0,
        }
    }

    /// What a folder holds under this name.
    pub fn child(&self, name: &str) -> Option<Self> {
        match self {
            Self::Bytes(_) | Self::File(_) => None,
            Self::Folder(entries) => entries.get(name).cloned(),
            Self::Gather(entries) => {
                // Only the canonical spelling is a name, so that one file has one name.
                let index = name.parse::<usize>().ok().filter(|index| index.to_string() == name)?;
                entries.get(index).cloned()
            }
        }
    }

    /// Some of a folder's entries in order, from the position `first`.
    pub fn list(&self, first: usize, count: usize) -> Vec<(String, bool)> {
        match self {
            Self::Bytes(_) | Self::File(_) => Vec::new(),
            Self::Folder(entries) => {
                let named = entries.iter().skip(first).take(count);
                named.map(|(name, content)| (name.clone(), content.is_folder())).collect()
            }
            Self::Gather(entries) => {
                let numbered = entries.iter().enumerate().skip(first).take(count);
                numbered.map(|(index, content)| (index.to_string(), content.is_folder())).collect()
            }
        }
    }

    /// The folder that holds these files; a `/` in a name makes folders within. `None` if a name is not a safe path
    /// or stands for two things.
    pub fn folder(files: Vec<(String, Self)>) -> Option<Self> {
        let mut root = BTreeMap::new();
        for (path, content) in files {
            place(&mut root, &path, content)?;
        }
        Some(Self::Folder(Arc::new(root)))
    }

    /// The whole of a file.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        match self {
            Self::Bytes(output) => Ok(output.content().unwrap_or_default().to_vec()),
            Self::File(file) => std::fs::read(file.path()),
            Self::Folder(_) | Self::Gather(_) => Err(io::ErrorKind::IsADirectory.into()),
        }
    }
}

fn place(folder: &mut BTreeMap<String, Content>, path: &str, content: Content) -> Option<()> {
    let (name, rest) = path.split_once('/').map_or((path, None), |(name, rest)| (name, Some(rest)));
    if name.is_empty() || name == "." || name == ".." || name.contains('\0') {
        return None;
    }
    let Some(rest) = rest else {
        return folder.insert(name.to_owned(), content).is_none().then_some(());
    };
    match folder.entry(name.to_owned()).or_default() {
        Content::Folder(entries) => place(Arc::make_mut(entries), rest, content),
        Content::Bytes(_) | Content::File(_) | Content::Gather(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Content {
        Content::Bytes(Output::inline(text.as_bytes()).expect("short"))
    }

    #[test]
    fn names_that_would_leave_the_folder_are_refused() {
        for name in ["", ".", "..", "../x", "a/../b", "/etc/passwd", "a//b", "a/"] {
            assert!(Content::folder(vec![(name.to_owned(), bytes("x"))]).is_none(), "{name}");
        }
        let twice = vec![("a".to_owned(), bytes("1")), ("a/b".to_owned(), bytes("2"))];
        assert!(Content::folder(twice).is_none());
    }

    #[test]
    fn folders_nest_and_list_in_order() {
        let files = vec![("b".to_owned(), bytes("1")), ("a/x".to_owned(), bytes("22"))];
        let folder = Content::folder(files).expect("safe names");
        assert_eq!(folder.list(0, 9), [("a".to_owned(), true), ("b".to_owned(), false)]);
        assert_eq!(folder.child("a").and_then(|a| a.child("x")).map(|x| x.bytes()), Some(2));
    }

    #[test]
    fn gathered_outputs_are_named_by_position() {
        let gather = Content::Gather(Arc::new(vec![bytes("a"), bytes("b")]));
        assert_eq!(gather.list(1, 9), [("1".to_owned(), false)]);
        assert!(gather.child("1").is_some() && gather.child("01").is_none() && gather.child("2").is_none());
    }
}
