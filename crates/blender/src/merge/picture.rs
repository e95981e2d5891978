//! A picture in memory: channels by name, as OpenEXR files hold them. Files are hostile until they are checked.
use exr::prelude::{
    AnyChannel, AnyChannels, Blocks, Compression, Encoding, FlatSamples, Image, Layer, LayerAttributes, LineOrder,
    MetaData, ReadChannels, ReadLayers, Vec2, WritableImage, f16, read,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most bytes that a picture may have in memory.
pub const BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;
const CHANNELS_MAX: usize = 1024;
const SIDE_MAX: usize = 65_536;

/// A picture: the same number of values in every channel, row by row from the top.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    width: u32,
    height: u32,
    channels: BTreeMap<String, Vec<f32>>,
}

/// A pass of a layer, such as the normals that a denoiser looks at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pass {
    /// The layer of the view.
    pub layer: String,
    /// The name of the pass.
    pub name: String,
    /// Its channels by letter, in the order Blender has them.
    pub channels: String,
}

/// Why a file is not a picture that can be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not an OpenEXR file, or a broken one.
    #[error("{} is not a readable OpenEXR picture", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: exr::error::Error,
    },
    /// Readable, but not as pieces are.
    #[error("{} is not a picture of ours: {why}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: &'static str,
    },
    /// It would take more memory than there is for it.
    #[error("{} is too large", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// Could not be written.
    #[error("{} could not be written", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: exr::error::Error,
    },
}

impl Picture {
    /// Takes channels that all have `width` × `height` values.
    pub fn new(width: u32, height: u32, channels: BTreeMap<String, Vec<f32>>) -> Self {
        let pixels = width as usize * height as usize;
        assert!(channels.values().all(|values| values.len() == pixels), "channels have a value for each pixel");
        Self { width, height, channels }
    }

    /// Width in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The channels by name.
    pub fn channels(&self) -> &BTreeMap<String, Vec<f32>> {
        &self.channels
    }

    /// The passes besides the picture itself.
    pub fn passes(&self) -> Vec<Pass> {
        let mut letters: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for name in self.channels.keys() {
            // A layer's name may have dots; the names of passes and channels have none.
            let mut parts = name.rsplitn(3, '.');
            let (Some(letter), Some(pass), Some(layer)) = (parts.next(), parts.next(), parts.next()) else { continue };
            if pass != "Combined" {
                letters.entry((layer, pass)).or_default().push(letter);
            }
        }
        let passes = letters.into_iter().map(|((layer, name), mut channels)| {
            channels.sort_by_key(|letter| "RGBAXYZWUV".find(*letter));
            Pass { layer: layer.into(), name: name.into(), channels: channels.concat() }
        });
        passes.collect()
    }

    /// Reads a file. Its header is checked before memory is taken for its pixels.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::read_within(path, BYTES_MAX)
    }

    /// The same, if it takes no more than so many bytes.
    pub fn read_within(path: &Path, bytes_max: u64) -> Result<Self, Error> {
        let unreadable = |source| Error::Unreadable { path: path.into(), source };
        let unusable = |why| Error::Unusable { path: path.into(), why };
        if !fits(&MetaData::read_from_file(path, false).map_err(unreadable)?, bytes_max) {
            return Err(Error::TooLarge { path: path.into() });
        }
        let image = read().no_deep_data().largest_resolution_level().all_channels().all_layers().all_attributes();
        let image = image.non_parallel().from_file(path).map_err(unreadable)?;
        let size = image.layer_data.first().ok_or(unusable("it has no layer"))?.size;
        let mut channels = BTreeMap::new();
        for layer in image.layer_data {
            if layer.size != size {
                return Err(unusable("its layers differ in size"));
            }
            let part = layer.attributes.layer_name.map(|name| name.to_string());
            for channel in layer.channel_data.list {
                let name = full_name(part.as_deref(), &channel.name.to_string());
                let values = floats(channel.sample_data).ok_or(unusable("it has whole numbers for light"))?;
                if values.len() != size.area() || channels.insert(name, values).is_some() {
                    return Err(unusable("a channel is there twice or not whole"));
                }
            }
        }
        Ok(Self { width: size.0 as u32, height: size.1 as u32, channels })
    }

    /// Writes a file of 32-bit channels, losslessly squeezed.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let list = self.channels.iter();
        let list = list.map(|(name, values)| AnyChannel::new(name.as_str(), FlatSamples::F32(values.clone())));
        let encoding =
            Encoding { compression: Compression::ZIP16, blocks: Blocks::ScanLines, line_order: LineOrder::Increasing };
        let size = Vec2(self.width as usize, self.height as usize);
        let layer = Layer::new(size, LayerAttributes::default(), encoding, AnyChannels::sort(list.collect()));
        let written = Image::from_layer(layer).write().non_parallel().to_file(path);
        written.map_err(|source| Error::Unwritable { path: path.into(), source })
    }
}

