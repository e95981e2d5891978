//! A rendering as a job file has it, and the steps that it is made of.
//!
//! ```text
//! NAME.look ──▶ NAME.pieces ──▶ NAME ──▶ NAME.film
//!          └─ without a split ─▶ NAME
//! ```
//!
//! The first step looks at the scene, so that whatever it lacks is found before anything is rendered; the others read
//! its answer.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::Split;
use crate::Runtime;
use crate::check::CheckKind;
use crate::job_file::{InputFile, JobFile, StageFile, TaskFile};

/// The name under which each step sees what the first one found.
const LOOK: &str = "look";
const PIECES: &str = "pieces";
const FRAMES: &str = "frames";

/// Replaces each rendering of a job by its steps. Says for each task of the result which one of the file it came from.
pub fn steps(job: &mut JobFile) -> Vec<usize> {
    let mut origins = Vec::new();
    let mut tasks = Vec::new();
    for (at, task) in core::mem::take(&mut job.tasks).into_iter().enumerate() {
        let made = match task.runtime {
            Runtime::Blender if task.blender.stage.is_none() => rendering(&task),
            Runtime::Blender | Runtime::Wasm | Runtime::Wgsl | Runtime::Container => vec![task],
        };
        origins.extend(made.iter().map(|_| at));
        tasks.extend(made);
    }
    job.tasks = tasks;
    origins
}

/// The rendering that a task is only a step on the way to, by its name: nobody but other steps wants what it delivers.
pub fn on_the_way_to(name: &str) -> Option<&str> {
    let (rendering, step) = name.rsplit_once('.')?;
    [LOOK, PIECES].contains(&step).then_some(rendering)
}

fn rendering(task: &TaskFile) -> Vec<TaskFile> {
    let name = |step: &str| format!("{}.{step}", task.name);
    let step = |name: String, stage, inputs: Vec<InputFile>| {
        let mut made = TaskFile { name, ..task.clone() };
        made.blender.stage = Some(stage);
        made.check = task.check.clone().filter(|check| is_for(check.kind, stage));
        made.inputs.extend(inputs);
        made
    };
    let look = || from(LOOK, name(LOOK), None);
    let pieces = task.blender.split.pieces();
    let mut made = vec![step(name(LOOK), StageFile::Look, Vec::new())];
    if task.blender.split == Split::default() {
        made.push(step(task.name.clone(), StageFile::Pieces, vec![look()]));
    } else {
        made.push(step(name(PIECES), StageFile::Pieces, vec![look()]));
        let read = vec![look(), from(PIECES, name(PIECES), Some(pieces))];
        made.push(step(task.name.clone(), StageFile::Frames, read));
    }
    if task.blender.video.is_some() {
        let read = vec![look(), from(FRAMES, task.name.clone(), None)];
        made.push(step(name("film"), StageFile::Film, read));
    }
    made
}

/// Whether what a job says about comparing its rendering is meant for this step too. What a look has found and what a film is
/// are no pictures.
fn is_for(kind: CheckKind, stage: StageFile) -> bool {
    match stage {
        StageFile::Pieces | StageFile::Frames => true,
        StageFile::Look | StageFile::Film => kind == CheckKind::None,
    }
}

fn from(name: &str, task: String, per: Option<u32>) -> InputFile {
    let (file, folder, dataset) = (None, None, None);
    InputFile { name: name.to_string(), file, folder, dataset, from: Some(task), same_index: false, per }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    fn steps_of(blender: &str) -> Vec<(String, Option<StageFile>, Vec<Option<u32>>)> {
        let text = format!(
            "name = \"j\"\n[[task]]\nname = \"shot\"\nruntime = \"blender\"\nprogram = \"a.blend\"\n[task.blender]\n{blender}"
        );
        let mut job = JobFile::from_toml(&text).expect("a job file");
        assert!(steps(&mut job).iter().all(|origin| *origin == 0));
        let pers = |task: &TaskFile| task.inputs.iter().map(|input| input.per).collect();
        job.tasks.iter().map(|task| (task.name.clone(), task.blender.stage, pers(task))).collect()
    }

    #[test]
    fn a_rendering_looks_first() {
        let steps = steps_of("frames = \"1-3\"");
        assert_eq!(
            steps,
            [("shot.look".into(), Some(StageFile::Look), vec![]), ("shot".into(), Some(StageFile::Pieces), vec![None]),]
        );
    }

    #[test]
    fn split_frames_are_put_together_and_films_come_last() {
        let steps = steps_of("frames = \"1-3\"\nsplit = { tiles = [2, 2], samples = 3 }\nvideo = \"mp4\"");
        assert_eq!(
            steps,
            [
                ("shot.look".into(), Some(StageFile::Look), vec![]),
                ("shot.pieces".into(), Some(StageFile::Pieces), vec![None]),
                ("shot".into(), Some(StageFile::Frames), vec![None, Some(12)]),
                ("shot.film".into(), Some(StageFile::Film), vec![None, None]),
            ]
        );
    }

    #[test]
    fn steps_are_made_once() {
        let text = "name = \"j\"\n[[task]]\nname = \"shot\"\nruntime = \"blender\"\nprogram = \"a.blend\"";
        let mut job = JobFile::from_toml(text).expect("a job file");
        steps(&mut job);
        let once = job.clone();
        assert_eq!(steps(&mut job), [0, 1]);
        assert_eq!(job, once);
    }
}
