//! Loads an image from a folder or archive in the OCI image layout, so that no registry is needed.
//!
//! The folder comes from a stranger. Only files that are named by their digests are read, manifest and configuration are
//! checked against theirs here, and layers by the engine against the configuration, whose digest is the image's name. What
//! goes to the engine is a tar in the form that every Docker and podman loads, made while it is sent.

use super::pull::Had;
use super::reference::is_digest;
use super::too_large;
use crate::Error;
use bollard::Docker;
use bollard::models::ImageInspect;
use bollard::query_parameters::ImportImageOptions;
use bytes::Bytes;
use futures_util::StreamExt;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc;

const TEXT_BYTES_MAX: u64 = 4 << 20;
const LAYERS_MAX: usize = 256;
const ARCHIVE_FILES_MAX: usize = 4096;
/// Pieces of the tar on their way to the engine.
const PIECES_MAX: usize = 16;
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug, Deserialize)]
struct Descriptor {
    digest: String,
    #[serde(rename = "mediaType", default)]
    media_type: String,
    platform: Option<Platform>,
}

#[derive(Debug, Deserialize)]
struct Platform {
    architecture: String,
    os: String,
}

#[derive(Debug, Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Debug, Deserialize)]
struct Manifest {
    config: Descriptor,
    layers: Vec<Descriptor>,
}

/// What of an image's configuration is needed.
#[derive(Debug, Deserialize)]
struct Config {
    rootfs: RootFileSystem,
}

#[derive(Debug, Deserialize)]
struct RootFileSystem {
    diff_ids: Vec<String>,
}

/// What of a layout is needed.
#[derive(Debug, PartialEq, Eq)]
struct Parts {
    config: String,
    layers: Vec<String>,
    /// What the layers are when they are unpacked.
    contents: Vec<String>,
    bytes: u64,
}

impl Parts {
    /// What the image is called in the engine, beside its digest.
    fn name(&self) -> String {
        format!("gleaner.local/dataset:{}", self.config.trim_start_matches("sha256:"))
    }
}

/// Loads a folder, unless the engine has the image already.
pub(super) async fn load(docker: &Docker, folder: &Path, bytes_max: u64) -> Result<Had, Error> {
    let folder = folder.to_owned();
    let read = folder.clone();
    let parts = in_background(move || read_layout(&read)).await?;
    if let Some(found) = find(docker, &parts).await {
        return Ok((found, None, true));
    }
    if parts.bytes > bytes_max {
        return Err(too_large(parts.bytes, bytes_max));
    }
    let parts = send(docker, folder, parts).await?;
    match find(docker, &parts).await {
        Some(found) => Ok((found, None, false)),
        None => Err(bad(format!("the engine loaded it and has no image of that content: {}", parts.config))),
    }
}

/// The image in the engine. Most call it by the digest of its configuration, and some by a digest of their own; what is in it
/// has to be the same.
async fn find(docker: &Docker, parts: &Parts) -> Option<ImageInspect> {
    for name in [&parts.config, &parts.name()] {
        if let Ok(found) = docker.inspect_image(name).await {
            let layers = found.root_fs.as_ref().and_then(|root| root.layers.as_deref()).unwrap_or_default();
            if layers == parts.contents {
                return Some(found);
            }
        }
    }
    None
}

/// Unpacks an archive into a temporary folder within `scratch` and loads that. The archive's own folder may be read by
/// others at the same time, who would take what is unpacked for a part of it.
pub(super) async fn load_archive(docker: &Docker, file: &Path, scratch: &Path, bytes_max: u64) -> Result<Had, Error> {
    let (file, scratch) = (file.to_owned(), scratch.to_owned());
    let folder = in_background(move || unpack(&file, &scratch)).await?;
    load(docker, folder.path(), bytes_max).await
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(Error::Image("reading it was broken off".into())))
}

fn bad(why: impl Into<String>) -> Error {
    Error::Image(why.into())
}

fn read_layout(folder: &Path) -> Result<Parts, Error> {
    let index = parse::<Index>(&read_text(&folder.join("index.json"))?)?;
    let manifest = parse::<Manifest>(&manifest_text(folder, &index, 0)?)?;
    if manifest.layers.len() > LAYERS_MAX {
        return Err(bad(format!("it has more than {LAYERS_MAX} layers")));
    }
    let config = manifest.config.digest;
    let contents = parse::<Config>(&checked_text(folder, &config)?)?.rootfs.diff_ids;
    let layers: Vec<_> = manifest.layers.into_iter().map(|layer| layer.digest).collect();
    let mut bytes = 0_u64;
    for digest in &layers {
        let length =
            blob(folder, digest)?.metadata().map_err(|error| Error::system("looking at a layer", error))?.len();
        bytes = bytes.saturating_add(length);
    }
    Ok(Parts { config, layers, contents, bytes })
}

/// The manifest for this machine. An index may lead to one more index, as tools write for several platforms.
fn manifest_text(folder: &Path, index: &Index, depth: usize) -> Result<Vec<u8>, Error> {
    let fits = |descriptor: &&Descriptor| {
        descriptor.platform.as_ref().is_none_or(|platform| platform.os == "linux" && platform.architecture == machine())
    };
    let chosen =
        index.manifests.iter().find(fits).ok_or_else(|| bad(format!("it has nothing for linux on {}", machine())))?;
    let text = checked_text(folder, &chosen.digest)?;
    if chosen.media_type.contains("index") || chosen.media_type.contains("manifest.list") {
        if depth > 0 {
            return Err(bad("its indexes lead to each other"));
        }
        return manifest_text(folder, &parse(&text)?, depth + 1);
    }
    Ok(text)
}

