//! How two results of a task are compared: what the job says, or what its runtime allows.
use alloc::format;
use gleaner_wire::check::{Check, CheckFile, CheckKind, Tolerance};
use gleaner_wire::job_file::TaskFile;
use gleaner_wire::{Extent, InputSpec, Stage, Work};

use super::{Error, Reason};

/// What a channel of a pixel may differ by, in parts of 255.
const PIXEL_DEFAULT: u16 = 2;
const PIXEL_MAX: u16 = 255;
/// One part of 255 in parts of 65,535.
const PIXEL_STEP: u16 = 257;
/// What the structure of pictures may differ by: 0.01.
const PERCEPTUAL_DEFAULT: Tolerance = Tolerance(Tolerance::UNITS_PER_ONE / 100);
/// A millionth, in units of a tolerance.
const MILLIONTH: u64 = Tolerance::UNITS_PER_ONE / 1_000_000;

pub(super) fn check(
    task: &TaskFile,
    at: usize,
    work: &Work,
    extent: &Extent,
    inputs: &[InputSpec],
) -> Result<Check, Error> {
    let Some(file) = &task.check else { return Ok(default(work)) };
    refuse_foreign(file, at)?;
    match file.kind {
        CheckKind::None => Ok(Check::None),
        CheckKind::Exact => Ok(Check::Exact),
        CheckKind::Numeric => numeric(file, at, work),
        CheckKind::Image => image(file, at, work, extent),
        CheckKind::Program => program(file, at, inputs),
    }
}

/// What is compared where the job does not say. Sandboxed programs repeat themselves everywhere; kernels and engines do so on
/// devices of one class, and are audited within it. Not every container repeats itself bit for bit, and whether it does
/// only its author knows; encoders of films do not say that they do.
fn default(work: &Work) -> Check {
    match work {
        Work::Wasm { .. } | Work::Wgsl { .. } => Check::Exact,
        Work::Container { .. } => Check::None,
        Work::Blender { stage, .. } => match stage {
            Stage::Look { .. } | Stage::Pieces { .. } | Stage::Frames { .. } => Check::Exact,
            Stage::Film { .. } => Check::None,
        },
    }
}

/// Settings of another check would be ignored, which is never what was meant.
fn refuse_foreign(file: &CheckFile, at: usize) -> Result<(), Error> {
    let settings = [
        ("number", file.number.is_some(), CheckKind::Numeric, "numeric"),
        ("absolute", file.absolute.is_some(), CheckKind::Numeric, "numeric"),
        ("relative", file.relative.is_some(), CheckKind::Numeric, "numeric"),
        ("pixel", file.pixel.is_some(), CheckKind::Image, "image"),
        ("perceptual", file.perceptual.is_some(), CheckKind::Image, "image"),
        ("input", file.input.is_some(), CheckKind::Program, "program"),
    ];
    if file.learned.is_some() && !matches!(file.kind, CheckKind::Numeric | CheckKind::Image) {
        return Err(Error::new(place(at, "learned"), Reason::WrongCheck("learned", "numeric or image")));
    }
    let foreign = settings.iter().find(|(_, is_set, kind, _)| *is_set && *kind != file.kind);
    match foreign {
        Some((field, _, _, of)) => Err(Error::new(place(at, field), Reason::WrongCheck(field, of))),
        None => Ok(()),
    }
}

fn numeric(file: &CheckFile, at: usize, work: &Work) -> Result<Check, Error> {
    if let Work::Blender { .. } = work {
        let reason = Reason::Range("the check of a rendering", "none, exact, image or program");
        return Err(Error::new(place(at, "kind"), reason));
    }
    let number = file.number.unwrap_or_default();
    let [absolute, relative] = match (file.absolute, file.relative) {
        (None, None) => number.tolerances(),
        (absolute, relative) => [absolute.unwrap_or_default(), relative.unwrap_or_default()],
    };
    if relative.0 > Tolerance::UNITS_PER_ONE {
        return Err(Error::new(place(at, "relative"), Reason::Range("relative", "at most 1")));
    }
    let learned = file.learned.unwrap_or(file.absolute.is_none() && file.relative.is_none());
    Ok(Check::Numeric { number, absolute, relative, learned })
}

