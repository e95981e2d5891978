//! A scene on the disk, an engine, and short ways to render with it.
use gleaner_blender::engine::{Device, Launch};
use gleaner_blender::finish::Finishing;
use gleaner_blender::merge::{self, Picture};
use gleaner_blender::plan::{Cut, Format, Frames, Piece, Source, Split};
use gleaner_blender::process::{Exit, Invocation, run};
use gleaner_blender::render::{Progress, Rendering};
use gleaner_blender::scene::{Scene, inspect};
use gleaner_blender::{Fault, scene};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// Generous: the machines that run tests are busy.
pub const TIME_MAX: Duration = Duration::from_secs(300);

pub fn debian() -> Launch {
    let found = Launch::in_folders([Path::new("/usr/bin")]);
    found.into_iter().next().expect("Debian's blender is installed, as scripts/test does")
}

/// Runs a Python file of the tests inside an engine.
pub fn run_script(launch: &Launch, script: &str, options: &[&str], request: &str) -> Vec<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine").join(script);
    let script = script.to_str().expect("UTF-8").to_string();
    let mut arguments: Vec<String> = Vec::new();
    let program = match launch {
        Launch::Blender(program) => {
            arguments.extend(["--background", "--factory-startup", "--python-exit-code", "9"].map(Into::into));
            arguments.extend(options.iter().copied().map(String::from));
            arguments.push("-P".into());
            program
        }
        Launch::Python(program) => {
            arguments.push("-I".into());
            program
        }
    };
    arguments.extend([script, "--".into(), request.into()]);
    let environment = [("HOME", "/dev/null"), ("PATH", "/usr/bin:/bin")];
    let environment = environment.map(|(name, value)| (name.into(), value.into())).into();
    let invocation = Invocation { program: program.clone(), arguments, environment };
    let mut lines = Vec::new();
    let ending =
        run(&invocation, Path::new("/tmp"), TIME_MAX, &mut |line| lines.push(line.to_string())).expect("starts");
    assert_eq!(ending.exit, Exit::Code(0), "{}", lines.join("\n"));
    lines
}

pub struct Stage {
    pub launch: Launch,
    folder: TempDir,
}

impl Stage {
    /// Makes a scene; `variant` is JSON without its braces.
    pub fn new(launch: &Launch, variant: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let comma = if variant.is_empty() { "" } else { "," };
        let request = format!(r#"{{"folder":{:?}{comma}{variant}}}"#, folder.path());
        run_script(launch, "make_scene.py", &[], &request);
        Self { launch: launch.clone(), folder }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn blend(&self) -> PathBuf {
        self.folder().join("scene.blend")
    }

    pub fn source(&self) -> Source {
        Source::plain("scene.blend")
    }

    pub fn inspect(&self) -> Result<Scene, Fault> {
        inspect(&self.launch, self.folder(), &self.source(), TIME_MAX)
    }

    pub fn problems(&self) -> Vec<scene::Problem> {
        self.inspect().expect("a scene").problems(self.folder())
    }

    fn out(&self, name: &str) -> PathBuf {
        let out = self.folder().join(name);
        std::fs::create_dir_all(&out).expect("a folder");
        out
    }

    pub fn render(&self, piece: Piece, format: Format, out: &str) -> Result<PathBuf, Fault> {
        self.render_with(piece, format, out, &Device::processor(), 2, TIME_MAX, &mut |_| {})
    }

    #[expect(clippy::too_many_arguments, reason = "each of them is what one test is about")]
    pub fn render_with(
        &self,
        piece: Piece,
        format: Format,
        out: &str,
        device: &Device,
        threads: u32,
        time_max: Duration,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<PathBuf, Fault> {
        let (source, out) = (self.source(), self.out(out));
        let threads = NonZeroU32::new(threads).expect("threads");
        let rendering = Rendering { inputs: self.folder(), source: &source, piece, format, device, threads, out: &out };
        rendering.run(&self.launch, time_max, on_progress)
    }

    /// A frame that was not split.
    pub fn whole(&self, frame: i32, format: Format) -> PathBuf {
        self.render(Piece { frame, tile: None, samples: None }, format, "whole").expect("renders")
    }

    /// The merged light of a frame in pieces.
    pub fn merged(&self, frame: i32, tiles: [u32; 2], samples: u32) -> Picture {
        let number = |n| NonZeroU32::new(n).expect("not zero");
        let split = Split { tiles: tiles.map(number), samples: number(samples) };
        let scene = self.inspect().expect("a scene");
        scene.split(split).expect("can be split");
        let cut = Cut::new(Frames::one(frame), split, scene.facts().size).expect("cuts");
        let pieces = cut.pieces_at(0).enumerate();
        let files: Vec<PathBuf> = pieces
            .map(|(number, piece)| self.render(piece, Format::Png, &format!("piece-{number}")).expect("renders"))
            .collect();
        merge::frame(&cut, 0, &files).expect("merges")
    }

    /// The final file out of merged light.
    pub fn finish(&self, frame: i32, light: &Picture, format: Format) -> Result<PathBuf, Fault> {
        let (source, out) = (self.source(), self.out("finished"));
        let merged = out.join("merged.exr");
        light.write(&merged).expect("writes");
        let (passes, threads) = (light.passes(), NonZeroU32::MIN);
        let finishing = Finishing {
            inputs: self.folder(),
            source: &source,
            frame,
            merged: &merged,
            passes: &passes,
            format,
            threads,
            out: &out,
        };
        finishing.run(&self.launch, TIME_MAX)
    }
}
