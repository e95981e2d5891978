//! What every supported engine must do.
use gleaner_blender::Fault;
use gleaner_blender::engine::{Device, DeviceKind, Engine, Launch, OLDEST};
use gleaner_blender::merge::{Difference, Picture, SAMPLES_TOLERANCE, compare};
use gleaner_blender::plan::{Format, Frames, Piece, Renderer, Size, Source, Split};
use gleaner_blender::render::Rendering;
use gleaner_blender::scene::{Problem, SplitRefusal, inspect};
use gleaner_wire::{Cause, Rect};
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use crate::stage::{Stage, TIME_MAX, run_script};

fn whole(frame: i32) -> Piece {
    Piece { frame, tile: None, samples: None }
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a file")
}

fn picture(path: &Path) -> Picture {
    Picture::read(path).expect("a picture")
}

pub fn the_engine_says_what_it_is(launch: &Launch) {
    let engine = Engine::ask(launch).expect("answers");
    assert!(engine.version >= OLDEST);
    assert!(engine.key().starts_with(&format!("blender-{}-{}-", engine.version, engine.build)), "{}", engine.key());
    assert_eq!(engine.build.len(), 16);
    assert!(engine.devices.iter().any(|device| device.kind == DeviceKind::Cpu), "{:?}", engine.devices);
    assert!(!engine.kernels.is_empty());
}