fn image(file: &CheckFile, at: usize, work: &Work, extent: &Extent) -> Result<Check, Error> {
    refuse_no_picture(at, work, extent)?;
    let pixel = file.pixel.unwrap_or(PIXEL_DEFAULT);
    if pixel > PIXEL_MAX {
        return Err(Error::new(place(at, "pixel"), Reason::Range("pixel", "0 to 255")));
    }
    let perceptual = file.perceptual.unwrap_or(PERCEPTUAL_DEFAULT).0;
    if perceptual > Tolerance::UNITS_PER_ONE || !perceptual.is_multiple_of(MILLIONTH) {
        let reason = Reason::Range("perceptual", "0 to 1 in steps of 0.000001");
        return Err(Error::new(place(at, "perceptual"), reason));
    }
    let perceptual = u32::try_from(perceptual / MILLIONTH).expect("a million fits");
    let learned = file.learned.unwrap_or(file.pixel.is_none() && file.perceptual.is_none());
    Ok(Check::Image { pixel: pixel * PIXEL_STEP, perceptual, learned })
}

/// Kernels draw the bytes of a tile's pixels, renderings make pictures in two of their steps; of other programs nobody can
/// tell before they have run.
fn refuse_no_picture(at: usize, work: &Work, extent: &Extent) -> Result<(), Error> {
    let wrong = match work {
        Work::Wgsl { output_bytes_per_item, .. } => {
            let tiles = matches!(extent, Extent::Tiles { .. });
            (!tiles || *output_bytes_per_item != 4).then_some(("a kernel with this check", "tiles of 4 bytes a pixel"))
        }
        Work::Blender { stage: Stage::Look { .. } | Stage::Film { .. }, .. } => {
            Some(("the check of this step", "none, exact or program"))
        }
        Work::Blender { .. } | Work::Wasm { .. } | Work::Container { .. } => None,
    };
    wrong.map_or(Ok(()), |(what, rule)| Err(Error::new(place(at, "kind"), Reason::Range(what, rule))))
}

fn program(file: &CheckFile, at: usize, inputs: &[InputSpec]) -> Result<Check, Error> {
    let Some(name) = &file.input else { return Err(Error::new(place(at, "kind"), Reason::NoChecker)) };
    if inputs.iter().any(|input| matches!(input.name(), "a" | "b")) {
        let reason =
            Reason::Range("the names of a task's inputs with a checker", "other than a and b, the two results");
        return Err(Error::new(place(at, "input"), reason));
    }
    let found = (0_u16..).zip(inputs).find(|(_, input)| input.name() == name);
    match found {
        Some((input, InputSpec::File { .. })) => Ok(Check::Program { input }),
        Some(_) | None => Err(Error::new(place(at, "input"), Reason::CheckInput(name.clone()))),
    }
}

