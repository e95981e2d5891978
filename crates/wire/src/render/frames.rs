//! Which frames: `"1-250"`, `"1-250x5"`, `"3,7,9-12"`.
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The first frame that Blender counts.
pub const FRAME_MIN: i32 = -1_048_574;
/// The last frame that Blender counts.
pub const FRAME_MAX: i32 = 1_048_574;
/// The most frames of one task group.
pub const FRAMES_MAX: usize = 100_000;
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// Frames to render: each once, in ascending order, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, example = "1-250x5"))]
pub struct Frames(Vec<i32>);

/// Why a text does not name frames.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FramesError {
    /// Not the notation.
    #[error(
        "`{0}` does not name frames: write first-last, first-lastxstep or a list, such as \"1-250\", \"1-250x5\" or \"3,7,9-12\""
    )]
    Unreadable(String),
    /// A range that ends before it begins.
    #[error("`{0}` ends before it begins")]
    Backwards(String),
    /// A frame that Blender cannot have.
    #[error("there is no frame {0}: Blender counts from {FRAME_MIN} to {FRAME_MAX}")]
    Outside(i64),
    /// Too many.
    #[error("more than {FRAMES_MAX} frames: split them over several tasks")]
    TooMany,
}

impl Frames {
    /// One frame.
    pub fn one(frame: i32) -> Self {
        Self(alloc::vec![frame])
    }

    /// How many; never 0.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The frame at this position, from 0.
    pub fn at(&self, index: usize) -> Option<i32> {
        self.0.get(index).copied()
    }

    /// All of them, ascending.
    pub fn iter(&self) -> impl Iterator<Item = i32> + '_ {
        self.0.iter().copied()
    }
}

impl FromStr for Frames {
    type Err = FramesError;

    fn from_str(text: &str) -> Result<Self, FramesError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(FramesError::TooMany);
        }
        let (mut frames, mut named) = (BTreeSet::new(), 0);
        for part in text.split(',') {
            let (first, last, step) = range(part.trim())?;
            let mut frame = first;
            while frame <= last {
                frames.insert(inside(frame)?);
                // Those that are named twice count twice, or a short text could keep us busy for minutes.
                named += 1;
                if named > FRAMES_MAX {
                    return Err(FramesError::TooMany);
                }
                frame += step;
            }
        }
        Ok(Self(frames.into_iter().collect()))
    }
}

/// First, last and step of one part of a list.
fn range(part: &str) -> Result<(i64, i64, i64), FramesError> {
    let refuse = || FramesError::Unreadable(part.to_string());
    let number = |text: &str| text.parse::<i32>().map(i64::from).map_err(|_| refuse());
    let (range, step) = part.split_once('x').map_or((part, None), |(range, step)| (range, Some(step)));
    let step = step.map_or(Ok(1), number)?;
    // A minus at the very beginning belongs to the number; the next one is between the two.
    let between = range.char_indices().skip(1).find(|(_, c)| *c == '-').map(|(at, _)| at);
    let (first, last) = match between {
        Some(at) => (number(&range[..at])?, number(&range[at + 1..])?),
        None => (number(range)?, number(range)?),
    };
    if step < 1 || range.starts_with('+') {
        return Err(refuse());
    }
    if last < first {
        return Err(FramesError::Backwards(part.to_string()));
    }
    inside(first)?;
    inside(last)?;
    Ok((first, last, step))
}

fn inside(frame: i64) -> Result<i32, FramesError> {
    i32::try_from(frame).ok().filter(|frame| (FRAME_MIN..=FRAME_MAX).contains(frame)).ok_or(FramesError::Outside(frame))
}

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_slice();
        let mut comma = "";
        while let [first, ..] = *rest {
            let step = rest.get(1).map_or(1, |second| second - first);
            let run = rest.windows(2).take_while(|pair| pair[1] - pair[0] == step).count() + 1;
            // Two numbers are shorter as a list, unless they follow each other.
            let run = if run == 2 && step > 1 { 1 } else { run };
            write!(f, "{comma}{first}")?;
            if run > 1 {
                write!(f, "-{}", rest[run - 1])?;
            }
            if run > 1 && step > 1 {
                write!(f, "x{step}")?;
            }
            comma = ",";
            rest = &rest[run..];
        }
        Ok(())
    }
}

impl Serialize for Frames {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Frames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames(text: &str) -> Vec<i32> {
        text.parse::<Frames>().expect("frames").iter().collect()
    }

    #[test]
    fn ranges_steps_and_lists_name_frames() {
        assert_eq!(frames("1-4"), [1, 2, 3, 4]);
        assert_eq!(frames("1-11x5"), [1, 6, 11]);
        assert_eq!(frames("1-10x5"), [1, 6]);
        assert_eq!(frames("3, 7, 9-12"), [3, 7, 9, 10, 11, 12]);
        assert_eq!(frames("-3--1,0"), [-3, -2, -1, 0]);
        assert_eq!(frames("-1-1"), [-1, 0, 1]);
    }

    #[test]
    fn a_frame_named_twice_is_rendered_once() {
        assert_eq!(frames("5,1-6x2,5"), [1, 3, 5]);
    }

    #[test]
    fn text_that_names_no_frames_is_refused_with_its_reason() {
        for text in ["", ",", "1,", "a", "1-", "1-2-3", "1x", "1-5x0", "1-5x-1", "1..5", "+1", "1-5x5x5", "é-ü"] {
            assert!(matches!(text.parse::<Frames>(), Err(FramesError::Unreadable(_))), "{text}");
        }
        assert_eq!("5-1".parse::<Frames>(), Err(FramesError::Backwards("5-1".into())));
        assert_eq!("2000000".parse::<Frames>(), Err(FramesError::Outside(2_000_000)));
        assert_eq!("1-1000000".parse::<Frames>(), Err(FramesError::TooMany));
        assert_eq!("1-60000,1-60000".parse::<Frames>(), Err(FramesError::TooMany));
        assert_eq!("1-2147483647".parse::<Frames>(), Err(FramesError::Outside(2_147_483_647)));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(list in proptest::collection::btree_set(-50..50i32, 1..20)) {
            let written = Frames(list.iter().copied().collect());
            prop_assert_eq!(written.to_string().parse::<Frames>(), Ok(written));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9x,é -]{0,24}") {
            if let Ok(frames) = text.parse::<Frames>() {
                prop_assert!(frames.count() > 0);
            }
        }
    }
}
