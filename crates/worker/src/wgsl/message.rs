//! What a worker and its kernel process say to each other: postcard in frames, over standard input and output.
use std::io::{self, Read, Write};

use gleaner_wire::{Cause, DeviceKind, Micros};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The largest frame, raw output excepted.
const FRAME_BYTES_MAX: u32 = 16 * 1024 * 1024;

/// How an adapter is found again in another process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adapter {
    /// The name its driver gives.
    pub name: String,
    /// The driver and its version.
    pub driver: String,
    /// The interface, such as `vulkan`.
    pub backend: String,
    /// What kind of device.
    pub kind: DeviceKind,
    /// The numbers of vendor and device.
    pub ids: (u32, u32),
    /// Where it is plugged in, if its driver says so.
    pub bus: String,
    /// Its position among adapters that are alike.
    pub twin: u16,
    /// Whether it has memory of its own.
    pub discrete: bool,
    /// The largest buffer.
    pub buffer_bytes_max: u64,
}

/// A kernel and how it is dispatched, for one element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispatch {
    /// The WGSL source.
    pub source: String,
    /// The entry point of every pass.
    pub entry: String,
    /// An entry point dispatched once afterwards.
    pub finish: Option<String>,
    /// How many passes.
    pub passes: u32,
    /// Invocations that are needed, across and down.
    pub invocations: (u32, u32),
    /// The first rows of the parameters; the pass is filled in by the process.
    pub parameters: Vec<u32>,
    /// Bytes of the output buffer.
    pub output_bytes: u64,
    /// Bytes of the scratch buffer; none if zero.
    pub scratch_bytes: u64,
    /// The input buffers.
    pub inputs: Vec<Vec<Piece>>,
    /// All buffers together.
    pub memory_max: u64,
    /// Running time.
    pub time_ms_max: u64,
}

/// A part of an input buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// Some bytes.
    Bytes(Vec<u8>),
    /// A file and its length.
    File(String, u64),
}

impl Piece {
    /// How many bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(_, len) => *len,
        }
    }
}

/// From the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// Which adapters are there?
    List,
    /// Open this adapter; the runs that follow are for it.
    Open(Box<Adapter>),
    /// Does the open device compute correctly, and how fast?
    Test,
    /// Run this.
    Run(Box<Dispatch>),
}

/// From the kernel process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The adapters.
    Adapters(Vec<Adapter>),
    /// The adapter is open.
    Opened,
    /// The self-test has passed.
    Tested {
        /// Speed, 1000 being the reference.
        score: u32,
        /// Loop iterations after which the device stops counting, if it does.
        loops_max: Option<u64>,
    },
    /// The run is done; as many bytes of output follow the frame.
    Done {
        /// How long it took.
        ran: Micros,
        /// Bytes that follow.
        output_bytes: u64,
    },
    /// It failed.
    Failed {
        /// Why.
        cause: Cause,
        /// In words.
        detail: String,
        /// Whether the device may be used again.
        usable: bool,
    },
}

/// A message that no frame can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it takes {0} bytes, and the limit is {FRAME_BYTES_MAX}")]
pub struct TooLarge(usize);

/// One frame.
pub fn frame<T: Serialize>(message: &T) -> Result<Vec<u8>, TooLarge> {
    let bytes = gleaner_wire::encode(message);
    let len = u32::try_from(bytes.len()).ok().filter(|len| *len <= FRAME_BYTES_MAX).ok_or(TooLarge(bytes.len()))?;
    Ok([len.to_le_bytes().as_slice(), &bytes].concat())
}

/// Writes one frame.
pub fn write_frame<T: Serialize>(to: &mut impl Write, message: &T) -> io::Result<()> {
    to.write_all(&frame(message).map_err(io::Error::other)?)
}

/// Reads one frame; `None` where the stream ends between frames.
pub fn read_frame<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut len = [0; 4];
    match from.read_exact(&mut len) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let len = u32::from_le_bytes(len);
    if len > FRAME_BYTES_MAX {
        return Err(io::Error::other("the frame is too large"));
    }
    let mut bytes = vec![0; len as usize];
    from.read_exact(&mut bytes)?;
    postcard::from_bytes(&bytes).map(Some).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_read_back_and_garbage_is_refused() {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &Ask::List).expect("writes");
        assert_eq!(read_frame(&mut bytes.as_slice()).expect("reads"), Some(Ask::List));
        assert_eq!(read_frame::<Ask>(&mut [].as_slice()).expect("reads"), None);
        assert!(read_frame::<Ask>(&mut [255, 255, 255, 255, 0].as_slice()).is_err());
        assert!(read_frame::<Ask>(&mut [1, 0, 0, 0, 99].as_slice()).is_err());
    }
}
