//! The jobs in the guides and in the examples can be planned as they are written.
use std::path::{Path, PathBuf};

use gleaner_core::plan::plan;
use gleaner_wire::BlobRef;
use gleaner_wire::job_file::{JobFile, Source};
use gleaner_wire::render::steps;

fn sources() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo tells tests where their package is");
    Path::new(&package).join("../..")
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.filter(|path| path.extension().is_some_and(|of| of == extension)).collect()
}

/// The job files in a guide; other files are shown there too.
fn jobs_of(guide: &str) -> Vec<String> {
    let blocks = guide.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.filter(|block| block.starts_with("name = ")).map(str::to_owned).collect()
}

/// As the client would send it: what it names is stored.
fn sent(text: &str) -> JobFile {
    let mut file = JobFile::from_toml(text).unwrap_or_else(|error| panic!("{error}:\n{text}"));
    let stored = || Source::Data(BlobRef::of(b"stored").into());
    for task in &mut file.tasks {
        // An image that is named by its digest is shortened in a guide.
        task.program = task.program.take().map(|_| stored());
        for input in &mut task.inputs {
            (input.file, input.folder) = (input.file.take().map(|_| stored()), input.folder.take().map(|_| stored()));
            input.dataset = input.dataset.take().map(|_| stored().to_string());
        }
    }
    steps(&mut file);
    file
}

#[test]
fn every_job_in_guides_and_examples_can_be_planned() {
    let guides = files(&sources().join("docs"), "md");
    let mut jobs: Vec<String> =
        guides.iter().flat_map(|path| jobs_of(&std::fs::read_to_string(path).expect("a guide"))).collect();
    let examples = std::fs::read_dir(sources().join("examples")).expect("a folder");
    for folder in examples.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir()) {
        jobs.extend(files(&folder, "toml").iter().map(|path| std::fs::read_to_string(path).expect("a job")));
    }
    assert!(jobs.len() >= 10, "{} jobs", jobs.len());
    for text in &jobs {
        plan(&sent(text)).unwrap_or_else(|error| panic!("{}: {error}\n{text}", error.at));
    }
}
