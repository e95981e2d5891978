//! What is wrong with a scene, in words that say who is concerned and what to do.
use std::fmt;
use std::path::Path;

use super::{File, Scene};

/// Something about a scene that its owner should know before it is rendered elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A file is not there.
    Missing(File),
    /// A file is named by a path that means nothing on another machine.
    Absolute(File),
    /// A file is not in the folder that is sent.
    Outside(File),
    /// There is no camera.
    NoCamera,
    /// A simulation is not baked, so that each machine would simulate on its own.
    Unbaked(String),
    /// A script that would run in Blender, and does not run elsewhere.
    Script(String),
}

impl Problem {
    /// Whether the scene cannot be rendered as it should be. The others may be meant.
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::Missing(_) | Self::Absolute(_) | Self::Outside(_) | Self::NoCamera => true,
            Self::Unbaked(_) | Self::Script(_) => false,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(file) => {
                write!(f, "{} is missing. Find it (File > External Data), or remove it", Named(file))
            }
            Self::Absolute(file) => write!(
                f,
                "{} is named by an absolute path. Make it relative (File > External Data > Make Paths Relative)",
                Named(file)
            ),
            Self::Outside(file) => {
                write!(f, "{} is outside the folder that is sent. Move it there, or send a folder above", Named(file))
            }
            Self::NoCamera => f.write_str("the scene has no camera. Add one, or choose one in the scene's properties"),
            Self::Unbaked(what) => {
                write!(f, "{what} is not baked: each machine would simulate on its own. Bake it to the disk first")
            }
            Self::Script(what) => write!(f, "{what} is a script, and scripts in scenes do not run on other machines"),
        }
    }
}

struct Named<'a>(&'a File);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let File { kind, path, users, .. } = self.0;
        write!(f, "the {kind} {path}")?;
        if users.is_empty() { Ok(()) } else { write!(f, " (used by {})", users.join(", ")) }
    }
}

impl Scene {
    /// Everything that is wrong, fatal things first. `folder` is what will be sent, as the engine saw it.
    pub fn problems(&self, folder: &Path) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self.files.iter().filter_map(|file| file.problem(folder)).collect();
        if self.camera.is_none() && !self.strips {
            problems.push(Problem::NoCamera);
        }
        problems.extend(self.unbaked.iter().cloned().map(Problem::Unbaked));
        problems.extend(self.scripts.iter().cloned().map(Problem::Script));
        problems
    }
}

impl File {
    fn problem(&self, folder: &Path) -> Option<Problem> {
        if !self.exists {
            Some(Problem::Missing(self.clone()))
        } else if !self.path.starts_with("//") {
            Some(Problem::Absolute(self.clone()))
        } else if !self.resolved.starts_with(folder) {
            Some(Problem::Outside(self.clone()))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, resolved: &str, exists: bool) -> File {
        let users = vec!["object Floor".into()];
        File { kind: "texture".into(), path: path.into(), resolved: resolved.into(), exists, linked: false, users }
    }

    #[test]
    fn a_file_is_judged_by_whether_another_machine_would_find_it() {
        let judged = |file: File| file.problem(Path::new("/project"));
        assert_eq!(judged(file("//a.png", "/project/a.png", true)), None);
        assert!(matches!(judged(file("//a.png", "/project/a.png", false)), Some(Problem::Missing(_))));
        assert!(matches!(judged(file("/project/a.png", "/project/a.png", true)), Some(Problem::Absolute(_))));
        assert!(matches!(judged(file("//../a.png", "/a.png", true)), Some(Problem::Outside(_))));
        assert!(matches!(judged(file("//../works/a.png", "/projects/a.png", true)), Some(Problem::Outside(_))));
    }

    #[test]
    fn a_message_names_the_file_and_who_uses_it() {
        let text = Problem::Missing(file("//a.png", "/a.png", false)).to_string();
        assert!(text.starts_with("the texture //a.png (used by object Floor) is missing."), "{text}");
    }
}
