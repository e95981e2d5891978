//! The folder of a cell: filled before the program starts, emptied by whoever delivers what it left.
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use gleaner_sandbox::{CollectLimits, Folder, collect};
use gleaner_wire::Cause;
use tempfile::{TempDir, TempPath};

use crate::content::Content;
use crate::failure::Failure;
use crate::product::{Body, Product};

/// Files that one attempt may leave.
const FILES_MAX: u64 = 100_000;
/// Files up to this size are delivered from memory.
const MEMORY_BYTES_MAX: u64 = 64 * 1024;

/// The folder of one attempt. It is removed when this is dropped.
pub(super) struct CellFolder {
    home: TempDir,
    pub(super) folder: Folder,
}

/// Whether a file may be the very one of an opened dataset, or has to be a copy of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum As {
    /// It is only read.
    Link,
    /// It may be written to.
    Copy,
}

impl CellFolder {
    /// An empty folder.
    pub(super) fn new(scratch: &Path) -> Result<Self, Failure> {
        let home = tempfile::Builder::new().prefix("cell-").tempdir_in(scratch).map_err(|error| disk(&error))?;
        let root = home.path().join("job");
        let folder = Folder::create(&root);
        let folder = folder.map_err(|error| Failure::new(Cause::DeviceFault, error.to_string()))?;
        // A worker's files are its own, and programs run as somebody else; the folder around this one stays closed.
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).map_err(|error| disk(&error))?;
        Ok(Self { home, folder })
    }

    /// Puts what a task reads where it sees it: `/in/NAME`.
    pub(super) fn put_inputs(&self, inputs: &Content) -> Result<(), Failure> {
        put(inputs, &self.folder.inputs(), As::Link).map_err(|error| disk(&error))
    }

    /// Puts one more thing beside the inputs.
    pub(super) fn put_input(&self, name: &str, content: &Content) -> Result<(), Failure> {
        put(content, &self.folder.inputs().join(name), As::Link).map_err(|error| disk(&error))
    }

    /// Puts back what an earlier attempt has saved.
    pub(super) fn put_checkpoint(&self, saved: &Content) -> Result<(), Failure> {
        put(saved, &self.folder.checkpoint(), As::Copy).map_err(|error| disk(&error))
    }

    /// Takes what the program left under `/out`, in order of the names.
    pub(super) fn take_outputs(&self, bytes_max: u64) -> Result<Product, Failure> {
        take(&self.folder.outputs(), self.home.path(), bytes_max)
    }
}

/// Takes the files of a folder that nothing writes to any more. Large ones are moved to names that begin with `beside`.
pub(super) fn take(from: &Path, beside: &Path, bytes_max: u64) -> Result<Product, Failure> {
    let refuse = |error: gleaner_sandbox::Error| {
        Failure::new(Cause::ProgramFault, format!("its output is refused: {error}; raise output_max"))
    };
    let harvest = collect(from, CollectLimits { files: FILES_MAX, bytes: bytes_max }).map_err(refuse)?;
    let mut product = Product::default();
    for found in &harvest.files {
        let name = found.path.to_str().map(str::to_owned).ok_or_else(|| {
            let text = format!("the name of its output {} is not UTF-8", found.path.display());
            Failure::new(Cause::ProgramFault, text)
        })?;
        let body = if found.bytes <= MEMORY_BYTES_MAX {
            let mut bytes = Vec::new();
            let read = harvest.open(found).and_then(|mut file| io::Read::read_to_end(&mut file, &mut bytes));
            read.map_err(|error| disk(&error))?;
            Body::from(bytes)
        } else {
            // Nothing of the program runs any more, so what was seen is what is there.
            let kept = beside.with_extension(format!("output-{}", product.files.len()));
            fs::rename(from.join(&found.path), &kept).map_err(|error| disk(&error))?;
            let kept = TempPath::try_from_path(kept).map_err(|error| disk(&error))?;
            Body::from_file(kept, found.bytes)
        };
        product.files.push((name, body));
    }
    Ok(product)
}

fn put(content: &Content, at: &Path, how: As) -> io::Result<()> {
    match content {
        Content::Bytes(output) => fs::write(at, output.content().unwrap_or_default()),
        Content::File(file) => match how {
            // Another file system, or one that knows no second names.
            As::Link => fs::hard_link(file.path(), at).or_else(|_| fs::copy(file.path(), at).map(drop)),
            As::Copy => fs::copy(file.path(), at).map(drop),
        },
        Content::Folder(entries) => {
            fs::create_dir_all(at)?;
            entries.iter().try_for_each(|(name, content)| put(content, &at.join(name), how))
        }
        Content::Gather(entries) => {
            fs::create_dir_all(at)?;
            let named = entries.iter().enumerate();
            named.into_iter().try_for_each(|(index, content)| put(content, &at.join(index.to_string()), how))
        }
    }
}

pub(super) fn disk(error: &io::Error) -> Failure {
    Failure::new(Cause::DeviceFault, format!("the worker's disk does not do what it should: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::Output;

    fn bytes(text: &str) -> Content {
        Content::Bytes(Output::inline(text.as_bytes()).expect("short"))
    }

    #[test]
    fn inputs_lie_where_the_program_sees_them_and_outputs_come_back() {
        let scratch = tempfile::tempdir().expect("a folder");
        let cell = CellFolder::new(scratch.path()).expect("a cell");
        let inputs = vec![("a/b".to_owned(), bytes("one")), ("c".to_owned(), bytes("two"))];
        cell.put_inputs(&Content::folder(inputs).expect("safe")).expect("puts");
        let read = |path: &str| fs::read_to_string(cell.folder.inputs().join(path)).expect("is there");
        assert_eq!((read("a/b").as_str(), read("c").as_str()), ("one", "two"));

        fs::create_dir(cell.folder.outputs().join("deep")).expect("a folder");
        fs::write(cell.folder.outputs().join("deep/small"), "s").expect("a file");
        fs::write(cell.folder.outputs().join("large"), vec![7; 100_000]).expect("a file");
        std::os::unix::fs::symlink("/etc/passwd", cell.folder.outputs().join("link")).expect("a link");
        let product = cell.take_outputs(1 << 20).expect("takes");
        let names: Vec<_> = product.files.iter().map(|(name, body)| (name.as_str(), body.len())).collect();
        assert_eq!(names, [("deep/small", 1), ("large", 100_000)]);
        drop(cell);
        let mut large = vec![0; 3];
        product.files[1].1.read_at(99_997, &mut large).expect("reads after the cell is gone");
        assert_eq!(large, [7; 3]);
        drop(product);
        assert_eq!(fs::read_dir(scratch.path()).expect("a folder").count(), 0, "nothing is left behind");
    }

    #[test]
    fn more_output_than_allowed_is_the_programs_fault() {
        let scratch = tempfile::tempdir().expect("a folder");
        let cell = CellFolder::new(scratch.path()).expect("a cell");
        fs::write(cell.folder.outputs().join("large"), vec![7; 100_000]).expect("a file");
        let failure = cell.take_outputs(1000).expect_err("too much");
        assert_eq!(failure.cause, Cause::ProgramFault);
    }

    #[test]
    fn a_checkpoint_is_a_copy_that_may_be_changed() {
        let scratch = tempfile::tempdir().expect("a folder");
        let cell = CellFolder::new(scratch.path()).expect("a cell");
        cell.put_checkpoint(&Content::folder(vec![("step".to_owned(), bytes("7"))]).expect("safe")).expect("puts");
        fs::write(cell.folder.checkpoint().join("step"), "8").expect("may be written");
    }
}
