//! Whether containers run here, found out by running one: of an image that is made on the spot, so that nothing is fetched.

use super::Engine;
use crate::{Cause, Device, Error, Folder, ImageSource, Job, Limits, Network};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::time::timeout;

/// What the program of the image prints.
const GREETING: &str = "hello from inside";
const PROGRAM: &str = "hello";
/// Where a program's first page lies, and how pages are aligned on every kernel.
const BASE: u64 = 0x40_0000;
const ALIGNMENT: u64 = 0x1_0000;
const FILE_HEADER_BYTES: u16 = 64;
const SEGMENT_HEADER_BYTES: u16 = 56;
const LIMITS: Limits = Limits {
    time: Duration::from_secs(30),
    memory_bytes: 64 << 20,
    processes: 16,
    cpu_milli: 1000,
    disk_bytes: 1 << 20,
    files: 100,
    tmp_bytes: 1 << 20,
};

impl Engine {
    /// Runs a container that says hello, with these devices, and takes no longer than `limit`. Its folder is in `scratch`.
    ///
    /// # Errors
    /// If it did not say hello: why not.
    pub async fn trial(&self, devices: &[Device], scratch: &Path, limit: Duration) -> Result<(), Error> {
        let late =
            |_| Error::unavailable(format!("a container did not run within {} s", limit.as_secs()), self.restart());
        timeout(limit, self.hello(devices, scratch)).await.map_err(late)?
    }

    async fn hello(&self, devices: &[Device], scratch: &Path) -> Result<(), Error> {
        let failed = |error| Error::system("making the image of a trial", error);
        let home = tempfile::Builder::new().prefix("trial-").tempdir_in(scratch).map_err(failed)?;
        let layout = home.path().join("image");
        // Of its own each time, so that removing it takes no image from another worker of this machine.
        let unique = format!("{}-{}", self.run, home.path().display());
        write_layout(&layout, &unique).map_err(failed)?;
        let image = self.image(&ImageSource::Layout(layout), LIMITS.time, &mut |_| {}).await?;
        let said = self.say(devices, &image, home.path()).await;
        // What was only for this moment is not kept; should the engine keep it, it goes when there is need of room.
        let _ = self.remove_image(&image.id).await;
        said
    }

    async fn say(&self, devices: &[Device], image: &super::Image, home: &Path) -> Result<(), Error> {
        let job = Job {
            attempt: format!("trial-{}", devices.len()),
            command: Vec::new(),
            environment: BTreeMap::new(),
            folder: Folder::create(home.join("job"))?,
            limits: LIMITS,
            network: Network::None,
            devices: devices.to_vec(),
        };
        let (running, mut lines) = self.start(job, image).await?;
        let mut said = Vec::new();
        while let Some(line) = lines.next().await {
            said.push(line.text);
        }
        match running.ending().await.cause {
            Cause::Finished if said == [GREETING] => Ok(()),
            Cause::SandboxFault { what, remedy } => Err(Error::unavailable(what, remedy)),
            other => {
                let what = format!("a container that should say hello ended otherwise ({other:?}): {}", said.join(" "));
                Err(Error::unavailable(what, self.restart()))
            }
        }
    }
}

/// An image with one static program, in the OCI layout.
fn write_layout(folder: &Path, unique: &str) -> io::Result<()> {
    let architecture = super::images::machine();
    let program = program(architecture)
        .ok_or_else(|| io::Error::other(format!("there is no program for a trial on {architecture}")))?;
    let blobs = folder.join("blobs/sha256");
    fs::create_dir_all(&blobs)?;
    let part = |kind: &str, bytes: &[u8]| -> io::Result<serde_json::Value> {
        let digest = Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        fs::write(blobs.join(&digest), bytes)?;
        let kind = format!("application/vnd.oci.image.{kind}");
        Ok(json!({ "mediaType": kind, "digest": format!("sha256:{digest}"), "size": bytes.len() }))
    };
    let layer = part("layer.v1.tar", &layer(&program)?)?;
    let config = json!({
        "architecture": architecture, "os": "linux",
        "config": { "Cmd": [format!("/{PROGRAM}")], "Labels": { "org.gleaner.trial": unique } },
        "rootfs": { "type": "layers", "diff_ids": [layer["digest"]] },
    });
    let config = part("config.v1+json", config.to_string().as_bytes())?;
    let media = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json!({ "schemaVersion": 2, "mediaType": media, "config": config, "layers": [layer] });
    let manifest = part("manifest.v1+json", manifest.to_string().as_bytes())?;
    let index = json!({ "schemaVersion": 2, "manifests": [manifest] });
    fs::write(folder.join("index.json"), index.to_string())?;
    fs::write(folder.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#)
}

/// The file system: the program, and the folders that engines mount things at.
fn layer(program: &[u8]) -> io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    let header = |kind, bytes: usize| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o755);
        header.set_size(bytes as u64);
        header.set_mtime(0);
        header
    };
    for folder in ["checkpoint", "dev", "etc", "in", "out", "proc", "sys", "tmp"] {
        tar.append_data(&mut header(tar::EntryType::Directory, 0), folder, io::empty())?;
    }
    tar.append_data(&mut header(tar::EntryType::Regular, program.len()), PROGRAM, program)?;
    tar.into_inner()
}