fn place(at: usize, field: &str) -> alloc::string::String {
    format!("task[{at}].check.{field}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use alloc::string::{String, ToString};
    use gleaner_wire::check::Number;
    use gleaner_wire::job_file::{JobFile, line_of};

    fn text(runtime: &str, more: &str) -> String {
        let data = gleaner_wire::BlobRef::of(b"x");
        let data = gleaner_wire::job_file::Source::Data(data.into());
        let more = more.replace("DATA", &data.to_string());
        format!("name = \"j\"\n[[task]]\nname = \"t\"\nruntime = \"{runtime}\"\nprogram = \"{data}\"\n{more}\n")
    }

    fn checks(runtime: &str, more: &str) -> alloc::vec::Vec<Check> {
        let mut job = JobFile::from_toml(&text(runtime, more)).expect("a job file");
        gleaner_wire::render::steps(&mut job);
        plan(&job).expect("planned").groups.iter().map(|group| group.spec.check).collect()
    }

    fn refused(runtime: &str, more: &str) -> (String, Option<usize>, String) {
        let text = text(runtime, more);
        let mut job = JobFile::from_toml(&text).expect("a job file");
        gleaner_wire::render::steps(&mut job);
        let error = plan(&job).expect_err("refused");
        let line = line_of(&text, &error.at);
        (error.at.clone(), line, error.to_string())
    }

    const RENDERING: &str = "[task.blender]\nframes = \"1-3\"\nsplit = { tiles = [2, 1] }\nvideo = \"mp4\"";

    #[test]
    fn what_a_job_does_not_say_is_what_its_runtime_allows() {
        assert_eq!(checks("wasm", ""), [Check::Exact]);
        assert_eq!(checks("wgsl", ""), [Check::Exact]);
        assert_eq!(checks("container", ""), [Check::None]);
        assert_eq!(checks("blender", RENDERING), [Check::Exact, Check::Exact, Check::Exact, Check::None]);
    }

    #[test]
    fn a_rendering_is_compared_as_pictures_where_it_has_some() {
        let image = Check::Image { pixel: 514, perceptual: 10_000, learned: true };
        let checks_of = |check: &str| checks("blender", &format!("check = \"{check}\"\n{RENDERING}"));
        assert_eq!(checks_of("image"), [Check::Exact, image, image, Check::None]);
        assert_eq!(checks_of("none"), [Check::None; 4]);
    }

    #[test]
    fn numbers_have_their_own_tolerances_unless_the_job_names_some() {
        let numeric = |more: &str| checks("container", &format!("[task.check]\nkind = \"numeric\"\n{more}"));
        let (number, learned) = (Number::F32, true);
        let [absolute, relative] = number.tolerances();
        assert_eq!(numeric(""), [Check::Numeric { number, absolute, relative, learned }]);
        let (absolute, relative, learned) = (Tolerance(0), Tolerance(5_000_000_000), false);
        let named = [Check::Numeric { number: Number::F64, absolute, relative, learned }];
        assert_eq!(numeric("number = \"f64\"\nrelative = \"0.005\""), named);
    }

    #[test]
    fn pictures_are_learned_from_unless_the_job_names_a_tolerance() {
        let image = |more: &str| checks("wasm", &format!("[task.check]\nkind = \"image\"\n{more}"));
        assert_eq!(image("pixel = 3"), [Check::Image { pixel: 771, perceptual: 10_000, learned: false }]);
        assert_eq!(
            image("pixel = 3\nlearned = true"),
            [Check::Image { pixel: 771, perceptual: 10_000, learned: true }]
        );
    }

    #[test]
    fn a_checker_is_one_of_the_tasks_own_files() {
        let inputs = "[[task.input]]\nname = \"x\"\nfolder = \"DATA\"\n[[task.input]]\nname = \"y\"\nfile = \"DATA\"\n";
        let with = |check: &str| format!("{check}\n{inputs}");
        assert_eq!(
            checks("wasm", &with("check = { kind = \"program\", input = \"y\" }")),
            [Check::Program { input: 1 }]
        );
        for name in ["x", "z"] {
            let check = format!("check = {{ kind = \"program\", input = \"{name}\" }}");
            let (at, line, reason) = refused("wasm", &with(&check));
            assert_eq!((at.as_str(), line), ("task[0].check.input", Some(6)));
            assert!(reason.contains(&format!("`{name}`")), "{reason}");
        }
        assert_eq!(refused("wasm", "check = \"program\"").2, Reason::NoChecker.to_string());
        let taken = with("check = { kind = \"program\", input = \"y\" }").replace("\"x\"", "\"a\"");
        assert!(refused("wasm", &taken).2.contains("a and b"));
    }

    #[test]
    fn checks_that_cannot_be_are_refused_where_they_stand() {
        for (runtime, check, at) in [
            ("wgsl", "check = \"image\"", "task[0].check.kind"),
            ("wasm", "check = { kind = \"exact\", pixel = 2 }", "task[0].check.pixel"),
            ("wasm", "check = { kind = \"exact\", learned = true }", "task[0].check.learned"),
            ("wasm", "check = { kind = \"image\", absolute = 2 }", "task[0].check.absolute"),
            ("wasm", "check = { kind = \"image\", pixel = 256 }", "task[0].check.pixel"),
            ("wasm", "check = { kind = \"image\", perceptual = 1.5 }", "task[0].check.perceptual"),
            ("wasm", "check = { kind = \"numeric\", relative = 1.5 }", "task[0].check.relative"),
        ] {
            let (found, line, reason) = refused(runtime, check);
            assert_eq!((found.as_str(), line), (at, Some(6)), "{reason}");
        }
        assert_eq!(refused("blender", &format!("check = \"numeric\"\n{RENDERING}")).0, "task[1].check.kind");
    }
}
