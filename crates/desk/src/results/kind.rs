//! What a file of an output is, as far as showing it goes: by its name, or else by how it begins.

use serde::{Deserialize, Serialize};

/// How many bytes of a file tell what it is.
pub(crate) const HEAD_BYTES: usize = 4096;
/// Lines that are looked at.
const LINES_MAX: usize = 20;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    /// A picture that browsers show.
    Image,
    /// Text.
    Text,
    /// Rows of numbers: CSV, or JSON in lines.
    Table,
    /// Anything else.
    Other,
}

/// What a file is by its name alone; none if that says nothing.
pub(crate) fn by_name(path: &str) -> Option<ResultKind> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (_, ending) = name.rsplit_once('.')?;
    match ending.to_ascii_lowercase().as_str() {
        "png" | "jpg" | "jpeg" | "gif" | "webp" => Some(ResultKind::Image),
        "csv" | "tsv" | "jsonl" | "ndjson" => Some(ResultKind::Table),
        "log" | "md" | "json" | "toml" | "yaml" | "yml" | "xml" | "html" | "svg" | "py" | "rs" | "c" | "wgsl" => {
            Some(ResultKind::Text)
        }
        "exr" | "blend" | "bin" | "npy" | "npz" | "pt" | "safetensors" | "gguf" | "zip" | "tar" | "gz" | "zst"
        | "mp4" | "mkv" | "webm" | "wasm" | "pdf" => Some(ResultKind::Other),
        _ => None,
    }
}

/// The media type of a picture, by how it begins.
pub(crate) fn image_type(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// What a file is by how it begins. `whole` says that there is no more of it.
pub(crate) fn by_head(head: &[u8], whole: bool) -> ResultKind {
    if image_type(head).is_some() {
        return ResultKind::Image;
    }
    let Some(text) = text(head, whole) else { return ResultKind::Other };
    if is_table(text, whole) { ResultKind::Table } else { ResultKind::Text }
}

/// The text that a file begins with, if it is text.
fn text(head: &[u8], whole: bool) -> Option<&str> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // A letter may have been cut in two.
        Err(error) if !whole && error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    (!text.is_empty() && text.chars().all(is_plain)).then_some(text)
}

/// Whether a text is rows of as many values each, numbers among them; the first row may name the columns.
fn is_table(text: &str, whole: bool) -> bool {
    let complete = if whole { text } else { text.rsplit_once('\n').map_or("", |(complete, _)| complete) };
    let lines: Vec<&str> = complete.lines().filter(|line| !line.trim().is_empty()).take(LINES_MAX).collect();
    if lines.len() < 2 {
        return false;
    }
    if lines.iter().all(|line| line.trim_start().starts_with('{')) {
        return lines.iter().all(|line| has_number(line));
    }
    [',', '\t', ';', ' '].into_iter().any(|by| are_rows(&lines, by))
}

fn has_number(line: &str) -> bool {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(line) else { return false };
    fields.values().any(serde_json::Value::is_number)
}

fn are_rows(lines: &[&str], by: char) -> bool {
    let cells = |line: &str| -> Vec<String> {
        line.split(by)
            .map(|cell| cell.trim().trim_matches('"').to_owned())
            .filter(|cell| by != ' ' || !cell.is_empty())
            .collect()
    };
    let is_number = |cell: &String| cell.parse::<f64>().is_ok();
    let rows: Vec<Vec<String>> = lines.iter().map(|line| cells(line)).collect();
    let columns = rows[0].len();
    let body = if rows[0].iter().any(is_number) { &rows[..] } else { &rows[1..] };
    rows.iter().all(|row| row.len() == columns) && body.iter().all(|row| row.iter().any(is_number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_files_are() {
        for (name, kind) in [
            ("a/0001.PNG", Some(ResultKind::Image)),
            ("loss.csv", Some(ResultKind::Table)),
            ("run.jsonl", Some(ResultKind::Table)),
            ("notes.md", Some(ResultKind::Text)),
            ("page.html", Some(ResultKind::Text)),
            ("piece.exr", Some(ResultKind::Other)),
            ("output", None),
            ("a.png/output", None),
            ("loss.txt", None),
        ] {
            assert_eq!(by_name(name), kind, "{name}");
        }
    }

    #[test]
    fn beginnings_tell_what_names_do_not() {
        let kind = |head: &[u8]| by_head(head, true);
        assert_eq!(kind(b"\x89PNG\r\n\x1a\n...."), ResultKind::Image);
        assert_eq!(kind(b"9592\n"), ResultKind::Text, "one number is no table");
        assert_eq!(kind(b"step,loss\n1,0.5\n2,0.25\n"), ResultKind::Table);
        assert_eq!(kind(b"1 0.5\n2 0.25\n3 0.2"), ResultKind::Table);
        assert_eq!(kind(b"{\"step\":1,\"loss\":0.5}\n{\"step\":2,\"loss\":0.4}\n"), ResultKind::Table);
        assert_eq!(kind(b"{\"a\":\"b\"}\n{\"a\":\"c\"}\n"), ResultKind::Text);
        assert_eq!(kind(b"the quick brown fox\njumps over the lazy dog\n"), ResultKind::Text);
        assert_eq!(kind(b"a,b\nc\n"), ResultKind::Text);
        assert_eq!(kind(&[0, 1, 2, 3]), ResultKind::Other);
        assert_eq!(kind(b""), ResultKind::Other);
        assert_eq!(kind(b"<script>alert(1)</script>"), ResultKind::Text);
    }

    #[test]
    fn a_beginning_may_cut_letters_and_lines_in_two() {
        let text = "grün ".repeat(100);
        let cut = &text.as_bytes()[..3];
        assert_eq!((by_head(cut, false), by_head(cut, true)), (ResultKind::Text, ResultKind::Other));
        assert_eq!(by_head(b"1,2\n3,4\n5", false), ResultKind::Table);
    }
}
