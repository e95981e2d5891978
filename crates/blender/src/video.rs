//! A sequence of pictures into a film, by ffmpeg.
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Fault;
use crate::plan::{Rate, Video};
use crate::process::{Ending, Exit, Invocation, run};

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
    Fault(#[from] Fault),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Missing(_) => Self::Device(message),
            Error::Pictures(_) => Self::Unreadable(message),
            Error::Failed(_) => Self::Failed(message),
            Error::Fault(fault) => fault,
        }
    }
}

/// Makes a film of PNG pictures in their order, without a sandbox.
pub fn encode(
    ffmpeg: &Path,
    pictures: &[PathBuf],
    rate: Rate,
    video: Video,
    out: &Path,
    time_max: Duration,
) -> Result<(), Error> {
    if pictures.is_empty() {
        return Err(Error::Pictures("there are no pictures"));
    }
    if pictures.iter().any(|path| path.extension().is_none_or(|extension| extension != "png")) {
        return Err(Error::Pictures("only PNG pictures make one: ask for format = \"png\""));
    }
    let folder = tempfile::tempdir().map_err(Fault::system("making a temporary folder"))?;
    let invocation = invocation(ffmpeg, folder.path(), rate, video, out)?;
    link(pictures, folder.path())?;
    let ending = run(&invocation, folder.path(), time_max, &mut |_| {})?;
    conclude(out, &ending)
}

/// Judges an ended command. `out` is the film as we see it.
pub fn conclude(out: &Path, ending: &Ending) -> Result<(), Error> {
    match ending.exit {
        Exit::Code(0) if out.symlink_metadata().is_ok_and(|data| data.is_file()) => Ok(()),
        Exit::TimeUp(time) => Err(Fault::TimeUp(time).into()),
        Exit::OutOfMemory => Err(Fault::OutOfMemory("ffmpeg ran out of memory".into()).into()),
        Exit::Code(_) | Exit::Signal(_) => Err(Error::Failed(ending.last.join("; "))),
    }
}

/// Numbers without gaps, which is what ffmpeg reads, whatever the frames are.
fn link(pictures: &[PathBuf], folder: &Path) -> Result<(), Error> {
    for (number, picture) in pictures.iter().enumerate() {
        let whole = picture.canonicalize().map_err(Fault::system(format!("finding {}", picture.display())))?;
        symlink(whole, folder.join(format!("{number:06}.png"))).map_err(Fault::system("linking a picture"))?;
    }
    Ok(())
}

fn codec(video: Video) -> &'static [&'static str] {
    match video {
        Video::Mp4 => &["-c:v", "libx264", "-crf", "18", "-preset", "medium", "-movflags", "+faststart"],
        Video::Webm => &["-c:v", "libvpx-vp9", "-crf", "24", "-b:v", "0", "-row-mt", "1"],
    }
}

/// The command. `pictures` is a folder with `000000.png`, `000001.png` and so on without gaps; `out` is the film. Both are as
/// ffmpeg sees them.
pub fn invocation(ffmpeg: &Path, pictures: &Path, rate: Rate, video: Video, out: &Path) -> Result<Invocation, Error> {
    if !ffmpeg.is_file() {
        return Err(Error::Missing(ffmpeg.into()));
    }
    if !rate.is_sound() {
        return Err(Error::Pictures("the scene's frames per second are no rate"));
    }
    let text = |path: &Path| path.to_str().map(String::from).ok_or(Error::Pictures("a path is not UTF-8"));
    let mut arguments: Vec<String> = ["-nostdin", "-hide_banner", "-loglevel", "error", "-y"].map(Into::into).into();
    arguments.extend(["-framerate".into(), rate.to_string()]);
    arguments.extend(["-i".into(), text(&pictures.join("%06d.png"))?]);
    arguments.extend(codec(video).iter().copied().map(String::from));
    // Players want 4:2:0, which takes even sides; what is missing is added at the right and below.
    let filter = "pad=ceil(iw/2)*2:ceil(ih/2)*2,format=yuv420p";
    arguments.extend(["-vf".into(), filter.into(), text(out)?]);
    let environment = [("LC_ALL".into(), "C.UTF-8".into())].into();
    Ok(Invocation { program: ffmpeg.into(), arguments, environment })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILM: Rate = Rate { frames: 24, seconds: 1 };

    fn refused(ffmpeg: &str, pictures: &[&str], rate: Rate) -> String {
        let pictures: Vec<PathBuf> = pictures.iter().map(PathBuf::from).collect();
        let out = Path::new("/nonexistent/film.mp4");
        encode(Path::new(ffmpeg), &pictures, rate, Video::Mp4, out, Duration::from_secs(60))
            .expect_err("refused")
            .to_string()
    }

    #[test]
    fn a_missing_ffmpeg_is_told_with_the_command_that_installs_it() {
        assert!(refused("/nonexistent/ffmpeg", &["a.png"], FILM).contains("apt install ffmpeg"));
    }

    #[test]
    fn what_makes_no_film_is_refused_before_anything_runs() {
        assert!(refused("/bin/true", &[], FILM).contains("no pictures"));
        assert!(refused("/bin/true", &["a.exr"], FILM).contains("only PNG"));
        assert!(refused("/bin/true", &["a.png"], Rate { frames: 24, seconds: 0 }).contains("rate"));
    }
}