pub fn eevee_renders_whole_frames_without_a_display(launch: &Launch) {
    let engine = Engine::ask(launch).expect("answers");
    engine.try_eevee().expect("EEVEE renders");
    // Its name was another one for a while.
    let name =
        if (4, 2) <= version(&engine) && version(&engine) < (5, 0) { "BLENDER_EEVEE_NEXT" } else { "BLENDER_EEVEE" };
    let stage = Stage::new(launch, &format!(r#""width":64,"height":48,"engine":{name:?}"#));
    let scene = stage.inspect().expect("a scene");
    let halves = Split { tiles: [NonZeroU32::MIN.saturating_add(1), NonZeroU32::MIN], ..Split::default() };
    assert_eq!(scene.split(halves), Err(SplitRefusal::Engine(name.into())));
    let rendered = picture(&stage.whole(1, Format::Exr));
    assert!(rendered.channels().values().flatten().any(|light| *light > 0.1), "the picture is black");
    let piece = Piece { tile: Some(Rect { x: 0, y: 0, width: 32, height: 48 }), ..whole(1) };
    let fault = stage.render(piece, Format::Exr, "piece").expect_err("refused");
    assert!(matches!(fault, Fault::Unsplittable(_)), "{fault}");
}

fn version(engine: &Engine) -> (u32, u32) {
    (engine.version.major, engine.version.minor)
}

pub fn tiles_merge_bit_for_bit(launch: &Launch) {
    let stage = Stage::new(launch, r#""width":191,"height":127,"percentage":50"#);
    let light = stage.merged(3, [2, 2], 1);
    assert_eq!((light.width(), light.height()), (95, 63));
    let merged = stage.finish(3, &light, Format::Exr).expect("finishes");
    assert_eq!(compare(&picture(&merged), &picture(&stage.whole(3, Format::Exr))), Difference::None);
    let merged = stage.finish(3, &light, Format::Png).expect("finishes");
    let whole = stage.whole(3, Format::Png);
    assert!(bytes(&merged) == bytes(&whole), "the files differ: colours and dither are included");
}

pub fn samples_merge_within_the_tolerance(launch: &Launch) {
    let stage = Stage::new(launch, r#""width":64,"height":48,"samples":5,"adaptive":true"#);
    let light = stage.merged(3, [2, 1], 2);
    let merged = picture(&stage.finish(3, &light, Format::Exr).expect("finishes"));
    // Whatever the scene says: ranges of samples have no early stops.
    let plain = Stage::new(launch, r#""width":64,"height":48,"samples":5"#);
    let whole = picture(&plain.whole(3, Format::Exr));
    for (name, ours) in merged.channels() {
        let furthest = ours.iter().zip(&whole.channels()[name]).map(|(a, b)| (a - b).abs() / b.abs().max(1.0));
        let furthest = furthest.fold(0.0, f32::max);
        assert!(furthest <= SAMPLES_TOLERANCE, "{name} differs by {furthest}");
    }
}

pub fn compositing_sees_the_whole_frame(launch: &Launch) {
    let stage = Stage::new(launch, r#""width":64,"height":48,"compositing":true,"depth":true"#);
    let light = stage.merged(1, [2, 1], 1);
    assert!(light.passes().iter().any(|pass| pass.name == "Depth"), "{:?}", light.passes());
    let merged = stage.finish(1, &light, Format::Png).expect("finishes");
    assert!(bytes(&merged) == bytes(&stage.whole(1, Format::Png)), "the files differ");
}

pub fn what_is_asked_for_counts_and_not_what_the_scene_says(launch: &Launch) {
    let stage = Stage::new(launch, r#""width":640,"height":480,"samples":4096,"percentage":50"#);
    let number = |number| NonZeroU32::new(number).expect("not zero");
    let source =
        Source { samples: Some(number(2)), resolution: Some([number(32), number(24)]), ..Source::plain("scene.blend") };
    let scene = inspect(launch, stage.folder(), &source, TIME_MAX).expect("a scene");
    assert_eq!(scene.facts().size, Size { width: 32, height: 24, samples: 2 });
    let (device, out) = (Device::processor(), tempfile::tempdir().expect("a folder"));
    let (format, threads) = (Format::Exr, number(1));
    let (inputs, out) = (stage.folder(), out.path());
    let rendering = Rendering { inputs, source: &source, piece: whole(1), format, device: &device, threads, out };
    let mut seen = Vec::new();
    let rendered = picture(&rendering.run(launch, TIME_MAX, &mut |progress| seen.push(progress)).expect("renders"));
    assert_eq!((rendered.width(), rendered.height()), (32, 24));
    assert_eq!(seen.last().map(|progress| progress.of), Some(2));
    let left: Vec<_> = out.read_dir().expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(left, ["000001.exr"], "nothing but the picture is left");
    let eevee = Source { engine: Some(Renderer::Eevee), ..source };
    assert!(inspect(launch, inputs, &eevee, TIME_MAX).expect("a scene").engine.starts_with("BLENDER_EEVEE"));
    let other = Source { name: Some("Nobody".into()), ..Source::plain("scene.blend") };
    let fault = inspect(launch, inputs, &other, TIME_MAX).expect_err("refused");
    assert!(fault.to_string().contains("no scene called 'Nobody'"), "{fault}");
}

pub fn frames_are_rendered_one_by_one_and_repeatably(launch: &Launch) {
    let stage = Stage::new(launch, r#""width":64,"height":48"#);
    let frames: Frames = "1-10x9".parse().expect("frames");
    let files: Vec<_> = frames.iter().map(|frame| stage.whole(frame, Format::Png)).collect();
    assert_eq!(files[1].file_name().and_then(|name| name.to_str()), Some("000010.png"));
    assert!(bytes(&files[0]) != bytes(&files[1]), "the box has not turned");
    let mut seen = Vec::new();
    let processor = Device::processor();
    let again = stage
        .render_with(whole(10), Format::Png, "again", &processor, 1, TIME_MAX, &mut |progress| seen.push(progress))
        .expect("renders");
    assert!(bytes(&files[1]) == bytes(&again), "the files differ with another number of threads");
    assert_eq!(seen.last().map(|progress| (progress.done, progress.of)), Some((4, 4)), "{seen:?}");
}

pub fn missing_files_are_found_with_who_uses_them(launch: &Launch) {
    let stage = Stage::new(launch, "");
    let scene = stage.inspect().expect("a scene");
    assert_eq!((scene.frame_first, scene.frame_last, scene.width, scene.height), (1, 10, 96, 64));
    assert_eq!((scene.engine.as_str(), scene.samples, scene.denoise), ("CYCLES", 4, false));
    assert_eq!(scene.problems(stage.folder()), []);
    let outside = scene.problems(&stage.folder().join("textures"));
    assert!(matches!(outside.as_slice(), [Problem::Outside(library)] if library.kind == "library"), "{outside:?}");
    std::fs::remove_file(stage.folder().join("textures/checks.png")).expect("removes");
    std::fs::remove_file(stage.folder().join("library.blend")).expect("removes");
    let problems = stage.problems();
    let [Problem::Missing(library), Problem::Missing(texture)] = problems.as_slice() else { panic!("{problems:?}") };
    assert_eq!((library.kind.as_str(), library.path.as_str()), ("library", "//library.blend"));
    assert_eq!(library.users, ["object Pillar"]);
    assert_eq!((texture.kind.as_str(), texture.path.as_str()), ("texture", "//textures/checks.png"));
    assert_eq!(texture.users, ["object Floor"]);
}

pub fn a_broken_file_is_refused_and_blamed_on_the_input(launch: &Launch) {
    let stage = Stage::new(launch, "");
    let good = bytes(&stage.blend());
    for broken in [&b""[..], b"not a scene", &good[..good.len() / 3]] {
        std::fs::write(stage.blend(), broken).expect("writes");
        let fault = stage.inspect().expect_err("refused");
        assert_eq!(fault.cause(), Cause::BadInput, "{fault}");
        let fault = stage.render(whole(1), Format::Png, "broken").expect_err("refused");
        assert_eq!(fault.cause(), Cause::BadInput, "{fault}");
    }
}

pub fn what_cannot_be_rendered_says_why(launch: &Launch) {
    let stage = Stage::new(launch, r#""camera":false,"samples":4096,"width":1920,"height":1080"#);
    assert!(stage.problems().contains(&Problem::NoCamera));
    let fault = stage.render(whole(1), Format::Png, "none").expect_err("refused");
    assert!(matches!(fault, Fault::NoCamera(_)), "{fault}");
    let stage = Stage::new(launch, r#""samples":4096,"width":1920,"height":1080"#);
    let gpu = Device { kind: DeviceKind::Cuda, id: "CUDA_none".into(), name: "none".into() };
    let fault = stage.render_with(whole(1), Format::Png, "none", &gpu, 1, TIME_MAX, &mut |_| {}).expect_err("refused");
    assert!(matches!(fault, Fault::Device(_)), "{fault}");
    let time_max = Duration::from_secs(10);
    let processor = Device::processor();
    let late = stage.render_with(whole(1), Format::Png, "none", &processor, 1, time_max, &mut |_| {});
    assert!(matches!(late, Err(Fault::TimeUp(time)) if time == time_max), "{late:?}");
}

pub fn scripts_in_a_scene_do_not_run(launch: &Launch) {
    let folder = tempfile::tempdir().expect("a folder");
    let witness = folder.path().join("witness");
    let stage = Stage::new(launch, &format!(r#""width":64,"height":48,"script":{witness:?}"#));
    // The attack is real: an engine that is told to trust the file runs it.
    let request = format!(r#"{{"scene":{:?}}}"#, stage.blend());
    let _ = std::fs::remove_file(&witness);
    run_script(launch, "trust_scene.py", &["--enable-autoexec"], &request);
    assert!(witness.exists(), "the scene does not even try");
    std::fs::remove_file(&witness).expect("removes");
    let problems = stage.problems();
    assert!(
        problems.iter().any(|problem| matches!(problem, Problem::Script(what) if what.contains("driver"))),
        "{problems:?}"
    );
    assert!(problems.iter().any(|problem| matches!(problem, Problem::Script(what) if what.contains("startup.py"))));
    stage.whole(2, Format::Png);
    stage.finish(2, &stage.merged(2, [2, 1], 1), Format::Png).expect("finishes");
    assert!(!witness.exists(), "code out of the scene has run");
}

pub fn denoising_follows_merging(launch: &Launch) {
    let stage = Stage::new(launch, r#""width":96,"height":64,"denoise":true,"samples":8"#);
    assert!(stage.inspect().expect("a scene").denoise);
    let light = stage.merged(3, [2, 2], 1);
    let engine = Engine::ask(launch).expect("answers");
    let finished = stage.finish(3, &light, Format::Exr);
    if !engine.denoiser {
        assert!(matches!(finished, Err(Fault::NoDenoiser(_))), "{finished:?}");
        let fault = stage.render(whole(3), Format::Exr, "whole").expect_err("refused");
        assert!(matches!(fault, Fault::NoDenoiser(_)), "{fault}");
        return;
    }
    let whole = picture(&stage.whole(3, Format::Exr));
    let apart = compare(&picture(&finished.expect("finishes")), &whole);
    println!("denoised after merging: {apart:?}");
    assert!(apart.is_within(1e-5, 1e-6), "{apart:?}");
    let noisy = Picture::new(whole.width(), whole.height(), plain(&light));
    assert!(!compare(&noisy, &whole).is_within(1e-3, 1e-4), "nothing was denoised");
}

/// The channels of the picture itself, named as in a file without layers.
fn plain(light: &Picture) -> std::collections::BTreeMap<String, Vec<f32>> {
    let combined = light.channels().iter().filter(|(name, _)| name.contains(".Combined."));
    combined.map(|(name, values)| (name.rsplit('.').next().expect("a letter").to_string(), values.clone())).collect()
}
