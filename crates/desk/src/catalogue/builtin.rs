//! The templates that come with the program, with their pictures and files.

/// A template that comes with the program.
#[derive(Clone, Copy)]
pub(super) struct Builtin {
    pub(super) text: &'static str,
    pub(super) picture: &'static [u8],
    /// Its files by their paths.
    pub(super) files: &'static [(&'static str, &'static [u8])],
}

/// All of them, in the order in which people see them.
pub(super) const ALL: [Builtin; 6] = [
    Builtin {
        text: include_str!("../../../../catalogue/blender.toml"),
        picture: include_bytes!("../../../../catalogue/blender.png"),
        files: &[],
    },
    Builtin {
        text: include_str!("../../../../catalogue/path-tracer.toml"),
        picture: include_bytes!("../../../../catalogue/path-tracer.png"),
        files: &[("path.wgsl", include_bytes!("../../../../examples/path-tracer/path.wgsl"))],
    },
    Builtin {
        text: include_str!("../../../../catalogue/train.toml"),
        picture: include_bytes!("../../../../catalogue/train.png"),
        files: &[],
    },
    Builtin {
        text: include_str!("../../../../catalogue/sweep.toml"),
        picture: include_bytes!("../../../../catalogue/sweep.png"),
        files: &[],
    },
    Builtin {
        text: include_str!("../../../../catalogue/primes.toml"),
        picture: include_bytes!("../../../../catalogue/primes.png"),
        files: &[("primes.wasm", include_bytes!("../../../../examples/array/primes.wasm"))],
    },
    Builtin {
        text: include_str!("../../../../catalogue/words.toml"),
        picture: include_bytes!("../../../../catalogue/words.png"),
        files: &[("words.wasm", include_bytes!("../../../../examples/graph/words.wasm"))],
    },
];

#[cfg(test)]
mod tests {
    use super::super::template::Template;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_template_makes_sense_and_has_its_picture_and_files() {
        let mut names = BTreeSet::new();
        for builtin in ALL {
            let template = Template::parse(builtin.text).unwrap_or_else(|error| panic!("{error}: {}", builtin.text));
            let files: Vec<&str> = builtin.files.iter().map(|(path, _)| *path).collect();
            assert_eq!(template.files, files, "{}", template.name);
            assert!(template.picture.is_some() && builtin.picture.starts_with(b"\x89PNG"), "{}", template.name);
            assert!(builtin.picture.len() < 150_000, "{}", template.name);
            assert!(names.insert(template.name));
        }
    }
}