/// This machine, as images call it.
pub(in crate::container) fn machine() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Error> {
    serde_json::from_slice(text).map_err(|error| bad(format!("its description cannot be read: {error}")))
}

/// Opens a file that a digest names. A link is not followed, and what is not a file is not opened.
fn blob(folder: &Path, digest: &str) -> Result<File, Error> {
    if !is_digest(digest) {
        return Err(bad(format!("`{digest}` is not a SHA-256 digest")));
    }
    let path = folder.join("blobs/sha256").join(&digest["sha256:".len()..]);
    open_plain(&path)
}

fn open_plain(path: &Path) -> Result<File, Error> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map(File::from).map_err(io::Error::from);
    let file = opened.map_err(|error| bad(format!("{} cannot be opened: {error}", path.display())))?;
    match file.metadata() {
        Ok(meta) if meta.is_file() => Ok(file),
        _ => Err(bad(format!("{} is not a file", path.display()))),
    }
}

fn read_text(path: &Path) -> Result<Vec<u8>, Error> {
    read_bounded(open_plain(path)?)
}

fn read_bounded(file: File) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    let read = file.take(TEXT_BYTES_MAX + 1).read_to_end(&mut text);
    match read {
        Ok(_) if text.len() as u64 <= TEXT_BYTES_MAX => Ok(text),
        Ok(_) => Err(bad("a description in it is larger than 4 MiB")),
        Err(error) => Err(Error::system("reading an image", error)),
    }
}

fn checked_text(folder: &Path, digest: &str) -> Result<Vec<u8>, Error> {
    let text = read_bounded(blob(folder, digest)?)?;
    let found = Sha256::digest(&text).iter().fold(String::from("sha256:"), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    if found == digest { Ok(text) } else { Err(bad(format!("{digest} is not what its digest says"))) }
}

/// Sends the tar while it is made: a thread packs, the request takes.
async fn send(docker: &Docker, folder: PathBuf, parts: Parts) -> Result<Parts, Error> {
    let (sender, receiver) = mpsc::channel::<io::Result<Bytes>>(PIECES_MAX);
    let packing = tokio::task::spawn_blocking(move || {
        let failed = pack(&folder, &parts, Pieces(sender.clone())).err();
        if let Some(error) = failed {
            let _ = sender.blocking_send(Err(error));
        }
        parts
    });
    let pieces = futures_util::stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|piece| (piece, receiver))
    });
    let patient = docker.clone().with_timeout(PATIENCE);
    let mut answers = Box::pin(patient.import_image_stream(ImportImageOptions::default(), pieces, None));
    let mut result = Ok(());
    while let Some(answer) = answers.next().await {
        if let Err(error) = answer {
            result = Err(Error::engine("loading an image", error));
            break;
        }
    }
    drop(answers);
    let parts = packing.await.map_err(|_| bad("packing it was broken off"))?;
    result.map(|()| parts)
}

fn pack(folder: &Path, parts: &Parts, into: Pieces) -> io::Result<()> {
    let mut tar = tar::Builder::new(io::BufWriter::with_capacity(256 * 1024, into));
    let inside = |digest: &str| format!("blobs/sha256/{}", digest.trim_start_matches("sha256:"));
    let mut packed = Vec::new();
    for digest in std::iter::once(&parts.config).chain(&parts.layers) {
        // Two layers may be the same.
        if packed.contains(&digest) {
            continue;
        }
        packed.push(digest);
        let mut file = blob(folder, digest).map_err(io::Error::other)?;
        let length = file.metadata()?.len();
        append(&mut tar, &inside(digest), length, &mut file)?;
    }
    let layers: Vec<_> = parts.layers.iter().map(|digest| inside(digest)).collect();
    let manifest =
        serde_json::json!([{ "Config": inside(&parts.config), "RepoTags": [parts.name()], "Layers": layers }]);
    let text = serde_json::to_vec(&manifest)?;
    append(&mut tar, "manifest.json", text.len() as u64, &mut text.as_slice())?;
    tar.into_inner()?.flush()
}

fn append(tar: &mut tar::Builder<impl Write>, name: &str, bytes: u64, from: &mut dyn Read) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_mtime(0);
    tar.append_data(&mut header, name, from.take(bytes))
}

/// The writing end of the channel to the engine.
struct Pieces(mpsc::Sender<io::Result<Bytes>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .blocking_send(Ok(Bytes::copy_from_slice(bytes)))
            .map_err(|_| io::Error::other("the engine takes no more"))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Takes the files of a layout out of an archive, and nothing else: no link, no other name.
fn unpack(archive: &Path, scratch: &Path) -> Result<tempfile::TempDir, Error> {
    let failed = |error| Error::system(format!("unpacking {}", archive.display()), error);
    let folder = tempfile::Builder::new().prefix("image-").tempdir_in(scratch).map_err(failed)?;
    std::fs::create_dir_all(folder.path().join("blobs/sha256")).map_err(failed)?;
    let mut tar = tar::Archive::new(open_plain(archive)?);
    for (count, entry) in tar.entries().map_err(failed)?.enumerate() {
        if count == ARCHIVE_FILES_MAX {
            return Err(bad(format!("its archive has more than {ARCHIVE_FILES_MAX} files")));
        }
        let mut entry = entry.map_err(failed)?;
        let name = entry.path().map_err(failed)?.to_string_lossy().trim_start_matches("./").to_owned();
        let digest = name.strip_prefix("blobs/sha256/").map(|hex| format!("sha256:{hex}"));
        let wanted = name == "index.json" || digest.is_some_and(|digest| is_digest(&digest));
        if wanted && entry.header().entry_type().is_file() {
            let mut file = File::create(folder.path().join(&name)).map_err(failed)?;
            io::copy(&mut entry, &mut file).map_err(failed)?;
        }
    }
    Ok(folder)
}
