//! The image of the container test: the hub makes all of it, so that no registry is needed.
use super::exercise::Files;
use serde_json::json;
use sha2::{Digest, Sha256};

/// The program, for the machine that the hub runs on; empty where it could not be built.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/probe"));
/// What is run in it.
pub(super) const COMMAND: &str = "/probe";
/// What a worker of another kind is told, whose containers cannot be tested.
pub(super) const FOR_WHOM: &str = "this hub has a test only for machines of its own kind of processor";
/// Tars are made of blocks of this size.
const BLOCK: usize = 512;

/// The files of the image in OCI layout; none where this hub has no program to put into it.
pub(super) fn layout() -> Option<Files> {
    program().map(layout_of)
}

fn program() -> Option<&'static [u8]> {
    PROGRAM.first().map(|_| PROGRAM)
}

fn layout_of(program: &[u8]) -> Files {
    let mut files = Vec::new();
    let mut blob = |media: &str, bytes: Vec<u8>| {
        let (digest, size) = (digest(&bytes), bytes.len());
        files.push((format!("blobs/sha256/{digest}"), bytes));
        json!({ "mediaType": media, "digest": format!("sha256:{digest}"), "size": size })
    };
    let layer = blob("application/vnd.oci.image.layer.v1.tar", tar(program));
    let platform = json!({ "architecture": architecture(), "os": "linux" });
    let config = json!({
        "architecture": architecture(), "os": "linux",
        "config": { "Cmd": [COMMAND], "WorkingDir": "/" },
        "rootfs": { "type": "layers", "diff_ids": [layer["digest"]] },
    });
    let config = blob("application/vnd.oci.image.config.v1+json", config.to_string().into_bytes());
    let media = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json!({ "schemaVersion": 2, "mediaType": media, "config": config, "layers": [layer] });
    let mut manifest = blob(media, manifest.to_string().into_bytes());
    manifest["platform"] = platform;
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest],
    });
    files.push(("index.json".to_owned(), index.to_string().into_bytes()));
    files.push(("oci-layout".to_owned(), json!({ "imageLayoutVersion": "1.0.0" }).to_string().into_bytes()));
    files
}

/// This kind of machine, as images call it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The file system: the program, and the folders that engines mount things at.
fn tar(program: &[u8]) -> Vec<u8> {
    let mut tar = Vec::new();
    for folder in ["checkpoint/", "in/", "out/", "tmp/"] {
        tar.extend(header(folder, b'5', 0o755, 0));
    }
    tar.extend(header(COMMAND.trim_start_matches('/'), b'0', 0o755, program.len()));
    tar.extend_from_slice(program);
    tar.resize(tar.len().next_multiple_of(BLOCK) + 2 * BLOCK, 0);
    tar
}

/// The block before an entry.
fn header(name: &str, kind: u8, mode: u32, bytes: usize) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let mut put = |at: usize, text: &str| block[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, &format!("{mode:07o}"));
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{bytes:011o}"));
    put(136, "00000000000");
    // While the sum is made, its own place holds blanks.
    put(148, "        ");
    put(257, "ustar\x0000");
    block[156] = kind;
    let sum: u32 = block.iter().copied().map(u32::from).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

#[cfg(test)]
mod tests {
    use super::super::walk::Walk;
    use super::*;
    use gleaner_wire::{BlobRef, Work};
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    #[test]
    fn every_file_of_the_layout_is_named_by_its_digest() {
        let files = layout_of(b"a program");
        assert_eq!(layout_of(b"a program"), files, "it comes out the same each time");
        let blobs: Vec<_> = files.iter().filter(|(name, _)| name.starts_with("blobs/")).collect();
        assert_eq!(blobs.len(), 3);
        for (name, bytes) in blobs {
            assert_eq!(*name, format!("blobs/sha256/{}", digest(bytes)));
        }
        let text = |name: &str| &files.iter().find(|(of, _)| of == name).expect("it is there").1;
        let index: serde_json::Value = serde_json::from_slice(text("index.json")).expect("JSON");
        let manifest = index["manifests"][0]["digest"].as_str().expect("a digest").replace(':', "/");
        let manifest: serde_json::Value = serde_json::from_slice(text(&format!("blobs/{manifest}"))).expect("JSON");
        let config = manifest["config"]["digest"].as_str().expect("a digest").replace(':', "/");
        let config: serde_json::Value = serde_json::from_slice(text(&format!("blobs/{config}"))).expect("JSON");
        assert_eq!(config["rootfs"]["diff_ids"][0], manifest["layers"][0]["digest"]);
    }

    /// The system's own tar reads what we write, and the program in it walks as the hub does.
    #[test]
    fn the_program_in_the_layer_ends_where_the_hub_does() {
        let Some(program) = program() else {
            return crate::screen::skipped("there is no program for this kind of machine");
        };
        let dir = tempfile::tempdir().expect("a folder");
        let layer = dir.path().join("layer.tar");
        std::fs::write(&layer, tar(program)).expect("written");
        let done = Command::new("tar").arg("-xf").arg(&layer).arg("-C").arg(dir.path()).status().expect("tar runs");
        assert!(done.success());
        assert!(dir.path().join("out").is_dir());
        let program = dir.path().join("probe");
        assert_eq!(program.metadata().expect("it is there").permissions().mode() & 0o777, 0o755);
        let walk = Walk { first: 0xfedc_ba98_7654_3210, steps: 1_000_003 };
        let Work::Container { command, .. } = walk.in_container(BlobRef::of(b"").into()) else {
            panic!("another runtime")
        };
        let ran = Command::new(&program).args(&command[1..]).output().expect("it runs");
        assert!(ran.status.success() && walk.is_right_line(&ran.stdout), "{ran:?}");
        assert_eq!(Command::new(&program).arg("no number").output().expect("it runs").status.code(), Some(2));
    }
}
