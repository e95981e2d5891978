//! A whole job, each step of it in a bubblewrap that shows nothing but the system's programs, the engine and the task's own
//! folders: what a worker does.
use gleaner_blender::engine::{Engine, Launch};
use gleaner_blender::plan::{
    Cut, DeviceChoice, Film, Format, Merge, Piece, Render, Source, Split, Step, Video, picture_file, piece_file,
};
use gleaner_blender::process::{Ending, Invocation, run};
use gleaner_blender::scene::Scene;
use gleaner_blender::work::{self, Means, Outcome, Places};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

use crate::stage::{Stage, TIME_MAX};

struct Worker {
    means: Means,
    readable: Vec<PathBuf>,
}

impl Worker {
    fn new(launch: &Launch) -> Self {
        let engine = Engine::ask(launch).expect("answers");
        let device = engine.device(DeviceChoice::Cpu, None).expect("a processor").clone();
        let means =
            Means { launch: launch.clone(), device, threads: NonZeroU32::MIN, ffmpeg: "/usr/bin/ffmpeg".into() };
        Self { means, readable: engine.readable }
    }

    /// Does a step as a worker would; `files` are put into its inputs first.
    fn work(&self, step: &Step, stage: &Stage, files: &[(String, PathBuf)]) -> Done {
        let folder = tempfile::tempdir().expect("a folder");
        let (inputs, outputs) = (folder.path().join("in"), folder.path().join("out"));
        std::fs::create_dir_all(&outputs).expect("a folder");
        for (name, path) in files.iter().cloned().chain(sent(stage)) {
            let place = inputs.join(name);
            std::fs::create_dir_all(place.parent().expect("a parent")).expect("a folder");
            std::fs::copy(path, place).expect("copies");
        }
        let prepared = work::prepare(step, &inputs).expect("prepares");
        let places = Places { inputs: Path::new("/in"), outputs: Path::new("/out") };
        let invocation = work::invocation(step, &prepared, &self.means, places).expect("a command");
        let ending = self.caged(invocation, &inputs, &outputs);
        let outcome = work::conclude(step, &outputs, &ending).expect("works");
        let left: Vec<_> =
            outputs.read_dir().expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
        assert_eq!(left, [step.output().as_str()], "nothing else is left");
        Done { file: outputs.join(step.output()), outcome, _folder: folder }
    }

    fn caged(&self, invocation: Invocation, inputs: &Path, outputs: &Path) -> Ending {
        let system = "--unshare-all --die-with-parent --clearenv --ro-bind /usr /usr --symlink usr/bin /bin \
            --symlink usr/lib /lib --symlink usr/lib64 /lib64 --ro-bind-try /etc/alternatives /etc/alternatives \
            --ro-bind-try /etc/fonts /etc/fonts --ro-bind-try /etc/ld.so.cache /etc/ld.so.cache --proc /proc --dev /dev \
            --tmpfs /tmp --ro-bind";
        let mut arguments: Vec<String> = system.split_whitespace().map(String::from).collect();
        let text = |path: &Path| path.to_str().expect("UTF-8").to_string();
        arguments.extend([text(inputs), "/in".into(), "--bind".into(), text(outputs), "/out".into()]);
        for folder in &self.readable {
            arguments.extend(["--ro-bind".into(), text(folder), text(folder)]);
        }
        for (name, value) in invocation.environment {
            arguments.extend(["--setenv".into(), name, value]);
        }
        arguments.extend([
            "--remount-ro".into(),
            "/".into(),
            "--chdir".into(),
            "/out".into(),
            text(&invocation.program),
        ]);
        arguments.extend(invocation.arguments);
        let bubblewrap = Invocation { program: "/usr/bin/bwrap".into(), arguments, environment: Default::default() };
        run(&bubblewrap, outputs, TIME_MAX, &mut |_| {}).expect("starts")
    }
}

struct Done {
    file: PathBuf,
    outcome: Outcome,
    _folder: TempDir,
}

/// The folder that a requester sends, as the input `files`.
fn sent(stage: &Stage) -> impl Iterator<Item = (String, PathBuf)> + '_ {
    let names = ["scene.blend", "library.blend", "textures/checks.png"];
    names.into_iter().map(|name| (format!("files/{name}"), stage.folder().join(name)))
}

fn source() -> Source {
    Source::plain("files/scene.blend")
}

fn split() -> Split {
    serde_json::from_str(r#"{"tiles":[2,1]}"#).expect("a split")
}

/// The frame at a position, out of its pieces.
fn merged(worker: &Worker, stage: &Stage, cut: &Cut, position: usize) -> Done {
    let (format, device) = (Format::Png, DeviceChoice::Cpu);
    let pieces: Vec<Piece> = cut.pieces_at(position).collect();
    let rendered = pieces.iter().map(|piece| {
        worker.work(&Step::Render(Render { source: source(), piece: *piece, format, device }), stage, &[])
    });
    let rendered: Vec<Done> = rendered.collect();
    let files = rendered.iter().enumerate().map(|(at, piece)| (piece_file(at), piece.file.clone()));
    let frame = cut.frames().at(position).expect("a frame");
    let merge = Merge { source: source(), frame, size: cut.size(), pieces, format };
    worker.work(&Step::Merge(merge), stage, &files.collect::<Vec<_>>())
}

pub fn every_step_runs_where_only_its_folders_are(launch: &Launch) {
    let stage = Stage::new(launch, r#""width":64,"height":48,"samples":2"#);
    let worker = Worker::new(launch);
    let inspected = worker.work(&Step::Inspect(source()), &stage, &[]);
    let scene = Scene::from_json(&std::fs::read(&inspected.file).expect("a file")).expect("a scene");
    assert_eq!(inspected.outcome, Outcome::Scene(Box::new(scene.clone())));
    assert_eq!(scene.problems(Path::new("/in/files")), [], "everything that it needs was sent");
    scene.split(split()).expect("can be split");

    let facts = scene.facts();
    let cut = Cut::new("1-10x9".parse().expect("frames"), split(), facts.size).expect("cuts");
    let frames: Vec<Done> = (0..cut.frames().count()).map(|at| merged(&worker, &stage, &cut, at)).collect();
    for (frame, done) in cut.frames().iter().zip(&frames) {
        let whole = stage.render(Piece { frame, tile: None, samples: None }, Format::Png, "whole").expect("renders");
        let equal = std::fs::read(&done.file).expect("a file") == std::fs::read(whole).expect("a file");
        assert!(equal, "frame {frame} differs from the same frame in one piece without a sandbox");
    }

    let film = Film { pictures: 2, rate: facts.rate.expect("a rate"), video: Video::Mp4 };
    let pictures = frames.iter().enumerate().map(|(at, frame)| (picture_file(at), frame.file.clone()));
    let film = worker.work(&Step::Film(film), &stage, &pictures.collect::<Vec<_>>());
    let bytes = std::fs::read(film.file).expect("a film");
    assert!(bytes.get(4..8) == Some(b"ftyp"), "no MP4 file");
}
