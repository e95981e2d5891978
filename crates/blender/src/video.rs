//! A sequence of pictures into a film, by ffmpeg.
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::plan::Video;
use crate::process::{Exit, Invocation, run};

/// Why there is no film.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No ffmpeg.
    #[error("no film: {} is not there. Install it (Debian: apt install ffmpeg), or leave out `video`", .0.display())]
    Missing(PathBuf),
    /// No pictures, or others than PNG.
    #[error("no film: {0}")]
    Pictures(&'static str),
    /// ffmpeg failed.
    #[error("no film: ffmpeg failed: {0}")]
    Failed(String),
    /// It could not be run.
    #[error("no film")]
    Fault(#[from] crate::Fault),
}

/// Makes a film of PNG pictures in their order. `frames_per_second` is a number and what to divide it by, as Blender
/// has it.
pub fn encode(
    ffmpeg: &Path,
    pictures: &[PathBuf],
    frames_per_second: (f64, f64),
    video: Video,
    out: &Path,
    time_max: Duration,
) -> Result<(), Error> {
    if !ffmpeg.is_file() {
        return Err(Error::Missing(ffmpeg.into()));
    }
    let rate = frames_per_second.0 / frames_per_second.1;
    if pictures.is_empty() {
        return Err(Error::Pictures("there are no pictures"));
    }
    if pictures.iter().any(|path| path.extension().is_none_or(|extension| extension != "png")) {
        return Err(Error::Pictures("only PNG pictures make one: ask for format = \"png\""));
    }
    if !(rate.is_finite() && rate > 0.0 && rate <= 1000.0) {
        return Err(Error::Pictures("the scene's frames per second are no rate"));
    }
    let folder = tempfile::tempdir().map_err(crate::Fault::system("making a temporary folder"))?;
    link(pictures, folder.path())?;
    let ending = run(&invocation(ffmpeg, folder.path(), rate, video, out), folder.path(), time_max, &mut |_| {})?;
    match ending.exit {
        Exit::Code(0) => Ok(()),
        Exit::TimeUp(time) => Err(crate::Fault::TimeUp(time).into()),
        Exit::Code(_) | Exit::Signal(_) => Err(Error::Failed(ending.last.join("; "))),
    }
}

/// Numbers without gaps, which is what ffmpeg reads, whatever the frames are.
fn link(pictures: &[PathBuf], folder: &Path) -> Result<(), Error> {
    for (number, picture) in pictures.iter().enumerate() {
        let whole = picture.canonicalize().map_err(crate::Fault::system(format!("finding {}", picture.display())))?;
        symlink(whole, folder.join(format!("{number:06}.png"))).map_err(crate::Fault::system("linking a picture"))?;
    }
    Ok(())
}

fn codec(video: Video) -> &'static [&'static str] {
    match video {
        Video::Mp4 => &["-c:v", "libx264", "-crf", "18", "-preset", "medium", "-movflags", "+faststart"],
        Video::Webm => &["-c:v", "libvpx-vp9", "-crf", "24", "-b:v", "0", "-row-mt", "1"],
    }
}

fn invocation(ffmpeg: &Path, folder: &Path, rate: f64, video: Video, out: &Path) -> Invocation {
    let mut arguments: Vec<OsString> = ["-nostdin", "-hide_banner", "-loglevel", "error", "-y"].map(Into::into).into();
    arguments.extend(["-framerate".into(), format!("{rate}").into()]);
    arguments.extend(["-i".into(), folder.join("%06d.png").into()]);
    arguments.extend(codec(video).iter().map(OsString::from));
    // Players want 4:2:0, which takes even sides; what is missing is added at the right and below.
    let filter = "pad=ceil(iw/2)*2:ceil(ih/2)*2,format=yuv420p";
    arguments.extend(["-vf".into(), filter.into(), out.into()]);
    Invocation { program: ffmpeg.into(), arguments, environment: vec![("LC_ALL".into(), "C.UTF-8".into())] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(ffmpeg: &str, pictures: &[&str], rate: (f64, f64)) -> String {
        let pictures: Vec<PathBuf> = pictures.iter().map(PathBuf::from).collect();
        let out = Path::new("/nonexistent/film.mp4");
        encode(Path::new(ffmpeg), &pictures, rate, Video::Mp4, out, Duration::from_secs(60))
            .expect_err("refused")
            .to_string()
    }

    #[test]
    fn a_missing_ffmpeg_is_told_with_the_command_that_installs_it() {
        assert!(refused("/nonexistent/ffmpeg", &["a.png"], (24.0, 1.0)).contains("apt install ffmpeg"));
    }

    #[test]
    fn what_makes_no_film_is_refused_before_anything_runs() {
        assert!(refused("/bin/true", &[], (24.0, 1.0)).contains("no pictures"));
        assert!(refused("/bin/true", &["a.exr"], (24.0, 1.0)).contains("only PNG"));
        assert!(refused("/bin/true", &["a.png"], (24.0, 0.0)).contains("rate"));
    }
}
