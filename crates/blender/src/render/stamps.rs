//! Takes out of a picture what Cycles writes into it beside the light: how long it took. So equal frames are equal files.
//!
//! The file comes out of a sandbox: everything about it is checked, and pixels are passed on as they are.
use std::path::Path;

use crate::Fault;

/// The longest file that is looked at.
const BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const EXR: &[u8] = &[0x76, 0x2f, 0x31, 0x01];
const EXR_MANY_PARTS: u32 = 0x1000;
const PNG_TEXTS: [&[u8]; 4] = [b"tEXt", b"zTXt", b"iTXt", b"tIME"];
const EXR_PREFIX: &[u8] = b"cycles.";

/// Rewrites a picture without its stamps.
pub fn remove(path: &Path) -> Result<(), Fault> {
    let what = || format!("reading {}", path.display());
    if path.metadata().map_err(Fault::system(what()))?.len() > BYTES_MAX {
        return Err(Fault::Failed("the engine wrote a picture that is too large".into()));
    }
    let bytes = std::fs::read(path).map_err(Fault::system(what()))?;
    let plain = without(&bytes).ok_or_else(|| Fault::Failed("the engine wrote a broken picture".into()))?;
    // Beside it and renamed, so that no half a picture is ever there under its name.
    let part = path.with_extension("part");
    std::fs::write(&part, plain)
        .and_then(|()| std::fs::rename(&part, path))
        .map_err(Fault::system(format!("writing {}", path.display())))
}

fn without(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.starts_with(PNG) {
        png(bytes)
    } else if bytes.starts_with(EXR) {
        exr(bytes)
    } else {
        None
    }
}

/// Copies the chunks that are no text.
fn png(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut plain = PNG.to_vec();
    let mut rest = &bytes[PNG.len()..];
    while !rest.is_empty() {
        let length = u32::from_be_bytes(*rest.first_chunk()?) as usize;
        let chunk = rest.get(..length.checked_add(12)?)?;
        if !PNG_TEXTS.contains(&&chunk[4..8]) {
            plain.extend_from_slice(chunk);
        }
        rest = &rest[chunk.len()..];
    }
    Some(plain)
}

/// Copies the attributes that are no stamps, and moves the table of offsets by what was left out.
fn exr(bytes: &[u8]) -> Option<Vec<u8>> {
    let version = u32::from_le_bytes(*bytes.get(4..)?.first_chunk()?);
    let mut plain = bytes.get(..8)?.to_vec();
    let mut at = 8;
    loop {
        let attributes = at;
        while *bytes.get(at)? != 0 {
            let end = attribute(bytes, at)?;
            if !bytes[at..].starts_with(EXR_PREFIX) {
                plain.extend_from_slice(&bytes[at..end]);
            }
            at = end;
        }
        at += 1;
        plain.push(0);
        // One part has one header; of many, an empty one is the last.
        if version & EXR_MANY_PARTS == 0 || at == attributes + 1 {
            break;
        }
    }
    let left_out = (at - plain.len()) as u64;
    let pixels = move_offsets(bytes, at, left_out, &mut plain)?;
    plain.extend_from_slice(&bytes[pixels..]);
    Some(plain)
}

/// Where the attribute that begins here ends.
fn attribute(bytes: &[u8], at: usize) -> Option<usize> {
    let text_end = |from: usize| Some(from + bytes.get(from..)?.iter().position(|byte| *byte == 0)? + 1);
    let size_at = text_end(text_end(at)?)?;
    let size = u32::from_le_bytes(*bytes.get(size_at..)?.first_chunk()?) as usize;
    let end = size_at.checked_add(4)?.checked_add(size)?;
    (end <= bytes.len()).then_some(end)
}

/// Writes the table with every offset moved; returns where the pixels begin, which is where the first offset points.
fn move_offsets(bytes: &[u8], table: usize, left_out: u64, plain: &mut Vec<u8>) -> Option<usize> {
    let mut first = u64::MAX;
    let mut at = table;
    while (at as u64) < first {
        let offset = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
        first = first.min(offset);
        plain.extend_from_slice(&offset.checked_sub(left_out)?.to_le_bytes());
        at += 8;
    }
    (at as u64 == first).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::Picture;
    use proptest::prelude::*;

    fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        [&(data.len() as u32).to_be_bytes()[..], kind, data, &[0; 4]].concat()
    }

    /// An OpenEXR file, with an attribute of Cycles put in by hand.
    fn stamped(time: &str) -> (Vec<u8>, Vec<u8>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.exr");
        Picture::new(40, 40, [("R".into(), vec![0.25; 1600])].into()).write(&path).expect("writes");
        let plain = std::fs::read(&path).expect("reads");
        let size = (time.len() as u32).to_le_bytes();
        let stamp = [&b"cycles.ViewLayer.total_time\0string\0"[..], &size, time.as_bytes()].concat();
        let mut at = 8;
        while plain[at] != 0 {
            at = attribute(&plain, at).expect("an attribute");
        }
        let mut stamped = [&plain[..8], &stamp, &plain[8..=at]].concat();
        let pixels = u64::from_le_bytes(*plain[at + 1..].first_chunk().expect("an offset")) as usize;
        for offset in plain[at + 1..pixels].chunks(8) {
            let offset = u64::from_le_bytes(offset.try_into().expect("eight bytes")) + stamp.len() as u64;
            stamped.extend_from_slice(&offset.to_le_bytes());
        }
        stamped.extend_from_slice(&plain[pixels..]);
        (stamped, plain)
    }

    #[test]
    fn text_is_taken_out_of_png_and_the_rest_is_kept() {
        let [head, text, data] = [chunk(b"IHDR", &[1; 13]), chunk(b"tEXt", b"time\x007"), chunk(b"IDAT", &[9; 5])];
        let stamped = [PNG, &head, &text, &data].concat();
        assert_eq!(without(&stamped), Some([PNG, &head, &data].concat()));
    }

    #[test]
    fn stamps_are_taken_out_of_openexr_and_the_picture_is_the_same_file() {
        for time in ["00:00.48", "01:02:03.4"] {
            let (stamped, plain) = stamped(time);
            assert_eq!(without(&stamped), Some(plain));
        }
    }

    #[test]
    fn a_file_that_is_cut_off_or_something_else_is_refused() {
        let (stamped, _) = stamped("1");
        for length in [0, 4, 8, 20, 60, 200] {
            assert_eq!(without(&stamped[..length]), None, "{length}");
        }
        assert_eq!(without(b"GIF89a"), None);
        assert_eq!(without(&[PNG, &[255; 8]].concat()), None);
    }

    proptest! {
        #[test]
        fn no_damage_makes_it_panic(at in 0..600usize, byte: u8) {
            let (mut stamped, _) = stamped("00:00.48");
            if let Some(place) = stamped.get_mut(at) {
                *place = byte;
            }
            let _ = without(&stamped);
        }
    }
}