fn fits(meta: &MetaData, bytes_max: u64) -> bool {
    let mut channels = 0;
    let mut bytes = 0u64;
    for header in &meta.headers {
        if header.layer_size.0 > SIDE_MAX || header.layer_size.1 > SIDE_MAX {
            return false;
        }
        let here = header.channels.list.len();
        channels += here;
        bytes = bytes.saturating_add(header.layer_size.area() as u64 * 4 * here as u64);
    }
    channels <= CHANNELS_MAX && bytes <= bytes_max
}

/// Newer versions of Blender write a part for each pass, whose name the channels repeat or not.
fn full_name(part: Option<&str>, channel: &str) -> String {
    match part {
        Some(part) if !channel.starts_with(part) => format!("{part}.{channel}"),
        Some(_) | None => channel.to_string(),
    }
}

fn floats(samples: FlatSamples) -> Option<Vec<f32>> {
    match samples {
        FlatSamples::F32(values) => Some(values),
        FlatSamples::F16(values) => Some(values.into_iter().map(f16::to_f32).collect()),
        FlatSamples::U32(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_bit_for_bit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("picture.exr");
        let values = vec![0.0, -0.0, 1.0e-40, f32::INFINITY, 0.1, f32::MAX];
        let picture = Picture::new(3, 2, [("View.Combined.R".into(), values)].into());
        picture.write(&path).expect("writes");
        let again = Picture::read(&path).expect("reads");
        let bits =
            |picture: &Picture| picture.channels["View.Combined.R"].iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&again), bits(&picture));
        assert_eq!((again.width, again.height), (3, 2));
    }

    #[test]
    fn a_broken_or_foreign_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("picture.exr");
        let picture = Picture::new(16, 16, [("V.Combined.R".into(), vec![0.5; 256])].into());
        picture.write(&path).expect("writes");
        let whole = std::fs::read(&path).expect("reads");
        for length in [0, 3, 40, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).expect("writes");
            assert!(Picture::read(&path).is_err(), "{length} bytes");
        }
        std::fs::write(&path, b"\x89PNG\r\n\x1a\n").expect("writes");
        assert!(matches!(Picture::read(&path), Err(Error::Unreadable { .. })));
    }

    #[test]
    fn passes_are_named_with_their_channels_in_order() {
        let names = [
            "A.b.Combined.R",
            "A.b.Denoising Normal.Z",
            "A.b.Denoising Normal.X",
            "A.b.Denoising Normal.Y",
            "A.b.Depth.Z",
        ];
        let picture = Picture::new(1, 1, names.map(|name| (name.to_string(), vec![0.0])).into());
        let pass =
            |name: &str, channels: &str| Pass { layer: "A.b".into(), name: name.into(), channels: channels.into() };
        assert_eq!(picture.passes(), [pass("Denoising Normal", "XYZ"), pass("Depth", "Z")]);
    }
}
