//! A frame in four pieces beside the same frame in one:
//! `cargo run --release -p gleaner-blender --example split [PYTHON-WITH-BPY]`.
#![expect(clippy::print_stdout, reason = "figures are for whoever runs this")]
use gleaner_blender::engine::{Device, Engine, Launch};
use gleaner_blender::finish::Finishing;
use gleaner_blender::merge::{self, Difference, Picture, compare};
use gleaner_blender::plan::{Cut, Format, Frames, Piece, Source, Split};
use gleaner_blender::process::{Invocation, run};
use gleaner_blender::render::Rendering;
use gleaner_blender::scene::inspect;
use std::error::Error;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const TIME_MAX: Duration = Duration::from_secs(1200);
const SCENE: &str = r#""width":480,"height":320,"samples":64"#;
/// Ticks of a processor's time in a second, on every Linux.
const TICKS: f64 = 100.0;

/// Time on the clock, and processor time of the engines that were started.
#[derive(Clone, Copy, Default)]
struct Time {
    wall: f64,
    processor: f64,
}

fn children_ticks() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    after.split_whitespace().skip(13).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum()
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Time) {
    let (start, ticks) = (Instant::now(), children_ticks());
    let value = work();
    (value, Time { wall: start.elapsed().as_secs_f64(), processor: (children_ticks() - ticks) / TICKS })
}

fn make_scene(launch: &Launch, folder: &Path) -> Result<(), Box<dyn Error>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine/make_scene.py");
    let request = format!(r#"{{"folder":{folder:?},{SCENE}}}"#);
    let (program, options): (_, &[&str]) = match launch {
        Launch::Blender(program) => (program, &["--background", "--factory-startup", "-P"]),
        Launch::Python(program) => (program, &["-I"]),
    };
    let mut arguments: Vec<String> = options.iter().copied().map(String::from).collect();
    arguments.extend([script.display().to_string(), "--".into(), request]);
    let environment = Default::default();
    run(&Invocation { program: program.clone(), arguments, environment }, folder, TIME_MAX, &mut |_| {})?;
    Ok(())
}

struct Bench {
    launch: Launch,
    source: Source,
    folder: PathBuf,
}

impl Bench {
    fn render(&self, piece: Piece, out: &str) -> Result<PathBuf, Box<dyn Error>> {
        let out = self.folder.join(out);
        std::fs::create_dir_all(&out)?;
        let (device, threads) = (Device::processor(), NonZeroU32::MIN);
        let format = Format::Exr;
        let (inputs, source) = (self.folder.as_path(), &self.source);
        let rendering = Rendering { inputs, source, piece, format, device: &device, threads, out: &out };
        Ok(rendering.run(&self.launch, TIME_MAX, &mut |_| {})?)
    }

    fn finish(&self, light: &Picture) -> Result<PathBuf, Box<dyn Error>> {
        let (merged, passes) = (self.folder.join("merged.exr"), light.passes());
        light.write(&merged)?;
        let finishing = Finishing {
            inputs: &self.folder,
            source: &self.source,
            frame: 1,
            merged: &merged,
            passes: &passes,
            format: Format::Exr,
            threads: NonZeroU32::MIN,
            out: &self.folder,
        };
        Ok(finishing.run(&self.launch, TIME_MAX)?)
    }

    fn measure(&self, name: &str, split: Split, whole: (&Picture, Time)) -> Result<(), Box<dyn Error>> {
        let size = inspect(&self.launch, &self.folder, &self.source, TIME_MAX)?.facts().size;
        let cut = Cut::new(Frames::one(1), split, size)?;
        let (mut sum, mut longest) = (Time::default(), Time::default());
        let mut files = Vec::new();
        for (number, piece) in cut.pieces_at(0).enumerate() {
            let (file, time) = timed(|| self.render(piece, &format!("{name}-{number}")));
            files.push(file?);
            sum = Time { wall: sum.wall + time.wall, processor: sum.processor + time.processor };
            longest = if time.wall > longest.wall { time } else { longest };
        }
        let (light, merging) = timed(|| merge::frame(&cut, 0, &files));
        let light = light?;
        let (finished, finishing) = timed(|| self.finish(&light));
        let apart = match compare(&Picture::read(&finished?)?, whole.0) {
            Difference::None => "equal".to_string(),
            Difference::Shape => "of another shape".into(),
            Difference::Values(channels) => {
                format!("within {:.1e}", channels.iter().map(|channel| channel.max).fold(0.0, f32::max))
            }
        };
        let all_at_once = longest.wall + merging.wall + finishing.wall;
        println!(
            "| {name} | {:.1} s | {:.1} s | {:.1} s | {:.3} s | {:.1} s | {:.2} | {:.2} | {apart} |",
            sum.wall,
            sum.processor,
            longest.wall,
            merging.wall,
            finishing.wall,
            all_at_once / whole.1.wall,
            sum.processor / whole.1.processor,
        );
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let module = std::env::args_os().nth(1).map(|python| Launch::Python(python.into()));
    let debian = || Launch::in_folders([Path::new("/usr/bin")]).into_iter().next();
    let launch = module.or_else(debian).ok_or("no blender: apt install blender")?;
    let folder = tempfile::tempdir()?;
    make_scene(&launch, folder.path())?;
    println!("{}, one thread for each piece, scene {SCENE}\n", Engine::ask(&launch)?.key());
    let bench = Bench { launch, source: Source::plain("scene.blend"), folder: folder.path().into() };
    let (file, time) = timed(|| bench.render(Piece { frame: 1, tile: None, samples: None }, "whole"));
    let whole = Picture::read(&file?)?;
    println!("unsplit: {:.1} s, processor {:.1} s\n", time.wall, time.processor);
    println!(
        "| split | pieces, sum | processor | longest | merge | finish | time against unsplit | work against unsplit | picture |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let number = |n| NonZeroU32::new(n).ok_or("zero");
    let tiles = Split { tiles: [number(2)?, number(2)?], ..Split::default() };
    let samples = Split { samples: number(4)?, ..Split::default() };
    bench.measure("4 tiles", tiles, (&whole, time))?;
    bench.measure("4 ranges of samples", samples, (&whole, time))
}
