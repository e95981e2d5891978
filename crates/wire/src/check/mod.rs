//! How two results of one task are compared, and what came out of a comparison.
//!
//! Every rule is in whole numbers, so that all machines that compare the same two results say the same.
mod file;
mod tolerance;

#[cfg(feature = "openapi")]
use alloc::string::String;
#[cfg(feature = "openapi")]
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

pub use file::{CheckFile, CheckKind};
pub use tolerance::{Tolerance, ToleranceError};

use crate::Output;

/// How two results of one task are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Check {
    /// Not at all: two honest results may differ in any way.
    #[default]
    None,
    /// Byte for byte.
    Exact,
    /// Number for number. Two numbers agree if they differ by at most `absolute`, or by at most `relative` times the larger of
    /// their magnitudes.
    Numeric {
        /// What the bytes are, little-endian.
        number: Number,
        /// What any two numbers may differ by.
        absolute: Tolerance,
        /// What they may differ by for their size.
        relative: Tolerance,
        /// Whether what honest machines of two classes were seen to differ by is tolerated too.
        learned: bool,
    },
    /// As pictures: PNG, OpenEXR, or the RGBA bytes of a tile.
    Image {
        /// What a channel of a pixel may differ by, in parts of 65,535 of full brightness.
        pixel: u16,
        /// What their structure may differ by in the mean over blocks of 8 × 8 pixels, in millionths: 0 is the same,
        /// 1,000,000 has nothing in common.
        perceptual: u32,
        /// Whether what honest machines of two classes were seen to differ by is tolerated too.
        learned: bool,
    },
    /// By the requester's own WASI program.
    Program {
        /// Which of the task's inputs it is: a file.
        input: u16,
    },
}

impl Check {
    /// How pictures are compared where nobody says by how much they may differ: by two parts of 255 in a channel, by a
    /// hundredth in structure, or by what honest machines were seen to.
    pub const PICTURE: Self = Self::Image { pixel: 2 * 257, perceptual: 10_000, learned: true };

    /// Whether what honest machines were seen to differ by is tolerated beside what the check itself does.
    pub fn learns(self) -> bool {
        match self {
            Self::Numeric { learned, .. } | Self::Image { learned, .. } => learned,
            Self::None | Self::Exact | Self::Program { .. } => false,
        }
    }
}

/// What the bytes of a result are: little-endian numbers, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Number {
    /// A byte.
    U8,
    /// A byte with a sign.
    I8,
    /// 16 bits.
    U16,
    /// 16 bits with a sign.
    I16,
    /// 32 bits.
    U32,
    /// 32 bits with a sign.
    I32,
    /// 64 bits.
    U64,
    /// 64 bits with a sign.
    I64,
    /// Half precision.
    F16,
    /// The upper half of single precision.
    Bf16,
    /// Single precision.
    #[default]
    F32,
    /// Double precision.
    F64,
}

impl Number {
    /// How many bytes one takes.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// What is tolerated where a job names nothing: absolute and relative.
    pub fn tolerances(self) -> [Tolerance; 2] {
        let [absolute, relative] = match self {
            Self::U8 | Self::I8 | Self::U16 | Self::I16 | Self::U32 | Self::I32 | Self::U64 | Self::I64 => [0, 0],
            Self::F16 => [1_000_000_000, 4_000_000_000],
            Self::Bf16 => [1_000_000_000, 16_000_000_000],
            Self::F32 => [1_000_000, 10_000_000],
            Self::F64 => [1, 100],
        };
        [Tolerance(absolute), Tolerance(relative)]
    }
}

/// What came out of a comparison. Unlike other outputs it is not sealed: the hub reads it, and it says nothing of what the
/// results hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// Whether the two results agree.
    pub agrees: bool,
    /// How far they are apart, in millionths of what is tolerated: 0 is the same, 1,000,000 just agrees.
    pub distance: u64,
}

impl Compared {
    /// The distance of results that just agree.
    pub const TOLERATED: u64 = 1_000_000;
    /// Two results that are the same.
    pub const SAME: Self = Self { agrees: true, distance: 0 };
    /// Two results that have nothing to do with each other.
    pub const APART: Self = Self { agrees: false, distance: u64::MAX };

    /// What results that are this far apart are.
    pub fn at(distance: u64) -> Self {
        Self { agrees: distance <= Self::TOLERATED, distance }
    }

    /// The two comparisons of parts of a result as one of both.
    pub fn and(self, other: Self) -> Self {
        Self { agrees: self.agrees && other.agrees, distance: self.distance.max(other.distance) }
    }

    /// As a worker delivers it.
    pub fn to_output(self) -> Output {
        let mut bytes = [0; 9];
        bytes[0] = u8::from(self.agrees);
        bytes[1..].copy_from_slice(&self.distance.to_le_bytes());
        Output::inline(&bytes).expect("nine bytes are short")
    }

    /// What a worker has delivered, if that is a comparison.
    pub fn from_output(output: &Output) -> Option<Self> {
        let (agrees, distance) = output.content()?.split_first()?;
        let distance = u64::from_le_bytes(distance.try_into().ok()?);
        match agrees {
            0 => Some(Self { agrees: false, distance }),
            1 => Some(Self { agrees: true, distance }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_comparison_is_delivered_as_nine_plain_bytes() {
        let output = Compared { agrees: true, distance: 258 }.to_output();
        assert_eq!(output.content(), Some(&[1, 2, 1, 0, 0, 0, 0, 0, 0][..]));
        assert_eq!(Compared::from_output(&output), Some(Compared { agrees: true, distance: 258 }));
    }

    #[test]
    fn what_is_tolerated_agrees() {
        assert!(Compared::at(0).agrees && Compared::at(Compared::TOLERATED).agrees);
        assert!(!Compared::at(Compared::TOLERATED + 1).agrees);
        assert_eq!(Compared::SAME.and(Compared::APART), Compared::APART);
    }

    proptest! {
        #[test]
        fn any_output_is_a_comparison_or_none(bytes in prop::collection::vec(any::<u8>(), 0..33)) {
            let output = Output::inline(&bytes[..bytes.len().min(32)]).expect("short");
            if let Some(compared) = Compared::from_output(&output) {
                prop_assert_eq!(compared.to_output(), output);
            }
        }
    }
}
