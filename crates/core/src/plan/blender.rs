//! A step of a rendering: its elements, and what its workers are told.
use alloc::format;
use alloc::string::String;
use gleaner_wire::job_file::{StageFile, TaskFile};
use gleaner_wire::render::{DeviceChoice, Format, Frames, Renderer, Source, is_inside};
use gleaner_wire::{DeviceNeed, Each, Extent, Stage, Work};

use super::{Error, Reason, group, is_printable};

/// The most pieces of one frame.
const PIECES_MAX: u32 = 4096;

/// What the elements are: one for each frame, or each piece of one.
pub(super) fn extent(task: &TaskFile, at: usize) -> Result<Extent, Error> {
    let file = &task.blender;
    let pieces = file.split.pieces();
    if pieces > PIECES_MAX {
        let reason = Reason::Range("the number of pieces of a frame", "at most 4096");
        return Err(Error::new(format!("task[{at}].blender.split"), reason));
    }
    if task.each.is_some() || task.tiles.is_some() {
        return Err(Error::new(format!("task[{at}].blender.frames"), Reason::FramesForm));
    }
    match stage(task, at)? {
        StageFile::Look | StageFile::Film => Ok(Extent::Single),
        StageFile::Pieces if pieces > 1 => Ok(array(Each::first(frames(task, at)?.count() as u64 * u64::from(pieces)))),
        StageFile::Pieces | StageFile::Frames => Ok(array(of_frames(&frames(task, at)?))),
    }
}

fn array(each: Each) -> Extent {
    if each.count() == 1 { Extent::Single } else { Extent::Array(each) }
}

/// Frames by their own numbers where those are a plain range, else by their places.
fn of_frames(frames: &Frames) -> Each {
    let text = match (frames.at(0), frames.at(1), frames.at(frames.count() - 1)) {
        (Some(first @ 0..), Some(second), Some(last)) => format!("{first}..{last} step {}", second - first),
        _ => String::new(),
    };
    let each = text.parse::<Each>().ok();
    let fits = |each: &Each| {
        each.count() == frames.count() as u64
            && (0..).zip(frames.iter()).all(|(at, frame)| i64::try_from(each.value(at)) == Ok(i64::from(frame)))
    };
    each.filter(fits).unwrap_or_else(|| Each::first(frames.count() as u64))
}

pub(super) fn work(task: &TaskFile, at: usize) -> Result<Work, Error> {
    let file = &task.blender;
    let place = |field: &str| format!("task[{at}].blender.{field}");
    let text = |field: &str, text: &Option<String>, chars_max| match text {
        Some(text) if !is_printable(text, chars_max) => Err(Error::new(place(field), Reason::Text(chars_max))),
        Some(_) | None => Ok(()),
    };
    text("scene", &file.scene, 1024)?;
    text("scene_name", &file.scene_name, 64)?;
    text("build", &file.build, 64)?;
    if file.scene.as_ref().is_some_and(|scene| !is_inside(scene)) {
        return Err(Error::new(place("scene"), Reason::Range("scene", "a path within the folder")));
    }
    if file.video.is_some() && file.format != Format::Png {
        return Err(Error::new(place("video"), Reason::Range("the format of pictures for a film", "png")));
    }
    let (split, format) = (file.split, file.format);
    let stage = match stage(task, at)? {
        StageFile::Look => Stage::Look { frames: frames(task, at)?, split, video: file.video },
        StageFile::Pieces => Stage::Pieces { frames: frames(task, at)?, split, format },
        StageFile::Frames => Stage::Frames { frames: frames(task, at)?, split, format },
        StageFile::Film => Stage::Film { video: file.video.unwrap_or(gleaner_wire::render::Video::Mp4) },
    };
    let at_program = format!("task[{at}].program");
    let program = task.program.as_ref().ok_or_else(|| Error::new(&*at_program, Reason::NoProgram(task.runtime)))?;
    let project = group::stored(program, at_program)?;
    let source = Source {
        scene: file.scene.clone().unwrap_or_default(),
        name: file.scene_name.clone(),
        engine: file.engine,
        samples: file.samples,
        resolution: file.resolution,
    };
    Ok(Work::Blender { project, source, device: file.device, stage })
}

fn stage(task: &TaskFile, at: usize) -> Result<StageFile, Error> {
    task.blender.stage.ok_or_else(|| Error::new(format!("task[{at}].blender"), Reason::NoSteps))
}

fn frames(task: &TaskFile, at: usize) -> Result<Frames, Error> {
    task.blender.frames.clone().ok_or_else(|| Error::new(format!("task[{at}].blender.frames"), Reason::FramesForm))
}

/// The device that a rendering needs: what it computes on, unless the job says more about it.
/// Whether the work draws frames with EEVEE; steps that only look, merge or film do not.
pub(super) fn draws(work: &Work) -> bool {
    let Work::Blender { source, stage, .. } = work else { return false };
    source.engine == Some(Renderer::Eevee) && matches!(stage, Stage::Pieces { .. } | Stage::Frames { .. })
}

pub(super) fn device(asked: DeviceNeed, choice: DeviceChoice) -> DeviceNeed {
    match (asked, choice) {
        (DeviceNeed::Any, DeviceChoice::Cpu) => DeviceNeed::Cpu,
        (DeviceNeed::Any, DeviceChoice::Gpu) => DeviceNeed::Gpu,
        (asked, _) => asked,
    }
}
