//! The files of two results, side by side, and their bytes piece by piece.
use std::io::{self, BufRead, BufReader, Cursor, Seek};

use gleaner_wire::check::Compared;

use super::Trouble;
use crate::content::{Content, FOLDER_FILES_MAX};
use crate::watch::Watch;

/// Bytes of each file that are looked at a time: whole numbers of every kind.
const PIECE_BYTES: usize = 256 * 1024;
/// Entries of a folder that are listed at a time.
const LISTED_AT_A_TIME: usize = 4096;

/// Something that can be read from any place.
pub trait Input: BufRead + Seek {}
impl<T: BufRead + Seek> Input for T {}

/// Opens a file.
pub fn open(content: &Content) -> io::Result<Box<dyn Input + '_>> {
    match content {
        Content::Bytes(output) => Ok(Box::new(Cursor::new(output.content().unwrap_or_default()))),
        Content::File(file) => Ok(Box::new(BufReader::new(std::fs::File::open(file.path())?))),
        Content::Folder(_) | Content::Gather(_) => Err(io::ErrorKind::IsADirectory.into()),
    }
}

/// The files of two results by their names, or `None` if the results do not have the same.
pub fn files(results: &[Content; 2]) -> Option<Vec<[Content; 2]>> {
    let mut found = Vec::new();
    let mut folders = vec![results.clone()];
    while let Some(pair) = folders.pop() {
        match [pair[0].is_folder(), pair[1].is_folder()] {
            [false, false] => found.push(pair),
            [true, true] => folders.extend(entries(&pair)?),
            [true, false] | [false, true] => return None,
        }
        if found.len() + folders.len() > FOLDER_FILES_MAX {
            return None;
        }
    }
    Some(found)
}

/// What two folders hold under the same names, or `None` if they do not have the same.
fn entries([one, other]: &[Content; 2]) -> Option<Vec<[Content; 2]>> {
    let mut found = Vec::new();
    loop {
        let [ours, theirs] = [one, other].map(|folder| folder.list(found.len(), LISTED_AT_A_TIME));
        if ours != theirs {
            return None;
        }
        if ours.is_empty() {
            return Some(found);
        }
        for (name, _) in ours {
            found.push([one.child(&name)?, other.child(&name)?]);
        }
    }
}

/// Compares two files of equal length by their pieces; `look` is shown those that are not the same.
pub fn by_pieces(
    pair: &[Content; 2],
    watch: &Watch,
    mut look: impl FnMut(&[u8], &[u8]) -> Compared,
) -> Result<Compared, Trouble> {
    if pair[0].bytes() != pair[1].bytes() {
        return Ok(Compared::APART);
    }
    let (mut one, mut other) = (open(&pair[0])?, open(&pair[1])?);
    let (mut ours, mut theirs) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
    let mut found = Compared::SAME;
    loop {
        watch.check()?;
        let (count, same) = (fill(&mut one, &mut ours)?, fill(&mut other, &mut theirs)?);
        if count != same {
            return Ok(Compared::APART);
        }
        if ours[..count] != theirs[..count] {
            found = found.and(look(&ours[..count], &theirs[..count]));
        }
        if count < PIECE_BYTES || found == Compared::APART {
            return Ok(found);
        }
    }
}

/// Reads until the buffer is full or the file ends.
pub fn fill(input: &mut dyn Input, buffer: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match input.read(&mut buffer[count..]) {
            Ok(0) => break,
            Ok(read) => count += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{file, watch};
    use super::*;

    #[test]
    fn folders_with_other_names_have_no_pairs() {
        let folder = |name: &str| Content::folder(vec![(name.to_owned(), file(b"1"))]).expect("a safe name");
        assert!(files(&[folder("a"), folder("b")]).is_none());
        assert!(files(&[folder("a"), folder("a/b")]).is_none());
        assert_eq!(files(&[folder("a/b"), folder("a/b")]).map(|pairs| pairs.len()), Some(1));
    }

    #[test]
    fn large_folders_are_walked_to_their_end() {
        let one = file(b"1");
        let folder = |count: usize| Content::Gather(vec![one.clone(); count].into());
        let many = LISTED_AT_A_TIME + 1;
        assert_eq!(files(&[folder(many), folder(many)]).map(|pairs| pairs.len()), Some(many));
        assert!(files(&[folder(many), folder(many - 1)]).is_none());
    }

    #[test]
    fn only_pieces_that_differ_are_shown_and_only_until_nothing_can_change() {
        let mut bytes = vec![7; 3 * PIECE_BYTES + 5];
        let one = file(&bytes);
        bytes[PIECE_BYTES] = 8;
        bytes[2 * PIECE_BYTES] = 8;
        let pair = [one, file(&bytes)];
        let mut shown = 0;
        let mut count = |verdict: Compared| {
            by_pieces(&pair, &watch(), |_, _| {
                shown += 1;
                verdict
            })
            .expect("compares")
        };
        assert_eq!(count(Compared::at(5)), Compared::at(5));
        assert_eq!(count(Compared::APART), Compared::APART);
        assert_eq!(shown, 3);
    }
}