/// A program without a library, a loader or a compiler: it prints the greeting and ends. None for processors that nobody
/// wrote one for.
fn program(architecture: &str) -> Option<Vec<u8>> {
    let text = format!("{GREETING}\n").into_bytes();
    let length = u8::try_from(text.len()).ok()?;
    let (machine, code): (u16, Vec<u8>) = match architecture {
        "amd64" => (
            62,
            [
                &[0xb8, 1, 0, 0, 0][..],          // mov eax, 1: write
                &[0xbf, 1, 0, 0, 0],              // mov edi, 1: to standard output
                &[0x48, 0x8d, 0x35, 16, 0, 0, 0], // lea rsi, [rip + 16]: the text behind the code
                &[0xba, length, 0, 0, 0],         // mov edx, its length
                &[0x0f, 0x05],                    // syscall
                &[0xb8, 60, 0, 0, 0],             // mov eax, 60: exit
                &[0x31, 0xff],                    // xor edi, edi
                &[0x0f, 0x05],                    // syscall
            ]
            .concat(),
        ),
        "arm64" => {
            let instructions: [u32; 8] = [
                0xd280_0808,                          // mov x8, #64: write
                0xd280_0020,                          // mov x0, #1: to standard output
                0x1000_00c1,                          // adr x1, 24 bytes from here: the text behind the code
                0xd280_0002 | u32::from(length) << 5, // mov x2, its length
                0xd400_0001,                          // svc #0
                0xd280_0ba8,                          // mov x8, #93: exit
                0xd280_0000,                          // mov x0, #0
                0xd400_0001,                          // svc #0
            ];
            (183, instructions.iter().flat_map(|instruction| instruction.to_le_bytes()).collect())
        }
        _other => return None,
    };
    let before = u64::from(FILE_HEADER_BYTES + SEGMENT_HEADER_BYTES);
    let all = before + (code.len() + text.len()) as u64;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    // An executable of this machine, whose entry is behind the two headers, with one segment and no section.
    file.extend([2_u16, machine].iter().flat_map(|value| value.to_le_bytes()));
    file.extend(1_u32.to_le_bytes());
    file.extend([BASE + before, u64::from(FILE_HEADER_BYTES), 0].iter().flat_map(|value| value.to_le_bytes()));
    file.extend(0_u32.to_le_bytes());
    let counts = [FILE_HEADER_BYTES, SEGMENT_HEADER_BYTES, 1, 0, 0, 0];
    file.extend(counts.iter().flat_map(|value| value.to_le_bytes()));
    // All of the file is loaded, to be read and run.
    file.extend([1_u32, 5].iter().flat_map(|value| value.to_le_bytes()));
    file.extend([0, BASE, BASE, all, all, ALIGNMENT].iter().flat_map(|value: &u64| value.to_le_bytes()));
    file.extend(code);
    file.extend(text);
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    #[test]
    fn program_of_the_trial_says_hello_on_this_machine() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(PROGRAM);
        fs::write(&path, program(crate::container::images::machine()).expect("a program")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        let ran = Command::new(&path).output().expect("it runs");
        assert!(ran.status.success(), "{ran:?}");
        assert_eq!(String::from_utf8_lossy(&ran.stdout), format!("{GREETING}\n"));
    }

    #[test]
    fn every_trial_has_an_image_of_its_own() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let index = |name: &str, unique: &str| {
            write_layout(&folder.path().join(name), unique).expect("written");
            fs::read_to_string(folder.path().join(name).join("index.json")).expect("text")
        };
        assert_eq!(index("a", "1"), index("b", "1"));
        assert_ne!(index("a", "1"), index("c", "2"));
    }

    #[test]
    fn both_programs_end_with_their_text() {
        for architecture in ["amd64", "arm64"] {
            let file = program(architecture).expect("a program");
            assert!(file.ends_with(format!("{GREETING}\n").as_bytes()), "{architecture}");
        }
        assert_eq!(program("m68k"), None);
    }
}
