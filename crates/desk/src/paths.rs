//! Where the paths of a job file start: from one of the account's file trees, or with `/` from the folder of all of them.
use gleaner_wire::job_file::{JobFile, Source};

/// Rewrites the paths of a job file so that all start from the folder of all trees.
pub(crate) fn place(file: &mut JobFile, tree: Option<&str>) {
    for task in &mut file.tasks {
        let inputs = task.inputs.iter_mut().flat_map(|input| [input.file.as_mut(), input.folder.as_mut()]);
        for source in inputs.chain([task.program.as_mut()]).flatten() {
            if let Source::Path(path) = source {
                *path = placed(path, tree);
            }
        }
    }
}

fn placed(path: &str, tree: Option<&str>) -> String {
    match (path.strip_prefix('/'), tree) {
        (Some(rest), _) => rest.trim_start_matches('/').to_owned(),
        (None, Some(tree)) => format!("{tree}/{path}"),
        (None, None) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_start_from_the_tree_or_from_the_folder_of_all_of_them() {
        assert_eq!(placed("a/b", Some("scene")), "scene/a/b");
        assert_eq!(placed("a/b", None), "a/b");
        assert_eq!(placed("/template-x-1/a", Some("scene")), "template-x-1/a");
        assert_eq!(placed("//etc/passwd", None), "etc/passwd");
        assert_eq!(placed("../x", Some("scene")), "scene/../x", "it is refused later, with everything that leads out");
    }

    #[test]
    fn every_path_of_a_job_is_placed_and_nothing_else_changes() {
        let text = "name = \"x\"\n[[task]]\nname = \"a\"\nruntime = \"wasm\"\nprogram = \"p\"\ninput = [{ name = \"f\", file \
                    = \"f\" }, { name = \"g\", folder = \"/g\" }, { name = \"h\", dataset = \"h\" }]\n";
        let mut file = JobFile::from_toml(text).expect("a job file");
        place(&mut file, Some("t"));
        let task = &file.tasks[0];
        let shown = |source: &Option<Source>| source.as_ref().map(ToString::to_string);
        assert_eq!(shown(&task.program).as_deref(), Some("t/p"));
        assert_eq!(shown(&task.inputs[0].file).as_deref(), Some("t/f"));
        assert_eq!(shown(&task.inputs[1].folder).as_deref(), Some("g"));
        assert_eq!(task.inputs[2].dataset.as_deref(), Some("h"));
    }
}
