//! An image of nothing but busybox and the attacker, in the OCI layout, written without any engine.

use crate::attacker::attacker;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::path::Path;

const FOLDERS: [&str; 10] = ["bin", "tmp", "etc", "in", "out", "checkpoint", "dev", "proc", "sys", "data"];
const COMMANDS: [&str; 12] = ["sh", "cat", "echo", "id", "sleep", "ls", "touch", "mkdir", "grep", "ps", "true", "mv"];

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn header(kind: tar::EntryType, mode: u32, bytes: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(bytes);
    header.set_mtime(0);
    header
}

/// The one layer: a root file system.
fn layer() -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for folder in FOLDERS {
        tar.append_data(&mut header(tar::EntryType::Directory, 0o755, 0), folder, std::io::empty()).unwrap();
    }
    let busybox = fs::read("/bin/busybox").expect("busybox (Debian: apt install busybox-static)");
    for (name, content) in [("bin/busybox", busybox), ("bin/attack", fs::read(attacker()).unwrap())] {
        let mut header = header(tar::EntryType::Regular, 0o755, content.len() as u64);
        tar.append_data(&mut header, name, content.as_slice()).unwrap();
    }
    for name in COMMANDS {
        tar.append_link(&mut header(tar::EntryType::Symlink, 0o777, 0), format!("bin/{name}"), "busybox").unwrap();
    }
    tar.into_inner().unwrap()
}

/// Writes the archive; `config` is what the image says of itself.
pub fn write_archive(path: &Path, config: &Value) {
    let layer = layer();
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let config = json!({
        "architecture": machine, "os": "linux", "config": config,
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", digest(&layer))] },
    })
    .to_string();
    let part = |kind: &str, bytes: &[u8]| {
        let kind = format!("application/vnd.oci.image.{kind}");
        json!({ "mediaType": kind, "digest": format!("sha256:{}", digest(bytes)), "size": bytes.len() })
    };
    let manifest = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": part("config.v1+json", config.as_bytes()), "layers": [part("layer.v1.tar", &layer)],
    })
    .to_string();
    let index = json!({ "schemaVersion": 2, "manifests": [part("manifest.v1+json", manifest.as_bytes())] }).to_string();
    let blob = |bytes: &[u8]| (format!("blobs/sha256/{}", digest(bytes)), bytes.to_vec());
    let files = [
        ("oci-layout".to_owned(), br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec()),
        ("index.json".to_owned(), index.into_bytes()),
        blob(manifest.as_bytes()),
        blob(config.as_bytes()),
        blob(&layer),
    ];
    let mut tar = tar::Builder::new(File::create(path).unwrap());
    for (name, content) in files {
        let mut header = header(tar::EntryType::Regular, 0o644, content.len() as u64);
        tar.append_data(&mut header, name, content.as_slice()).unwrap();
    }
    tar.finish().unwrap();
}
